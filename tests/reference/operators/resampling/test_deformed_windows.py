"""Tests of reference.operators.resampling.deformed_windows."""

from fractions import Fraction

import numpy as np
import pytest

from reference.geometry.axis_weights import GAMMA_SLACK
from reference.geometry.grids import OUTSIDE, slope_kernel, value_kernel
from reference.geometry.windows import Windows
from reference.operators.resampling.deformed_windows import (
    OFFSET_ROUNDINGS,
    DeformedAxis,
    DeformedWindows,
    check_extents,
    check_mask,
    check_offset,
)

UNIT = 2.0**-24
ZEROS, INSIDE = (DeformedAxis(4, mode, False) for mode in ("zeros", "inside"))


def taps_at(axis, *coordinates, kernel=None, coarse=UNIT):
    """Return the taps of points that offsets move from position 0 to these coordinates."""
    offsets = np.array([coordinates], np.float64)
    return axis.taps([0] * len(coordinates), offsets, kernel or value_kernel("linear"), UNIT, coarse)


def test_cells_of_the_continued_plane():
    cells = np.arange(-2, 7)
    assert ZEROS.source(cells).tolist() == [OUTSIDE, OUTSIDE, 0, 1, 2, 3, OUTSIDE, OUTSIDE, OUTSIDE]
    assert INSIDE.source(cells).tolist() == [OUTSIDE, OUTSIDE, 0, 1, 2, 3, 3, OUTSIDE, OUTSIDE]


def test_points_outside_move_to_where_no_cell_is_read():
    assert [INSIDE.inside(Fraction(at), 1) for at in (-1, 0, 3, 4)] == [-2, 0, 3, -2]
    assert INSIDE.inside(Fraction(-1, 100), 1) == -2
    assert [ZEROS.inside(Fraction(at), 1) for at in (-9, -1, 0, 4, 9)] == [-2, -1, 0, 4, 5]


def test_the_error_of_a_coordinate_grows_with_position_offset_and_extent():
    one = OFFSET_ROUNDINGS * UNIT
    for position, offset in ((0, 0.0), (2, 1.0), (3, -2.0), (-1, 1.5)):
        largest = abs(position) + abs(offset) + 4
        assert ZEROS.shift(position, offset, UNIT, UNIT) == pytest.approx(one * GAMMA_SLACK * largest, rel=1e-12)


def test_a_point_far_outside_has_no_error():
    assert ZEROS.shift(0, 5.1, UNIT, UNIT) == 0
    assert ZEROS.shift(0, -2.1, UNIT, UNIT) == 0
    assert ZEROS.shift(0, 4.9, UNIT, UNIT) > 0
    assert ZEROS.shift(0, -1.9, UNIT, UNIT) > 0
    assert ZEROS.shift(0, 1e30, UNIT, UNIT) == 0
    # In 16 bits the error moves it further.
    assert ZEROS.shift(0, 5.1, UNIT, 2.0**-8) > 0
    assert ZEROS.shift(0, -2.1, UNIT, 2.0**-8) > 0


def test_a_point_near_x_needs_numbers_of_at_most_18_bits():
    assert ZEROS.shift(2**17 - 2, -(2.0**17) + 2, UNIT, UNIT) > 0
    with pytest.raises(ValueError, match=r"offset has the number -131071.0: the sum with 131071"):
        ZEROS.shift(2**17 - 1, -(2.0**17) + 1, UNIT, UNIT)


def test_weights_are_those_of_the_distances():
    taps = taps_at(ZEROS, 0.25, -0.5, 3.75, 4.0)
    assert taps.weights[0].tolist() == [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [1, 0]]
    assert taps.cells[0].tolist() == [[0, 1], [OUTSIDE, 0], [3, OUTSIDE], [OUTSIDE, OUTSIDE]]


def test_the_last_cell_is_repeated_inside():
    taps = taps_at(INSIDE, 3.75, -0.25, 4.0)
    assert taps.cells[0].tolist() == [[3, 3], [OUTSIDE, OUTSIDE], [OUTSIDE, OUTSIDE]]
    assert taps.weights[0, 0].tolist() == [0.25, 0.75]


def test_slopes_inside_are_zero_beyond_the_last_cell():
    taps = taps_at(INSIDE, 2.5, 3.5, kernel=slope_kernel("linear"))
    assert taps.weights[0].tolist() == [[-1, 1], [-1, 1]]
    assert taps.cells[0].tolist() == [[2, 3], [3, 3]]


def test_an_end_is_doubtful_only_within_the_rounding_of_the_coordinate():
    below = [4 - 4 * UNIT, 4 - 5 * UNIT, 4.0, 0.0, -1e-9]
    errors = taps_at(INSIDE, *below).errors[0].max(axis=1)
    assert (errors >= 1).tolist() == [True, False, False, False, False]
    assert (taps_at(ZEROS, *below).errors < 1e-4).all()
    assert taps_at(INSIDE, 3.99, coarse=2.0**-8).errors.max() >= 1


def windows_of(offset, *, groups=1, stride=(1,), pads=((0, 0),), dilation=(1,), window=(2,), size=4):
    windows = Windows.of((size,), window, stride, list(pads), dilation)
    x = np.zeros((len(offset), groups, size), np.float32)
    numbers = check_offset(offset, x, windows, groups)
    return DeformedWindows(x.shape, windows, numbers, "zeros", UNIT, UNIT)


def test_positions_are_those_of_windows():
    points = windows_of(np.zeros((1, 2, 2)), stride=(2,), pads=((1, 1),), dilation=(2,))
    # Windows start at -1 and 1, their second cell is two cells later.
    assert points.value_taps[0].cells[0, :, 0].tolist() == [OUTSIDE, 1, 1, 3]
    assert (points.groups, points.cells, points.count) == (1, 2, 2)


def test_each_group_has_its_own_offsets():
    offset = np.array([[[0.0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0]]])
    points = windows_of(offset, groups=2)
    assert points.value_taps[0].cells[0, :, 0].tolist() == [0, 1, 2, 1, 2, 3, 1, 2, 3, 1, 2, 3]


def test_scatter_is_the_adjoint_of_sample():
    rng = np.random.default_rng(1)
    points = windows_of(rng.standard_normal((2, 4, 3)), groups=2)
    image, numbers = rng.integers(-9, 9, (2, 2, 4)), rng.integers(-9, 9, (2, 2, 2, 3))
    cells, weights = points.combined(points.value_taps)
    sampled = points.sample(image.astype(object), (cells, weights))
    scattered = points.scatter(numbers.astype(object), (cells, weights))
    assert (sampled * numbers).sum() == (scattered * image).sum()


def test_a_mask_has_a_number_for_each_cell_of_each_group():
    points = windows_of(np.zeros((1, 4, 3)), groups=2)
    columns, mask = np.ones((1, 2, 2, 3)), np.arange(12.0).reshape(1, 4, 3)
    assert points.masked(columns, mask).ravel().tolist() == list(range(12))


def test_signs_are_those_of_the_sums():
    points = windows_of(np.full((1, 1, 4), 0.25), window=(1,))
    image = np.array([[[-4.0, 13, np.inf, np.nan]]])
    got = points.sample_signs(image, points.value_taps)[0, 0, 0]
    assert got[0] == 1
    assert got[1] == np.inf
    assert np.isnan(got[2:]).all()
    image = np.array([[[-4.0, 12, -2, 0]]])
    assert points.sample_signs(image, points.value_taps)[0, 0, 0].tolist() == [0, 1, -1, 0]


def test_extents_have_limits():
    check_extents(np.zeros((1, 1, 1, 2**16), np.float32))
    for extent in (0, 2**16 + 1):
        with pytest.raises(ValueError, match=rf"x has {extent} cells on axis 1: expected 1 to 65536"):
            check_extents(np.zeros((1, 1, 1, extent), np.float32))


def test_shapes_of_offsets_and_masks_are_checked():
    windows, x = Windows.of((4,), 2, 1), np.zeros((2, 2, 4), np.float32)
    assert check_offset(np.zeros((2, 4, 3)), x, windows, 2).shape == (2, 2, 2, 1, 3)
    with pytest.raises(ValueError, match=r"offset has shape \(2, 2, 3\): expected \(2, 4, 3\)"):
        check_offset(np.zeros((2, 2, 3)), x, windows, 2)
    with pytest.raises(TypeError, match="offset has dtype int64"):
        check_offset(np.zeros((2, 4, 3), np.int64), x, windows, 2)
    with pytest.raises(ValueError, match=r"offset has the number inf at \(1, 3, 2\): expected finite numbers"):
        check_offset(np.where(np.arange(24).reshape(2, 4, 3) == 23, np.inf, 0), x, windows, 2)
    assert check_mask(None, x, windows, 2).tolist() == np.ones((2, 4, 3)).tolist()
    assert check_mask(None, x, windows, 2).dtype == np.float32
    with pytest.raises(ValueError, match=r"mask has shape \(2, 2, 3\): expected \(2, 4, 3\)"):
        check_mask(np.zeros((2, 2, 3), np.float32), x, windows, 2)
    with pytest.raises(TypeError, match="mask has dtype float64"):
        check_mask(np.zeros((2, 4, 3)), x, windows, 2)
