"""Sums of elements with rational weights that are products over the axes, exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

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
    with_finite_only,
)
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.rounding import Position
from reference.arithmetic.sums import (
    INTEGER_SHIFT_BITS,
    MAX_SLICE_WIDTH,
    MAX_SUM_SLICES,
    MIN_SLICE_WIDTH,
    as_scaled_integers,
)
from reference.geometry.axis_weights import AxisWeights

# (cells, coefficients) of one axis, both (output, taps).
AxisMap = tuple[Array, Array]
# Apply one map for each spatial axis to an array.
ApplyMaps = Callable[[Array, Sequence[AxisMap]], Array]


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


def scatter(sizes: Sequence[int], x: Array, maps: Sequence[AxisMap]) -> Array:
    """Return the transpose of gather: add each element, times the coefficients, to the cells that it reads.

    x: (n, c, *output). Returns (n, c, *sizes).
    """
    for axis, (size, (cells, coefficients)) in enumerate(zip(sizes, maps, strict=True), 2):
        moved = np.moveaxis(x, axis, 0)
        total = np.zeros((size, *moved.shape[1:]), x.dtype)
        shape = (-1, *(1,) * (x.ndim - 1))
        for cell, factor in zip(cells.T, coefficients.T, strict=True):
            np.add.at(total, cell, moved * factor.reshape(shape))
        x = np.moveaxis(total, 0, axis)
    return x


def exact_weighted_sums(x: Array, axes: Sequence[AxisWeights], *, transposed: bool, unit: float) -> Exact:
    """Return gather(x) with the weights of the axes, or scatter(x) if transposed, exact.

    x: (n, c, *spatial), floating. A weight of 0 is no term, not even of an infinity. n counts the terms that a kernel
    may add, those with a weight of 0 too. S is Σ Πw'·|x| with the largest weights w' that a kernel may compute, and
    the extra error Σ |Πw' − Πw|·|x|, see reference.geometry.axis_weights. unit: the unit roundoff of the axes' errors.
    """
    if transposed:
        axes = [axis.with_one_denominator() for axis in axes]

    def apply(values: Array, maps: Sequence[AxisMap]) -> Array:
        return scatter([axis.size for axis in axes], values, maps) if transposed else gather(values, maps)

    wide = to_float64(x)
    with np.errstate(all="ignore"):
        special = None if all_finite(wide) else _special_sums(wide, axes, apply)
        wide = with_finite_only(wide)
        pair = _weighted_pairs(wide, axes, apply, transposed=transposed)
        terms = _term_counts(pair.high.shape, axes, transposed=transposed)
        magnitude, extra = _magnitude_and_extra(np.abs(wide), axes, apply, unit)
    return round_result(
        pair, x.dtype, _exact_at(wide, axes, apply), special=special, terms=terms, magnitude=magnitude, extra=extra
    )


def _denominator_at(position: Position, axes: Sequence[AxisWeights]) -> int:
    rows = (number if len(axis.denominators) > 1 else 0 for number, axis in zip(position[2:], axes, strict=True))
    return math.prod(axis.denominators[row] for row, axis in zip(rows, axes, strict=True))


def _term_counts(shape: tuple[int, ...], axes: Sequence[AxisWeights], *, transposed: bool) -> Array:
    """Return the number of terms of each result, int64: the product of the numbers of the axes."""
    counts = [
        np.bincount(axis.cells.ravel(), minlength=axis.size) if transposed else np.full(*axis.cells.shape)
        for axis in axes
    ]
    return np.broadcast_to(math.prod(np.ix_(*counts), start=np.ones((), np.int64)), shape)


def _result_shape(x: Array, axes: Sequence[AxisWeights], *, transposed: bool) -> tuple[int, ...]:
    return (*x.shape[:2], *(axis.size if transposed else len(axis.cells) for axis in axes))


def _growth(axes: Sequence[AxisWeights], *, transposed: bool) -> int:
    """Return a bound on the sum of the absolute numerators that one result adds."""
    total = 1
    for axis in axes:
        sizes = np.abs(axis.numerators)
        if transposed:
            sums = np.zeros(axis.size, object)
            np.add.at(sums, axis.cells, sizes)
        else:
            sums = sizes.sum(axis=1)
        total *= int(max(sums, default=1)) or 1
    return total


def _weighted_pairs(wide: Array, axes: Sequence[AxisWeights], apply: ApplyMaps, *, transposed: bool) -> FloatPair:
    """Add slices that are so short that any order of adding is exact, and divide by the denominators."""
    growth, denominators = _growth(axes, transposed=transposed), [axis.denominators for axis in axes]
    largest = math.prod(int(max(one, default=1)) for one in denominators)
    maps = [(axis.cells, axis.numerators) for axis in axes]
    width = min(FLOAT64_DIGITS - growth.bit_length(), MAX_SLICE_WIDTH)
    is_safe = (magnitude_exponent(wide) or 0) + growth.bit_length() <= MAX_SAFE_EXPONENT
    shape = _result_shape(wide, axes, transposed=transposed)
    if width < MIN_SLICE_WIDTH or not is_safe or largest.bit_length() > FLOAT64_DIGITS - 1:
        return add_parts([], shape, np.inf)
    floats = [(cells, numerators.astype(np.float64)) for cells, numerators in maps]
    slices, rest = split_into_slices(wide, width, MAX_SUM_SLICES)
    totals = add_parts([apply(part, floats) for part in slices], shape, growth * rest)
    divisors = np.ix_(*[one.astype(np.float64) for one in denominators])
    return divide_pair(totals, math.prod(divisors, start=np.ones(())))


def _exact_at(wide: Array, axes: Sequence[AxisWeights], apply: ApplyMaps) -> Callable[[Position], Fraction]:
    """Return a function that gives the exact sum at a position, from integers over the denominators of its rows."""

    @cache
    def totals() -> Array:
        return apply(as_scaled_integers(wide), [(axis.cells, axis.numerators) for axis in axes])

    def exactly(position: Position) -> Fraction:
        return Fraction(int(totals()[position]), _denominator_at(position, axes) << INTEGER_SHIFT_BITS)

    return exactly


def _magnitude_and_extra(
    sizes: Array, axes: Sequence[AxisWeights], apply: ApplyMaps, unit: float
) -> tuple[Array, Array]:
    """Return Σ Π(|w| + e)·|x|, and Σ (Π(|w| + e) − Π|w|)·|x| in unit roundoffs.

    The difference is written as a sum over the axes: e on one axis, |w| + e on those before and |w| on those after.
    """
    exact = [(axis.cells, np.abs(axis.weights)) for axis in axes]
    errors = [(axis.near, axis.errors) for axis in axes]
    largest = [
        (np.concatenate([cells, near], axis=1), np.concatenate([weights, error], axis=1))
        for (cells, weights), (near, error) in zip(exact, errors, strict=True)
    ]
    parts = [apply(sizes, [*largest[:axis], errors[axis], *exact[axis + 1 :]]) for axis in range(len(axes))]
    slack = ROUNDING_SLACK + 2.0**-30
    return apply(sizes, largest) * slack, sum(parts) / unit * slack  # type: ignore[return-value]


def _special_sums(wide: Array, axes: Sequence[AxisWeights], apply: ApplyMaps) -> Array:
    """Return the sums that are not finite, and 0 in the other elements."""
    signs = [(axis.cells, np.sign(axis.numerators.astype(np.float64))) for axis in axes]
    is_read = [(cells, np.abs(sign)) for cells, sign in signs]
    infinite = np.where(np.isinf(wide), np.sign(wide), 0.0)
    count, balance = apply(np.abs(infinite), is_read), apply(infinite, signs)
    is_nan = (apply(np.isnan(wide).astype(np.float64), is_read) > 0) | ((count > 0) & (np.abs(balance) < count))
    return np.where(is_nan, np.nan, np.where(count > 0, np.copysign(np.inf, balance), 0.0))
