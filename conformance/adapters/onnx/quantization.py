"""ONNX: QuantizeLinear and DequantizeLinear, convolutions by QLinearConv and ConvInteger, and averages of runtimes."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, call, number
from conformance.adapters.api.quantization.formulas import (
    channel_numbers,
    is_per_channel,
    unsupported_quantization,
    values_text,
)
from conformance.adapters.api.quantization.requantization import unsupported_requantization
from conformance.adapters.onnx.graph import CONTRIB_DOMAIN
from conformance.cases.operators import Formula, Requantization

AVERAGE_OPERANDS = ("x", "scale", "zero", "scale", "zero")
"""The operands of QLinearAveragePool: x and the result have the same scale and the same zero point."""
DOMAIN = repr(CONTRIB_DOMAIN)


def quantize(step: Step) -> Code:
    """Return lines with the QuantizeLinear node, whose scale and zero point are inputs; the axis of channels is 1."""
    unsupported = unsupported_quantization(step, Formula.QUOTIENT, "QuantizeLinear")
    return unsupported or _lines(step, "QuantizeLinear", "y", step.parameters["output_dtype"])


def dequantize(step: Step) -> Code:
    """Return lines with the DequantizeLinear node."""
    return _lines(step, "DequantizeLinear", "x", step.dtype)


def _lines(step: Step, node: str, prefix: str, dtype: str) -> tuple[str, ...]:
    scale, zero = (value_text(step, prefix, name) for name in ("scale", "zero_point"))
    return (
        f"scale = np.array({scale}, np.float32)",
        f"zero = np.array({zero}, np.{dtype})",
        f"x = {node}(x, scale, zero)",
    )


def quantized_conv(attributes: Mapping[str, str | None], formula: Requantization, step: Step) -> Code:
    """Return lines with the QLinearConv node, whose formula depends on the runtime."""
    unsupported = unsupported_requantization(step, formula, "QLinearConv")
    if unsupported:
        return unsupported
    dtypes = {"x": step.dtype, "w": step.kernel_dtype or step.dtype, "y": step.dtype}
    lines = [
        (
            f"{prefix}_scale = np.array({value_text(step, prefix, 'scale')}, np.float32)",
            f"{prefix}_zero = np.array({value_text(step, prefix, 'zero_point')}, np.{dtype})",
        )
        for prefix, dtype in dtypes.items()
    ]
    operands = ["x", "x_scale", "x_zero", "kernel", "w_scale", "w_zero", "y_scale", "y_zero"]
    node = call("QLinearConv", *operands, "bias" if step.bias else None, **attributes)
    return (*(line for pair in lines for line in pair), f"x = {node}")


def conv_integer(attributes: Mapping[str, str | None], step: Step) -> Code:
    """Return lines with the ConvInteger node, whose zero points are inputs."""
    dtypes = {"x": step.dtype, "w": step.kernel_dtype or step.dtype}
    zeros = (
        f"{prefix}_zero = np.array({value_text(step, prefix, 'zero_point')}, np.{dtype})"
        for prefix, dtype in dtypes.items()
    )
    return (*zeros, f"x = {call('ConvInteger', 'x', 'kernel', 'x_zero', 'w_zero', **attributes)}")


def average_lines(step: Step, node: str) -> tuple[str, ...]:
    """Return lines with a node of the operands of an average, whose scale is 1."""
    return (
        "scale = np.array(1, np.float32)",
        f"zero = np.array({step.parameters['x_zero_point']}, np.{step.dtype})",
        f"x = {node}",
    )


def value_text(step: Step, prefix: str, name: str) -> str:
    """Return the number of a scale or of a zero point, or the list of those of the channels."""
    if is_per_channel(step, prefix):
        return values_text(channel_numbers(step, f"{prefix}_{name}"))
    return number(step.parameters[f"{prefix}_{name}"])
