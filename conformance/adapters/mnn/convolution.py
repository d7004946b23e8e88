"""MNN: convolutions and transposed convolutions of two axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    is_depthwise,
    is_framework_same,
    output_crops,
    output_slice,
    pairs_for_all_axes,
    single_group,
    too_many_axes,
)
from conformance.adapters.mnn.pooling import (
    CAFFE,
    NEEDS_STRIDE,
    ONE_PADDING,
    PLANE_RANK,
    SAME,
    VALID,
    as_plane,
    named_mode,
    width_first,
    without_row,
)

READS_OUTSIDE = Unsupported("with several channels in each group, the call reads memory outside of the kernel")
MIN_CELLS_LEFT = 2
"""Minimum number of cells after the last window with which F.SAME reads other cells."""
NO_OUTPUT_PADDING = Unsupported("transposed convolutions have no output padding")


def _call(name: str, step: Step, mode: tuple[str, str], arrays: tuple[str, str]) -> Code:
    """Return the call. mode: the padding mode and the pads; arrays: expressions of the input and the kernel."""
    x, kernel = (as_plane(step, array) for array in arrays)
    arguments = (
        f"F.convert({x}, F.NC4HW4)",
        kernel,
        "bias" if step.bias else f"np.zeros({step.channels}, np.float32)",
        width_first(step, step.stride or (), 1),
        mode[1],
        width_first(step, step.dilation, 1),
        str(step.parameters["groups"]),
        mode[0],
    )
    text = without_row(step, f"F.convert({call(f'F.{name}', *arguments)}, F.NCHW)")
    return too_many_axes(step, PLANE_RANK) or text


def _unsupported(step: Step) -> Unsupported | None:
    """Return why no call supports the step, None if one does."""
    if step.stride is None:
        return NEEDS_STRIDE
    one_channel = is_depthwise(step) and step.channels == step.shape[1]
    return None if step.parameters["groups"] == 1 or one_channel else READS_OUTSIDE


def _leaves_cells(step: Step) -> bool:
    """Whether two cells or more follow the last window of an axis. F.SAME then reads other cells."""
    if len(step.kernel) != step.rank + 2:
        return False
    walk = step.windows
    axes = zip(walk.size, walk.output, walk.stride, walk.window, walk.dilation, strict=True)
    return any(
        (count - 1) * stride + (window - 1) * dilation + 1 <= size - MIN_CELLS_LEFT
        for size, count, stride, window, dilation in axes
    )


def conv(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    """Return the call, or Unsupported with the reason."""
    unsupported = _unsupported(step)
    if unsupported:
        return unsupported
    named = named_mode(step)
    if named == SAME and not is_framework_same(step) and _leaves_cells(step):
        named = None
    if named is None and step.symmetric is None:
        return ONE_PADDING
    padding = (0,) * step.rank if named else step.symmetric or ()
    return _call("conv2d", step, (named or CAFFE, width_first(step, padding, 0)), (x, kernel))


def transpose(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    """Return the call, or Unsupported with the reason."""
    unsupported = _unsupported(step)
    if unsupported:
        return unsupported
    is_same = is_framework_same(step)
    if not is_same and any(step.parameters["output_padding"]):
        return NO_OUTPUT_PADDING
    padding = (0,) * step.rank if is_same else step.symmetric
    if padding is None:
        return ONE_PADDING
    return _call("conv2d_transpose", step, (SAME if is_same else VALID, width_first(step, padding, 0)), (x, kernel))


def _per_group(write_call: Callable[..., Code], step: Step) -> Code:
    """Return one call for each group of channels, joined along the channels."""
    groups = step.parameters["groups"]
    text = write_call(single_group(step), "part", "weights")
    if groups == 1 or isinstance(text, Unsupported):
        return write_call(replace(step, bias=False)) if groups == 1 else text
    channels, kernels = [step.shape[1] // groups] * groups, [step.kernel[0] // groups] * groups
    parts = f"zip(F.split(x, {channels}, 1), F.split(kernel, {kernels}, 0))"
    return f"F.concat([{text} for part, weights in {parts}], 1)"


def _with_bias(step: Step, code: Code, *lines: str) -> Code:
    if isinstance(code, Unsupported):
        return code
    shape = [1, -1, *(1,) * step.rank]
    return (f"x = {code}", *lines, *(f"x = x + F.reshape(bias, {shape})",) * step.bias)


def grouped_conv(step: Step) -> Code:
    """Return the convolution of each group, and the addition of the bias."""
    return _with_bias(step, _per_group(conv, step)) if step.parameters["groups"] != 1 else conv(step)


def cropped_transpose(step: Step) -> Code:
    """Return the transposed convolution of each group, cropped by a slice, and the addition of the bias."""
    if is_framework_same(step):
        return transpose(step)
    axes = output_crops(step, (1,) * step.rank)
    padding = tuple((axis.padding, axis.padding) for axis in axes)
    uncut = step.with_parameters(padding=padding, output_padding=(0,) * step.rank)
    # Zeros after the output, for an output padding larger than the padding.
    pairs = pairs_for_all_axes(tuple((0, axis.output_padding) for axis in axes), channels_last=False)
    lines = (f"x = F.pad(x, {[[*pair] for pair in pairs]})",) if any(map(any, pairs)) else ()
    crop = output_slice(axes)
    return _with_bias(step, _per_group(transpose, uncut), *((f"x = x{crop}",) if crop else ()), *lines)
