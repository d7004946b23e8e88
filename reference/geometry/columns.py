"""Windows laid side by side as the columns of a matrix, so that a convolution is a product of matrices."""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from reference.arguments import Array
from reference.geometry.windows import Windows


def window_columns(x: Array, windows: Windows, groups: int) -> Array:
    """Return every window of x as a column, with 0 for its cells outside the input.

    x: (n, c, *spatial). Returns (n, groups, c / groups · cells of a window, windows), for a block of x: it takes as
    many times the memory of x as windows overlap.
    """
    n, c = x.shape[:2]
    shape = (n, groups, c // groups * math.prod(windows.window), math.prod(windows.output))
    if windows.is_identity:
        return x.reshape(shape)
    x = _pad_to_windows(x, windows)
    steps, jumps = x.strides[2:], zip(x.strides[2:], windows.stride, strict=True)
    dilated = [step * dilation for step, dilation in zip(steps, windows.dilation, strict=True)]
    strides = (*x.strides[:2], *dilated, *(step * stride for step, stride in jumps))
    view = as_strided(x, (n, c, *windows.window, *windows.output), strides, writeable=False)
    return np.ascontiguousarray(view).reshape(shape)


def _pad_to_windows(x: Array, windows: Windows) -> Array:
    """Return what all windows reach, with zeros outside the input."""
    extents, taken, put = list(x.shape[:2]), [slice(None)] * 2, [slice(None)] * 2
    for axis, (before, after) in enumerate(windows.pads):
        reach = (windows.output[axis] - 1) * windows.stride[axis] + windows.extent[axis]
        start, stop = max(-before, 0), min(windows.size[axis] + min(after, 0), reach - before)
        stop = max(start, stop)
        extents.append(reach)
        taken.append(slice(start, stop))
        put.append(slice(start + before, stop + before))
    padded = np.zeros(extents, x.dtype)
    padded[tuple(put)] = x[tuple(taken)]
    return padded
