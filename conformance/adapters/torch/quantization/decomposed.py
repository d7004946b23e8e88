"""PyTorch: convolutions and pooling of exported programs: numbers are dequantized before, and quantized after.

The quantizers of PyTorch write a model in this form. A backend of exported programs, such as XNNPACK, replaces the
group of calls by an operator of eight bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.adapters.api import Code, Lowering, Step, Unsupported, as_lines, number
from conformance.adapters.api.quantization.formulas import (
    LIMITS,
    channel_numbers,
    is_per_channel,
    unsupported_quantization,
    values_text,
)
from conformance.adapters.api.quantization.requantization import has_powers_of_two, unsupported_requantization
from conformance.adapters.torch.quantization.tensors import DECOMPOSED_IMPORT, SCALE, ZERO_POINT
from conformance.cases.operators import Formula, Requantization

NAME = "torch.ops.quantized_decomposed"
ROUNDED_SUMS = Unsupported("a convolution of dequantized numbers rounds its sums if a scale is no power of two")


def conv(lowering: Lowering, step: Step) -> Code:
    """Return the convolution of dequantized numbers. lowering: that of `conv`, for numbers of float32."""
    if not has_powers_of_two(step):
        return ROUNDED_SUMS
    unsupported = unsupported_requantization(step, Requantization.PRODUCT, NAME)
    code = unsupported or lowering(_of_floats(step, "conv"))
    if isinstance(code, Unsupported):
        return code
    x_scale, y_scale = (float(step.parameters[name]) for name in ("x_scale", "y_scale"))
    return (
        DECOMPOSED_IMPORT,
        _converted("x", "dequantize", step.dtype, x_scale, step.parameters["x_zero_point"]),
        *_weight_lines(step),
        *as_lines(code),
        _converted("x", "quantize", step.dtype, y_scale, step.parameters["y_zero_point"]),
    )


def avg_pool(lowering: Lowering, step: Step, formula: Formula = Formula.QUOTIENT, name: str = NAME) -> Code:
    """Return the average of dequantized numbers with a scale of 1. lowering: that of `avg_pool`.

    formula: that of the result. name: of the operators that compute it, for messages.
    """
    unsupported = unsupported_quantization(step, formula, name)
    code = unsupported or lowering(_of_floats(step, "avg_pool"))
    return code if isinstance(code, Unsupported) else between(step, code, 1, step.parameters["x_zero_point"])


def max_pool(lowering: Lowering, step: Step) -> Code:
    """Return the maximum of dequantized numbers. lowering: that of `max_pool`, for numbers of float32."""
    code = lowering(_of_floats(step, "max_pool"))
    return code if isinstance(code, Unsupported) else between(step, code, SCALE, ZERO_POINT)


def between(step: Step, code: Code, scale: float, zero_point: int) -> tuple[str, ...]:
    """Return lines of float32 between a call that dequantizes x, and one that quantizes the result."""
    return (
        DECOMPOSED_IMPORT,
        _converted("x", "dequantize", step.dtype, scale, zero_point),
        *as_lines(code),
        _converted("x", "quantize", step.dtype, scale, zero_point),
    )


def _of_floats(step: Step, operator: str) -> Step:
    return replace(step, operator=operator, dtype="float32", kernel_dtype="")


def _converted(name: str, conversion: str, dtype: str, scale: float, zero_point: Any) -> str:
    least, most = LIMITS[dtype]
    ends = f"{least}, {most}, torch.{dtype}"
    return f"{name} = {NAME}.{conversion}_per_tensor({name}, {number(float(scale))}, {zero_point}, {ends})"


def _weight_lines(step: Step) -> tuple[str, ...]:
    """Return the lines that dequantize the weights, and multiply the bias by the scales of x and of the weights."""
    given, (least, most) = step.parameters, LIMITS[step.kernel_dtype]
    x_scale = number(float(given["x_scale"]))
    if not is_per_channel(step, "w"):
        scale = float(given["w_scale"])
        bias = (f"bias = bias.float() * {number(scale * float(given['x_scale']))}",) if step.bias else ()
        return (_converted("kernel", "dequantize", step.kernel_dtype, scale, given["w_zero_point"]), *bias)
    scales, zeros = (values_text(channel_numbers(step, f"w_{name}")) for name in ("scale", "zero_point"))
    ends = f"{least}, {most}, torch.{step.kernel_dtype}"
    return (
        f"scale = torch.tensor({scales}, dtype=torch.float32)",
        f"zero = torch.tensor({zeros})",
        f"kernel = {NAME}.dequantize_per_channel(kernel, scale, zero, 0, {ends})",
        *((f"bias = bias.float() * scale * {x_scale}",) if step.bias else ()),
    )
