"""Convolution of numbers of eight bits: the exact sum, or numbers of eight bits by a formula and a rounding rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.arguments import Array, PaddingArgument, PerAxis, check_choice, check_dtype, check_image, is_sequence
from reference.arithmetic.exact import Exact, selection_result
from reference.geometry.windows import Windows
from reference.operators.convolution import check_operands, correlate
from reference.operators.quantization.quantizing import (
    LEAST_SCALE,
    MAX_EXACT_SUM,
    QUANTIZED_DTYPES,
    ROUND_MODES,
    round_product_and_sum,
    saturate,
    scales,
    zero_points,
)
from reference.registry import operator

ONE = np.float32(1)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
INT32_LIMITS = np.iinfo(INT32)
DIGITS = 31
"""Binary digits of the factor of fixed_point."""


@operator
def quantized_conv(
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    bias: npt.ArrayLike | None = None,
    *,
    x_scale: float,
    w_scale: float | Sequence[float],
    y_scale: float,
    x_zero_point: int = 0,
    w_zero_point: int | Sequence[int] = 0,
    y_zero_point: int = 0,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    round_mode: str = "half_even",
    requantization: str = "product",
) -> Exact:
    """Convolve the differences to the zero points, add the bias, and return numbers of y_scale and y_zero_point.

    x: (n, c, *spatial), kernel: (out, c / groups, *window), each of int8 or uint8; bias: (out,) of int32, in units of
    x_scale · w_scale. w_scale, w_zero_point: a number, or one for each output channel. Scales are rounded to float32.
    Padding is x_zero_point, so it adds 0. With the exact sum S and the zero point z of y, and every operation rounded
    to float32:

        product     round(S · m) + z, where m = x_scale · w_scale / y_scale
        reciprocal  the same, where m = x_scale · w_scale · (1 / y_scale)
        exact       the same as product, with S · m not rounded
        fused       round(S · m + z), with m of product; the product and the sum are rounded once
        stepwise    round(S · (1 / (1 / x_scale) · w_scale) · (1 / y_scale) + z)
        float64     round(S · m + z), with m of product; the product and the sum are rounded to float64
        fixed_point round(floor(S · 2 ** a · q + 1/2) / 2 ** b) + z, where x_scale · w_scale / y_scale in float64 is
                    q · 2 ** (a - b), q is in [1/2, 1) with 31 binary digits, and a or b is 0

    round_mode: half_even, half_away from zero, half_up, or toward_zero. The result is limited to the dtype of x.
    Returns (n, out, *output) of it, exact. Raises ValueError for bad parameters, and for |S| > 2 ** 24, which float32
    rounds; TypeError for other dtypes. Source: ONNX QLinearConv-10,
    https://onnx.ai/onnx/operators/onnx__QLinearConv.html, which states neither a formula nor a rounding rule
    """
    x, kernel = check_image(x, QUANTIZED_DTYPES), check_dtype("kernel", kernel, QUANTIZED_DTYPES)
    check_choice("requantization", requantization, tuple(REQUANTIZATIONS))
    round_whole = ROUND_MODES[check_choice("round_mode", round_mode, tuple(ROUND_MODES))]
    for name, given in (("x_zero_point", x_zero_point), ("y_zero_point", y_zero_point)):
        _check_single(name, given)
    differences = x.astype(INT64) - zero_points("x_zero_point", x_zero_point, x, x.dtype)
    totals, terms = _exact_sums(differences, kernel, bias, w_zero_point, (stride, padding, dilation, groups))
    if np.abs(totals).max(initial=0) > MAX_EXACT_SUM:
        raise ValueError(f"kernel {kernel.shape} has a sum of more than {MAX_EXACT_SUM}, which float32 rounds")
    own_scales = _own_scales(x_scale, w_scale, y_scale, totals)
    zero_point = zero_points("y_zero_point", y_zero_point, x, x.dtype)
    with np.errstate(over="ignore", under="ignore"):
        number = REQUANTIZATIONS[requantization](totals.astype(np.float32), *own_scales, zero_point.astype(np.float32))
    whole = round_whole(number.astype(np.float64)) + (zero_point if requantization in ADDED_LAST else 0)
    return selection_result(saturate(whole, x.dtype), terms)


@operator
def conv_integer(
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    *,
    x_zero_point: int = 0,
    w_zero_point: int | Sequence[int] = 0,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Exact:
    """Convolve the differences to the zero points, and return the sums in int32.

    x: (n, c, *spatial), kernel: (out, c / groups, *window), each of int8 or uint8. w_zero_point: a number, or one for
    each output channel. Padding is x_zero_point, so it adds 0. Returns (n, out, *output) of int32, exact. Raises
    ValueError for bad parameters, and for a sum beyond int32; TypeError for other dtypes.
    Source: ONNX ConvInteger-10, https://onnx.ai/onnx/operators/onnx__ConvInteger.html
    """
    x, kernel = check_image(x, QUANTIZED_DTYPES), check_dtype("kernel", kernel, QUANTIZED_DTYPES)
    _check_single("x_zero_point", x_zero_point)
    differences = x.astype(INT64) - zero_points("x_zero_point", x_zero_point, x, x.dtype)
    totals, terms = _exact_sums(differences, kernel, None, w_zero_point, (stride, padding, dilation, groups))
    if totals.min(initial=0) < INT32_LIMITS.min or totals.max(initial=0) > INT32_LIMITS.max:
        limits = f"{INT32_LIMITS.min} to {INT32_LIMITS.max}, the range of int32"
        raise ValueError(f"kernel {kernel.shape} has a sum beyond {limits}")
    return selection_result(totals.astype(INT32), terms)


def _exact_sums(
    differences: Array, kernel: Array, bias: npt.ArrayLike | None, w_zero_point: Any, options: tuple[Any, ...]
) -> tuple[Array, Callable[[], Array]]:
    """Return the sums of products of whole numbers (n, out, *output), and a function that counts the products.

    differences: x minus its zero point, in int64; options: stride, padding, dilation, groups. Raises the errors of
    conv.
    """
    stride, padding, dilation, groups = options
    exact_bias = None if bias is None else check_dtype("bias", bias, (INT32,)).astype(INT64)
    _, biases, groups = check_operands(differences, kernel.astype(INT64), exact_bias, groups)
    zero_point = zero_points("w_zero_point", w_zero_point, kernel.swapaxes(0, 1), kernel.dtype)
    weights = kernel.astype(INT64) - (zero_point[:, None] if zero_point.ndim else zero_point)
    windows = Windows.of(differences.shape[2:], kernel.shape[2:], stride, padding, dilation, called="kernel")
    totals = correlate(differences, weights, windows, groups)
    totals = sum((one.reshape(-1, *(1,) * (totals.ndim - 2)) for one in biases), totals)
    return totals, lambda: windows.counts(False) * kernel.shape[1] + len(biases)


def _own_scales(x_scale: Any, w_scale: Any, y_scale: Any, totals: Array) -> tuple[Array, Array, Array]:
    """Return the scales of x, of the weights and of y in float32.

    Raises ValueError unless the product of x and the weights, and its quotient by y, are normal numbers of float32.
    """
    for name, given in (("x_scale", x_scale), ("y_scale", y_scale)):
        _check_single(name, given)
    of_x, of_weights, of_y = (
        scales(name, given, totals)
        for name, given in (("x_scale", x_scale), ("w_scale", w_scale), ("y_scale", y_scale))
    )
    with np.errstate(over="ignore", under="ignore"):
        product = of_x * of_weights
        for name, number in (("x_scale · w_scale", product), ("x_scale · w_scale / y_scale", product / of_y)):
            if not (np.isfinite(number) & (number >= LEAST_SCALE)).all():
                raise ValueError(f"{name} {number} must be a positive normal number of float32")
    return of_x, of_weights, of_y


def _check_single(name: str, given: object) -> None:
    if is_sequence(given):
        raise ValueError(f"{name} {given!r} must be one number")


def _fixed_point(total: Array, x_scale: Array, w_scale: Array, y_scale: Array, _: Array) -> Array:
    """Return the sum times a number of 31 binary digits, rounded, as a multiple of a power of two.

    Source: TensorFlow Lite, MultiplyByQuantizedMultiplier, tensorflow/lite/kernels/internal/common.h
    """
    mantissa, exponent = np.frexp(x_scale.astype(np.float64) * w_scale / y_scale)
    digits = np.floor(mantissa * 2**DIGITS + 0.5).astype(INT64)
    exponent = exponent + (digits == 2**DIGITS)
    digits = np.where(digits == 2**DIGITS, 2 ** (DIGITS - 1), digits)
    # A larger product is limited in any case.
    shifted = np.clip(total.astype(INT64) << np.clip(exponent, 0, DIGITS - 1), -(2**DIGITS), 2**DIGITS)
    high = (shifted * digits + 2 ** (DIGITS - 1)) >> DIGITS
    quotient: Array = high / np.exp2(np.maximum(-exponent, 0))
    return quotient


Requantize = Callable[[Array, Array, Array, Array, Array], Array]
REQUANTIZATIONS: Mapping[str, Requantize] = {
    "product": lambda total, x, w, y, _: total * (x * w / y),
    "reciprocal": lambda total, x, w, y, _: total * (x * w * (ONE / y)),
    "exact": lambda total, x, w, y, _: total.astype(np.float64) * (x * w / y),  # a product of 24 bits and 24 bits
    "fused": lambda total, x, w, y, zero_point: round_product_and_sum(total, x * w / y, zero_point),
    "stepwise": lambda total, x, w, y, zero_point: total * (ONE / (ONE / x) * w) * (ONE / y) + zero_point,
    "float64": lambda total, x, w, y, zero_point: total.astype(np.float64) * (x * w / y) + zero_point,
    "fixed_point": _fixed_point,
}
"""The number that is rounded, of the sum, the three scales and the zero point of y, all in float32."""
ADDED_LAST = frozenset({"product", "reciprocal", "exact", "fixed_point"})
"""The formulas that add the zero point after they round."""
