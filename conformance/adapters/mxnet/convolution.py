"""Apache MXNet: convolutions, and gradients by `mxnet.autograd`."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api.source_text import INDENT, by_default, call, own_same, per_axis, slices, tuple_of, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.api.transposed import Ends
from conformance.adapters.mxnet.calls import ASYMMETRIC, Api
from conformance.adapters.mxnet.padding import NP, differentiable
from conformance.cases.steps import Step

# What makes a layer writes into its weights, which must not be recorded; nor need constants be.
NO_NAMES = Unsupported("convolutions have no padding by name")
POISONED = Unsupported("after a convolution of nothing the next one in the process fails")
PREPARES = ("conv", "kernel = ", "scale = ")
VOLUMES = 3
NO_HOLES = Unsupported('"Dilate is not supported in 3d deconvolution"')
ONE_OR_TWO = Unsupported('"Only 1D or 2D Deconvolution is natively supported", that is, in float64')
PARAMETERS = {"kernel": "conv.weight", "bias": "conv.bias"}


def gradient(lines: Sequence[str], _names: Sequence[str], wanted: str) -> Sequence[str]:
    """Return the lines, recorded, and then the gradient of one input."""
    return (f"leaf = {wanted}", "leaf.attach_grad()", *_recorded(lines), "x = leaf.grad")


def layer_gradient(lines: Sequence[str], names: Sequence[str], wanted: str) -> Sequence[str]:
    """Return the same where the weights are those of a layer, which keeps their gradients itself."""
    if wanted == "x":
        return gradient(lines, names, wanted)
    return (*_recorded(lines), f"x = {PARAMETERS[wanted]}.grad()")


def _recorded(lines: Sequence[str]) -> Sequence[str]:
    before = [line for line in lines if line.startswith(PREPARES)]
    inside = [f"{INDENT}{differentiable(line)}" for line in lines if not line.startswith(PREPARES)]
    return (*before, "with autograd.record():", *inside, "x.backward(grad)")


def call_conv(step: Step, *, api: Api = NP) -> Code:
    """Return the call, or why there is none."""
    if own_same(step):
        return NO_NAMES
    if 0 in step.shape:
        return POISONED
    if step.symmetric is None:
        return ASYMMETRIC
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
        num_group=unless(1, step.parameters["groups"]),
        no_bias=None if step.bias else "True",
    )


def gluon_conv(step: Step) -> Code:
    """Return the layer with the case's weights."""
    if own_same(step):
        return NO_NAMES
    if 0 in step.shape:
        return POISONED
    if step.symmetric is None:
        return ASYMMETRIC
    padding = per_axis(step.symmetric) if step.padded else None
    return _layer(f"nn.Conv{step.rank}D", step, padding)


def _layer(name: str, step: Step, padding: str | None, further: str | None = None) -> tuple[str, ...]:
    layer = call(
        name,
        str(step.channels),
        per_axis(step.window),
        strides=per_axis(step.stride),
        padding=padding,
        output_padding=further,
        dilation=per_axis(step.dilation) if step.dilated else None,
        groups=unless(1, step.parameters["groups"]),
        use_bias=None if step.bias else "False",
        in_channels=str(step.shape[1]),
    )
    lines = [f"conv = {layer}", "conv.initialize()", "conv.cast(x.dtype)", "conv.weight.set_data(kernel)"]
    return (*lines, *["conv.bias.set_data(bias)"] * step.bias, "x = conv(x)")


def _said(step: Step) -> tuple[tuple[int, ...], tuple[int, ...], list[Ends]]:
    """Return pad, adj and what each axis needs; what means nothing is said as it stands, for the call to find."""
    further, stride = tuple(step.parameters["output_padding"]), step.stride or ()
    odd = any(len(values) != step.rank for values in (further, stride, step.padding, step.dilation))
    if step.symmetric is not None and (odd or min(*further, *(each - 1 for each in stride)) < 0):
        return step.symmetric, further, []
    axes = _axes(step)
    return tuple(axis.both for axis in axes), tuple(axis.further for axis in axes), axes


def _axes(step: Step) -> list[Ends]:
    pairs = zip(step.padding, step.parameters["output_padding"], step.stride or (), strict=True)
    return [Ends.of(before, after - further, stride) for (before, after), further, stride in pairs]


def _transposed(step: Step, axes: Sequence[Ends], *, sliced: bool) -> Unsupported | None:
    """Return what transposed convolution cannot say."""
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("transposed convolution takes away from its output, and adds nothing before it")
    if any(axis.before or axis.after for axis in axes) and not sliced:
        return Unsupported("transposed convolution takes the same from both ends, but for what adj gives back")
    beyond = any(axis.further >= stride for axis, stride in zip(axes, step.stride or (), strict=False))
    if beyond and not by_default(step):
        return Unsupported("adj must be smaller than the stride")
    if step.rank == VOLUMES and (step.dilated or step.dtype == "float64"):
        return NO_HOLES if step.dilated else ONE_OR_TWO
    return None


def call_transpose(step: Step, *, sliced: bool = False, api: Api = NP) -> Code:
    """Return the call; `sliced`: with a slice of its result where more is taken from one end."""
    pad, adj, axes = _said(step)
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
        num_group=unless(1, step.parameters["groups"]),
        no_bias="False" if step.bias else None,
    )
    refusal = _transposed(step, axes, sliced=sliced)
    if refusal:
        return refusal if sliced else Unsupported(refusal.reason, refused=text)
    return text + _slice(axes)


def gluon_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return the layer with the case's weights; `sliced` as above."""
    pad, adj, axes = _said(step)
    lines = _layer(
        f"nn.Conv{step.rank}DTranspose", step, per_axis(pad) if any(pad) else None, per_axis(adj) if any(adj) else None
    )
    cut = _slice(axes)
    return _transposed(step, axes, sliced=sliced) or ((*lines, f"x = x{cut}") if cut else lines)


def _slice(axes: Sequence[Ends]) -> str:
    bounds = [axis.bounds for axis in axes]
    return slices(bounds, channels_last=False) if any(bound != ":" for bound in bounds) else ""
