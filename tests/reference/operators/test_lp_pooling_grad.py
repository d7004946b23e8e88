"""Tests of reference.operators.lp_pooling_grad."""

from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows
from reference.operators import lp_pooling_grad as lp
from reference.operators.lp_pooling_grad import LpTerm, _is_tie, _term_sum as norm_term_sum


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


FUNCTION = 8  # unit roundoffs: four units in the last place


def near(got, expected):
    """Whether a part of a bound is rounded up, and by hardly anything."""
    return expected <= Decimal(float(got)) <= expected * (1 + Decimal(2) ** -36)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("p", [2, 3, 2.5, 12])
def test_the_bound_of_norm_gradients_is_made_as_its_docstring_says(dtype, p):
    x, grad = np.array([0.5, -3.0, 2.0, 1.25], dtype), np.array([-2.0, 0.5], dtype)
    exact = reference.OPERATORS["lp_pool_grad"](grad.reshape(1, 1, 2), x.reshape(1, 1, 4), 3, stride=1, p=p)
    u, values, power = Decimal(roundoff(dtype)), [abs(Decimal(value)) for value in x.tolist()], Decimal(p)
    magnitude, extra = [Decimal(0)] * 4, [Decimal(0)] * 4
    for start, g in enumerate([Decimal(2), Decimal("0.5")]):
        window = values[start : start + 3]
        powers = [value**power for value in window]
        y = sum(powers) ** (1 / power)
        logarithms = [power * abs(value.ln()) for value in window]
        spread = sum(a * b for a, b in zip(powers, logarithms, strict=True)) / sum(powers) if p == 2.5 else 0
        fixed = (power - 1) * (FUNCTION + spread + 3 + 1) / power + (power + 1) * FUNCTION + power - 1 + 8
        for k, value in enumerate(window):
            term = g * (value / y) ** (power - 1)
            steps = fixed + (0 if p == 2 else 3 * power * (abs(value.ln()) + abs(y.ln())))
            grown = (Decimal("1.05") * u * steps).exp()
            magnitude[start + k] += term * grown
            extra[start + k] += term * (grown - 1) / u
    assert exact.terms.ravel().tolist() == [1, 2, 2, 1]
    assert all(map(near, exact.magnitude.ravel().tolist(), magnitude))
    assert all(map(near, exact.extra.ravel().tolist(), extra))


@pytest.mark.parametrize("p", [3, Fraction(7, 2)])
def test_the_error_of_a_norm_gradient_is_that_of_its_steps(p):
    sums = norm_term_sum(np.array([[[2.0]]]), np.array([[[1.0, 2.0, -4.0]]]), Windows.of((3,), 3), Fraction(p))
    y = (1 + 2.0 ** float(p) + 4.0 ** float(p)) ** (1 / float(p))
    for k, value in enumerate([1.0, 2.0, -4.0]):
        middle, error = sums.total(sums.terms[0, 0, k] * 2, 40)
        expected = 2 * 2 * np.sign(value) * (abs(value) / y) ** (float(p) - 1)
        assert float(middle) == pytest.approx(expected)
        steps = 4 * (6 * 3 + 6200) + 12 * 40 + 6 * 3 + 8 + 2
        assert float(error) == pytest.approx(abs(expected) * steps * 1e-39, rel=1e-9, abs=0)


def test_norm_gradients_of_values_far_apart():
    x = np.array([[[1e-100, 1.0]]])
    assert reference.lp_pool_grad(np.ones((1, 1, 1)), x, 2).tolist() == x.tolist()


def test_the_bound_of_norm_gradients_counts_real_cells_that_are_not_zero():
    g = np.ones((1, 1, 1), np.float16)
    for p in (2, 2.5):
        alone = reference.OPERATORS["lp_pool_grad"](g, np.array([[[2.0, 3.0]]], np.float16), 2, p=p)
        padded = reference.OPERATORS["lp_pool_grad"](g, np.array([[[2.0, 3.0]]], np.float16), 3, padding=[(0, 1)], p=p)
        zero = reference.OPERATORS["lp_pool_grad"](g, np.array([[[2.0, 3.0, 0.0]]], np.float16), 3, p=p)
        assert padded.extra.tolist() == alone.extra.tolist()
        assert padded.magnitude.tolist() == alone.magnitude.tolist()
        assert (zero.extra[0, 0, 2], zero.magnitude[0, 0, 2]) == (0, 0)


def test_a_norm_gradient_is_held_for_a_tie_if_it_is_one_or_after_enough_digits():
    terms = [LpTerm(1.0, 2.0, (2.0,)), LpTerm(0.5, 1.0, (1.0,))]
    whole, other = Fraction(64), Fraction(5, 2)
    assert not _is_tie(terms, Fraction(3, 2), whole, 299)
    assert _is_tie(terms, Fraction(3, 2), whole, 300)
    assert not _is_tie(terms, Fraction(5, 3), whole, 10**4)
    for power in (other, Fraction(65)):
        assert not _is_tie(terms, Fraction(5, 3), power, 1999)
        assert _is_tie(terms, Fraction(5, 3), power, 2000)


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_norm_gradients_are_the_direction(dtype):
    got = reference.lp_pool_grad(row([5], dtype), row([3, -4, 0], dtype), 3)
    assert listed(got) == [3, -4, 0]
    assert listed(reference.lp_pool_grad(row([1, 1], dtype), row([0.0, 0, 4], dtype), 2, stride=1)) == [0, 0, 1]


@pytest.mark.parametrize("p", [1.5, 2, 3, 4])
def test_norm_gradients_half_way_between_two_numbers_go_to_the_even_one(p):
    unit = 2.0**-23
    # A window with one value that is not 0 has the gradient itself; opposite windows cancel, to +0.
    for grad, expected in [([1, unit / 2], 1), ([1 + unit, unit / 2], 1 + 2 * unit), ([3, -3], 0)]:
        got = listed(reference.lp_pool_grad(row(grad), row([0, 7, 0]), 2, stride=1, p=p))
        assert got[1] == expected
        got = reference.lp_pool_grad(row(grad), row([5, 7, 5]), 2, stride=1, p=p)
        assert not np.signbit(got[0, 0, 1])


def test_a_norm_sum_is_held_rational_only_where_it_is():
    def term(grad, value, *values):
        return lp.LpTerm(grad, value, tuple(sorted((value, *values))))

    assert lp.is_exact_sum([term(5.0, 3.0, 4.0)], Fraction(3), 2)
    assert not lp.is_exact_sum([term(5.0, 3.0, 5.0)], Fraction(3), 2)
    # 1 / √2 − 3 / √18 = 0, and 1 / √2 + 1 / √3 is no rational.
    assert lp.is_exact_sum([term(1.0, 1.0, 1.0), term(-1.0, 3.0, 3.0)], Fraction(0), 2)
    assert not lp.is_exact_sum([term(1.0, 1.0, 1.0), term(-1.0, 1.0, 1.0, 1.0)], Fraction(0), 2)
    # 3³ + 4³ + 5³ = 6³.
    assert lp.is_exact_sum([term(4.0, 3.0, 4.0, 5.0)], Fraction(1), 3)
    assert not lp.is_exact_sum([term(4.0, 3.0, 4.0, 5.0)], Fraction(1), 2)


@pytest.mark.parametrize("degree", [2, 3, 7])
def test_roots_of_rationals_are_exact_or_none(degree):
    for base in (Fraction(1), Fraction(7, 3), Fraction(2**70 + 1, 3**40)):
        assert lp.rational_root(base**degree, degree) == base
        assert lp.rational_root(base**degree + 1, degree) is None


INF, NAN = np.inf, np.nan


INF, NAN = np.inf, np.nan


def test_the_1_norm_has_the_signs_for_a_gradient():
    assert listed(reference.lp_pool_grad(row([7]), row([-2, 0.0, -0.0, 5, -INF]), 5, p=1)) == [-7, 0, 0, 7, -7]


def test_norm_gradients_of_what_is_not_finite():
    np.testing.assert_array_equal(listed(reference.lp_pool_grad(row([1]), row([3, INF, -INF]), 3)), [0, NAN, NAN])
    np.testing.assert_array_equal(listed(reference.lp_pool_grad(row([1]), row([3, NAN, 0]), 3)), [NAN] * 3)
    np.testing.assert_array_equal(listed(reference.lp_pool_grad(row([INF]), row([3, -4, 0]), 3)), [INF, -INF, NAN])


def test_large_and_small_norms_neither_overflow_nor_vanish():
    for size in (1e300, 1e-300):
        got = reference.lp_pool_grad(row([5], np.float64), size * row([3, 4], np.float64), 2, p=2)
        np.testing.assert_allclose(listed(got), [3, 4], rtol=1e-15)
