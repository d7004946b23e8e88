"""Tests of reference.operators.morphology.dilation_grad."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.reference.operators.morphology.test_dilation import CALLS, FLOATS, arrays, parameters, row
from tests.support.loop_dilation import loop_dilation_grad, output_shape

TIES = ["first", "last", "all", "split"]


def gradients(grad, x, kernel, **given):
    return [one.ravel().tolist() for one in reference.dilation2d_grad(row(*grad), row(*x), row(*kernel), **given)]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_gradients_agree_with_loops_over_rationals(dtype, call, ties):
    # Whole numbers of a small range, so that there are ties.
    generator = np.random.default_rng(5)
    x, kernel = (generator.integers(-2, 3, one.shape).astype(dtype) for one in arrays(call, dtype))
    grad = generator.integers(-9, 10, output_shape(x, kernel, **parameters(call))).astype(dtype)
    expected = loop_dilation_grad(grad, x, kernel, **parameters(call), ties=ties)
    results = reference.OPERATORS["dilation2d_grad"](grad, x, kernel, **parameters(call), ties=ties)
    for result, rationals in zip(results, expected, strict=True):
        assert result.value.dtype == dtype
        np.testing.assert_array_equal(result.value, rationals.astype(np.float64).astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("call", CALLS)
def test_gradients_of_full_mantissas_agree_with_loops(call, dtype):
    x, kernel = arrays(call, dtype, seed=7)
    grad = np.random.default_rng(8).standard_normal(output_shape(x, kernel, **parameters(call))).astype(dtype)
    expected = loop_dilation_grad(grad, x, kernel, **parameters(call), ties="first")
    for result, rationals in zip(
        reference.OPERATORS["dilation2d_grad"](grad, x, kernel, **parameters(call)), expected, strict=True
    ):
        np.testing.assert_array_equal(result.value, rationals.astype(np.float64).astype(dtype))
        assert (result.distance(result.value) <= result.bound()).all()


@pytest.mark.parametrize(
    ("ties", "of_x", "of_kernel"),
    [("first", [6, 0, 0], [6, 0, 0]), ("last", [0, 0, 6], [0, 0, 6]), ("all", [6, 0, 6], [6, 0, 6]),
     ("split", [3, 0, 3], [3, 0, 3])],
)  # fmt: skip
def test_equal_sums_share_by_the_rule_of_ties(ties, of_x, of_kernel):
    assert gradients([6], [1, 0, 2], [1, 1, 0], ties=ties) == [of_x, of_kernel]


def test_the_first_cell_is_the_rule_by_default():
    assert gradients([6], [1, 1], [0, 0]) == [[6, 0], [6, 0]]


def test_sums_that_are_equal_after_rounding_are_ties():
    assert gradients([4], [2**24, 2**24], [0, 1]) == [[4, 0], [4, 0]]


def test_zeros_of_both_signs_are_ties():
    assert gradients([4], [-0.0, 0.0], [-0.0, -0.0], ties="split") == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("ties", "expected"), [("first", [6, 0, 0, 0]), ("last", [0, 0, 6, 0]), ("split", [3, 0, 3, 0])]
)
def test_every_nan_is_the_largest_sum(ties, expected):
    assert gradients([6], [math.nan, 9, -math.nan, 1], [0, 0, 0, 0], ties=ties)[0] == expected


def test_minus_infinity_is_a_sum_like_others():
    assert gradients([6], [-math.inf, -math.inf], [0, 0]) == [[6, 0], [6, 0]]


def test_the_gradient_of_a_window_of_padding_is_lost():
    given = {"padding": ((0, 0), (2, 2)), "dilation": (1, 4)}
    for ties in TIES:
        assert gradients([5], [1], [1, 2], ties=ties, **given) == [[0], [0, 0]]


def test_a_cell_adds_the_gradients_of_its_windows_and_a_weight_those_of_all_items():
    x = np.array([[[[0, 9, 0]]], [[[9, 0, 0]]]], np.float32)
    grad = np.array([[[[1, 10]]], [[[100, 1000]]]], np.float32)
    of_x, of_kernel = reference.dilation2d_grad(grad, x, row(0, 1))
    assert of_x.ravel().tolist() == [0, 11, 0, 100, 0, 1000]
    assert of_kernel.ravel().tolist() == [110, 1001]


def test_terms_count_the_windows_that_choose_an_element():
    results = reference.OPERATORS["dilation2d_grad"](row(1, 10), row(0, 9, 0), row(0, 1))
    assert [one.terms.ravel().tolist() for one in results] == [[0, 2, 0], [1, 1]]
    assert results[0].bound().any()
    assert not results[1].bound().any()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grad": row(1)}, "grad has shape (1, 1, 1, 1): the output has (1, 1, 1, 2)"),
        ({"ties": "none"}, "ties 'none' must be one of"),
        ({"kernel": np.zeros((2, 1, 1, 2), np.float32)}, "expected (1, 1, *window)"),
    ],
)
def test_bad_arguments_are_errors(changed, message):
    arguments = {"grad": row(1, 2), "x": row(1, 2, 3), "kernel": row(0, 0), **changed}
    with pytest.raises(ValueError, match=re.escape(message)):
        reference.dilation2d_grad(**arguments)


def test_integers_have_no_gradient():
    integers = np.zeros((1, 1, 1, 1), np.int32)
    with pytest.raises(TypeError, match="x has dtype int32"):
        reference.dilation2d_grad(integers, integers, integers)
