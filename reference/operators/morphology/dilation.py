"""Grey-scale dilation: the largest sum of a cell and its weight in each window."""

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, INTEGER_DTYPES, Array, PaddingArgument, PerAxis, check_dtype, check_image
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.ordering import DtypeOrder, with_canonical_nan
from reference.geometry.windows import Windows, all_planes_index
from reference.operators.convolution import check_axes
from reference.registry import operator

DILATION_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES)


@operator
def dilation2d(
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
) -> Exact:
    """Largest sum of a cell and its weight in each window; padding never wins, NaN always does.

    x: (n, c, *spatial); kernel: (c, 1, *window), a window for each channel; both of one dtype, floating or integer.
    Any number of spatial axes. Each sum is rounded once, and integers wrap. A window without a real cell gives −inf
    or the least integer. +0 is larger than −0, and inf − inf is NaN. Returns (n, c, *output), see Windows.
    The bound is 0: rounding is monotone, so the largest rounded sum is the largest sum, rounded.
    Raises ValueError if shapes do not fit or the kernel exceeds the padded input, TypeError for dtypes.
    Source: TensorFlow 2.21, https://www.tensorflow.org/api_docs/python/tf/nn/dilation2d
    """
    x = check_image(x, DILATION_DTYPES)
    kernel = check_channel_kernel(x, kernel)
    windows = Windows.of(x.shape[2:], kernel.shape[2:], stride, padding, dilation, called="kernel")
    order = DtypeOrder(x.dtype, descending=False)
    best = np.full((*x.shape[:2], *windows.output), order.lowest_key, order.key_dtype)
    for offsets, inputs, outputs in windows.cells():
        target = best[all_planes_index(outputs)]
        np.maximum(target, order.keys(cell_sums(x, kernel, offsets, inputs)), out=target)
    return selection_result(order.values(best), lambda: windows.counts(False))


def check_channel_kernel(x: Array, kernel: npt.ArrayLike) -> Array:
    """Return the kernel as an array (c, 1, *window) of the dtype of x. Raises the errors of dilation2d."""
    kernel = check_dtype("kernel", kernel, (x.dtype,))
    check_axes(x, kernel)
    if kernel.shape[:2] != (x.shape[1], 1):
        raise ValueError(f"kernel has shape {kernel.shape}: expected ({x.shape[1]}, 1, *window), one for each channel")
    return kernel


def cell_sums(x: Array, kernel: Array, offsets: tuple[int, ...], inputs: tuple[slice, ...]) -> Array:
    """Return some cells of x plus the weight of one cell of the window, rounded; NaN canonical."""
    index = (*all_planes_index(offsets), *[np.newaxis] * len(offsets))
    weights = kernel.squeeze(1)[index]
    with np.errstate(all="ignore"):
        return with_canonical_nan(x[all_planes_index(inputs)] + weights)
