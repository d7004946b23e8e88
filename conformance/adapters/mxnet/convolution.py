"""Apache MXNet: convolutions, and gradients by `mxnet.autograd`."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api import (
    INDENT,
    Code,
    OutputCrop,
    Step,
    Unsupported,
    call,
    crops,
    dilation_argument,
    groups_argument,
    is_framework_same,
    nonzero_argument,
    output_crops,
    output_slice,
    per_axis,
    too_many_axes,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.mxnet.calls import NO_ASYMMETRIC_PADDING, ArrayApi
from conformance.adapters.mxnet.padding import NP_API, differentiable_line

NO_NAMED_PADDING = Unsupported("convolutions have no named padding")
# "Check failed: delay_alloc", once, in the next convolution of the same process: another case would fail.
NO_EMPTY_CONVOLUTION = Unsupported("after a convolution of an empty array, the next one in the process fails")
# Lines that run before recording: setting weights must not be recorded, constants need not be.
PREPARATION_PREFIXES = ("conv", "kernel = ", "scale = ")
VOLUME_RANK = 3
NO_3D_TRANSPOSED_DILATION = Unsupported('"Dilate is not supported in 3d deconvolution"')
# float32 is computed by oneDNN, which has the third axis; float64 by MXNet's own kernel.
NO_3D_TRANSPOSED = Unsupported('"Only 1D or 2D Deconvolution is natively supported" in float64')
# A parameter of a layer has its own gradient array, so it needs no attach_grad.
LAYER_PARAMETERS = {"kernel": "conv.weight", "bias": "conv.bias"}


def autograd_gradient(lines: Sequence[str], _names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return lines that record the given ones with autograd and compute the gradient of one input."""
    return (f"leaf = {input_name}", "leaf.attach_grad()", *_recorded_lines(lines), "x = leaf.grad")


def layer_autograd_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the same for a layer, which stores the gradients of its own weights."""
    if input_name not in LAYER_PARAMETERS or not any(line.startswith("conv = ") for line in lines):
        return autograd_gradient(lines, names, input_name)
    return (*_recorded_lines(lines), f"x = {LAYER_PARAMETERS[input_name]}.grad()")


def _recorded_lines(lines: Sequence[str]) -> Sequence[str]:
    prepared = [line for line in lines if line.startswith(PREPARATION_PREFIXES)]
    recorded = [f"{INDENT}{differentiable_line(line)}" for line in lines if not line.startswith(PREPARATION_PREFIXES)]
    # "Inplace operations are not supported" while gradients are recorded, and setting weights is one.
    return (*prepared, "with autograd.record():", *recorded, "x.backward(grad)")


def _unsupported_conv(step: Step) -> Unsupported | None:
    """Return the reason why no convolution of MXNet can express the step, or None."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    if 0 in step.shape:
        return NO_EMPTY_CONVOLUTION
    return too_many_axes(step) or (NO_ASYMMETRIC_PADDING if step.symmetric is None else None)


def call_conv(step: Step, *, api: ArrayApi = NP_API) -> Code:
    """Return the call, or the reason why it is unsupported."""
    return _unsupported_conv(step) or call(
        api.convolution,
        "x",
        "kernel",
        "bias" if step.bias else None,
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride or ()),
        pad=tuple_of(step.symmetric or ()) if step.padded else None,
        dilate=tuple_of(step.dilation) if step.dilated else None,
        num_filter=str(step.kernel[0]),
        num_group=groups_argument(step),
        no_bias=None if step.bias else "True",
    )


def gluon_conv(step: Step) -> Code:
    """Return lines that build the layer, set its weights and call it."""
    return _unsupported_conv(step) or _layer_lines(f"nn.Conv{step.rank}D", step, nonzero_argument(step.symmetric or ()))


def _layer_lines(name: str, step: Step, padding: str | None, output_padding: str | None = None) -> tuple[str, ...]:
    layer = call(
        name,
        str(step.channels),
        per_axis(step.window),
        strides=per_axis(step.stride),
        padding=padding,
        output_padding=output_padding,
        dilation=dilation_argument(step),
        groups=groups_argument(step),
        use_bias=None if step.bias else "False",
        in_channels=str(step.shape[1]),
    )
    # Weights exist after initialize, and have the dtype of x only after cast.
    lines = [f"conv = {layer}", "conv.initialize()", "conv.cast(x.dtype)", "conv.weight.set_data(kernel)"]
    return (*lines, *["conv.bias.set_data(bias)"] * step.bias, "x = conv(x)")


def _transposed_arguments(step: Step) -> tuple[tuple[int, ...], tuple[int, ...], list[OutputCrop]]:
    """Return the arguments pad and adj, and the crop of each axis."""
    output_padding, stride = tuple(step.parameters["output_padding"]), step.stride or ()
    wrong_rank = any(len(values) != step.rank for values in (output_padding, stride, step.padding, step.dilation))
    # Invalid parameters are passed on unchanged, so that the call can reject them.
    # An output padding below 0, or a stride below 1, must be rejected by MXNet itself.
    if step.symmetric is not None and (wrong_rank or min(*output_padding, *(size - 1 for size in stride)) < 0):
        return step.symmetric, output_padding, []
    axes = output_crops(step, stride)
    return tuple(axis.padding for axis in axes), tuple(axis.output_padding for axis in axes), axes


def _unsupported_transposed(step: Step, axes: Sequence[OutputCrop], *, sliced: bool) -> Unsupported | None:
    """Return the reason why one transposed convolution cannot express the padding, or None."""
    if crops(step):
        return Unsupported("padding of a transposed convolution crops the output, it cannot extend it")
    if any(axis.needs_slice for axis in axes) and not sliced:
        return Unsupported("a transposed convolution crops both ends equally, except for adj")
    too_large = any(axis.output_padding >= stride for axis, stride in zip(axes, step.stride or (), strict=False))
    if too_large and not uses_framework_defaults(step):
        return Unsupported("adj must be smaller than the stride")
    if step.rank == VOLUME_RANK and (step.dilated or step.dtype == "float64"):
        return NO_3D_TRANSPOSED_DILATION if step.dilated else NO_3D_TRANSPOSED
    return too_many_axes(step)


def call_transpose(step: Step, *, sliced: bool = False, api: ArrayApi = NP_API) -> Code:
    """Return the call.

    sliced: slice the result where one end is cropped by more than the call can crop.
    """
    pad, adj, axes = _transposed_arguments(step)
    text = call(
        api.deconvolution,
        "x",
        "kernel",
        "bias" if step.bias else None,
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride or ()),
        pad=tuple_of(pad) if any(pad) else None,
        adj=tuple_of(adj) if any(adj) else None,
        dilate=tuple_of(step.dilation) if step.dilated else None,
        num_filter=str(step.channels),
        num_group=groups_argument(step),
        # Unlike Convolution, Deconvolution has no bias by default.
        no_bias="False" if step.bias else None,
    )
    unsupported = _unsupported_transposed(step, axes, sliced=sliced)
    if unsupported:
        # The call cannot express a crop that needs a slice, so its answer says nothing about such padding.
        expressed = not sliced and not any(axis.needs_slice for axis in axes)
        return Unsupported(unsupported.reason, rejected_call=text) if expressed else unsupported
    return text + output_slice(axes)


def gluon_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return lines that build the layer, set its weights and call it; see call_transpose for `sliced`."""
    pad, adj, axes = _transposed_arguments(step)
    lines = _layer_lines(f"nn.Conv{step.rank}DTranspose", step, nonzero_argument(pad), nonzero_argument(adj))
    crop = output_slice(axes)
    return _unsupported_transposed(step, axes, sliced=sliced) or ((*lines, f"x = x{crop}") if crop else lines)
