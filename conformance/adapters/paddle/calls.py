"""PaddlePaddle: calls of layers and functions, the arguments of windows, and conversions to wider dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.adapters import api
from conformance.adapters.api import (
    ALL_DTYPES,
    FLOATS,
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    is_framework_same,
    per_axis,
    text_unless_default,
    tuple_of,
)
from conformance.cases.operators import Rounding

CallWriter = Callable[..., str]
"""Writes the call of an operator on one surface: functional_call or layer_call."""

POOLING_DTYPES = FLOATS | {"float16"}
# For dtypes without a kernel, a dtype that has one and represents all values.
WIDER_DTYPES: Mapping[str, str] = {
    "float16": "float32",
    **dict.fromkeys(("bool", "int8", "int16", "uint8"), "int32"),
}
EXACT_FLOATS: Mapping[str, str] = {**dict.fromkeys(WIDER_DTYPES, "float32"), "int32": "float64"}
ARRAY_DTYPES = ALL_DTYPES - {"uint16", "uint32", "uint64", "bfloat16"}
NO_UNSIGNED = Unsupported("tensors have no uint16, uint32 and uint64; an array of uint16 becomes bfloat16")
LAYER_NAMES: Mapping[str, str] = {
    "max_pool": "MaxPool",
    "avg_pool": "AvgPool",
    "lp_pool": "LPPool",
    "max_unpool": "MaxUnPool",
    "adaptive_max_pool": "AdaptiveMaxPool",
    "adaptive_avg_pool": "AdaptiveAvgPool",
    "fractional_max_pool": "FractionalMaxPool",
}


def functional_call(
    operator: str, step: Step, *arguments: str | None, inputs: str = "x", **keywords: str | None
) -> str:
    """Return a call of paddle.nn.functional."""
    return call(f"F.{operator}{step.rank}d", inputs, *arguments, **keywords)


def layer_call(operator: str, step: Step, *arguments: str | None, inputs: str = "x", **keywords: str | None) -> str:
    """Return a layer of paddle.nn, created and called."""
    return call(f"nn.{LAYER_NAMES[operator]}{step.rank}D", *arguments, **keywords) + f"({inputs})"


def no_kernel(operation: str, dtype: str) -> Unsupported:
    """Return the reason why an operation does not support a dtype."""
    return Unsupported(f"{operation} has no kernel for {dtype} on the CPU")


def unsupported_dtypes(operation: str, *, except_dtypes: frozenset[str]) -> Mapping[str, Unsupported]:
    """Return the reason for all dtypes except some, in the form of Surface.unsupported_dtypes."""
    return {
        name: NO_UNSIGNED if name.startswith("uint") and name != "uint8" else no_kernel(operation, name)
        for name in sorted(ALL_DTYPES - except_dtypes)
    }


def padding_text(step: Step) -> str | None:
    """Return the padding: a word, one number for each axis, or both ends of each axis, the first axis first."""
    if is_framework_same(step):
        return '"SAME"'
    if not step.padded:
        return None
    return (
        tuple_of([end for pair in step.padding for end in pair]) if step.symmetric is None else per_axis(step.symmetric)
    )


def ambiguous_padding(step: Step) -> Unsupported | None:
    """Return why a number of pads that must be rejected cannot be written, None if the pads can be written."""
    if not is_framework_same(step) and step.padded and len(step.padding) == 2 * step.rank:
        return Unsupported("two numbers for each axis are read as the padding before and after it")
    return None


def rounding_text(step: Step) -> str | None:
    """Return the argument ceil_mode; None if it is not needed."""
    return text_unless_default("floor", step.parameters.get("rounding", Rounding.FLOOR), "True")


def sizes_text(values: Sequence[int]) -> str:
    """Return output sizes as text: one number if all are equal."""
    return per_axis(values) or ""


def in_wider_dtype(wider: Mapping[str, str], lowering: Lowering, step: Step) -> Code:
    """Return lines that compute in a dtype that represents all values of `x`, and convert the result back."""
    return api.in_wider_dtype('x.astype("{}")'.format, wider, lowering, step)
