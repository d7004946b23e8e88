"""Sums of elements with rational weights that are products over the axes, exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from reference.arguments import Array
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import (
    FLOAT64_DIGITS,
    MAX_SAFE_EXPONENT,
    FloatPair,
    add_parts,
    all_finite,
    divide_pair,
    magnitude_exponent,
    split_into_slices,
    to_float64,
    two_product,
    two_sum,
    with_finite_only,
)
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.rounding import Position
from reference.arithmetic.sums import MAX_SLICE_WIDTH, MAX_SUM_SLICES, MIN_SLICE_WIDTH
from reference.geometry.axis_weights import AxisWeights

# (cells, coefficients) of one axis, both (output, taps).
AxisMap = tuple[Array, Array]


def gather(x: Array, maps: Sequence[AxisMap]) -> Array:
    """Return for each output cell the sum of the cells it reads, times their coefficients. x: (n, c, *spatial).

    The last axis is first: its cells are read one by one, those of the others in rows.
    """
    for axis, (cells, coefficients) in reversed([*enumerate(maps, 2)]):
        shape = (-1, *(1,) * (x.ndim - axis - 1))
        (cell, factor), *others = zip(cells.T, coefficients.T, strict=True)
        total = np.take(x, cell, axis)
        total *= factor.reshape(shape)
        part = np.empty_like(total)
        for cell, factor in others:
            # Cells are never beyond an end: the mode "clip" only avoids a copy of the part.
            np.take(x, cell, axis, out=part, mode="clip")
            part *= factor.reshape(shape)
            total += part
        x = total
    return x


def gather_pairs(x: Array, axes: Sequence[AxisWeights]) -> tuple[Array, Array]:
    """Return gather(x) with the weights of the axes, as pairs (high, low) whose sums are off by at most _pair_error.

    Weights, products and sums of terms are pairs of float64, too.
    """
    high, low = x, np.zeros_like(x)
    for number, axis in reversed([*enumerate(axes, 2)]):
        shape = (-1, *(1,) * (x.ndim - number - 1))
        extents = (*x.shape[:number], len(axis.cells), *high.shape[number + 1 :])
        total, rest = np.zeros(extents), np.zeros(extents)
        for cell, *weight in zip(axis.cells.T, axis.weights.T, axis.weight_remainders.T, strict=True):
            factor, short = (part.reshape(shape) for part in weight)
            element = high.take(cell, number)
            product, dropped = two_product(element, factor)
            dropped += element * short + low.take(cell, number) * factor
            total, lost = two_sum(total, product)
            rest += lost + dropped
        high, low = two_sum(total, rest)
    return high, low


def _pair_error(axes: Sequence[AxisWeights]) -> float:
    """Return the largest error of gather_pairs, relative to the sum S of the absolute values of the terms.

    u is 2**-53, T the number of cells that an output cell reads on one axis, and B the part of S on this axis.

    1. A term x · w is off by at most 12u²|x||w|: the weight by u², the product of the two remainders by u², the
       products with one remainder by u² each, and the two additions of numbers of at most 3u by 6u². Two u² are slack.
    2. Each addition of a term adds a remainder of at most uB and one of at most 3uB, and adds both to a sum of at most
       (T + 3)uB. These are off by at most 4u²B and (T + 3)u²B.

    So an axis is off by at most (T(T + 7) + 12)u²B < (T + 4)²u²B. A factor of 4 covers the terms of higher order, and
    the product over the axes.
    """
    taps = (int(axis.cells.shape[1]) for axis in axes)
    return 4.0 * sum((count + 4) ** 2 for count in taps) * 2.0**-106


def exact_weighted_sums(x: Array, axes: Sequence[AxisWeights], *, transposed: bool, unit: float) -> Exact:
    """Return gather(x) with the weights of the axes, or its transpose, exact.

    x: (n, c, *spatial), floating. A weight of 0 is no term, not even of an infinity. n counts the terms that a kernel
    may add, those with a weight of 0 too. S is Σ Πw'·|x| with the largest weights w' that a kernel may compute, and
    the extra error Σ |Πw' − Πw|·|x|, see reference.geometry.axis_weights. unit: the unit roundoff of the axes' errors.
    """
    if transposed:
        axes = [axis.transposed() for axis in axes]
    wide = to_float64(x)
    with np.errstate(all="ignore"):
        special = None if all_finite(wide) else _special_sums(wide, axes)
        wide = with_finite_only(wide)
        magnitude, extra = _magnitude_and_extra(np.abs(wide), axes, unit)
        pair = _weighted_pairs(wide, axes, magnitude)
        terms = math.prod(np.ix_(*(axis.terms for axis in axes)), start=np.ones((), np.int64))
        terms = np.broadcast_to(terms, magnitude.shape)
    return round_result(
        pair, x.dtype, _exact_at(wide, axes), special=special, terms=terms, magnitude=magnitude, extra=extra
    )


def _growth(axes: Sequence[AxisWeights]) -> int:
    """Return a bound on the sum of the absolute numerators that one result adds."""
    return math.prod(int(max(np.abs(axis.numerators).sum(axis=1), default=1)) or 1 for axis in axes)


def _weighted_pairs(wide: Array, axes: Sequence[AxisWeights], magnitude: Array) -> FloatPair:
    """Return the sums, from exact slices if numerators and denominators are short.

    Then slices of the elements are so short that any order of adding is exact, and their sums are divided.
    """
    shape = magnitude.shape
    if any(axis.denominators.size > len(axis.denominators) for axis in axes):
        return _rounded_pairs(wide, axes, magnitude)
    growth, denominators = _growth(axes), [axis.denominators[:, 0] for axis in axes]
    largest = math.prod(int(max(one, default=1)) for one in denominators)
    width = min(FLOAT64_DIGITS - growth.bit_length(), MAX_SLICE_WIDTH)
    is_safe = (magnitude_exponent(wide) or 0) + growth.bit_length() <= MAX_SAFE_EXPONENT
    if width < MIN_SLICE_WIDTH or not is_safe or largest.bit_length() > FLOAT64_DIGITS - 1:
        return _rounded_pairs(wide, axes, magnitude)
    maps = [(axis.cells, axis.numerators.astype(np.float64)) for axis in axes]
    slices, rest = split_into_slices(wide, width, MAX_SUM_SLICES)
    totals = add_parts([gather(part, maps) for part in slices], shape, growth * rest)
    divisors = np.ix_(*[one.astype(np.float64) for one in denominators])
    return divide_pair(totals, math.prod(divisors, start=np.ones(())))


def _rounded_pairs(wide: Array, axes: Sequence[AxisWeights], magnitude: Array) -> FloatPair:
    """Return the sums from weights as pairs of float64. If a number is tiny or huge, the errors are infinite."""
    sizes = np.abs(wide[wide != 0])
    if not ((sizes >= SMALLEST_ROUNDED) & (sizes <= 1 / SMALLEST_ROUNDED)).all():
        return add_parts([], magnitude.shape, np.inf)
    return FloatPair(*gather_pairs(wide, axes), magnitude * _pair_error(axes))


# The product of such an element and up to four weights, and its remainders, are in the range of float64.
SMALLEST_ROUNDED = 2.0**-400


def _exact_at(wide: Array, axes: Sequence[AxisWeights]) -> Callable[[Position], Fraction]:
    """Return a function that computes the exact sum at a position from fractions."""

    def exactly(position: Position) -> Fraction:
        rows = zip(axes, position[2:], strict=True)
        return _weighted_sum(wide[position[:2]], [axis.weights_of(row) for axis, row in rows])

    return exactly


def _weighted_sum(x: Array, weights: Sequence[Mapping[int, Fraction]]) -> Fraction:
    """Return the sum of the elements of x times the weights of their cells, one mapping for each axis."""
    if not weights:
        return Fraction(float(x))
    first, *others = weights
    return sum((weight * _weighted_sum(x[cell], others) for cell, weight in first.items()), Fraction(0))


def _magnitude_and_extra(sizes: Array, axes: Sequence[AxisWeights], unit: float) -> tuple[Array, Array]:
    """Return Σ Π(|w| + e)·|x|, and Σ (Π(|w| + e) − Π|w|)·|x| in unit roundoffs.

    The difference is written as a sum over the axes: e on one axis, |w| + e on those before and |w| on those after.
    """
    exact = [(axis.cells, np.abs(axis.weights)) for axis in axes]
    errors = [(axis.near, axis.errors) for axis in axes]
    largest = [
        (np.concatenate([cells, near], axis=1), np.concatenate([weights, error], axis=1))
        for (cells, weights), (near, error) in zip(exact, errors, strict=True)
    ]
    parts = [gather(sizes, [*largest[:axis], errors[axis], *exact[axis + 1 :]]) for axis in range(len(axes))]
    slack = ROUNDING_SLACK + 2.0**-30
    return gather(sizes, largest) * slack, sum(parts) / unit * slack  # type: ignore[return-value]


def _special_sums(wide: Array, axes: Sequence[AxisWeights]) -> Array:
    """Return the sums that are not finite, and 0 in the other elements."""
    signs = [(axis.cells, np.sign(axis.weights)) for axis in axes]
    is_read = [(cells, np.abs(sign)) for cells, sign in signs]
    infinite = np.where(np.isinf(wide), np.sign(wide), 0.0)
    count, balance = gather(np.abs(infinite), is_read), gather(infinite, signs)
    is_nan = (gather(np.isnan(wide).astype(np.float64), is_read) > 0) | ((count > 0) & (np.abs(balance) < count))
    return np.where(is_nan, np.nan, np.where(count > 0, np.copysign(np.inf, balance), 0.0))
