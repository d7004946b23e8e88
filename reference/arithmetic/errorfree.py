"""Error-free transformations: float64 arithmetic that returns its rounding errors.

Sources: Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM Journal on Scientific Computing 26 (2005);
Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications", Numerical Algorithms 59 (2012), for the cutting into slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reference.arguments import Array

# Bits of the significand of a float64.
FLOAT64_DIGITS = 53
# Inputs with a larger exponent may overflow in an intermediate result, so rational arithmetic is used for them.
MAX_SAFE_EXPONENT = 970
# Largest underflow error of a float64 product of two parts, or of its error term; see Boldo, "Pitfalls of a full
# floating-point proof: example on the formal proof of the Veltkamp/Dekker algorithms" (2006): 7/2 subnormals.
UNDERFLOW_ERROR = 2.0**-1072
# Whole numbers below this fit into half a significand.
SHORT_LIMIT = 2**26


@dataclass(frozen=True, eq=False)
class FloatPair:
    """A number known as high + low, with an absolute error of at most `error`; float64 arrays of one shape."""

    high: Array
    low: Array
    error: Array

    def with_zeros(self, where: Array) -> FloatPair:
        """Return the pair with a certain 0 in some places."""
        return FloatPair(*(np.where(where, 0.0, part) for part in (self.high, self.low, self.error)))

    def at(self, where: tuple[Array, ...]) -> FloatPair:
        """Return the elements at some positions, as np.nonzero() gives them."""
        return FloatPair(self.high[where], self.low[where], self.error[where])


def to_float64(x: Array) -> Array:
    """Return x in float64, which represents every value of the other dtypes. A signalling NaN becomes a quiet one."""
    with np.errstate(invalid="ignore"):
        wide: Array = x.astype(np.float64)
    return wide


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and what rounding dropped; exact unless the sum overflows (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded product and what rounding dropped, but for UNDERFLOW (Veltkamp and Dekker)."""
    product = a * b
    a_high, a_low = _split_halves(a)
    b_high, b_low = _split_halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _two_product_short(a: Array, b: Array) -> tuple[Array, Array]:
    """Return two_product where b is whole numbers below SHORT, whose low halves are 0: the same bits in less time."""
    product = a * b
    a_high, a_low = _split_halves(a)
    return product, a_low * b - (product - a_high * b)


def _split_halves(a: Array) -> tuple[Array, Array]:
    shifted = a * (2.0**27 + 1)
    high = shifted - (shifted - a)
    return high, a - high


def zero_array(shape: tuple[int, ...]) -> Array:
    """Return zeros that take no memory, and that is_nothing() knows without a look."""
    return np.broadcast_to(0.0, shape)


def is_zero_array(x: Array) -> bool:
    """Return whether an array comes from nothing()."""
    return x.ndim > 0 and x.size > 0 and not any(x.strides) and not x.flat[0]


def add_parts(parts: Iterable[Array], shape: tuple[int, ...], lost: float = 0.0) -> FloatPair:
    """Add float64 arrays of one shape; `lost` bounds what they themselves lack."""
    # The first part is added too: it turns −0 into +0.
    high, low, error = zero_array(shape), zero_array(shape), np.broadcast_to(lost, shape)
    for part in parts:
        if is_zero_array(high):
            high = part + 0.0
            continue
        high, rest = two_sum(high, part)
        if is_zero_array(low):
            low = rest if rest.any() else low
        elif rest.any():
            low, dropped = two_sum(low, rest)
            error = error + np.abs(dropped) * (1 + 2.0**-40)
    return FloatPair(high, low, error) if is_zero_array(low) else FloatPair(*two_sum(high, low), error)


def divide_pair(pair: FloatPair, divisor: Array) -> FloatPair:
    """Divide a pair by positive whole numbers below 2**53, float64."""
    if not (divisor != 1).any():
        return pair
    if (np.frexp(divisor)[0] == 1 / 2).all():
        return _divide_by_powers_of_two(pair, divisor)
    times = _two_product_short if divisor.max() < SHORT_LIMIT else two_product
    high = pair.high / divisor
    product, dropped = times(high, divisor)
    rest, lost = two_sum((pair.high - product) - dropped, pair.low)
    low = rest / divisor
    product, dropped = times(low, divisor)
    left = np.abs((rest - product) - dropped) + np.abs(lost) + pair.error
    # An error of the least subnormal, divided, is not 0; and near the subnormals the remainders themselves round.
    small = (left != 0) | ((pair.high != 0) & (np.abs(pair.high) < 2.0**-850))
    tiny = np.where(small, 4 * UNDERFLOW_ERROR, 0.0)
    return FloatPair(*two_sum(high, low), left / divisor * (1 + 2.0**-40) + tiny)


def _divide_by_powers_of_two(pair: FloatPair, divisor: Array) -> FloatPair:
    """Divide a pair by powers of two, float64. Only a subnormal quotient may be inexact."""
    high, low = pair.high / divisor, pair.low / divisor
    is_exact = (high * divisor == pair.high) & (low * divisor == pair.low) & (pair.error == 0)
    if is_exact.all():
        return FloatPair(high, low, zero_array(high.shape))
    error = pair.error / divisor * (1 + 2.0**-40) + 4 * UNDERFLOW_ERROR
    return FloatPair(high, low, np.where(is_exact, 0.0, error))


def divide_sums(sums: Array, divisor: Array) -> FloatPair:
    """Divide exact sums by positive whole numbers, but for one rounding, which powers of two have not.

    Only for sums of numbers narrower than float64, whose quotients do not underflow.
    """
    high = sums / divisor
    rounds = np.frexp(divisor)[0] != 1 / 2
    return FloatPair(
        high, zero_array(high.shape), np.abs(high) * (rounds * 2.0**-53) if rounds.any() else zero_array(high.shape)
    )


def exact_sum(numbers: Sequence[float]) -> Fraction:
    """Add floats exactly: round their sum, subtract it, and repeat with the remainder until it is zero."""
    parts: list[float] = []
    try:
        while part := math.fsum([*numbers, *parts]):
            parts.append(-part)
    except OverflowError:
        return sum(map(Fraction, numbers), Fraction(0))
    return -sum(map(Fraction, parts), Fraction(0))


def all_finite(x: Array) -> bool:
    """Return whether no element is NaN or infinite, without an array of flags."""
    return math.isfinite(x.max(initial=0.0)) and math.isfinite(x.min(initial=0.0))


def with_finite_only(wide: Array) -> Array:
    """Return a copy with 0 for every element that is not finite."""
    return wide if all_finite(wide) else np.where(np.isfinite(wide), wide, 0.0)


def magnitude_exponent(x: Array) -> int | None:
    """Return an e with |x| < 2**e for all elements, or None if x is empty or contains only zeros."""
    greatest = max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
    return math.frexp(greatest)[1] if greatest else None


def power_of_two_above(x: Array) -> float:
    """Return a power of two above |x| everywhere, or 0 if x is zero throughout (or empty)."""
    exponent = magnitude_exponent(x)
    return 0.0 if exponent is None else math.ldexp(1.0, exponent)


def split_into_slices(x: Array, width: int, most: int) -> tuple[list[Array], float]:
    """Cut a finite float64 array into slices that add up to it, each on a grid of its own.

    A slice is whole multiples of one power of two, at most 2**width of them, so that sums of 2**(53 - width) of its
    elements are exact in any order. Returns at most `most` slices, the greatest first, and a bound on the absolute
    value of what they leave.
    """
    slices, rest = [], x
    for part, rest in iterate_slices(x, width, most):  # noqa: B007  (what the last one leaves)
        slices.append(part)
    return slices, power_of_two_above(rest)


def iterate_slices(x: Array, width: int, most: int, *, consume: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield the slices of cut() one after the other, each with the remainder after it, so that no slice must be stored.

    consume: whether x may be overwritten with the remainder.
    """
    rest = x
    for count in range(most):
        exponent = magnitude_exponent(rest)
        if exponent is None:
            return
        # Adding and taking away this constant rounds to multiples of 2**(exponent - width).
        anchor = math.ldexp(1.5, exponent - width + FLOAT64_DIGITS - 1)
        part = rest + anchor
        part -= anchor
        rest = np.subtract(rest, part, out=rest if consume or count else None)
        yield part, rest
