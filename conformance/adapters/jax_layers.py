"""JAX and Flax: how window calls and the layers of flax.linen are read, with the defaults of JAX 0.10 and Flax 0.12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.layer_arguments import SAME, count, flag, ones, padding, pairs, sizes, spatial
from conformance.layer_source import Unread, Word
from conformance.layers import Call, Dialect, Layer, Reading

WORDS = {**SAME, "same_lower": "same_lower"}
WINDOW = {"window": sizes("window_shape"), "stride": ones("strides"), "padding": padding("padding", SAME)}


def _axes(argument: str, words: Mapping[str, Any] | None = None) -> Reading:
    """Read what has a value for every axis of the array, channels first; None is 1."""

    def read(call: Call, value: Any) -> Any:
        if value is None:
            return 1
        if words is not None and isinstance(value, str):
            return padding(argument, words).convert(call, value)
        rest = spatial(value, channels_last=False)
        if value[:2] not in {(1, 1), ((0, 0), (0, 0))}:
            raise Unread("batch and channels take no part in a window here")
        return pairs(call, rest) if isinstance(value[0], tuple) else rest

    return Reading(argument, read)


def _reduction(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return which extreme it is; the first value must be the one that never wins."""
    del found
    operation, first = call.arguments["computation"], call.arguments["init_value"]
    operators = {"max": ("max_pool", "-"), "min": ("min_pool", "")}
    name = str(operation).rpartition(".")[2]
    if not isinstance(operation, Word) or name not in operators:
        raise Unread(f"computation={operation}: only lax.max and lax.min can be translated")
    operator, sign = operators[name]
    if str(first).rpartition(".")[2] not in {"inf"} or str(first).startswith("-") != bool(sign):
        raise Unread(f"init_value={first}: only {sign}jnp.inf never wins")
    return {"operator": operator}


LAX = (
    Layer(
        "reduce_window(operand, init_value, computation, window_dimensions, window_strides=None, padding='VALID', "
        "base_dilation=None, window_dilation=None)",
        "max_pool",
        {
            "window": _axes("window_dimensions"),
            "stride": _axes("window_strides"),
            "padding": _axes("padding", SAME),
            "dilation": _axes("window_dilation"),
        },
        data=("operand",),
        must={"base_dilation": None},
        meaning=_reduction,
    ),
    Layer(
        "conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, "
        "dimension_numbers=None, feature_group_count=1, batch_group_count=1)",
        "conv",
        {
            "stride": sizes("window_strides"),
            "padding": padding("padding", WORDS),
            "dilation": ones("rhs_dilation"),
            "groups": count("feature_group_count"),
        },
        data=("lhs", "rhs"),
        must={"lhs_dilation": None, "dimension_numbers": None, "batch_group_count": 1},
        ignored=("precision", "preferred_element_type", "out_sharding"),
    ),
)


LINEN = (
    Layer("max_pool(inputs, window_shape, strides=None, padding='VALID')", "max_pool", WINDOW, data=("inputs",)),
    Layer(
        "avg_pool(inputs, window_shape, strides=None, padding='VALID', count_include_pad=True)",
        "avg_pool",
        {**WINDOW, "count_include_pad": flag("count_include_pad")},
        data=("inputs",),
    ),
    Layer("min_pool(inputs, window_shape, strides=None, padding='VALID')", "min_pool", WINDOW, data=("inputs",)),
    Layer(
        "Conv(features, kernel_size, strides=1, padding='SAME', input_dilation=1, kernel_dilation=1, "
        "feature_group_count=1, use_bias=True, mask=None)",
        "conv",
        {
            "out_channels": count("features"),
            "window": sizes("kernel_size"),
            "stride": ones("strides"),
            "padding": padding("padding", SAME),
            "dilation": ones("kernel_dilation"),
            "groups": count("feature_group_count"),
            "bias": flag("use_bias"),
        },
        must={"input_dilation": (1, None), "mask": None},
        ignored=("dtype", "param_dtype", "precision", "kernel_init", "bias_init", "promote_dtype", "parent", "name"),
    ),
)

DIALECTS = {
    "jax.lax": Dialect(("lax", "jax.lax"), LAX),
    "flax.linen": Dialect(("nn", "linen", "flax.linen"), LINEN, applied=("apply",)),
}
