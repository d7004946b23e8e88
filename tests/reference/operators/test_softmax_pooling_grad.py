"""Tests of reference.operators.softmax_pooling_grad."""

from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows
from reference.operators import softmax_pooling_grad
from reference.operators.softmax_pooling import SoftmaxWindows
from reference.operators.softmax_pooling_grad import SoftmaxTerm, _term_sum, is_constant_sum, is_exact_sum
from tests.support.softmax_bounds import near, roundoff, softmax_parts


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_bound_of_softmax_gradients_is_made_as_its_docstring_says(dtype):
    x, grad = np.array([0.5, -3.0, 2.0, 1.25], dtype), np.array([-2.0, 0.5], dtype)
    exact = reference.OPERATORS["softmax_pool_grad"](grad.reshape(1, 1, 2), x.reshape(1, 1, 4), 3, stride=1)
    u, values = Decimal(roundoff(dtype)), [Decimal(value) for value in x.tolist()]
    magnitude, extra = [Decimal(0)] * 4, [Decimal(0)] * 4
    for start, g in enumerate([Decimal(2), Decimal("0.5")]):
        ps, cs, y, t, total, size = softmax_parts(values[start : start + 3], u)
        left = 1 - u * total
        for k, (p, c) in enumerate(zip(ps, cs, strict=True)):
            own, kappa = values[start + k], u * (c + total) / left
            reach = (size * (1 + u * total) + u * t) / left
            magnitude[start + k] += g * p * (1 + kappa) * (1 + abs(own) + reach)
            extra[start + k] += g * p * (kappa / u * abs(1 + own - y) + (1 + kappa) * t / left)
    assert exact.terms.ravel().tolist() == [1 + 9 + 4, 2 + 9 + 4, 2 + 9 + 4, 1 + 9 + 4]
    assert all(map(near, exact.magnitude.ravel().tolist(), magnitude))
    assert all(map(near, exact.extra.ravel().tolist(), extra))


def test_the_error_of_a_softmax_gradient_is_that_of_its_steps():
    walk = SoftmaxWindows(np.array([[[-1.0, 1.5, 9.0]]]), Windows.of((3,), 3))
    sums = _term_sum(walk, np.array([[[2.0]]]))
    p = np.exp([-10.0, -7.5, 0.0]) / np.exp([-10.0, -7.5, 0.0]).sum()
    mean = -10 * p[0] - 7.5 * p[1]
    for k, distance in enumerate([-10.0, -7.5, 0.0]):
        middle, error = sums.total(sums.terms[0, 0, k] * 2, 40)
        assert float(middle) == pytest.approx(2 * 2 * p[k] * (1 + distance - mean))
        steps = 8 * (10 + 1) + 6 * 3 + 40 + 2
        assert float(error) == pytest.approx(2 * 2 * p[k] * (1 - distance - mean) * steps * 1e-39, rel=1e-9, abs=0)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 7])
def test_equal_values_have_rational_softmax_gradients(number):
    term = SoftmaxTerm(1.5, 1.0, (1.0,) * number)
    assert is_exact_sum([term, term], Fraction(3, number))
    assert not is_exact_sum([term, term], Fraction(3, number) + Fraction(1, 2**300))


def test_fractions_of_a_power_are_no_constant():
    assert not is_constant_sum([SoftmaxTerm(1.0, 0.0, (0.0, 0.5))], Fraction(1, 2))
    assert is_constant_sum([SoftmaxTerm(1.0, 0.0, (0.0, 0.5)), SoftmaxTerm(1.0, 0.5, (0.0, 0.5))], Fraction(1))


def test_large_values_have_softmax_gradients_too():
    x, grad = np.full((1, 1, 2), 3000.0), np.ones((1, 1, 1))
    assert reference.softmax_pool_grad(grad, x, 2).tolist() == [[[0.5, 0.5]]]


def test_a_softmax_gradient_is_held_for_a_tie_only_if_it_is_one_and_after_enough_digits():
    term, digits = SoftmaxTerm(1.5, 1.0, (1.0, 1.0)), softmax_pooling_grad.MAX_PROOF_DIGITS
    assert softmax_pooling_grad._is_tie([term], Fraction(3, 4), digits)
    assert not softmax_pooling_grad._is_tie([term], Fraction(3, 4), digits - 1)
    assert not softmax_pooling_grad._is_tie([term], Fraction(1, 4), digits)


def test_terms_of_a_softmax_gradient_count_real_cells():
    exact = reference.OPERATORS["softmax_pool_grad"](np.ones((1, 1, 1)), np.ones((1, 1, 2)), 3, padding=[(0, 1)])
    assert exact.terms.tolist() == [[[1 + 6 + 4] * 2]]


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


def test_equal_values_share_a_softmax_gradient():
    assert listed(reference.softmax_pool_grad(row([6]), row([5, 5, 5]), 3)) == [2, 2, 2]


def test_the_gradients_of_one_softmax_window_add_up_to_its_own():
    """The average moves as all values do together."""
    x = np.random.default_rng(1).standard_normal((1, 1, 6))
    assert reference.softmax_pool_grad(row([4], np.float64), x, 6).sum() == pytest.approx(4, rel=1e-15)


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", FLOATS)
def test_evenly_spaced_values_have_rational_softmax_gradients(dtype):
    """Shifted softmaxes add up to 1, a number that no digits prove."""
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    x = row(range(8), dtype)
    for g in (1.0, 3 * least):
        got = listed(reference.softmax_pool_grad(np.full((1, 1, 6), g).astype(dtype), x, 3, stride=1))
        assert got[2:-2] == [g] * 4


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_softmax_gradient_half_way_between_two_numbers_goes_to_the_even_one(dtype):
    unit = float(ml_dtypes.finfo(dtype).eps)
    for grad, expected in [([1, 1 + unit], 1), ([1 + unit, 1 + 2 * unit], 1 + 2 * unit)]:
        got = reference.softmax_pool_grad(row(grad, dtype), row([5, 5, 5], dtype), 2, stride=1)
        assert listed(got)[1] == expected


def test_opposite_softmax_windows_cancel_to_plus_zero():
    got = reference.softmax_pool_grad(row([1, -1]), row([0.1, 0.7, 0.1]), 2, stride=1)
    assert got[0, 0, 1] == 0
    assert not np.signbit(got[0, 0, 1])


def test_a_softmax_sum_is_held_rational_only_where_it_is():
    up, down = SoftmaxTerm(1.0, 0.0, (0.0, 1.0)), SoftmaxTerm(1.0, 0.0, (-1.0, 0.0))
    assert is_exact_sum([up, down], Fraction(1))
    assert not is_exact_sum([up, down], Fraction(1, 2))
    assert not is_exact_sum([up], Fraction(1))
    # Both limits are 1, but the sum is not.
    assert not is_exact_sum([up, SoftmaxTerm(1.0, 0.0, (-2.0, 0.0))], Fraction(1))
    assert is_exact_sum([SoftmaxTerm(3.0, 2.0, (2.0, 2.0))], Fraction(3, 2))
    # (1 + z)(1 + z²) = 1 + z + z² + z³: windows of different shapes.
    assert not is_exact_sum([up, SoftmaxTerm(-1.0, 0.0, (0.0, 1.0, 2.0, 3.0))], Fraction(0))


def test_negligible_values_have_no_softmax_gradient():
    assert listed(reference.softmax_pool_grad(row([2]), row([0, -6000]), 2)) == [2, 0]
    x = row([0, -700], np.float64)
    assert 0 > reference.softmax_pool_grad(row([2], np.float64), x, 2)[0, 0, 1] > -1e-300


INF, NAN = np.inf, np.nan


INF, NAN = np.inf, np.nan


def test_a_softmax_window_that_is_not_finite_gives_nan_to_all_its_cells():
    for x, grad in [([1, INF, 2, 3], [1, 1]), ([1, NAN, 2, 3], [1, 1]), ([1, 4, 2, 3], [-INF, 1])]:
        got = listed(reference.softmax_pool_grad(row(grad), row(x), 2))
        assert np.isnan(got).tolist() == [True, True, False, False]
