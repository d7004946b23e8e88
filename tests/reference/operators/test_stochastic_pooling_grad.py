"""Tests of reference.operators.stochastic_pooling_grad."""

from fractions import Fraction

import numpy as np

import reference
from reference.operators.stochastic_pooling_grad import _as_pair


def test_any_cell_of_a_plane_can_be_drawn_and_is_given_the_gradient():
    x, grad = np.array([[[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, np.nan, 1.0]]]), np.array([[[1.0, 2.0, 3.0, 4.0]]])
    got = reference.stochastic_pool_grad(grad, x, 2, np.array([[[0.0, 0.9, 0.0, 0.0]]]))
    assert got.tolist() == [[[1, 0, 0, 2, 0, 0, 0, 0]]]


def test_the_bound_of_gradients_of_probabilities_is_made_as_its_docstring_says():
    x, grad = np.array([[[1.0, 3.0, 4.0]]]), np.array([[[[-1.0, 2.0], [3.0, -0.5]]]])
    exact = reference.OPERATORS["stochastic_pool_probabilities_grad"](grad, x, 2, stride=1)
    first, second = (Fraction(1) + 2 * 3) / 4, (3 * Fraction(3) + Fraction(1, 2) * 4) / 7
    sizes = [(1 + first) / 4, (2 + first) / 4 + (3 + second) / 7, (Fraction(1, 2) + second) / 7]
    assert exact.terms.tolist() == [[[1 + 6 + 4, 2 + 6 + 4, 1 + 6 + 4]]]
    for got, size in zip(exact.magnitude.ravel().tolist(), sizes, strict=True):
        assert size <= Fraction(got) <= size * (1 + Fraction(1, 2**39))


def test_the_error_of_a_rational_gradient_of_probabilities_is_what_its_pair_lacks():
    numbers = np.array([Fraction(0), Fraction(1, 3), Fraction(-1, 7 * 2**1080), Fraction(10**9, 7)], dtype=object)
    pair = _as_pair(numbers)
    assert pair.error[0] == 0
    for number, high, low, error in zip(numbers[1:], pair.high[1:], pair.low[1:], pair.error[1:], strict=True):
        gap = abs(number - Fraction(high) - Fraction(low))
        assert 0 < gap < Fraction(error) <= abs(number) / 2**105 * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1072)


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


def test_probabilities_move_at_the_expense_of_each_other():
    got = reference.stochastic_pool_probabilities_grad(row([1, 0]).reshape(1, 1, 1, 2), row([1, 3]), 2)
    assert listed(got) == [0.1875, -0.0625]
    got = reference.stochastic_pool_probabilities_grad(np.ones((1, 1, 1, 3), np.float32), row([1, 3, 7]), 3)
    assert listed(got) == [0, 0, 0]


INF, NAN = np.inf, np.nan


INF, NAN = np.inf, np.nan


def test_a_window_without_activations_has_no_gradient_and_one_that_is_not_finite_has_nan():
    grad = np.ones((1, 1, 2, 2), np.float32)
    got = reference.stochastic_pool_probabilities_grad(grad, row([0, 0, INF, 1]), 2)
    np.testing.assert_array_equal(listed(got), [0, 0, NAN, NAN])
    draws = row([0, 0.5])
    assert listed(reference.stochastic_pool_grad(row([2, 3]), row([0, 0, 1, 3]), 2, draws)) == [0, 0, 0, 3]
    assert listed(reference.stochastic_pool_grad(row([2, 3]), row([0, 0, INF, 3]), 2, draws)) == [0] * 4
