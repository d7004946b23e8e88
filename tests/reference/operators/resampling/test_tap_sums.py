"""Tests of reference.operators.resampling.tap_sums."""

import numpy as np
import pytest

from reference.geometry.grids import AxisTaps
from reference.operators.resampling.tap_sums import tap_sums, weigh

UNIT = 2.0**-24


def one_axis(weights, errors, denominator=4):
    """Return the taps of one point on an axis of two cells."""
    numerators = np.array([[[int(one * denominator) for one in weights]]], object)
    cells = np.array([[[0, 1]]], np.int64)
    return AxisTaps(2, cells, numerators, denominator, cells, np.array([[errors]], np.float64))


def sums(x, taps, **options):
    def apply(arrays, maps):
        (cells, weights), image = maps[0], arrays[0]
        return weigh(image[cells[0, 0]], weights[0, 0]).sum(keepdims=True)

    return tap_sums([np.array(x)], [taps], apply, np.full((1,), 2), dtype=np.dtype("float32"), unit=UNIT, **options)


def test_a_sum_is_exact_and_its_bound_has_the_errors_of_the_weights():
    got = sums(np.array([8.0, 16]), [one_axis([0.25, 0.75], [3 * UNIT, UNIT])])
    assert got.value.tolist() == [14]
    assert got.magnitude.item() == pytest.approx(14, rel=1e-5)
    assert got.extra.item() == pytest.approx(3 * 8 + 16, rel=1e-5)
    # Both are rounded up.
    assert got.magnitude.item() > 14 + (3 * 8 + 16) * UNIT
    assert got.extra.item() > 3 * 8 + 16


def test_errors_of_several_axes_are_those_of_the_product():
    x = np.array([1.0, 1, 1, 1])
    taps = [one_axis([0.5, 0.5], [0.25, 0.25]), one_axis([0.5, 0.5], [0.5, 0])]
    got = sums(x, taps)
    assert got.value.tolist() == [1]
    # The product of the largest sums, 1.5 and 1.5, without that of the weights.
    assert got.extra.item() * UNIT == pytest.approx(1.5 * 1.5 - 1, rel=1e-6)
    assert got.magnitude.item() == pytest.approx(1.5 * 1.5, rel=1e-6)


def test_an_added_number_is_a_term_without_a_weight():
    taps = [one_axis([0.25, 0.75], [UNIT, UNIT])]
    got = sums(np.array([8.0, 16]), taps, added=np.array([-4.5], np.float32))
    assert got.value.tolist() == [9.5]
    assert got.magnitude.item() == pytest.approx(18.5, rel=1e-5)
    assert got.extra.item() == pytest.approx(24, rel=1e-5)
    assert np.isnan(sums(np.array([8.0, 16]), taps, added=np.array([np.nan], np.float32)).value)
    assert sums(np.array([8.0, 16]), taps, added=np.array([-np.inf], np.float32)).value.tolist() == [-np.inf]


def test_a_cell_with_weight_zero_is_not_read():
    taps = [one_axis([1, 0], [0, UNIT])]
    assert sums(np.array([8.0, np.nan]), taps).value.tolist() == [8]
    assert np.isnan(sums(np.array([np.nan, 1]), taps).value)
    assert sums(np.array([-np.inf, 1]), taps).value.tolist() == [-np.inf]
    with np.errstate(invalid="ignore"):
        assert weigh(np.array([np.inf, 2.0]), np.array([0, 3])).tolist() == [0, 6]


def test_results_that_are_not_finite_can_be_given():
    taps = [one_axis([0.5, 0.5], [0, 0])]
    got = sums(np.array([np.inf, 1]), taps, special=lambda: np.array([np.nan]))
    assert np.isnan(got.value)
    assert sums(np.array([2.0, 4]), taps, special=lambda: np.array([np.nan])).value.tolist() == [3]
