"""Apache MXNet: native pooling calls of all surfaces."""

from __future__ import annotations

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    count_include_pad_argument,
    is_framework_same,
    number,
    per_axis,
    pooling_stride_argument,
    text_unless_default,
    too_many_axes,
    tuple_of,
)
from conformance.adapters.mxnet import windows
from conformance.adapters.mxnet.calls import FLOATING, NO_ASYMMETRIC_PADDING, ArrayApi
from conformance.adapters.mxnet.padding import NP_API, surround
from conformance.cases.operators import Rounding
from conformance.cases.steps import without_padding

FLOATING_ONLY_REASON = "pooling takes floating point numbers only"
SQUARE_POWER = 2
SUPPORTED_POWERS = (1, 2, 3)
LAYER_NAMES = {"max_pool": "MaxPool", "avg_pool": "AvgPool", "global_max_pool": "GlobalMaxPool"}
LAYER_NAMES |= {"global_avg_pool": "GlobalAvgPool"}


def _unsupported_pooling(step: Step) -> Unsupported | None:
    """Return the reason why no pooling call of MXNet can express the step, or None."""
    if is_framework_same(step):
        return Unsupported("pooling has no named padding")
    if step.dilated:
        return Unsupported("pooling has no dilation")
    if step.parameters.get("divisor") is not None:
        return Unsupported("average pooling has no divisor")
    if step.symmetric is None:
        return NO_ASYMMETRIC_PADDING
    # The only other convention is "full", which drops no window: it is used for ceil where both give the same size.
    if (
        step.parameters.get("rounding") == Rounding.CEIL
        and step.windows.output != step.with_parameters(rounding="full").windows.output
    ):
        return Unsupported("a last window that starts in the padding is not dropped")
    return too_many_axes(step)


def _call_if_supported(step: Step, text: str) -> Code:
    if step.dtype not in FLOATING:
        return Unsupported(FLOATING_ONLY_REASON, rejected_call=text)
    if any(pad >= extent for pad, extent in zip(step.symmetric or (), step.window, strict=False)):
        return Unsupported("padding must be smaller than the window", rejected_call=text)
    return text


def call_pool(step: Step, inputs: str = "x", *, api: ArrayApi = NP_API) -> Code:
    """Return the call, or the reason why it is unsupported."""
    unsupported = _unsupported_pooling(step)
    if unsupported:
        return unsupported
    kind = step.operator.split("_")[0]
    text = call(
        api.pooling,
        inputs,
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride) if step.stride is not None else None,
        pad=tuple_of(step.symmetric or ()) if step.padded else None,
        pool_type=text_unless_default("max", kind, f'"{kind}"'),
        p_value=number(step.parameters["p"]) if kind == "lp" else None,
        pooling_convention=text_unless_default("floor", step.parameters.get("rounding"), '"full"'),
        count_include_pad=count_include_pad_argument(step),
    )
    return _call_if_supported(step, text)


def call_lp_pool(step: Step, *, api: ArrayApi = NP_API) -> Code:
    """Return the call if it computes a norm: MXNet takes powers of signed values, so only p=2 is one."""
    text = call_pool(step, api=api)
    if step.parameters["p"] == SQUARE_POWER or isinstance(text, Unsupported):
        return text
    return Unsupported(
        "powers are taken of signed values, so a power that is not even keeps the sign", rejected_call=str(text)
    )


def absolute_lp_pool(step: Step, *, api: ArrayApi = NP_API) -> Code:
    """Return the call on absolute values, after explicit padding if needed.

    Dilated windows, and powers and ranks that the call does not take, use the composition over gathered windows.
    """
    padded = windows.explicit_padding(step)
    if step.dilated or step.parameters["p"] not in SUPPORTED_POWERS or too_many_axes(step):
        return windows.lp_pool(step, api)
    # The second power of a number does not depend on its sign, so it needs no `abs`.
    magnitudes = "x" if step.parameters["p"] == SQUARE_POWER else f"{api.arrays}.abs(x)"
    native = call_pool(step, magnitudes, api=api)
    if not isinstance(native, Unsupported):
        return native
    padding = surround(step, padded.padding, 0, api)
    unpadded = call_pool(without_padding(step, padded), magnitudes, api=api)
    if isinstance(unpadded, Unsupported) or padding == "x":
        return unpadded
    return (f"x = {padding}", f"x = {unpadded}")


def call_global_pool(step: Step, *, api: ArrayApi = NP_API) -> Code:
    """Return the global pooling call."""
    kind = step.operator.split("_")[1]
    text = call(api.pooling, "x", pool_type=text_unless_default("max", kind, f'"{kind}"'), global_pool="True")
    return too_many_axes(step) or _call_if_supported(step, text)


def gluon_pool(step: Step) -> Code:
    """Return the layer, or the reason why it is unsupported."""
    unsupported = _unsupported_pooling(step)
    if unsupported:
        return unsupported
    text = call(
        f"nn.{LAYER_NAMES[step.operator]}{step.rank}D",
        per_axis(step.window),
        strides=pooling_stride_argument(step),
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=text_unless_default("floor", step.parameters.get("rounding"), "True"),
        count_include_pad=count_include_pad_argument(step),
    )
    return _call_if_supported(step, f"{text}(x)")


def gluon_global_pool(step: Step) -> Code:
    """Return the global pooling layer."""
    return too_many_axes(step) or _call_if_supported(step, f"nn.{LAYER_NAMES[step.operator]}{step.rank}D()(x)")
