"""Tests of reference.operators.resampling.affine_grids."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import reference
from reference import OPERATORS
from reference.arithmetic.rounding import round_to
from tests.support.loop_affine_grid import loop_affine_grid, loop_gradient

SIZES = [(2, 3), (1, 4), (5, 1), (7, 6), (1, 1), (2, 3, 4), (1, 2, 3), (3, 1, 1)]
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
IDENTITY = np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)
DIGITS = np.array([[[1, 2, 4], [8, 16, 32]]], np.float32)
VOLUME = np.array([[[1, 2, 4, 8], [16, 32, 64, 128], [256, 512, 1024, 2048]]], np.float32)


def rounded(exact, dtype):
    return np.array([float(round_to(one, dtype)) for one in exact.ravel()]).reshape(exact.shape)


def random_call(size, dtype, seed=1):
    rng, axes = np.random.default_rng(seed), len(size)
    x = rng.standard_normal((2, axes, axes + 1)).astype(dtype)
    return x, rng.standard_normal((2, *size, axes)).astype(dtype)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_the_correctly_rounded_results_of_loops(dtype, size, align):
    x, _ = random_call(size, dtype)
    got = reference.affine_grid(x, size, align_corners=align)
    assert got.dtype == dtype
    assert got.astype(float).tolist() == rounded(loop_affine_grid(x, size, align), dtype).tolist()


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_the_correctly_rounded_results_of_loops(dtype, size, align):
    x, grad = random_call(size, dtype)
    got = reference.affine_grid_grad(grad, x, size, align_corners=align)
    assert got.dtype == dtype
    assert got.astype(float).tolist() == rounded(loop_gradient(grad, x, size, align), dtype).tolist()


@pytest.mark.parametrize(
    ("x", "size", "align", "result"),
    [
        (IDENTITY, (1, 4), False, [[[-0.75, 0], [-0.25, 0], [0.25, 0], [0.75, 0]]]),
        (IDENTITY, (3, 2), True, [[[-1, -1], [1, -1]], [[-1, 0], [1, 0]], [[-1, 1], [1, 1]]]),
        (DIGITS, (2, 2), False, [[[2.5, 20], [3.5, 28]], [[4.5, 36], [5.5, 44]]]),
        (VOLUME, (2, 1, 2), False, [[[[5.5, 88, 1408], [6.5, 104, 1664]]], [[[9.5, 152, 2432], [10.5, 168, 2688]]]]),
    ],
)
def test_literal_results(x, size, align, result):
    assert reference.affine_grid(x, size, align_corners=align)[0].tolist() == result


def test_literal_gradients():
    grad = np.array([[[[1, 8], [2, 4]], [[4, 2], [8, 1]]]], np.float32)
    assert reference.affine_grid_grad(grad, DIGITS, 2).tolist() == [[[2.5, 4.5, 15], [-2.5, -4.5, 15]]]
    got = reference.affine_grid_grad(grad, DIGITS, 2, align_corners=True)
    assert got.tolist() == [[[5, 9, 15], [-5, -9, 15]]]


def test_one_number_is_the_extent_of_every_axis():
    assert reference.affine_grid(VOLUME, 3).tolist() == reference.affine_grid(VOLUME, (3, 3, 3)).tolist()


def test_the_only_cell_of_an_axis_is_the_centre():
    for align in (False, True):
        assert reference.affine_grid(DIGITS, 1, align_corners=align).tolist() == [[[[4, 32]]]]


def test_grids_without_images_have_no_points():
    x = np.zeros((0, 2, 3), np.float32)
    assert reference.affine_grid(x, (2, 3)).shape == (0, 2, 3, 2)
    assert reference.affine_grid_grad(np.zeros((0, 2, 3, 2), np.float32), x, (2, 3)).shape == (0, 2, 3)


@given(st.integers(1, 40), st.integers(1, 40), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_grid_is_symmetric(rows, columns, align):
    grid = reference.affine_grid(IDENTITY.astype(np.float64), (rows, columns), align_corners=align)
    assert (grid == -grid[:, ::-1, ::-1]).all()


def test_numbers_that_are_not_finite_follow_the_products():
    x = np.array([[[np.inf, 0, 1], [0, np.nan, 1]]], np.float32)
    grid = reference.affine_grid(x, (2, 3))[0]
    assert grid[0, :, 0].tolist()[::2] == [-np.inf, np.inf]
    assert np.isnan(grid[:, 1, 0]).all()  # the coordinate 0, times infinity
    assert np.isnan(grid[..., 1]).all()


def test_a_gradient_that_is_not_finite_reaches_only_its_row():
    grad = np.ones((1, 2, 2, 2), np.float32)
    grad[0, 0, 0, 0] = np.inf
    got = reference.affine_grid_grad(grad, DIGITS, 2)[0]
    assert got[0].tolist() == [-np.inf, -np.inf, np.inf]
    assert got[1].tolist() == [0, 0, 4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_beyond_the_range_of_float64_are_exact(dtype):
    top = float(np.finfo(dtype).max)
    x = np.array([[[top, top, -top], [top, -top, top]]], dtype)
    # The cell (1, 1) of two has the coordinates 1 and 1: the first sum overflows on the way, the result does not.
    assert reference.affine_grid(x, 2, align_corners=True)[0, 1, 1].tolist() == [top, top]
    grad = np.full((1, 2, 2, 2), top, dtype)
    grad[0, 1] = -top
    assert reference.affine_grid_grad(grad, x, 2)[0, :, 2].tolist() == [0, 0]


def test_small_results_are_exact_in_float64():
    tiny = 5e-324
    x = np.array([[[tiny * 3, 0, 0], [0, 0, tiny]]], np.float64)
    assert reference.affine_grid(x, (1, 3))[0, 0].tolist() == [[-2 * tiny, tiny], [0, tiny], [2 * tiny, tiny]]


def test_products_that_underflow_are_added_before_they_are_rounded():
    tiny = 5e-324
    x = np.array([[[tiny, tiny, 0], [0, 0, 0]]], np.float64)
    # The coordinates of the last cell are 2/3 and 2/3: each product alone is rounded to the smallest number.
    assert reference.affine_grid(x, (3, 3))[0, 2, 2, 0] == tiny
    grad = np.zeros((1, 3, 3, 2))
    grad[0, :2, 2, 0] = tiny
    assert reference.affine_grid_grad(grad, x, (3, 3))[0, 0].tolist() == [tiny, -tiny, 2 * tiny]


def test_the_bound_counts_the_columns_and_the_rounded_coordinates():
    exact = OPERATORS["affine_grid"](DIGITS, (1, 2))
    assert exact.terms.tolist() == [[[[3, 3], [3, 3]]]]
    assert np.allclose(exact.magnitude, [[[[4.5, 36], [4.5, 36]]]], rtol=1e-9)
    assert (exact.magnitude >= [4.5, 36]).all()
    assert np.allclose(exact.extra, [8 * 3, 8 * 24], rtol=1e-9)
    assert (exact.extra >= [8 * 3, 8 * 24]).all()


def test_the_bound_of_the_gradient_counts_the_cells():
    grad = np.full((1, 2, 3, 2), -2, np.float32)
    exact = OPERATORS["affine_grid_grad"](grad, DIGITS, (2, 3), align_corners=True)
    assert (exact.terms == 6).all()
    assert np.allclose(exact.magnitude, [[[8, 12, 12]] * 2], rtol=1e-9)
    assert (exact.magnitude >= [8, 12, 12]).all()
    # The last column is multiplied by 1, which no framework rounds.
    assert np.allclose(exact.extra, [[[96, 96, 0]] * 2], rtol=1e-9)
    assert (exact.extra >= [96, 96, 0]).all()


def test_the_terms_are_those_of_one_image():
    x, grad = random_call((2, 3), np.float32)
    assert (OPERATORS["affine_grid"](x, (2, 3)).terms == 3).all()
    assert (OPERATORS["affine_grid_grad"](grad, x, (2, 3)).terms == 6).all()


@pytest.mark.parametrize("size", [(9, 31), (3, 11, 7)])
@pytest.mark.parametrize("align", [False, True])
def test_the_bound_covers_coordinates_in_float32(size, align):
    x, grad = random_call(size, np.float32, seed=3)
    one = np.float32(1)
    axes = [np.arange(extent, dtype=np.float32) for extent in size]
    if align:
        axes = [axis * (np.float32(2) / np.float32(len(axis) - 1)) - one for axis in axes]
    else:
        axes = [(axis * np.float32(2) + one) * (one / np.float32(len(axis))) - one for axis in axes]
    planes = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*(plane.ravel() for plane in planes[::-1]), np.ones(planes[0].size, np.float32)], -1)
    got = np.matmul(base, x.transpose(0, 2, 1)).reshape(grad.shape)
    exact = OPERATORS["affine_grid"](x, size, align_corners=align)
    assert (exact.distance(got) <= exact.bound()).all()
    assert exact.distance(got).max() > 0
    got = np.matmul(grad.reshape(len(x), -1, len(size)).transpose(0, 2, 1), base)
    exact = OPERATORS["affine_grid_grad"](grad, x, size, align_corners=align)
    assert (exact.distance(got) <= exact.bound()).all()


@pytest.mark.parametrize(
    ("x", "size", "options", "error", "message"),
    [
        (DIGITS, (0, 2), {}, ValueError, "grid_size 0 on axis 0 must be at least 1"),
        (DIGITS, (2, 3, 4), {}, ValueError, "has 3 entries: expected 2"),
        (DIGITS, (2, 2**16 + 1), {}, ValueError, r"grid_size \(2, 65537\) must be at most 65536 on each axis"),
        (DIGITS, (2**16, 2**16), {}, ValueError, "elements a plane"),
        (DIGITS[:, :, :2], 2, {}, ValueError, r"x has shape \(1, 2, 2\): expected \(n, 2, 3\) or \(n, 3, 4\)"),
        (np.ones((1, 4, 5), np.float32), 2, {}, ValueError, "expected"),
        (np.ones((1, 1, 2), np.float32), 2, {}, ValueError, "expected"),
        (np.ones((1, 2, 3, 1), np.float32), 2, {}, ValueError, "expected"),
        (DIGITS.astype(int), 2, {}, TypeError, "dtype"),
        (DIGITS, 2, {"align_corners": 1}, TypeError, "align_corners 1 must be True or False"),
    ],
)
def test_bad_calls_are_rejected(x, size, options, error, message):
    with pytest.raises(error, match=message):
        reference.affine_grid(x, size, **options)


def test_the_largest_axis_is_accepted():
    assert reference.affine_grid(IDENTITY, (1, 2**16), align_corners=np.True_).shape == (1, 1, 2**16, 2)


@pytest.mark.parametrize("shape", [(1, 2, 3, 3), (1, 3, 2, 2), (2, 2, 3, 2)])
def test_a_gradient_of_another_shape_is_rejected(shape):
    with pytest.raises(ValueError, match="the output has"):
        reference.affine_grid_grad(np.ones(shape, np.float32), DIGITS, (2, 3))
