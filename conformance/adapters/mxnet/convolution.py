"""Apache MXNet: convolutions, and gradients by `mxnet.autograd`."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api.source_text import (
    INDENT,
    call,
    is_framework_same,
    per_axis,
    slices,
    text_unless_default,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.api.transposed import OutputCrop
from conformance.adapters.mxnet.calls import NO_ASYMMETRIC_PADDING, ArrayApi
from conformance.adapters.mxnet.padding import NP_API, differentiable_line
from conformance.cases.steps import Step

# What makes a layer writes into its weights, which must not be recorded; nor need constants be.
NO_NAMED_PADDING = Unsupported("convolutions have no padding by name")
NO_EMPTY_CONVOLUTION = Unsupported("after a convolution of nothing the next one in the process fails")
PREPARATION_PREFIXES = ("conv", "kernel = ", "scale = ")
VOLUME_RANK = 3
NO_3D_TRANSPOSED_DILATION = Unsupported('"Dilate is not supported in 3d deconvolution"')
NO_3D_TRANSPOSED = Unsupported('"Only 1D or 2D Deconvolution is natively supported", that is, in float64')
LAYER_PARAMETERS = {"kernel": "conv.weight", "bias": "conv.bias"}


def autograd_gradient(lines: Sequence[str], _names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines, recorded, and then the gradient of one input."""
    return (f"leaf = {input_name}", "leaf.attach_grad()", *_recorded_lines(lines), "x = leaf.grad")


def layer_autograd_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the same where the weights are those of a layer, which keeps their gradients itself."""
    if input_name == "x":
        return autograd_gradient(lines, names, input_name)
    return (*_recorded_lines(lines), f"x = {LAYER_PARAMETERS[input_name]}.grad()")


def _recorded_lines(lines: Sequence[str]) -> Sequence[str]:
    before = [line for line in lines if line.startswith(PREPARATION_PREFIXES)]
    inside = [f"{INDENT}{differentiable_line(line)}" for line in lines if not line.startswith(PREPARATION_PREFIXES)]
    return (*before, "with autograd.record():", *inside, "x.backward(grad)")


def call_conv(step: Step, *, api: ArrayApi = NP_API) -> Code:
    """Return the call, or why there is none."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    if 0 in step.shape:
        return NO_EMPTY_CONVOLUTION
    if step.symmetric is None:
        return NO_ASYMMETRIC_PADDING
    return call(
        api.convolution,
        "x",
        "kernel",
        "bias" if step.bias else None,
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride or ()),
        pad=tuple_of(step.symmetric) if step.padded else None,
        dilate=tuple_of(step.dilation) if step.dilated else None,
        num_filter=str(step.kernel[0]),
        num_group=text_unless_default(1, step.parameters["groups"]),
        no_bias=None if step.bias else "True",
    )


def gluon_conv(step: Step) -> Code:
    """Return the layer with the case's weights."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    if 0 in step.shape:
        return NO_EMPTY_CONVOLUTION
    if step.symmetric is None:
        return NO_ASYMMETRIC_PADDING
    padding = per_axis(step.symmetric) if step.padded else None
    return _layer_lines(f"nn.Conv{step.rank}D", step, padding)


def _layer_lines(name: str, step: Step, padding: str | None, further: str | None = None) -> tuple[str, ...]:
    layer = call(
        name,
        str(step.channels),
        per_axis(step.window),
        strides=per_axis(step.stride),
        padding=padding,
        output_padding=further,
        dilation=per_axis(step.dilation) if step.dilated else None,
        groups=text_unless_default(1, step.parameters["groups"]),
        use_bias=None if step.bias else "False",
        in_channels=str(step.shape[1]),
    )
    lines = [f"conv = {layer}", "conv.initialize()", "conv.cast(x.dtype)", "conv.weight.set_data(kernel)"]
    return (*lines, *["conv.bias.set_data(bias)"] * step.bias, "x = conv(x)")


def _transposed_arguments(step: Step) -> tuple[tuple[int, ...], tuple[int, ...], list[OutputCrop]]:
    """Return pad, adj and what each axis needs; what means nothing is said as it stands, for the call to find."""
    further, stride = tuple(step.parameters["output_padding"]), step.stride or ()
    odd = any(len(values) != step.rank for values in (further, stride, step.padding, step.dilation))
    if step.symmetric is not None and (odd or min(*further, *(each - 1 for each in stride)) < 0):
        return step.symmetric, further, []
    axes = _output_crops(step)
    return tuple(axis.padding for axis in axes), tuple(axis.output_padding for axis in axes), axes


def _output_crops(step: Step) -> list[OutputCrop]:
    pairs = zip(step.padding, step.parameters["output_padding"], step.stride or (), strict=True)
    return [OutputCrop.split(before, after - further, stride) for (before, after), further, stride in pairs]


def _unsupported_transposed(step: Step, axes: Sequence[OutputCrop], *, sliced: bool) -> Unsupported | None:
    """Return what transposed convolution cannot say."""
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("transposed convolution takes away from its output, and adds nothing before it")
    if any(axis.slice_before or axis.slice_after for axis in axes) and not sliced:
        return Unsupported("transposed convolution takes the same from both ends, but for what adj gives back")
    beyond = any(axis.output_padding >= stride for axis, stride in zip(axes, step.stride or (), strict=False))
    if beyond and not uses_framework_defaults(step):
        return Unsupported("adj must be smaller than the stride")
    if step.rank == VOLUME_RANK and (step.dilated or step.dtype == "float64"):
        return NO_3D_TRANSPOSED_DILATION if step.dilated else NO_3D_TRANSPOSED
    return None


def call_transpose(step: Step, *, sliced: bool = False, api: ArrayApi = NP_API) -> Code:
    """Return the call; `sliced`: with a slice of its result where more is taken from one end."""
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
        num_group=text_unless_default(1, step.parameters["groups"]),
        no_bias="False" if step.bias else None,
    )
    refusal = _unsupported_transposed(step, axes, sliced=sliced)
    if refusal:
        return refusal if sliced else Unsupported(refusal.reason, rejected_call=text)
    return text + _output_slice(axes)


def gluon_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return the layer with the case's weights; `sliced` as above."""
    pad, adj, axes = _transposed_arguments(step)
    lines = _layer_lines(
        f"nn.Conv{step.rank}DTranspose", step, per_axis(pad) if any(pad) else None, per_axis(adj) if any(adj) else None
    )
    cut = _output_slice(axes)
    return _unsupported_transposed(step, axes, sliced=sliced) or ((*lines, f"x = x{cut}") if cut else lines)


def _output_slice(axes: Sequence[OutputCrop]) -> str:
    bounds = [axis.slice_text for axis in axes]
    return slices(bounds, channels_last=False) if any(bound != ":" for bound in bounds) else ""
