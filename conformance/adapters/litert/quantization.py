"""LiteRT: QUANTIZE and DEQUANTIZE. The formula and the rounding rule depend on the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.quantization.formulas import (
    channel_numbers,
    is_per_channel,
    listed,
    unsupported_quantization,
    values_text,
)
from conformance.cases.operators import Formula, RoundMode

VECTOR_CELLS = 8
"""Number of cells that the built-in kernel rounds at once. It computes the others in float64."""
NAME = "QUANTIZE"
NO_REMAINDER = Unsupported("QUANTIZE rounds the cells after a multiple of eight by another rule")
QuantizationLimit = Callable[[Step], Unsupported | None]
"""Returns the reason if kernels cannot compute a step."""


def xnnpack_limit(step: Step) -> Unsupported | None:
    """Return the reason if XNNPACK, or the kernel for a scale of each channel, cannot compute the step."""
    if is_per_channel(step, "y"):
        return reference_limit(step)
    return unsupported_quantization(step, Formula.RECIPROCAL, NAME)


def reference_limit(step: Step) -> Unsupported | None:
    """Return the reason if the reference kernel cannot compute the step."""
    return unsupported_quantization(step, Formula.QUOTIENT, NAME, RoundMode.HALF_AWAY)


def builtin_limit(step: Step) -> Unsupported | None:
    """Return the reason if the built-in kernel cannot compute the step. A convention observes any number of cells."""
    cells = math.prod(step.shape)
    if is_per_channel(step, "y") or (cells < VECTOR_CELLS and _is_exact(step)):
        return reference_limit(step)
    if cells % VECTOR_CELLS and {"formula", "round_mode"} <= step.parameters.keys():
        return NO_REMAINDER
    return unsupported_quantization(step, Formula.RECIPROCAL, NAME)


def _is_exact(step: Step) -> bool:
    """Whether the scale is a power of two, so that a quotient of float64 is that of float32."""
    return all(math.frexp(scale)[0] == 0.5 for scale in listed(step.parameters["y_scale"]))  # noqa: PLR2004 - 2 ** n


def quantize(limit: QuantizationLimit, step: Step) -> Code:
    """Return the operator with the scale and the zero point of its result."""
    unsupported = limit(step)
    if unsupported:
        return unsupported
    options = f"schema.QuantizeOptionsT(), np.{step.parameters['output_dtype']}"
    return (f"x = {call('graph.node', repr(NAME), '[x]', options)}", _quantization(step, "y"))


def dequantize(step: Step) -> Code:
    """Return the operator, after the scale and the zero point of x."""
    options = "schema.DequantizeOptionsT(), np.float32"
    return (_quantization(step, "x"), f"x = {call('graph.node', repr('DEQUANTIZE'), '[x]', options)}")


def _quantization(step: Step, prefix: str) -> str:
    """Return the line that adds the numbers to x. Those of channels belong to the last axis."""
    if not is_per_channel(step, prefix):
        scale, zero = (step.parameters[f"{prefix}_{name}"] for name in ("scale", "zero_point"))
        return f"graph.quantize(x, {number(scale)}, {zero})"
    scales, zeros = (values_text(channel_numbers(step, f"{prefix}_{name}")) for name in ("scale", "zero_point"))
    return f"graph.quantize(x, {scales}, {zeros}, {step.rank + 1})"
