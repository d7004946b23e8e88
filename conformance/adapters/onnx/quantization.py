"""ONNX: quantization by QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, number
from conformance.adapters.api.quantization.formulas import (
    channel_numbers,
    is_per_channel,
    unsupported_quantization,
    values_text,
)
from conformance.cases.operators import Formula


def quantize(step: Step) -> Code:
    """Return lines with the QuantizeLinear node, whose scale and zero point are inputs; the axis of channels is 1."""
    unsupported = unsupported_quantization(step, Formula.QUOTIENT, "QuantizeLinear")
    return unsupported or _lines(step, "QuantizeLinear", "y", step.parameters["output_dtype"])


def dequantize(step: Step) -> Code:
    """Return lines with the DequantizeLinear node."""
    return _lines(step, "DequantizeLinear", "x", step.dtype)


def _lines(step: Step, node: str, prefix: str, dtype: str) -> tuple[str, ...]:
    scale, zero = (_value_text(step, prefix, name) for name in ("scale", "zero_point"))
    return (
        f"scale = np.array({scale}, np.float32)",
        f"zero = np.array({zero}, np.{dtype})",
        f"x = {node}(x, scale, zero)",
    )


def _value_text(step: Step, prefix: str, name: str) -> str:
    if is_per_channel(step, prefix):
        return values_text(channel_numbers(step, f"{prefix}_{name}"))
    return number(step.parameters[f"{prefix}_{name}"])
