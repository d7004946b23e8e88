"""Rounding once, to nearest even, and being certain of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from reference.arguments import FLOAT_DTYPES, Array, DType
from reference.arithmetic.errorfree import FloatPair, all_finite, is_zero_array, two_sum

Position = tuple[int, ...]
# As np.nonzero() gives them.
Positions = tuple[Array, ...]


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating format: digits of the significand, and exponents of the least and greatest normal.

    Not read from np.finfo, whose subnormals depend on the flush mode that some libraries switch on.
    Source: IEEE 754-2019, table 3.5; bfloat16: https://github.com/jax-ml/ml_dtypes
    """

    precision: int
    min_exponent: int
    max_exponent: int

    @property
    def unit_roundoff(self) -> float:
        """u: the largest relative error of rounding to nearest."""
        return 2.0**-self.precision

    @property
    def smallest_normal(self) -> float:
        """The least positive number with a full significand."""
        return 2.0**self.min_exponent

    @property
    def smallest_subnormal(self) -> float:
        """The least positive number, and the spacing of the subnormals."""
        return math.ldexp(1.0, self.quantum)

    @property
    def quantum(self) -> int:
        """Exponent of the smallest subnormal."""
        return self.min_exponent - self.precision + 1


FLOAT_FORMATS: dict[DType, FloatFormat] = {
    np.dtype(np.float16): FloatFormat(11, -14, 15),
    np.dtype(ml_dtypes.bfloat16): FloatFormat(8, -126, 127),
    np.dtype(np.float32): FloatFormat(24, -126, 127),
    np.dtype(np.float64): FloatFormat(53, -1022, 1023),
}


def format_of(dtype: Any) -> FloatFormat:
    """Return the format of a floating dtype. Raise TypeError with the accepted dtypes for any other."""
    key = np.dtype(dtype)
    if key not in FLOAT_FORMATS:
        raise TypeError(f"{key} is no floating dtype: accepted are {', '.join(map(str, FLOAT_DTYPES))}")
    return FLOAT_FORMATS[key]


def round_to(fraction: Fraction, dtype: Any) -> Any:
    """Round a rational to the nearest number of a floating dtype, ties to even.

    Beyond the greatest number by half a unit or more: infinity. Zero is +0, a negative underflow −0.
    """
    form = format_of(dtype)
    kind = np.dtype(dtype).type
    size = abs(fraction)
    if size == 0:
        return kind(0.0)
    quantum = max(_binary_exponent(size) - form.precision + 1, form.quantum)
    steps = round(size / Fraction(2) ** quantum)
    finite = steps < 2 ** (form.max_exponent + 1 - quantum)
    rounded = math.ldexp(steps, quantum) if finite else math.inf
    return kind(-rounded if fraction < 0 else rounded)


def _binary_exponent(positive: Fraction) -> int:
    """Return the e with 2**e <= positive < 2**(e + 1)."""
    guess = positive.numerator.bit_length() - positive.denominator.bit_length()
    return guess if positive >= Fraction(2) ** guess else guess - 1


def rational_to_pair(fraction: Fraction) -> tuple[float, float]:
    """Return a rational as high + low, each rounded to float64; infinite if it is beyond float64."""
    high = float(round_to(fraction, np.float64))
    return (high, 0.0) if math.isinf(high) else (high, float(round_to(fraction - Fraction(high), np.float64)))


def round_pair(high: Array, low: Array, dtype: DType) -> Array:
    """Round high + low, both finite float64, to a floating dtype, once and to nearest even.

    By rounding to odd first where two roundings are needed: a result rounded to odd with two digits to spare rounds
    on as if it were exact. Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
    algorithms using rounding to odd", IEEE Transactions on Computers 57 (2008).
    """
    if dtype == np.float64:
        return high + low
    total, rest = two_sum(high, low)
    odd = _round_to_odd(total, rest)
    if dtype != ml_dtypes.bfloat16:
        return odd.astype(dtype)
    # ml_dtypes goes from float64 to bfloat16 by way of float32.
    single = odd.astype(np.float32)
    return _round_to_odd(single, odd - single).astype(dtype)


def _round_to_odd(rounded: Array, rest: Array) -> Array:
    """Turn round-to-nearest into round-to-odd, given the rounding error: choose the odd one of the two neighbours."""
    inexact = rest != 0
    if not inexact.any():
        return rounded
    bits = rounded.view(f"int{8 * rounded.dtype.itemsize}")
    step = np.where(np.signbit(rest) == np.signbit(rounded), 1, -1).astype(bits.dtype)
    odd: Array = np.where(inexact & (bits & 1 == 0), bits + step, bits).view(rounded.dtype)
    return odd


def round_certainly(
    pair: FloatPair,
    dtype: DType,
    exactly: Callable[[Position], Fraction],
    refine: Callable[[Positions], FloatPair] | None = None,
) -> tuple[Array, Array, Array]:
    """Round a pair with an error to a floating dtype so that every element is certain.

    An element whose two ends high + low ± error round apart, or that left the range of float64 on the way, is
    computed again by exactly(position), which returns a rational that rounds like the exact result. Before that
    closer(positions) may return some elements with a smaller error. Returns (value, high, low).
    """
    with np.errstate(all="ignore"):
        if dtype == np.float32:
            value, near = _round_to_float32(pair)
        else:
            value, near = round_pair(pair.high, pair.low, dtype), _nonzero_positions(_uncertain_positions(pair, dtype))
        if not near[0].size:
            return value, pair.high, pair.low
        some = refine(near) if refine else pair.at(near)
        value[near] = round_pair(some.high, some.low, dtype)
        doubtful = _uncertain_positions(some, dtype)
    high, low = np.array(pair.high), np.array(pair.low)
    for position in zip(*(axis[doubtful].tolist() for axis in near), strict=True):
        fraction = exactly(position)
        value[position] = round_to(fraction, dtype)
        high[position], low[position] = rational_to_pair(fraction)
    return value, high, low


def _nonzero_positions(mask: Array) -> Positions:
    """Return np.nonzero(); over the flat array it is several times as fast."""
    return np.unravel_index(np.flatnonzero(mask), mask.shape)


def _round_to_float32(pair: FloatPair) -> tuple[Array, Positions]:
    """Round to float32, and return where both ends round apart.

    Rounding is monotone: if two numbers round to the same value, so does every number between them. No other dtype is
    worth it, and
    bfloat16, to which the hardware rounds twice, would be wrong.
    """
    if is_zero_array(pair.error) and is_zero_array(pair.low) and all_finite(pair.high):
        return pair.high.astype(np.float32), _nonzero_positions(np.zeros(1, bool))
    # Twice what rounding an end can take, and slack for the roundings here.
    spread = np.abs(pair.high)
    spread *= 2.0**-52
    for part in (pair.error, pair.low):
        if not is_zero_array(part):
            spread += np.abs(part)
    spread *= 1 + 2.0**-40
    value, other = (pair.high - spread).astype(np.float32), np.add(pair.high, spread, out=spread).astype(np.float32)
    apart = value.view(np.int32) != other.view(np.int32)
    apart |= ~np.isfinite(value)
    return value, _nonzero_positions(apart)


def _uncertain_positions(pair: FloatPair, dtype: DType) -> Array:
    unusable: Array = ~np.isfinite(pair.high + pair.low + pair.error)
    if not pair.error.any():
        return unusable
    below = np.where(pair.error > 0, np.nextafter(pair.low - pair.error, -np.inf), pair.low)
    above = np.where(pair.error > 0, np.nextafter(pair.low + pair.error, np.inf), pair.low)
    bits = f"int{8 * dtype.itemsize}"
    apart: Array = round_pair(pair.high, below, dtype).view(bits) != round_pair(pair.high, above, dtype).view(bits)
    return unusable | apart
