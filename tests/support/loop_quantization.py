"""Quantization of one number after another with fractions, written from its documents without the reference."""

import math
from fractions import Fraction

import numpy as np

HALF = Fraction(1, 2)
WHOLE = {
    "half_even": round,
    "half_away": lambda number: math.floor(abs(number) + HALF) * (1 if number > 0 else -1),
    "half_up": lambda number: math.floor(number + HALF),
    "toward_zero": math.trunc,
}


def float32_of(exact):
    """Return the number of float32 nearest to a fraction, as a fraction; of two the one with an even last digit.

    The exponent is that of the first digit, and the digits are counted, so that no floating arithmetic is used.
    """
    if exact == 0:
        return Fraction(0)
    exponent = max(math.frexp(abs(exact.numerator) / exact.denominator)[1] - 24, -149)
    unit = Fraction(2) ** exponent
    return round(exact / unit) * unit


def number_to_round(x, scale, zero, formula):
    """Return the number that a formula rounds to a whole number, from fractions."""
    reciprocal = float32_of(1 / scale)
    if formula == "fused":
        return float32_of(x * reciprocal + zero)
    number = float32_of(x / scale if formula.startswith("quotient") else x * reciprocal)
    return float32_of(number + zero) if formula.endswith("plus_zero_point") else number


def loop_quantize(x, scale, zero, *, dtype="int8", round_mode="half_even", formula="quotient"):
    """Return the quantized numbers of a list of finite numbers."""
    limits, scale = np.iinfo(dtype), Fraction(float(np.float32(scale)))
    results = []
    for one in x:
        number = number_to_round(Fraction(float(one)), scale, zero, formula)
        whole = WHOLE[round_mode](number) + (0 if formula in ("fused",) or "plus" in formula else zero)
        results.append(min(max(whole, limits.min), limits.max))
    return results


def loop_quantized_average(x, window, stride, pads, zero, *, divisor, round_mode, formula):
    """Return the averages of one row of quantized numbers; every cell of the padded row counts."""
    limits, padded = np.iinfo(x.dtype), [zero] * pads + x.tolist() + [zero] * pads
    results = []
    for start in range(0, len(padded) - window + 1, stride):
        total = Fraction(sum(padded[start : start + window]) - window * zero)
        number = number_to_round(total, Fraction(divisor or window), zero, formula)
        whole = WHOLE[round_mode](number) + (0 if formula in ("fused",) or "plus" in formula else zero)
        results.append(min(max(whole, limits.min), limits.max))
    return results


def loop_quantized_convolution(x, kernel, bias, options, *, scales, zeros, round_mode, requantization):
    """Return the convolution of quantized numbers (n, c, *spatial), cell after cell.

    options: the stride, padding and dilation of every axis, and the groups; scales: of x, of each output channel and of
    y; zeros: the same zero points.
    """
    totals = loop_sums(x, kernel, bias, options, zeros)
    y = np.zeros(totals.shape, x.dtype)
    for n, c, *cell in np.ndindex(y.shape):
        own = [Fraction(float(np.float32(scale))) for scale in (scales[0], scales[1][c], scales[2])]
        y[(n, c, *cell)] = requantized(
            int(totals[(n, c, *cell)]), own, zeros[2], np.iinfo(x.dtype), round_mode=round_mode,
            requantization=requantization,
        )  # fmt: skip
    return y


def loop_sums(x, kernel, bias, options, zeros):
    """Return the sums of a convolution of quantized numbers, cell after cell.

    options, zeros: those of loop_quantized_convolution.
    """
    stride, padding, dilation, groups = options
    sizes = zip(x.shape[2:], kernel.shape[2:], strict=True)
    extents = [(size + 2 * padding - dilation * (window - 1) - 1) // stride + 1 for size, window in sizes]
    y = np.zeros((x.shape[0], kernel.shape[0], *extents), np.int64)
    for n, c, *cell in np.ndindex(y.shape):
        total = 0 if bias is None else int(bias[c])
        first = c // (kernel.shape[0] // groups) * kernel.shape[1]
        for k, *place in np.ndindex(kernel.shape[1:]):
            at = [i * stride + j * dilation - padding for i, j in zip(cell, place, strict=True)]
            if all(0 <= i < size for i, size in zip(at, x.shape[2:], strict=True)):
                weight = int(kernel[(c, k, *place)]) - zeros[1][c]
                total += (int(x[(n, first + k, *at)]) - zeros[0]) * weight
        y[(n, c, *cell)] = total
    return y


def requantized(total, scales, zero, limits, *, round_mode, requantization):
    """Return the number of eight bits for an exact sum; scales: fractions of x, of the weights and of y."""
    of_x, of_weights, of_y = scales
    factor, reciprocal = float32_of(float32_of(of_x * of_weights) / of_y), float32_of(1 / of_y)
    if requantization == "reciprocal":
        factor = float32_of(float32_of(of_x * of_weights) * reciprocal)
    if requantization in ("product", "reciprocal"):
        number, last = float32_of(total * factor), zero
    elif requantization == "exact":
        number, last = total * factor, zero
    elif requantization == "fused":
        number, last = float32_of(total * factor + zero), 0
    elif requantization == "float64":
        number, last = Fraction(float(total * factor + zero)), 0
    elif requantization == "fixed_point":
        mantissa, exponent = math.frexp(float(of_x) * float(of_weights) / float(of_y))
        digits = Fraction(math.floor(Fraction(mantissa) * 2**31 + HALF), 2**31)
        digits, exponent = (HALF, exponent + 1) if digits == 1 else (digits, exponent)
        high = math.floor(total * Fraction(2) ** max(exponent, 0) * digits + HALF)
        number, last = high * Fraction(2) ** min(exponent, 0), zero
    else:
        inverse = float32_of(1 / float32_of(1 / of_x))
        number = float32_of(float32_of(total * float32_of(inverse * of_weights)) * reciprocal)
        number, last = float32_of(number + zero), 0
    return min(max(WHOLE[round_mode](number) + last, limits.min), limits.max)
