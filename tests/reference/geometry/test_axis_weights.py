"""Tests of the errors in reference.geometry.axis_weights, against the formulas of their proofs in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.geometry.axis_weights import AxisWeights
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import COORDINATES, CROP, ResampledAxis

UNIT = Fraction(1, 2**24)
COARSE_UNIT = Fraction(1, 2**8)
ROUNDINGS = 6
"""Roundings of a coordinate, and as many of a weight."""


def gamma(roundings, unit=UNIT):
    return roundings * unit / (1 - roundings * unit)


def resampled(rule, size=9, output=20):
    region = (Fraction(-1, 4), Fraction(3, 2)) if rule == CROP else (Fraction(0), Fraction(1))
    return ResampledAxis(size, output, Fraction(size, output), rule, *region)


def largest_intermediate(axis, o):
    """Return M: no intermediate result of the coordinate of output cell o is larger."""
    if axis.coordinates == CROP:
        steps = Fraction(axis.size - 1, max(axis.output - 1, 1))
        return (o + 1) * (abs(axis.start) + abs(axis.end)) * steps + abs(axis.start) * (axis.size - 1) + 1
    if axis.coordinates == "align_corners":
        return (o + 1) * Fraction(axis.size - 1, max(axis.output - 1, 1)) + 1
    return (o + 1) * axis.step + 1 + (axis.size if axis.coordinates == "half_pixel_symmetric" else 0)


@pytest.mark.parametrize("unit", [UNIT, COARSE_UNIT])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("rule", COORDINATES)
def test_errors_are_those_of_the_proof(rule, mode, unit):
    axis, kernel = resampled(rule), InterpolationKernel.of(mode, -0.75, Fraction(1))
    errors = AxisWeights.of(axis, kernel, is_clamped=mode == "linear", unit=float(unit)).errors
    for o, row in enumerate(errors):
        proved = kernel.slope * gamma(2 * ROUNDINGS, unit) * largest_intermediate(axis, o) + kernel.evaluation * unit
        assert proved <= Fraction(row.max()) <= proved * Fraction(107, 100)


@pytest.mark.parametrize("unit", [UNIT, Fraction(1, 2**53)])
@pytest.mark.parametrize("is_normalized", [False, True])
@pytest.mark.parametrize("rule", sorted({*COORDINATES} - {CROP}))
def test_a_cell_has_an_error_if_a_rounded_coordinate_may_read_it(rule, is_normalized, unit):
    axis, kernel = resampled(rule), InterpolationKernel.of("linear", 0, Fraction(1))
    if is_normalized:
        given = {"stretch": Fraction(1), "excludes_outside": False}
        errors = AxisWeights.normalized(axis, kernel, **given, unit=float(unit)).errors
    else:
        errors = AxisWeights.of(axis, kernel, is_clamped=False, unit=float(unit)).errors
    for o, coordinate in enumerate(axis.all_coordinates):
        shift, first = gamma(2 * ROUNDINGS) * (largest_intermediate(axis, o) + kernel.reach), coordinate // 1 - 1
        for i, error in enumerate(errors[o]):
            distance = abs(coordinate - first - i)
            if distance <= kernel.reach:
                assert error > 0
            if distance >= kernel.reach + 2 * shift + Fraction(1, 2**29):
                assert error == 0


@pytest.mark.parametrize("unit", [UNIT, COARSE_UNIT / 64])
@pytest.mark.parametrize(("mode", "a"), [("linear", 0), ("cubic", -0.5), ("cubic", -0.75)])
@pytest.mark.parametrize(("size", "output"), [(9, 4), (8, 2), (5, 20)])
def test_errors_of_quotients_are_those_of_the_proof(size, output, mode, a, unit):
    axis, kernel = resampled("half_pixel", size, output), InterpolationKernel.of(mode, a, Fraction(1))
    stretch = max(axis.step, Fraction(1))
    weights = AxisWeights.normalized(axis, kernel, stretch=stretch, excludes_outside=False, unit=float(unit))
    taps = weights.near.shape[1]
    for o, coordinate in enumerate(axis.all_coordinates):
        first = int((coordinate - kernel.reach * stretch) // 1)
        scaled = [abs(coordinate - first - i) / stretch for i in range(taps)]
        values = [kernel.weight(one) if one < kernel.reach else Fraction(0) for one in scaled]
        moved = largest_intermediate(axis, o) / stretch + kernel.reach
        error = kernel.slope * gamma(2 * ROUNDINGS, unit) * moved + kernel.evaluation * unit
        total, sizes = sum(values), [abs(value) for value in values]
        change = taps * error + gamma(taps, unit) * (sum(sizes) + taps * error)
        proved = [
            (error + size / total * change + gamma(3, unit) * (size + error)) / (total - change) for size in sizes
        ]
        found = sorted(map(Fraction, weights.errors[o][weights.errors[o] > 0]))
        wanted = sorted(one for one, distance in zip(proved, scaled, strict=True) if distance < kernel.reach)
        assert all(small <= large for small, large in zip(wanted[::-1], found[::-1], strict=False))
        assert found[-1] <= wanted[-1] * Fraction(120, 100)


def test_rounding_that_may_halve_the_sum_of_the_weights_is_rejected():
    kernel = InterpolationKernel.of("linear", 0, Fraction(1))
    axis = resampled("half_pixel", 8, 2)
    given = {"stretch": Fraction(4), "excludes_outside": False}
    assert AxisWeights.normalized(axis, kernel, **given, unit=2.0**-9).errors.max() < 1
    with pytest.raises(ValueError, match="8 to 2 cells: rounded coordinates do not determine the weights"):
        AxisWeights.normalized(axis, kernel, **given, unit=2.0**-6)


@pytest.mark.parametrize(("unit", "is_rejected"), [(0.0035, False), (0.0045, True)])
def test_the_rounding_of_a_sum_of_many_weights_is_limited(unit, is_rejected):
    # Ten cells are read. The slope of this kernel is so small that the sum of the weights is certain.
    kernel = InterpolationKernel(lambda _distance: Fraction(1), Fraction(1), Fraction(1, 1000), Fraction(0))
    axis, given = resampled("half_pixel", 8, 2), {"stretch": Fraction(4), "excludes_outside": False}
    if is_rejected:
        with pytest.raises(ValueError, match="do not determine the weights"):
            AxisWeights.normalized(axis, kernel, **given, unit=unit)
    else:
        assert AxisWeights.normalized(axis, kernel, **given, unit=unit).near.shape == (2, 10)


@pytest.mark.parametrize(("share", "is_rejected"), [(0.49, False), (0.51, True)])
def test_the_sum_of_the_weights_may_change_by_less_than_a_half(share, is_rejected):
    kernel, axis = InterpolationKernel.of("linear", 0, Fraction(1)), resampled("half_pixel", 8, 8)
    # The sum of two weights, of which four cells are near, is 1. It changes most in the last output cell.
    moved = float(largest_intermediate(axis, 7) + kernel.reach)

    def change(unit):
        error = moved * 2 * ROUNDINGS * 1.05 * unit
        return 4 * error + 4 * 1.05 * unit * (1 + 4 * error)

    unit = min((step / 2**20 for step in range(1, 2**14)), key=lambda one: abs(change(one) - share))
    assert abs(change(unit) - share) < 0.005
    given = {"stretch": Fraction(1), "excludes_outside": False, "unit": unit}
    if is_rejected:
        with pytest.raises(ValueError, match="do not determine the weights"):
            AxisWeights.normalized(axis, kernel, **given)
    else:
        assert AxisWeights.normalized(axis, kernel, **given).errors.shape == (8, 4)


@pytest.mark.parametrize("is_normalized", [False, True])
def test_near_cells_are_those_with_a_weight_and_one_more_on_each_side(is_normalized):
    axis, kernel = resampled("asymmetric", 5, 5), InterpolationKernel.of("linear", 0, Fraction(1))
    if is_normalized:
        given = {"stretch": Fraction(1), "excludes_outside": False}
        weights = AxisWeights.normalized(axis, kernel, **given, unit=float(UNIT))
    else:
        weights = AxisWeights.of(axis, kernel, is_clamped=False, unit=float(UNIT))
    assert weights.cells.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 4]]
    assert weights.near.tolist() == [[0, 0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 4], [3, 4, 4, 4]]


def lanczos_weights(size, output):
    axis, kernel = resampled("half_pixel", size, output), InterpolationKernel.of("lanczos3", -0.75, Fraction(1))
    return AxisWeights.normalized(axis, kernel, stretch=Fraction(1), excludes_outside=True, unit=float(UNIT))


def test_each_row_has_its_own_denominator_in_lowest_terms():
    weights = lanczos_weights(90, 71)
    assert len(weights.denominators) == 71
    for row, (denominator,) in zip(weights.numerators.tolist(), weights.denominators.tolist(), strict=True):
        assert (sum(row), math.gcd(*row)) == (denominator, 1)
    assert max(one.bit_length() for one in weights.denominators.flat) < 500


def test_rows_share_a_denominator_that_is_short():
    axis, kernel = resampled("half_pixel", 9, 4), InterpolationKernel.of("linear", 0, Fraction(1))
    given = {"stretch": Fraction(9, 4), "excludes_outside": True, "unit": float(UNIT)}
    weights = AxisWeights.normalized(axis, kernel, **given)
    common = weights.with_short_denominator()
    assert (weights.denominators.shape, common.denominators.shape) == ((4, 1), (1, 1))
    assert common.denominators[0, 0] == math.lcm(*weights.denominators.flat)
    assert [common.weights_of(row) for row in range(4)] == [weights.weights_of(row) for row in range(4)]
    long = lanczos_weights(9, 7)
    assert long.with_short_denominator() is long


@pytest.mark.parametrize("weights", [lanczos_weights(9, 7), lanczos_weights(1, 5), lanczos_weights(3, 30)])
def test_transposed_weights_are_those_of_the_output_cells_that_read_a_cell(weights):
    transposed, rows = weights.transposed(), range(len(weights.cells))
    assert (transposed.size, len(transposed.cells)) == (len(weights.cells), weights.size)
    for cell in range(weights.size):
        expected = {row: weights.weights_of(row).get(cell) for row in rows}
        assert transposed.weights_of(cell) == {row: weight for row, weight in expected.items() if weight}
        assert transposed.terms[cell] == (weights.cells == cell).sum()
        errors = np.bincount(transposed.near[cell], transposed.errors[cell], len(rows))
        assert np.allclose(errors, np.where(weights.near == cell, weights.errors, 0).sum(axis=1), rtol=1e-12, atol=0)


def test_a_weight_and_its_remainder_are_rounded_once_each():
    weights = lanczos_weights(9, 7)
    ratios = zip(weights.numerators.ravel(), np.broadcast_to(weights.denominators, (7, 6)).ravel(), strict=True)
    for (a, b), high, low in zip(ratios, weights.weights.flat, weights.weight_remainders.flat, strict=True):
        assert (float(Fraction(a, b)), float(Fraction(a, b) - Fraction(high))) == (high, low)


def test_rows_of_one_denominator_are_not_repeated():
    axis, kernel = resampled("half_pixel", 8, 4), InterpolationKernel.of("linear", -0.75, Fraction(1))
    weights = AxisWeights.normalized(axis, kernel, stretch=Fraction(2), excludes_outside=False, unit=float(UNIT))
    assert weights.denominators.tolist() == [[8]]
