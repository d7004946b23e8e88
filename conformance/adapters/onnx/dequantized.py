"""ONNX: nodes of float32 between DequantizeLinear and QuantizeLinear, as exporters write quantized models.

A runtime may replace the group of nodes by one node of eight bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from conformance.adapters.api import Code, Lowering, Step, Unsupported, as_lines, number
from conformance.adapters.api.quantization.formulas import (
    LIMITS,
    channel_numbers,
    is_per_channel,
    unsupported_quantization,
    values_text,
)
from conformance.adapters.api.quantization.requantization import has_powers_of_two, unsupported_requantization
from conformance.adapters.onnx.quantization import value_text
from conformance.cases.operators import Formula, Requantization

# Max pooling selects numbers, so that any scale and zero point give the same result.
SCALE = 0.5
ZERO_POINT = 3
ROUNDED_SUMS = Unsupported("a convolution of dequantized numbers rounds its sums if a scale is no power of two")
OTHER_DTYPES = Unsupported("numbers are dequantized from int8 and uint8")


def conv(formula: Requantization, rounded_dtypes: Collection[str], lowering: Lowering, step: Step) -> Code:
    """Return Conv between the nodes.

    formula: that of the runtime. rounded_dtypes: those of x for which it computes Conv in float32. lowering: that of
    `conv`.
    """
    if step.dtype in rounded_dtypes and not has_powers_of_two(step):
        return ROUNDED_SUMS
    unsupported = unsupported_requantization(step, formula, "Conv of dequantized numbers")
    code = unsupported or _lowered(lowering, step, "conv")
    if isinstance(code, Unsupported):
        return code
    given = step.parameters
    return (
        *_array_lines("x", value_text(step, "x", "scale"), value_text(step, "x", "zero_point"), step.dtype),
        "x = DequantizeLinear(x, x_scale, x_zero)",
        *_weight_lines(step),
        *as_lines(code),
        *_array_lines("y", number(given["y_scale"]), number(given["y_zero_point"]), step.dtype),
        "x = QuantizeLinear(x, y_scale, y_zero)",
    )


def avg_pool(formula: Callable[[Step], Formula], lowering: Lowering, step: Step) -> Code:
    """Return AveragePool between the nodes, with a scale of 1.

    formula: that of the runtime. lowering: that of `avg_pool`.
    """
    code = unsupported_quantization(step, formula(step), "AveragePool of dequantized numbers")
    return code or _between(lowering, step, "avg_pool", 1, step.parameters["x_zero_point"])


def max_pool(lowering: Lowering, step: Step) -> Code:
    """Return MaxPool between the nodes. lowering: that of `max_pool`."""
    return OTHER_DTYPES if step.dtype not in LIMITS else _between(lowering, step, "max_pool", SCALE, ZERO_POINT)


def _between(lowering: Lowering, step: Step, operator: str, scale: float, zero_point: int) -> Code:
    code = _lowered(lowering, step, operator)
    if isinstance(code, Unsupported):
        return code
    return (
        *_array_lines("x", number(scale), number(zero_point), step.dtype),
        "x = DequantizeLinear(x, x_scale, x_zero)",
        *as_lines(code),
        "x = QuantizeLinear(x, x_scale, x_zero)",
    )


def _lowered(lowering: Lowering, step: Step, operator: str) -> Code:
    """Return the code of an operator of float32. The call that is rejected would not be that of eight bits."""
    code = lowering(replace(step, operator=operator, dtype="float32", kernel_dtype=""))
    return replace(code, rejected_call=None) if isinstance(code, Unsupported) else code


def _array_lines(prefix: str, scale: str, zero_point: str, dtype: str) -> tuple[str, str]:
    return f"{prefix}_scale = np.array({scale}, np.float32)", f"{prefix}_zero = np.array({zero_point}, np.{dtype})"


def _weight_lines(step: Step) -> tuple[str, ...]:
    """Return the lines that dequantize the weights, and the bias, whose scale is a product of the others."""
    axis = ", axis=0" if is_per_channel(step, "w") else ""
    scales = values_text(channel_numbers(step, "w_scale")) if axis else number(step.parameters["w_scale"])
    lines = (
        *_array_lines("w", scales, value_text(step, "w", "zero_point"), step.kernel_dtype or step.dtype),
        f"kernel = DequantizeLinear(kernel, w_scale, w_zero{axis})",
    )
    if not step.bias:
        return lines
    return (
        *lines,
        "b_scale = x_scale * w_scale",
        "b_zero = np.zeros(b_scale.shape, np.int32)",
        f"bias = DequantizeLinear(bias, b_scale, b_zero{axis})",
    )
