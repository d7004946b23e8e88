"""MLX: padding, pooling layers, and operators composed from the stacked cells of every window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance.adapters.api import (
    INTEGERS,
    ArrayOperations,
    Code,
    Lowering,
    PoolingCompositions,
    StackedCells,
    Step,
    Unsupported,
    call,
    crops,
    in_wider_dtype,
    indexed_pad,
    is_framework_same,
    nonzero_argument,
    number,
    pairs_for_all_axes,
    per_axis,
    pooling_stride_argument,
    too_many_axes,
)
from conformance.cases.arrays import SHORT_FLOATS, lowest_value
from conformance.cases.operators import PadMode, Rounding

# A larger Python integer is rejected: "std::bad_cast".
MAX_PAD_VALUE = 2**63 - 1
NO_LARGE_VALUE = Unsupported("the value of padding is at most 2**63 - 1")
NO_EMPTY_ARGMAX = Unsupported("argmax rejects an array without elements")
# The constant mode is the default.
MODES = {PadMode.CONSTANT: None, **{mode: f'"{mode}"' for mode in (PadMode.EDGE, PadMode.REFLECT, PadMode.SYMMETRIC)}}
NO_WRAP = Unsupported("mx.pad has no mode wrap")
NO_NAMED_PADDING = Unsupported("padding has no name")
OPERATIONS = ArrayOperations(
    stack="mx.stack({list}{axis})",
    softmax="mx.softmax({x}, 0)",
    norm="({x}.abs() ** {p}).sum({axes}) ** (1 / {p})",
    norms={1: "{x}.abs().sum({axes})", 2: "{x}.square().sum({axes}).sqrt()"},
    differentiable_norm="""\
total = ({x}.abs() ** {p}).sum({axes})
mx.where(total == 0, 1, total) ** (1 / {p})""",
    ones="mx.ones_like(x)",
    where="mx.where({condition}, mx.array({x}), {other})",
    # A sum of 0 becomes inf, so that quotients and gradients are 0 instead of NaN.
    share="{x} / mx.where(total == 0, mx.inf, total)",
    move_cells="{x}.transpose({order})",
    drawn="""\
drawn = windows.cumsum(0) > share
first = mx.stop_gradient(drawn.argmax(0, keepdims=True))
mx.take_along_axis(windows, first, 0).squeeze(0) * drawn.any(0)""",
)


def pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode, value = step.parameters["mode"], step.parameters["value"]
    if mode == PadMode.WRAP:
        return NO_WRAP
    if mode not in MODES:
        return Unsupported(f"mx.pad has no mode {mode!r}")
    pads = str(pairs_for_all_axes(step.padding, channels_last=True))
    name = MODES[mode]
    if step.dtype == "uint64" and value > MAX_PAD_VALUE:
        return NO_LARGE_VALUE
    text = call("mx.pad", "x", pads, name, constant_values=number(value) if value else None)
    return Unsupported("pads may not be negative", rejected_call=text) if crops(step) else text


def _gathered(cells: str, axis: int) -> tuple[str, ...]:
    return (f"x = x[{':, ' * axis}mx.array({cells})]",)


def fallback_pad(step: Step) -> Code:
    """Return padding by indexing."""
    return indexed_pad(step, _gathered, first_axis=1)


COMPOSED = PoolingCompositions(OPERATIONS, StackedCells(OPERATIONS.stack, channels_last=True), pad, channels_last=True)
# In 16 bits, each call would round its result.
_in_float32 = partial(in_wider_dtype, "x.astype(mx.{})".format, dict.fromkeys(SHORT_FLOATS, "float32"))


def _layer(name: str, step: Step) -> Code:
    """Return a pooling layer, created and called, or why there is none."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    if step.dilated:
        return Unsupported("pooling has no dilation")
    if step.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR:
        return Unsupported("pooling has no ceil_mode")
    if step.symmetric is None:
        return Unsupported("pooling has one padding for both ends of an axis")
    padding = nonzero_argument(step.symmetric)
    layer = call(f"nn.{name}{step.rank}d", per_axis(step.window), stride=pooling_stride_argument(step), padding=padding)
    return too_many_axes(step) or f"{layer}(x)"


def max_pool_layer(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    code = _layer("MaxPool", step)
    # The value of the padding is minus infinity, which integers do not have.
    if step.padded and step.dtype in INTEGERS | {"bool"} and isinstance(code, str):
        return Unsupported("the padding of integers is minus infinity", rejected_call=code)
    return code


def avg_pool_layer(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    if step.parameters["divisor"] is not None:
        return Unsupported("average pooling has no divisor")
    if step.padded and step.parameters.get("count_include_pad") is False:
        return Unsupported("padding always counts in an average")
    return _layer("AvgPool", step)


def global_pool(step: Step) -> Code:
    """Return the reduction of whole planes."""
    return COMPOSED.global_pool("max" if step.operator == "global_max_pool" else "mean", step)


def stochastic_pool(step: Step) -> Code:
    """Return the drawn cell of each window."""
    return NO_EMPTY_ARGMAX if 0 in step.shape else _in_float32(COMPOSED.stochastic_pool, step)


FALLBACKS: Mapping[str, Lowering] = {
    "max_pool": lambda step: COMPOSED.extreme_pool("max", lowest_value(step.dtype), step),
    "min_pool": lambda step: COMPOSED.integer_min_pool(step, "all" if step.dtype == "bool" else "min"),
    "avg_pool": partial(_in_float32, COMPOSED.average_pool),
    "lp_pool": partial(_in_float32, COMPOSED.lp_pool),
    "softmax_pool": partial(_in_float32, COMPOSED.softmax_pool),
    "max_pool_with_indices": COMPOSED.max_pool_with_indices,
    "adaptive_max_pool": partial(COMPOSED.adaptive_pool_by_axis, "max"),
    "adaptive_avg_pool": partial(_in_float32, partial(COMPOSED.adaptive_pool_at_once, "mean")),
    "stochastic_pool": stochastic_pool,
    "stochastic_pool_probabilities": partial(_in_float32, COMPOSED.stochastic_pool_probabilities),
    "pad": fallback_pad,
}
