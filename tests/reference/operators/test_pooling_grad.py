"""Tests of reference.operators.pooling_grad."""

import ml_dtypes
import numpy as np
import pytest

import reference


def test_a_largest_value_without_equals_is_given_all_and_zero_is_not_minus_one():
    x, ones = np.array([[[-1.0, 0.0, -1.0]]]), np.ones((1, 1, 2))
    for ties in ("first", "last", "all", "split"):
        assert reference.max_pool_grad(ones, x, 2, stride=1, ties=ties).tolist() == [[[0.0, 2.0, 0.0]]]


def test_windows_of_padding_alone_have_no_equals_to_split_among():
    x, ones = np.ones((1, 1, 1)), np.ones((1, 1, 3))
    assert reference.max_pool_grad(ones, x, 1, padding=1, ties="split").tolist() == [[[1.0]]]


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


TIED = [1, 3, 2, 3, 3]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("first", [0, 6, 0, 0, 0]),
        ("last", [0, 0, 0, 0, 6]),
        ("all", [0, 6, 0, 6, 6]),
        ("split", [0, 2, 0, 2, 2]),
    ],
)
def test_ties_decide_which_of_several_largest_values_is_given_the_gradient(ties, expected, dtype):
    x, grad = row(TIED, dtype), row([6], dtype)
    for got in (
        reference.max_pool_grad(grad, x, 5, ties=ties),
        reference.min_pool_grad(grad, -x, 5, ties=ties),
        reference.global_max_pool_grad(grad, x, ties=ties),
        reference.adaptive_max_pool_grad(grad, x, 1, ties=ties),
    ):
        assert got.dtype == dtype
        assert listed(got) == expected


def test_the_first_of_a_plane_is_the_first_in_row_major_order():
    x, grad = np.zeros((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)
    assert reference.max_pool_grad(grad, x, 2).ravel().tolist() == [1, 0, 0, 0]
    assert reference.max_pool_grad(grad, x, 2, ties="last").ravel().tolist() == [0, 0, 0, 1]
    x[0, 0, 1, 0] = x[0, 0, 0, 1] = 1
    assert reference.max_pool_grad(grad, x, 2).ravel().tolist() == [0, 1, 0, 0]


def test_a_cell_adds_the_gradients_of_all_windows_that_choose_it():
    assert listed(reference.max_pool_grad(row([1, 2, 4]), row([0, 1, 5, 2, 3]), 3, stride=1)) == [0, 0, 7, 0, 0]


def test_each_window_splits_by_itself():
    assert listed(reference.max_pool_grad(row([4, 8]), row([1, 1, 1]), 2, stride=1, ties="split")) == [2, 6, 4]
    assert listed(reference.max_pool_grad(row([3, 3]), row([1, 1, 1, 0]), 3, stride=1, ties="split")) == [
        1,
        2.5,
        2.5,
        0,
    ]


INF, NAN = np.inf, np.nan


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_nan_is_given_the_gradient_and_all_nans_are_equal(dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    x = row([1, NAN, 5, NAN], dtype)
    x.view(bits)[0, 0, 3] += 1 + (1 << (8 * bits.itemsize - 1))
    grad = row([4], dtype)
    for name in ("max_pool_grad", "min_pool_grad"):
        gradient = getattr(reference, name)
        assert listed(gradient(grad, x, 4)) == [0, 4, 0, 0]
        assert listed(gradient(grad, x, 4, ties="last")) == [0, 0, 0, 4]
        assert listed(gradient(grad, x, 4, ties="split")) == [0, 2, 0, 2]
    assert listed(reference.max_pool_with_indices_grad(grad, x, 4)) == [0, 4, 0, 0]


def test_zeros_of_both_signs_are_equal_but_for_the_index():
    grad, x = row([1]), row([-0.0, 0.0])
    assert listed(reference.max_pool_grad(grad, x, 2)) == [1, 0]
    assert listed(reference.min_pool_grad(grad, -x, 2)) == [1, 0]
    assert listed(reference.max_pool_grad(grad, x, 2, ties="split")) == [0.5, 0.5]
    assert listed(reference.fractional_max_pool_grad(grad, x, 2, 1, np.zeros((1, 1, 1), np.float32))) == [1, 0]
    assert listed(reference.max_pool_with_indices_grad(grad, x, 2)) == [0, 1]


def test_padding_is_given_nothing_even_where_it_looks_like_the_largest_value():
    assert listed(reference.max_pool_grad(row([1, 2]), row([-INF, -INF]), 2, padding=1)) == [1, 2]
    assert listed(reference.avg_pool_grad(row([2, 4]), row([0, 0]), 2, padding=1)) == [2, 4]
    assert listed(reference.avg_pool_grad(row([2, 4]), row([0, 0]), 2, padding=1, count_include_pad=True)) == [1, 2]


def test_the_gradient_of_a_window_of_padding_is_lost():
    parameters = {"stride": 2, "padding": 2}
    for name in ("max_pool_grad", "min_pool_grad", "avg_pool_grad", "softmax_pool_grad", "lp_pool_grad"):
        got = getattr(reference, name)(row([NAN, 5, INF]), row([3]), 1, **parameters)
        assert listed(got) == [5]


def test_averages_divide_by_what_the_operator_divides_by():
    x = row([0] * 5)
    assert listed(reference.avg_pool_grad(row([6, 6]), x, 3, padding=(((0, 1)),))) == [2, 2, 2, 3, 3]
    assert listed(reference.avg_pool_grad(row([6, 6]), x, 3, stride=2, divisor=2)) == [3, 3, 6, 3, 3]
    assert listed(reference.avg_pool_grad(row([6, 6]), row([0] * 4), 3, rounding="ceil")) == [2, 2, 2, 6]


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_not_finite_adds_as_in_ieee_arithmetic(dtype):
    def gradient(grad):
        return listed(reference.avg_pool_grad(row(grad, dtype), row([0] * 4, dtype), 2, stride=1))

    np.testing.assert_array_equal(gradient([INF, 2, 4]), [INF, INF, 3, 2])
    np.testing.assert_array_equal(gradient([INF, -INF, 4]), [INF, NAN, -INF, 2])
    np.testing.assert_array_equal(gradient([2, NAN, 4]), [1, NAN, NAN, 2])


def test_values_that_lose_take_no_part_whatever_the_gradient():
    assert listed(reference.max_pool_grad(row([INF, NAN]), row([1, 2, NAN, 3]), 2))[:2] == [0, INF]
