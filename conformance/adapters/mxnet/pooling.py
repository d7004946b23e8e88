"""Apache MXNet: its own pooling calls, on all surfaces."""

from __future__ import annotations

from conformance.adapters.api.source_text import call, number, own_same, per_axis, tuple_of, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.mxnet import windows
from conformance.adapters.mxnet.calls import ASYMMETRIC, FLOATING, Api
from conformance.adapters.mxnet.padding import NP, surrounded
from conformance.cases.steps import Step, unpadded

NO_INTEGERS = "pooling takes floating point numbers only"
SQUARES = 2
POWERS = (1, 2, 3)
LAYERS = {"max_pool": "MaxPool", "avg_pool": "AvgPool", "global_max_pool": "GlobalMaxPool"}
LAYERS |= {"global_avg_pool": "GlobalAvgPool"}


def _refusal(step: Step) -> Unsupported | None:
    """Return what no pooling call of MXNet can say."""
    if own_same(step):
        return Unsupported("pooling has no padding by name")
    if step.dilated:
        return Unsupported("pooling has no dilation")
    if step.parameters.get("divisor") is not None:
        return Unsupported("average pooling has no divisor")
    if step.symmetric is None:
        return ASYMMETRIC
    if (
        step.parameters.get("rounding") == "ceil"
        and step.walk.output != step.with_parameters(rounding="full").walk.output
    ):
        return Unsupported("the last window always counts, even where it starts in the padding")
    return None


def _checked(step: Step, text: str) -> Code:
    if step.dtype not in FLOATING:
        return Unsupported(NO_INTEGERS, refused=text)
    if any(pad >= extent for pad, extent in zip(step.symmetric or (), step.window, strict=False)):
        return Unsupported("padding must be smaller than the window", refused=text)
    return text


def _include(step: Step) -> str | None:
    """Padding counts unless told not to, which matters to padded averages only."""
    return (
        "False"
        if step.verb == "avg_pool" and step.padded and not step.parameters.get("count_include_pad", True)
        else None
    )


def call_pool(step: Step, inputs: str = "x", *, api: Api = NP) -> Code:
    """Return the call, or why there is none."""
    refusal = _refusal(step)
    if refusal:
        return refusal
    kind = step.verb.split("_")[0]
    text = call(
        api.pooling,
        inputs,
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride) if step.stride is not None else None,
        pad=tuple_of(step.symmetric or ()) if step.padded else None,
        pool_type=unless("max", kind, f'"{kind}"'),
        p_value=number(step.parameters["p"]) if kind == "lp" else None,
        pooling_convention=unless("floor", step.parameters.get("rounding"), '"full"'),
        count_include_pad=_include(step),
    )
    return _checked(step, text)


def call_lp_pool(step: Step, *, api: Api = NP) -> Code:
    """Return the call where it means a norm: it takes x to the power as it is, with its sign."""
    text = call_pool(step, api=api)
    if step.parameters["p"] == SQUARES or isinstance(text, Unsupported):
        return text
    return Unsupported("a power that is not even keeps the sign of its number", refused=str(text))


def sized_lp_pool(step: Step, *, api: Api = NP) -> Code:
    """Return the call on sizes without signs, after explicit padding where it needs that; with holes, each norm."""
    padded = windows.padded(step)
    if step.dilated or step.parameters["p"] not in POWERS:
        return windows.lp_pool(step, api)
    sizes = "x" if step.parameters["p"] == SQUARES else f"{api.arrays}.abs(x)"
    plain = call_pool(step, sizes, api=api)
    if not isinstance(plain, Unsupported):
        return plain
    around = surrounded(step, padded.padding, 0, api)
    rest = call_pool(unpadded(step, padded), sizes, api=api)
    if isinstance(rest, Unsupported) or around == "x":
        return rest
    return (f"x = {around}", f"x = {rest}")


def call_global_pool(step: Step, *, api: Api = NP) -> Code:
    """Return the call for whole planes."""
    kind = step.verb.split("_")[1]
    text = call(api.pooling, "x", pool_type=unless("max", kind, f'"{kind}"'), global_pool="True")
    return _checked(step, text)


def gluon_pool(step: Step) -> Code:
    """Return the layer, or why there is none."""
    refusal = _refusal(step)
    if refusal:
        return refusal
    text = call(
        f"nn.{LAYERS[step.verb]}{step.rank}D",
        per_axis(step.window),
        strides=per_axis(step.stride) if step.stride != step.window else None,
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=unless("floor", step.parameters.get("rounding"), "True"),
        count_include_pad=_include(step),
    )
    return _checked(step, f"{text}(x)")


def gluon_global_pool(step: Step) -> Code:
    """Return the layer for whole planes."""
    return _checked(step, f"nn.{LAYERS[step.verb]}{step.rank}D()(x)")
