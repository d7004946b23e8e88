"""Quantization of numbers to eight bits, and back. Every step is rounded as the parameters say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    Array,
    DType,
    PaddingArgument,
    PerAxis,
    check_choice,
    check_image,
    is_sequence,
    parse_integer,
)
from reference.arithmetic.exact import Exact, selection_result
from reference.geometry.folding import fold_windows
from reference.geometry.windows import Windows
from reference.operators.pooling import window_divisors
from reference.registry import operator

QUANTIZED_DTYPES: tuple[DType, ...] = (np.dtype(np.int8), np.dtype(np.uint8))
FORMULAS = ("quotient", "reciprocal", "quotient_plus_zero_point", "reciprocal_plus_zero_point", "fused")
# Whole numbers near a number of float32. In float64 adding a half to it is exact, or does not change the result.
ROUND_MODES: Mapping[str, Callable[[Array], Array]] = {
    "half_even": np.rint,
    "half_away": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "half_up": lambda x: np.floor(x + 0.5),
    "toward_zero": np.trunc,
}
MAX_EXACT_SUM = 2**24
LEAST_SCALE = float(np.finfo(np.float32).tiny)
"""The smallest normal number of float32: the reciprocal of a smaller scale may overflow."""


@operator
def quantize(
    x: npt.ArrayLike,
    y_scale: float | Sequence[float],
    y_zero_point: int | Sequence[int] = 0,
    *,
    output_dtype: str = "int8",
    round_mode: str = "half_even",
    formula: str = "quotient",
) -> Exact:
    """Divide by a scale, round to whole numbers, add a zero point, and limit to the range of int8 or uint8.

    x: (n, c, *spatial) of float32, without NaN. y_scale, y_zero_point: a number, or one for each channel; the scale is
    rounded to float32, and the zero point is a number of the output's dtype. The formula is computed in float32, and
    every operation of it is rounded, where r = 1 / y_scale:

        quotient                    round(x / y_scale) + y_zero_point
        reciprocal                  round(x · r) + y_zero_point
        quotient_plus_zero_point    round(x / y_scale + y_zero_point)
        reciprocal_plus_zero_point  round(x · r + y_zero_point)
        fused                       the same, with the product and the sum rounded once

    round_mode: half_even, half_away from zero, half_up, or toward_zero. Returns (n, c, *spatial) of the output's dtype,
    exact. Raises TypeError for another dtype, ValueError for NaN and for bad parameters.
    Source: ONNX QuantizeLinear-25, https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html (quotient, half_even);
    PyTorch quantize_per_tensor, https://docs.pytorch.org/docs/2.13/generated/torch.quantize_per_tensor.html
    """
    x = check_image(x, (np.dtype(np.float32),))
    dtype = np.dtype(check_choice("output_dtype", output_dtype, [one.name for one in QUANTIZED_DTYPES]))
    check_choice("formula", formula, FORMULAS)
    round_whole = ROUND_MODES[check_choice("round_mode", round_mode, tuple(ROUND_MODES))]
    scale, zero_point = scales("y_scale", y_scale, x), zero_points("y_zero_point", y_zero_point, x, dtype)
    if np.isnan(x).any():
        raise ValueError("x contains NaN, which has no quantized value")
    with np.errstate(over="ignore", under="ignore"):
        number = _number_to_round(x, scale, zero_point, formula)
        whole = round_whole(number.astype(np.float64)) + (zero_point if formula in {"quotient", "reciprocal"} else 0)
    return selection_result(saturate(whole, dtype), np.ones((), np.int64))


def _number_to_round(x: Array, scale: Array, zero_point: Array, formula: str) -> Array:
    """Return the number of a formula that is rounded to a whole number, in float32."""
    if formula == "fused":
        return round_product_and_sum(x, np.float32(1) / scale, zero_point)
    number: Array = x / scale if formula.startswith("quotient") else x * (np.float32(1) / scale)
    return number + zero_point.astype(np.float32) if formula.endswith("_plus_zero_point") else number


def round_product_and_sum(x: Array, factor: Array, zero_point: Array) -> Array:
    """Return x · factor + zero_point rounded once to float32.

    The product is exact in float64. The sum is rounded to odd there: rounding it again to float32 is then correct.
    Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd", IEEE Transactions on Computers 57 (2008), 462-471
    """
    product, added = x.astype(np.float64) * factor, zero_point.astype(np.float64)
    total = product + added
    with np.errstate(invalid="ignore"):  # infinities
        rest = total - product
        error = (product - (total - rest)) + (added - rest)
    inexact = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
    total = np.where(inexact, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    fused: Array = total.astype(np.float32)
    return fused


@operator
def dequantize(x: npt.ArrayLike, x_scale: float | Sequence[float], x_zero_point: int | Sequence[int] = 0) -> Exact:
    """Subtract a zero point, and multiply by a scale.

    x: (n, c, *spatial) of int8 or uint8. x_scale, x_zero_point: a number, or one for each channel; the scale is rounded
    to float32, and the zero point is a number of the dtype of x. Returns (n, c, *spatial) of float32: the product
    (x − x_zero_point) · x_scale rounded once, without any tolerance. Raises TypeError for another dtype, ValueError for
    bad parameters. Source: ONNX DequantizeLinear-25, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
    """
    x = check_image(x, QUANTIZED_DTYPES)
    scale, zero_point = scales("x_scale", x_scale, x), zero_points("x_zero_point", x_zero_point, x, x.dtype)
    # The difference has 9 bits and the scale 24, so the product is exact in float64.
    with np.errstate(over="ignore"):
        product = ((x.astype(np.int64) - zero_point) * scale.astype(np.float64)).astype(np.float32)
    return selection_result(product, np.ones((), np.int64))


@operator
def quantized_avg_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    count_include_pad: bool = False,
    divisor: int | None = None,
    x_zero_point: int = 0,
    round_mode: str = "half_even",
    formula: str = "quotient",
) -> Exact:
    """Average the differences to a zero point in each window, round, and add the zero point.

    x: (n, c, *spatial) of int8 or uint8. The output has the scale and the zero point z of x, so the scale does not
    matter. With the sum S of x − z over the window, and the number n of cells, or the divisor, the formula of quantize
    is applied to S and the scale n, in float32: round(S / n) + z for quotient. Padding is z, so it adds 0 to the sum.
    Other parameters as in avg_pool. A window without a real cell gives z. Returns (n, c, *output) in the dtype of x,
    exact. Raises ValueError for bad parameters. Source: PyTorch avg_pool2d of a quantized tensor,
    https://docs.pytorch.org/docs/2.13/generated/torch.ao.nn.quantized.functional.avg_pool2d.html
    """
    x = check_image(x, QUANTIZED_DTYPES)
    check_choice("formula", formula, FORMULAS)
    round_whole = ROUND_MODES[check_choice("round_mode", round_mode, tuple(ROUND_MODES))]
    if is_sequence(x_zero_point):
        raise ValueError(f"x_zero_point {x_zero_point!r} must be one number")
    zero_point = zero_points("x_zero_point", x_zero_point, x, x.dtype)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    divisors = np.maximum(window_divisors(windows, count_include_pad, divisor), 1).astype(np.float32)
    # Sums of 2 ** 24 and more would be rounded before the division.
    totals = fold_windows(x.astype(np.int64) - zero_point, windows, np.add, 0)
    if np.abs(totals).max(initial=0) > MAX_EXACT_SUM:
        raise ValueError(f"window {windows.window} has a sum of more than {MAX_EXACT_SUM}, which float32 rounds")
    number = _number_to_round(totals.astype(np.float32), divisors, zero_point, formula)
    whole = round_whole(number.astype(np.float64)) + (zero_point if formula in {"quotient", "reciprocal"} else 0)
    return selection_result(saturate(whole, x.dtype), lambda: windows.counts(False))


def saturate(whole: Array, dtype: DType) -> Array:
    """Return whole numbers, or infinities, in an integer dtype; those beyond its range become its limits."""
    limits = np.iinfo(dtype)
    limited: Array = np.clip(whole, limits.min, limits.max).astype(dtype)
    return limited


def scales(name: str, scale: float | Sequence[float], x: Array) -> Array:
    """Return a scale in float32, or the scales of all channels in an array that broadcasts over x.

    Raises ValueError unless each one is a positive normal number of float32, and there is one for each channel.
    """
    given = _per_channel(name, scale, x)
    for number in given.ravel().tolist():
        if isinstance(number, (bool, str)) or not isinstance(number, (int, float, np.number)):
            raise TypeError(f"{name} {number!r} must be a number")
        if not LEAST_SCALE <= number <= float(np.finfo(np.float32).max):
            raise ValueError(f"{name} {number!r} must be a positive normal number of float32")
    rounded: Array = given.astype(np.float32)
    return rounded


def zero_points(name: str, zero_point: int | Sequence[int], x: Array, dtype: DType) -> Array:
    """Return a zero point in int64, or those of all channels in an array that broadcasts over x.

    Raises ValueError unless each one is a number of the dtype, and there is one for each channel.
    """
    given, limits = _per_channel(name, zero_point, x), np.iinfo(dtype)
    for number in given.ravel().tolist():
        if not limits.min <= parse_integer(name, number, None) <= limits.max:
            raise ValueError(f"{name} {number} must be from {limits.min} to {limits.max}, the range of {dtype}")
    whole: Array = given.astype(np.int64)
    return whole


def _per_channel(name: str, value: object, x: Array) -> Array:
    """Return a number, or the numbers of all channels, as an array of objects that broadcasts over x."""
    if not is_sequence(value):
        return np.array(value, object)
    listed = list(value)  # type: ignore[call-overload]
    if len(listed) != x.shape[1]:
        entries = f"{name} {value!r} has {len(listed)} entries"
        raise ValueError(f"{entries}: expected {x.shape[1]}, one for each channel")
    numbers = np.empty(len(listed), object)
    # One by one, so that a nested list is one entry, which is no number.
    for place, number in enumerate(listed):
        numbers[place] = number
    return numbers.reshape(-1, *(1,) * (x.ndim - 2))
