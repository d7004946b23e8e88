"""Sums of cells times weights that depend on rounded coordinates: exact, with a bound for rounded weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from reference.arguments import Array, DType
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import add_parts, all_finite, to_float64, with_finite_only
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.rounding import Position
from reference.arithmetic.sums import INTEGER_SHIFT_BITS, as_scaled_integers, finite_signs
from reference.geometry.grids import AxisTaps, TapMap, combine_taps

# Compute results from arrays and from one map for each component of a result.
ApplyMaps = Callable[[Sequence[Array], Sequence[TapMap]], Array]


def tap_sums(
    arrays: Sequence[Array],
    components: Sequence[Sequence[AxisTaps]],
    apply: ApplyMaps,
    terms: Array,
    *,
    dtype: DType,
    unit: float,
    special: Callable[[], Array] | None = None,
    added: Array | None = None,
) -> Exact:
    """Return apply(arrays) with the weights of each component, exact.

    components: the taps of every axis of x, for each component of a result. unit: the unit roundoff of weights.
    special: returns the results that are not finite if an array is not finite; otherwise those of the signs. added: a
    number that is added to each result, of its shape. S is the sum with the largest weights w' that a framework may
    compute, and the extra error the sum of |Πw' − Πw| times the absolute values; see docs/bounds.md.
    """
    wide = [to_float64(array) for array in arrays]
    plus = np.zeros(terms.shape) if added is None else to_float64(added)
    denominators = [math.prod(one.denominator for one in taps) for taps in components]
    common = math.lcm(*denominators)
    whole = [_combined([(one.cells, one.numerators) for one in taps], taps) for taps in components]

    @cache
    def totals() -> Array:
        scaled = zip(whole, denominators, strict=True)
        maps = [(cells, numerators * (common // denominator)) for (cells, numerators), denominator in scaled]
        return apply([as_scaled_integers(array) for array in finite], maps)

    def exactly(position: Position) -> Fraction:
        total = Fraction(int(totals()[position]), common << INTEGER_SHIFT_BITS * len(arrays))
        return total + Fraction(float(finite_plus[position]))

    with np.errstate(all="ignore"):
        signs = [(cells, np.sign(numerators.astype(np.float64))) for cells, numerators in whole]
        known = None
        if not all(map(all_finite, (*wide, plus))):
            known = special() if special else apply([finite_signs(array) for array in wide], signs)
            known = known + finite_signs(plus)
        finite, finite_plus = [with_finite_only(array) for array in wide], with_finite_only(plus)
        sizes = [np.abs(array) for array in finite]
        magnitude = apply(sizes, [_combined(_largest(taps), taps) for taps in components]) + np.abs(finite_plus)
        parts = zip(*map(_errors, components), strict=True)
        extra = sum(
            apply(sizes, [_combined(one, taps) for one, taps in zip(part, components, strict=True)]) for part in parts
        )
    slack = ROUNDING_SLACK + 2.0**-30
    return round_result(
        add_parts([], terms.shape, np.inf), dtype, exactly, special=known, terms=terms,
        magnitude=magnitude * slack, extra=extra / unit * slack,
    )  # fmt: skip


def weigh(values: Array, weights: Array) -> Array:
    """Return the values times their weights; a cell with weight 0 is not read."""
    return np.where(weights == 0, 0, values * weights)


def _combined(maps: Sequence[TapMap], taps: Sequence[AxisTaps]) -> TapMap:
    return combine_taps([one.size for one in taps], maps)


def _largest(taps: Sequence[AxisTaps]) -> list[TapMap]:
    """Return the cells of each axis with the largest weights that a framework may compute."""
    return [_joined((one.cells, np.abs(one.weights)), (one.near, one.errors)) for one in taps]


def _joined(first: TapMap, second: TapMap) -> TapMap:
    cells, coefficients = (np.concatenate(parts, axis=2) for parts in zip(first, second, strict=True))
    return cells, coefficients


def _errors(taps: Sequence[AxisTaps]) -> list[list[TapMap]]:
    """Return maps whose sum is Π(|w| + e) − Π|w|: e on one axis, |w| + e on those before, |w| on those after."""
    largest, exact = _largest(taps), [(one.cells, np.abs(one.weights)) for one in taps]
    return [[*largest[:axis], (one.near, one.errors), *exact[axis + 1 :]] for axis, one in enumerate(taps)]
