"""Tests of reference.operators.fractional_pooling."""

import numpy as np
import pytest

import reference


def test_terms_of_fractional_maxima_are_the_cells_of_a_window():
    x, samples = np.ones((1, 1, 7, 7), np.float32), np.zeros((1, 1, 2))
    for window, terms in [(2, 4), ((2, 3), 6)]:
        assert (reference.OPERATORS["fractional_max_pool"](x, window, 3, samples).terms == terms).all()


def test_fractional_windows_start_where_exact_arithmetic_says():
    x = np.arange(12.0).reshape(1, 1, 12)
    got = reference.fractional_max_pool(x, 1, 12, np.full((1, 1, 1), 1 - 2.0**-53))
    assert got.tolist() == x.tolist()


def test_blocks_of_fractional_windows_have_their_own_samples(monkeypatch):
    x, samples = np.arange(21.0).reshape(1, 3, 7), np.array([[[0.0], [0.5], [0.9]]])
    expected = reference.fractional_max_pool(x, 2, 4, samples)
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 1)
    assert reference.fractional_max_pool(x, 2, 4, samples).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("window", "output", "sample", "message"),
    [
        (0, 1, 0.0, "window 0 on axis 0 must be at least 1"),
        (1, 0, 0.0, "output_size 0 on axis 0 must be at least 1"),
        (1, 1, -0.5, "samples hold -0.5: expected 0 or more"),
    ],
)
def test_fractional_pooling_refuses_what_is_too_small(window, output, sample, message):
    with pytest.raises(ValueError, match=message):
        reference.fractional_max_pool(np.ones((1, 1, 3)), window, output, np.full((1, 1, 1), sample))


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def test_fractional_windows_start_where_the_sample_says():
    x = plane([0, 1, 2, 3, 4, 5, 6])
    # α = 5 / 3: starts ⌊(i + u)α⌋ − ⌊uα⌋, the last one at 5.
    for sample, starts in ((0.0, [0, 1, 3, 5]), (0.5, [0, 2, 4, 5]), (0.9, [0, 2, 3, 5])):
        got = reference.fractional_max_pool(x, 2, 4, np.array([[[sample]]]))
        assert got.tolist() == [[[start + 1 for start in starts]]]


def test_each_plane_and_axis_has_its_own_sample():
    x = np.arange(2 * 49, dtype=np.int32).reshape(1, 2, 7, 7)
    samples = np.array([[[0.0, 0.5], [0.5, 0.0]]])
    rows, columns = np.array([1, 2, 4, 6]), np.array([1, 3, 5, 6])
    got = reference.fractional_max_pool(x, 2, 4, samples)
    np.testing.assert_array_equal(got[0, 0], 7 * rows[:, None] + columns)
    np.testing.assert_array_equal(got[0, 1], 49 + 7 * columns[:, None] + rows)


def test_a_single_fractional_window_is_the_last_one():
    assert reference.fractional_max_pool(plane([9, 1, 2, 3]), 2, 1, np.zeros((1, 1, 1))).tolist() == [[[3]]]
