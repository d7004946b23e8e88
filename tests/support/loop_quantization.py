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
