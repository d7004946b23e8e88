"""Tests of reference.geometry.grids."""

from fractions import Fraction

import numpy as np
import pytest

from reference.geometry.grids import (
    CUBIC_CURVATURE,
    CUBIC_SLOPE_EVALUATION,
    OUTSIDE,
    GridAxis,
    axis_taps,
    check_grid,
    combine_taps,
    nearest_taps,
    slope_kernel,
    value_kernel,
)

UNIT = 2.0**-24


@pytest.mark.parametrize(("align_corners", "ends"), [(False, (Fraction(-1, 2), Fraction(7, 2))), (True, (0, 3))])
def test_the_ends_of_the_grid_are_edges_or_centres(align_corners, ends):
    axis = GridAxis(4, "zeros", align_corners)
    assert (axis.coordinate(Fraction(-1)), axis.coordinate(Fraction(1))) == ends


@pytest.mark.parametrize(
    ("padding_mode", "align_corners", "sources"),
    [
        ("zeros", False, [OUTSIDE, OUTSIDE, OUTSIDE, 0, 1, 2, OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE]),
        ("border", False, [0, 0, 0, 0, 1, 2, 2, 2, 2, 2]),
        ("reflection", False, [2, 1, 0, 0, 1, 2, 2, 1, 0, 0]),
        ("reflection", True, [1, 2, 1, 0, 1, 2, 1, 0, 1, 2]),
    ],
)
def test_cells_of_the_continued_plane(padding_mode, align_corners, sources):
    assert GridAxis(3, padding_mode, align_corners).source(np.arange(-3, 7)).tolist() == sources


def test_the_derivative_of_the_cubic_kernel_is_evaluated_by_the_rule_of_horner():
    a = Fraction(-3, 4)
    # γ(5) times the sum of |coefficient| · x ** k for 3a · x ** 2 − 10a · x + 8a and x = 2.
    assert 5 * (abs(3 * a) * 4 + abs(10 * a) * 2 + abs(8 * a)) == CUBIC_SLOPE_EVALUATION


@pytest.mark.parametrize("number", [-3.0, -1.0, 0.0, 0.5, 7.0])
@pytest.mark.parametrize("size", [1, 2, 9, 1000])
def test_the_error_of_a_coordinate_is_that_of_its_roundings(size, number):
    # Ten roundings of numbers of at most M.
    unit, largest = Fraction(UNIT), ((abs(Fraction(number)) + 1) * size + 1) / 2 + 1
    proved = 10 * unit / (1 - 10 * unit) * largest
    error = Fraction(GridAxis(size, "border", False).error(number, UNIT))
    assert proved <= error <= proved * Fraction(106, 100)


def test_one_cell_mirrored_at_its_centre_is_repeated():
    assert GridAxis(1, "reflection", True).source(np.arange(-3, 4)).tolist() == [0] * 7


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_weights_add_up_to_one_and_slopes_to_zero(mode):
    axis, numbers = GridAxis(5, "border", False), np.array([[-1.7, -0.3, 0.0, 0.2, 1.1]])
    for kernel, total in ((value_kernel(mode), 1), (slope_kernel(mode), 0)):
        taps = axis_taps(axis, numbers, kernel, UNIT, UNIT)
        assert (taps.numerators.sum(axis=-1) == total * taps.denominator).all()


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_slopes_are_derivatives_of_weights(mode):
    value, slope, step = value_kernel(mode).weight, slope_kernel(mode).weight, Fraction(1, 2**30)
    for number in range(-20, 20):
        distance = Fraction(number, 9) + Fraction(1, 100)
        if abs(distance) < value_kernel(mode).reach:
            difference = (value(distance + step) - value(distance - step)) / (2 * step)
            assert abs(difference - slope(distance)) < Fraction(1, 2**20)


def test_a_tie_has_both_cells_and_other_coordinates_have_no_error():
    taps = nearest_taps(GridAxis(4, "zeros", False), np.array([[-0.5, 0.1, -1.0]]), UNIT)
    assert taps.cells.ravel().tolist() == [0, 2, 0]
    assert taps.near.tolist() == [[[0, 1], [1, 2], [OUTSIDE, 0]]]
    assert taps.errors.tolist() == [[[1, 1], [0, 0], [1, 1]]]


def test_products_of_axes_read_the_flat_plane():
    rows = (np.array([[[0, 1]]]), np.array([[[3, 1]]]))
    columns = (np.array([[[OUTSIDE, 2]]]), np.array([[[5, 7]]]))
    cells, weights = combine_taps((2, 3), [rows, columns])
    assert cells.tolist() == [[[0, 2, 0, 5]]]
    assert weights.tolist() == [[[0, 21, 0, 7]]]


def test_a_coordinate_far_outside_has_no_error():
    assert GridAxis(4, "zeros", False).error(1e30, UNIT) == 0
    with pytest.raises(ValueError, match="a coordinate of more than 262144 cells"):
        GridAxis(4, "reflection", False).error(1e30, UNIT)


@pytest.mark.parametrize("shift", [0.0, 2.0**-12])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_errors_of_slopes_are_those_of_their_proofs(mode, shift):
    # Six roundings of a weight; those of the cubic derivative; and the largest change of the slope.
    errors = slope_kernel(mode).errors(np.array([0.25, -1.25]), np.array(shift), UNIT, UNIT)
    evaluation, curvature = (CUBIC_SLOPE_EVALUATION, CUBIC_CURVATURE) if mode == "cubic" else (0, 0)
    proved = (6 + evaluation) * UNIT + curvature * shift
    assert proved < errors[0] < 1.06 * proved
    assert errors[1] == (errors[0] if mode == "cubic" else 0)


def test_the_slope_of_a_triangle_jumps_by_two_at_a_cell_that_the_coordinate_may_pass():
    shift, distances = np.array(2.0**-12), np.array([-1, -1 + 2.0**-11, 0, 2.0**-13, -0.5, 1 + 2.0**-13, 1 + 2.0**-11])
    errors = slope_kernel("linear").errors(distances, shift, UNIT, UNIT)
    assert np.round(errors, 5).tolist() == [2, 0, 2, 2, 0, 2, 0]


@pytest.mark.parametrize(("coarse", "is_read"), [(UNIT, False), (2.0**-11, True)])
def test_coordinates_of_16_bits_may_read_further_cells(coarse, is_read):
    kernel, shift = value_kernel("linear"), np.array(2.0**-20)
    errors = kernel.errors(np.array([0.5, 1 + 2.0**-8]), shift, UNIT, coarse)
    assert (errors > 0).tolist() == [True, is_read]
    # The error is that of the unit roundoff, also of a coarser coordinate.
    assert errors[0] == kernel.errors(np.array([0.5]), shift, UNIT, UNIT)[0]


def test_the_first_number_of_a_grid_that_is_not_finite_is_reported():
    grid = np.zeros((1, 3, 1), np.float32)
    grid[0, 1:, 0] = np.inf, np.nan
    with pytest.raises(ValueError, match=r"grid has the number inf at \(0, 1, 0\): expected finite numbers"):
        check_grid(grid, np.zeros((1, 1, 4), np.float32), (3,))
