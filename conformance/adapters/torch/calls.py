"""PyTorch: calls of layers and functions, and conversions to wider dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.adapters import api
from conformance.adapters.api import ALL_DTYPES, FLOATING, Code, Lowering, Step, Unsupported, call, number
from conformance.cases.arrays import SHORT_FLOATS

CallWriter = Callable[..., str]
"""Writes the call of an operator on one surface: functional_call or layer_call."""

# uint16, uint32 and uint64 have been dtypes of tensors since PyTorch 2.3, but few operators have kernels for them.
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})
UNSIGNED_ISSUE = "https://github.com/pytorch/pytorch/issues/58734"
# For dtypes without a kernel, a dtype that has one and represents all values.
WIDER_DTYPES: Mapping[str, str] = {"bool": "uint8", "uint16": "int32", "uint32": "int64"}
LAYER_NAMES: Mapping[str, str] = {
    "max_pool": "MaxPool",
    "avg_pool": "AvgPool",
    "lp_pool": "LPPool",
    "max_unpool": "MaxUnpool",
    "adaptive_max_pool": "AdaptiveMaxPool",
    "adaptive_avg_pool": "AdaptiveAvgPool",
    "fractional_max_pool": "FractionalMaxPool",
    "constant": "ConstantPad",
    "edge": "ReplicationPad",
    "reflect": "ReflectionPad",
    "wrap": "CircularPad",
}


def functional_call(
    operator: str, step: Step, *arguments: str | None, inputs: str = "x", **keywords: str | None
) -> str:
    """Return a call of torch.nn.functional."""
    return call(f"F.{operator}{step.rank}d", inputs, *arguments, **keywords)


def layer_call(operator: str, step: Step, *arguments: str | None, inputs: str = "x", **keywords: str | None) -> str:
    """Return a layer of torch.nn, created and called."""
    return call(f"nn.{LAYER_NAMES[operator]}{step.rank}d", *arguments, **keywords) + f"({inputs})"


def sizes_text(values: Sequence[int | None]) -> str:
    """Return output sizes as text: one number if all are equal; None means the extent of the input."""
    if len(set(values)) == 1 and values[0] is not None:
        return number(values[0])
    # int(): sizes of the catalogue may be NumPy integers, whose repr is np.int64(2).
    return str(tuple(value if value is None else int(value) for value in values))


def call_if_floating(operation: str, step: Step, text: str) -> Code:
    """Return the call; other dtypes than floating point have no kernel."""
    if step.dtype in FLOATING:
        return text
    return Unsupported(f"{operation} has no kernel for {step.dtype} on the CPU", rejected_call=text)


def in_wider_dtype(wider: Mapping[str, str], lowering: Lowering, step: Step) -> Code:
    """Return lines that compute in a dtype that represents all values of `x`, and convert the result back."""
    # int64 and uint64 have no wider dtype, so they are not in such tables.
    if step.dtype not in wider:
        return Unsupported(f"no dtype with a kernel represents all values of {step.dtype}")
    return api.in_wider_dtype("x.to(torch.{})".format, wider, lowering, step)


def in_float32(lowering: Lowering, step: Step) -> Code:
    """Return several calls on 16-bit floats in float32: in 16 bits, each call would round its result."""
    # A single call rounds once, so it stays in 16 bits.
    if step.dtype not in SHORT_FLOATS or isinstance(lowering(step), str):
        return lowering(step)
    return in_wider_dtype(dict.fromkeys(SHORT_FLOATS, "float32"), lowering, step)


def no_kernel(operation: str, *, except_dtypes: frozenset[str], issue: str | None = None) -> Mapping[str, Unsupported]:
    """Return the reason for all dtypes except some, in the form of Surface.unsupported_dtypes."""
    others = ALL_DTYPES - except_dtypes
    return {
        name: Unsupported(
            f"{operation} has no kernel for {name} on the CPU", UNSIGNED_ISSUE if name in UNSIGNED else issue
        )
        for name in sorted(others)
    }
