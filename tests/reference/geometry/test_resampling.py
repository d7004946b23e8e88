"""Tests of reference.geometry.resampling."""

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.geometry.axis_weights import AxisWeights
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import (
    COORDINATES,
    CROP,
    MAX_RESAMPLED_EXTENT,
    ResampledAxis,
    resampled_axes,
)

UNIT = 2.0**-24


def coordinates(size, output, rule):
    return list(ResampledAxis(size, output, Fraction(size, output), rule).all_coordinates)


def test_coordinates_of_every_rule():
    assert coordinates(2, 4, "half_pixel") == [Fraction(-1, 4), Fraction(1, 4), Fraction(3, 4), Fraction(5, 4)]
    assert coordinates(2, 4, "asymmetric") == [0, Fraction(1, 2), 1, Fraction(3, 2)]
    assert coordinates(3, 5, "align_corners") == [0, Fraction(1, 2), 1, Fraction(3, 2), 2]
    assert coordinates(4, 1, "half_pixel") == [Fraction(3, 2)]
    assert coordinates(4, 1, "pytorch_half_pixel") == [0]
    assert coordinates(4, 1, "align_corners") == [0]
    assert coordinates(4, 2, "pytorch_half_pixel") == coordinates(4, 2, "half_pixel")
    assert coordinates(3, 5, CROP) == coordinates(3, 5, "align_corners")


@pytest.mark.parametrize("rule", COORDINATES)
@pytest.mark.parametrize(("size", "output"), [(1, 1), (1, 5), (5, 1), (3, 7), (8, 3), (4, 4)])
def test_coordinates_of_all_cells_are_those_of_the_rule(rule, size, output):
    for step in (Fraction(size, output), Fraction(2, 7)):
        axis = ResampledAxis(size, output, step, rule)
        assert axis.all_coordinates == tuple(map(axis.coordinate, range(output)))


@pytest.mark.parametrize(
    ("size", "output", "region", "inexact"),
    [
        (5, 3, ("0", "1"), False),  # every number is a binary fraction
        (5, 4, ("0", "1"), True),  # 3 · 1/3 · 4
        (5, 4, ("0", "3/4"), False),  # the last coordinate is 3
        (5, 4, ("1", "0"), True),  # downwards
        (5, 4, ("1/3", "1/3"), False),
        (5, 3, ("1/3", "1"), True),
        (5, 7, ("0", "1"), True),  # 6 · 1/6 · 4
        (1, 4, ("1/4", "1/3"), False),  # all coordinates are 0, without rounding
        (1, 4, ("1/3", "1/4"), False),
    ],
)
def test_ends_beyond_which_rounding_may_move_a_cell_of_a_crop(size, output, region, inexact):
    axis = ResampledAxis(size, output, Fraction(1), CROP, *map(Fraction, region))
    assert axis.has_inexact_ends is inexact


def test_a_scale_gives_the_floor_and_is_kept():
    (axis,) = resampled_axes((5,), None, 0.75, "asymmetric")
    assert (axis.output, axis.step) == (3, Fraction(4, 3))
    (axis,) = resampled_axes((5,), None, Fraction(1, 3), "asymmetric")
    assert (axis.output, axis.step) == (1, 3)
    # The product of the floats is 28.999999999999996.
    (axis,) = resampled_axes((100,), None, 0.29, "asymmetric")
    assert axis.output == 29


def test_the_nearest_cell_stays_inside():
    axis = ResampledAxis(2, 8, Fraction(1, 4), "half_pixel")
    assert axis.nearest("floor").tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    assert axis.nearest("ceil").tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


SELECTIONS = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda coordinate: math.ceil(coordinate - Fraction(1, 2)),
    "round_prefer_ceil": lambda coordinate: math.floor(coordinate + Fraction(1, 2)),
}
LARGE_STEP = Fraction(10**20 + 1, 3 * 10**20)


@pytest.mark.parametrize("rounding", SELECTIONS)
@pytest.mark.parametrize("rule", COORDINATES)
@pytest.mark.parametrize("step", [Fraction(5, 9), Fraction(2), Fraction(1, 4), LARGE_STEP])
def test_the_nearest_cell_is_that_of_the_fraction(rounding, rule, step):
    region = (Fraction(3, 2), Fraction(-1, 4)) if rule == CROP else (Fraction(0), Fraction(1))
    axis = ResampledAxis(5, 9, step, rule, *region)
    cells = [min(max(SELECTIONS[rounding](one), 0), 4) for one in axis.all_coordinates]
    assert axis.nearest(rounding).tolist() == cells
    assert axis.nearest(rounding).dtype == np.int64


def test_coordinates_with_large_denominators_are_exact_integers():
    assert ResampledAxis(5, 9, Fraction(5, 9), "half_pixel").numerators.dtype == np.int64
    axis = ResampledAxis(5, 9, LARGE_STEP, "half_pixel")
    assert axis.numerators.dtype == object
    assert [Fraction(one, axis.denominator) for one in axis.numerators] == list(axis.all_coordinates)


def test_the_end_of_an_axis_in_small_units_is_an_exact_integer():
    # The only coordinate is 0; the last cell has the coordinate 4, which is more than 2 ** 52 units.
    axis = ResampledAxis(5, 1, LARGE_STEP, "asymmetric")
    assert axis.numerators.tolist() == [0]
    assert axis.numerators.dtype == object


def test_an_axis_has_the_largest_extent_that_is_accepted():
    (axis,) = resampled_axes((MAX_RESAMPLED_EXTENT,), 1, None, "half_pixel")
    assert axis.size == MAX_RESAMPLED_EXTENT
    with pytest.raises(ValueError, match=f"expected 1 to {MAX_RESAMPLED_EXTENT}"):
        resampled_axes((MAX_RESAMPLED_EXTENT + 1,), 1, None, "half_pixel")


@pytest.mark.parametrize("scale", [True, "2", None])
def test_a_scale_of_an_axis_is_a_number(scale):
    with pytest.raises(TypeError, match="scale"):
        resampled_axes((4, 4), None, (2, scale), "half_pixel")


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("step", [Fraction(5, 9), LARGE_STEP])
def test_weights_are_those_of_fractions(mode, step):
    axis, kernel = ResampledAxis(5, 9, step, "half_pixel"), InterpolationKernel.of(mode, -0.75, Fraction(1))
    weights = AxisWeights.of(axis, kernel, is_clamped=mode == "linear", unit=UNIT)
    found = np.zeros((9, 5))
    np.add.at(found, (np.arange(9)[:, None], weights.cells), weights.weights)
    assert found == pytest.approx(dense_weights(axis, kernel, 0, mode), abs=2.0**-50)


@pytest.mark.parametrize(
    ("size", "output", "rule", "rounding", "inexact"),
    [
        (8, 4, "half_pixel", "round_prefer_floor", False),  # ties, but every number is a binary fraction
        (3, 9, "asymmetric", "floor", True),  # 3 · 1/3
        (3, 9, "asymmetric", "round_prefer_floor", False),
        (5, 1, "half_pixel", "floor", True),  # 1/2 · 5 − 1/2
        (5, 1, "pytorch_half_pixel", "floor", False),
        (5, 7, "align_corners", "floor", True),
        (7, 5, "half_pixel", "floor", True),
        (7, 10, "half_pixel", "floor", False),
        (6495, 8667, "half_pixel", "round_prefer_floor", True),  # 2937.50017 is 2937.5 in float32
        (649, 867, "half_pixel", "round_prefer_floor", False),  # 1/1734 from a tie
        (6495, 8667, "half_pixel_symmetric", "round_prefer_floor", True),
        (6495, 6497, "tf_crop_and_resize", "round_prefer_floor", True),
        (65, 67, "tf_crop_and_resize", "round_prefer_floor", False),
    ],
)
def test_steps_that_rounding_may_move(size, output, rule, rounding, inexact):
    assert ResampledAxis(size, output, Fraction(size, output), rule).has_inexact_steps_at(rounding) is inexact


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("a", [-0.75, -0.5])
def test_the_weights_of_a_cell_add_up_to_one(mode, a):
    axis = ResampledAxis(7, 12, Fraction(7, 12), "half_pixel")
    weights = AxisWeights.of(axis, InterpolationKernel.of(mode, a, Fraction(1)), is_clamped=mode == "linear", unit=UNIT)
    assert (weights.numerators.sum(axis=1) == weights.denominators).all()
    assert weights.cells.min() >= 0
    assert weights.cells.max() <= 6


@pytest.mark.parametrize("a", [-0.75, -0.5])
def test_the_slope_of_the_cubic_kernel_is_the_largest(a):
    kernel = InterpolationKernel.of("cubic", a, Fraction(1))
    points = [Fraction(i, 1000) for i in range(2001)]
    steps = [abs(kernel.weight(points[i + 1]) - kernel.weight(points[i])) * 1000 for i in range(2000)]
    assert max(steps) <= kernel.slope
    assert max(steps) > kernel.slope * Fraction(99, 100)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("rule", ["half_pixel", "asymmetric", "align_corners"])
def test_errors_cover_a_shift_by_the_roundings_of_a_coordinate(mode, rule):
    axis, kernel = ResampledAxis(9, 20, Fraction(9, 20), rule), InterpolationKernel.of(mode, -0.75, Fraction(1))
    weights = AxisWeights.of(axis, kernel, is_clamped=mode == "linear", unit=UNIT)
    allowed = np.zeros((20, 9))
    np.add.at(allowed, (np.arange(20)[:, None], weights.near), weights.errors)
    exact = dense_weights(axis, kernel, 0, mode)
    for sign in (-6, 6):
        moved = dense_weights(axis, kernel, sign * UNIT, mode)
        assert (np.abs(moved - exact) <= allowed).all()


def dense_weights(axis, kernel, relative, mode):
    """Return the weights (output, size) at coordinates that are off by a part of the sum of their terms."""
    matrix = np.zeros((axis.output, axis.size))
    for o, one in enumerate(axis.all_coordinates):
        at = one + Fraction(relative) * (o * axis.step + 1)
        if mode == "linear":
            at = min(max(at, Fraction(0)), Fraction(axis.size - 1))
        for cell in range(-4, axis.size + 4):
            distance = abs(at - cell)
            if distance < kernel.reach:
                matrix[o, min(max(cell, 0), axis.size - 1)] += float(kernel.weight(distance))
    return matrix
