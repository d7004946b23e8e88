"""Exact sums through any map that does nothing but add, or multiply once and add.

Gradients of window operators are such maps: each cell of the input collects the gradients of the windows it is in.
The map is handed over as a function, and used on short slices of its arguments (where float64 arithmetic is exact),
on absolute values, on ones (which counts terms) and, for the rare uncertain element, on Python's integers.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np

from reference.arguments import Array
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import (
    FLOAT64_DIGITS,
    MAX_SAFE_EXPONENT,
    UNDERFLOW_ERROR,
    FloatPair,
    add_parts,
    all_finite,
    divide_pair,
    magnitude_exponent,
    split_into_slices,
    to_float64,
    with_finite_only,
    zero_array,
)
from reference.arithmetic.exact import Exact, round_result, selection_result
from reference.arithmetic.rounding import Position, Positions

LinearMap: TypeAlias = Callable[[Array], Array]
BilinearMap: TypeAlias = Callable[[Array, Array], Array]

# Maximum number of slices of a term and of a factor. An element that needs more is computed in integers, so these
# numbers affect only the speed.
MAX_SUM_SLICES = 8
MAX_FACTOR_SLICES = 6
# Width of a slice in bits. They affect only the speed.
MAX_SLICE_WIDTH = 50
MIN_SLICE_WIDTH = 8

# Every float64 is a whole multiple of 2**-SHIFT.
INTEGER_SHIFT_BITS = 1074

# Products of numbers of 53 digits whose exponents add up to less than this have digits below the subnormals.
MIN_EXPONENT = 2 * FLOAT64_DIGITS - INTEGER_SHIFT_BITS


def exact_sums(x: Array, add: LinearMap, divisors: Array | None = None) -> Exact:
    """Return add(x / divisors), exact.

    x: of a floating dtype. add: any sum of elements of its argument, for any dtype; it may drop, repeat
    and move them. divisors: positive whole numbers, to be broadcast to x's shape. Infinities and NaN add as in IEEE
    arithmetic. n counts the terms and S adds their absolute values, after the division. Sums of one term at most,
    undivided, are selections: their bound is 0.
    """
    wide = to_float64(x)
    numbers = np.ones((), np.int64) if divisors is None else divisors
    with np.errstate(all="ignore"):
        terms = add(np.ones(x.shape)).astype(np.int64)
        special = None
        if not all_finite(wide):
            special = add(np.where(np.isfinite(wide), 0.0, wide))
            wide = with_finite_only(wide)
        pair = _sum_pairs(wide, add, numbers, terms)
        magnitude = add(np.abs(wide) / numbers) * (ROUNDING_SLACK + terms * 2.0**-52)
    exact = round_result(
        pair, x.dtype, _exact_sum_at(wide, add, numbers), special=special, terms=terms, magnitude=magnitude
    )
    return selection_result(exact.value, terms) if divisors is None and terms.max(initial=0) <= 1 else exact


def _sum_pairs(wide: Array, add: LinearMap, divisors: Array, terms: Array) -> FloatPair:
    """Add exactly, over a common denominator: cut into slices so short that any order of adding is exact."""
    denominator = common_multiple(divisors)
    most = int(terms.max(initial=1))
    width = min(FLOAT64_DIGITS - most.bit_length() - denominator.bit_length(), MAX_SLICE_WIDTH)
    if width < MIN_SLICE_WIDTH or (magnitude_exponent(wide) or 0) + denominator.bit_length() > MAX_SAFE_EXPONENT:
        return add_parts([], terms.shape, np.inf)
    slices, rest = split_into_slices(wide, width, MAX_SUM_SLICES)
    shares = (denominator // divisors).astype(np.float64)
    totals = add_parts([add(part * shares) for part in slices], terms.shape, most * rest * denominator)
    return divide_pair(totals, np.array(float(denominator)))


def common_multiple(divisors: Array) -> int:
    """Return the least common multiple."""
    return math.lcm(*map(int, np.unique(divisors)))


def _exact_sum_at(wide: Array, add: LinearMap, divisors: Array) -> Callable[[Position], Fraction]:
    """Return a function that gives the exact sum at a position, from integers over one common denominator."""
    denominator = common_multiple(divisors)

    @cache
    def totals() -> Array:
        return add(as_scaled_integers(wide) * (denominator // divisors.astype(object)))

    def exactly(position: Position) -> Fraction:
        return Fraction(int(totals()[position]), denominator << INTEGER_SHIFT_BITS)

    return exactly


def as_scaled_integers(wide: Array) -> Array:
    """Return finite float64 numbers times 2**SHIFT, as Python's integers."""
    ratios = (number.as_integer_ratio() for number in wide.ravel().tolist())
    integers = np.empty(wide.size, dtype=object)
    integers[:] = [(numerator << INTEGER_SHIFT_BITS) // denominator for numerator, denominator in ratios]
    return integers.reshape(wide.shape)


def exact_products(a: Array, b: Array, multiply: BilinearMap) -> Exact:
    """Return multiply(a, b), exact.

    a, b: of one floating dtype. multiply: any sum of products of an element of a and one of b, for any dtype
    they are, with np.matmul or without. A product 0 · inf is NaN. n counts the products, S adds their absolute
    values.
    """
    dtype = a.dtype
    a, b = to_float64(a), to_float64(b)
    with np.errstate(all="ignore"):
        terms = multiply(np.ones(a.shape), np.ones(b.shape)).astype(np.int64)
        special = None
        if not (all_finite(a) and all_finite(b)):
            special = multiply(finite_signs(a), finite_signs(b))
            a, b = with_finite_only(a), with_finite_only(b)
        magnitude = multiply(np.abs(a), np.abs(b)) * (ROUNDING_SLACK + terms * 2.0**-52)
        if dtype == np.float64:
            pair = _product_sums(a, b, multiply, terms)
        else:
            # Products of narrower numbers are exact, and no term passes through more additions than there are terms.
            total = multiply(a, b) + 0.0
            pair = FloatPair(total, zero_array(total.shape), magnitude * (terms * 2.0**-53))

    def closer(where: Positions) -> FloatPair:
        return _product_sums(a, b, multiply, terms).at(where)

    @cache
    def totals() -> Array:
        return multiply(as_scaled_integers(a), as_scaled_integers(b))

    def exactly(position: Position) -> Fraction:
        return Fraction(int(totals()[position]), 1 << 2 * INTEGER_SHIFT_BITS)

    further = None if dtype == np.float64 else closer
    return round_result(pair, dtype, exactly, special=special, terms=terms, magnitude=magnitude, closer=further)


def finite_signs(x: Array) -> Array:
    """Reduce finite numbers to −1, 0 and 1, so that a sum of products is not finite only where it must not be."""
    return np.where(np.isfinite(x), np.sign(x), x)


def _product_sums(a: Array, b: Array, multiply: BilinearMap, terms: Array) -> FloatPair:
    """Add exactly: cut both factors into slices short enough that any order of any multiplication is exact."""
    exponents = [magnitude_exponent(factor) or 0 for factor in (a, b)]
    if max(*exponents, sum(exponents)) > MAX_SAFE_EXPONENT:
        return add_parts([], terms.shape, np.inf)
    most = int(terms.max(initial=1))
    width = (FLOAT64_DIGITS - most.bit_length()) // 2
    (a_slices, a_rest), (b_slices, b_rest) = (split_into_slices(factor, width, MAX_FACTOR_SLICES) for factor in (a, b))
    parts = [multiply(left, right) for left in a_slices for right in b_slices]
    lost = a_rest * 2.0 ** exponents[1] + b_rest * 2.0 ** exponents[0]
    if sum(map(smallest_exponent, (a, b))) < MIN_EXPONENT:
        lost += len(parts) * UNDERFLOW_ERROR
    return add_parts(parts, terms.shape, most * lost)


def smallest_exponent(x: Array) -> int:
    """Return an e with 2**(e − 1) <= |x| wherever x is not 0; 0 if it is everywhere."""
    sizes = np.abs(x[x != 0])
    return math.frexp(float(sizes.min()))[1] if sizes.size else 0
