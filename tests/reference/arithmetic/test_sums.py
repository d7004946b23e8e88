"""Exact sums through maps, the rare ways of computing them included."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference.arithmetic import sums
from reference.arithmetic.sums import _product_sums, _sum_pairs, smallest_exponent
from tests.support import loop_reference

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def columns(x):
    return x.sum(axis=0)


def products(a, b):
    return np.matmul(a, b)


def numbers(seed, shape, dtype, reach):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-2, 2, shape) * 2.0 ** rng.integers(-reach, reach + 1, shape)).astype(dtype)


def fractions(x):
    return [Fraction(float(number)) for number in x]


def assert_rounded(exact, rationals):
    expected = [loop_reference.nearest(number, exact.value.dtype) for number in rationals]
    assert exact.value.ravel().tolist() == [float(number) for number in expected]
    for high, low, bound, number in zip(
        *(a.ravel() for a in (exact.high, exact.low, exact.bound())), rationals, strict=True
    ):
        if np.isfinite(high):
            assert abs(Fraction(high) + Fraction(low) - number) <= Fraction(bound) / 2**20


@pytest.mark.parametrize("reach", [0, 5, 14])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_are_those_of_rationals(dtype, reach):
    x = numbers(1, (7, 30), dtype, reach)
    exact = sums.exact_sums(x, columns)
    assert_rounded(exact, [sum(fractions(column)) for column in x.T])
    assert exact.terms.tolist() == [7] * 30


@pytest.mark.parametrize("reach", [300, 900])
def test_exponents_too_far_apart_for_slices_are_added_as_integers(reach):
    x = numbers(2, (7, 20), np.float64, reach)
    assert_rounded(sums.exact_sums(x, columns), [sum(fractions(column)) for column in x.T])
    if reach == 300:
        a, b = numbers(3, (4, 6), np.float64, reach), numbers(4, (6, 3), np.float64, reach)
        rationals = [sum(map(Fraction.__mul__, fractions(row), fractions(column))) for row in a for column in b.T]
        assert_rounded(sums.exact_products(a, b, products), rationals)


def test_sums_beyond_float64_on_the_way_are_finite_in_the_end():
    x = np.array([[2.0**1023], [2.0**1023], [-(2.0**1023)], [1.0]])
    assert sums.exact_sums(x, columns).value.tolist() == [2.0**1023]
    assert sums.exact_sums(x[:2], columns).value.tolist() == [np.inf]
    assert sums.exact_sums(x[:3], columns, np.array(2)).value.tolist() == [2.0**1022]


@pytest.mark.parametrize("dtype", FLOATS)
def test_products_are_those_of_rationals(dtype):
    a, b = numbers(5, (4, 6), dtype, 3), numbers(6, (6, 5), dtype, 3)
    exact = sums.exact_products(a, b, products)
    assert_rounded(
        exact, [sum(map(Fraction.__mul__, fractions(row), fractions(column))) for row in a for column in b.T]
    )
    assert (exact.terms == 6).all()
    magnitudes = [
        sum(abs(x * y) for x, y in zip(fractions(row), fractions(col), strict=True)) for row in a for col in b.T
    ]
    for got, number in zip(exact.magnitude.ravel().tolist(), magnitudes, strict=True):
        assert number <= Fraction(got) <= number * (1 + Fraction(1, 2**38))


def test_products_below_the_subnormals_still_round_once():
    a, b = np.array([[2.0**-1000, 1.0]]), np.array([[2.0**-1000], [1.0 + 2.0**-52]])
    assert sums.exact_products(a, b, products).value.item() == 1 + 2.0**-52
    # Half-way between 1 and the next number, and a little more.
    b[1] = 1.0
    a, b = np.concatenate([a, [[2.0**-53]]], 1), np.concatenate([b, [[1.0]]])
    assert sums.exact_products(a, b, products).value.item() == 1 + 2.0**-52
    assert sums.exact_products(a[:, 1:], b[1:], products).value.item() == 1


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("window", [5, 60])
def test_divisors_with_a_large_common_multiple_divide_exactly(window, dtype):
    """1, 2, 3, … cells: for 60 of them the multiple has 84 binary digits."""
    grad = numbers(7, (1, 1, window), dtype, 2)
    got = reference.OPERATORS["avg_pool_grad"](
        grad, np.zeros((1, 1, window), dtype), window, stride=1, padding=[(window - 1, 0)]
    )
    terms = [number / count for count, number in enumerate(fractions(grad[0, 0]), 1)]
    assert_rounded(got, [sum(terms[cell:]) for cell in range(window)])
    sizes = [sum(map(abs, terms[cell:])) for cell in range(window)]
    for magnitude, size in zip(got.magnitude.ravel().tolist(), sizes, strict=True):
        assert size <= Fraction(magnitude) <= size * (1 + Fraction(1, 2**38))


def test_thirds_that_cancel_are_plus_zero():
    grad = np.array([[[1, -1]]], np.float64)
    got = reference.OPERATORS["avg_pool_grad"](grad, np.zeros((1, 1, 4)), 3, stride=1)
    assert got.value.tolist() == [[[1 / 3, 0, 0, -1 / 3]]]
    assert not np.signbit(got.value[0, 0, 1:3]).any()


def test_a_negative_zero_alone_becomes_plus_zero():
    got = reference.max_pool_grad(np.array([[[-0.0]]]), np.array([[[1.0, 2.0]]]), 2)
    assert not np.signbit(got).any()


def test_infinities_and_nan_add_and_multiply_as_in_ieee_arithmetic():
    x = np.array([[np.inf, np.inf, 1, np.nan], [1, -np.inf, 2, 1]], np.float32)
    np.testing.assert_array_equal(sums.exact_sums(x, columns).value, [np.inf, np.nan, 3, np.nan])
    a, b = x[:, :2], np.array([[2, 0], [1, 0]], np.float32)
    np.testing.assert_array_equal(sums.exact_products(a, b, products).value, [[np.inf, np.nan], [-np.inf, np.nan]])


def error_is_near(pair, exact, most):
    """Whether the error of a pair covers its distance from the exact value, and is at most `most`."""
    gap = abs(exact - Fraction(pair.high.item()) - Fraction(pair.low.item()))
    return 0 < gap <= Fraction(pair.error.item()) <= most


def test_what_slices_leave_of_a_sum_is_multiplied_by_the_denominator():
    heads = 2.0 ** (-60.0 * np.arange(8))
    x, divisors = np.concatenate([heads, -heads, [2.0**-540]]), np.array([1001] * 16 + [1])
    pair = _sum_pairs(x, lambda shares: np.array([shares.sum()]), divisors, np.array([17]))
    assert error_is_near(pair, Fraction(1, 2**540), Fraction(1, 2**500))


def spread_out(seed, scale):
    """Numbers across so many powers of two that slices leave something of them."""
    rng = np.random.default_rng(seed)
    return np.concatenate([[1.0], rng.uniform(0.5, 1, 7) * 2.0 ** rng.integers(-450, 0, 7)]) * 2.0**scale


@pytest.mark.parametrize(("one", "other"), [(0, 0), (100, -50), (-50, 100), (-200, -90)])
def test_the_error_of_a_sum_of_products_is_what_slices_leave(one, other):
    a, b = spread_out(0, one), spread_out(1, other)
    pair = _product_sums(a, b, lambda x, y: np.array([x @ y]), np.array([8]))
    exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert error_is_near(pair, exact, Fraction(2) ** (one + other - 130))


@pytest.mark.parametrize("divisor", [1, 3, 1001])
def test_the_error_of_a_quotient_of_sums_is_what_slices_leave(divisor):
    x, divisors = spread_out(0, 0), np.array([1, divisor] * 4)
    pair = _sum_pairs(x, lambda shares: np.array([shares.sum()]), divisors, np.array([8]))
    exact = sum(Fraction(value) / d for value, d in zip(x.tolist(), divisors.tolist(), strict=True))
    assert error_is_near(pair, exact, Fraction(1, 2**100))


def test_products_have_an_error_only_if_their_last_digits_may_underflow():
    for exponent, error in [(-484, 0.0), (-485, 36 * 2.0**-1072)]:
        a, b = np.array([(2 - 2.0**-52) * 2.0**-485]), np.array([(2 - 2.0**-52) * 2.0 ** (exponent - 1)])
        pair = _product_sums(a, b, lambda x, y: x * y, np.array([1]))
        assert 0 <= pair.error.item() <= error
        assert (pair.error.item() > 0) == (error > 0)


def test_a_sum_of_one_term_is_a_selection_unless_it_is_divided():
    x, ones = np.ones((1, 1, 4)), np.ones((1, 1, 2))
    assert reference.OPERATORS["max_pool_grad"](ones, x, 2).exact
    assert not reference.OPERATORS["max_pool_grad"](np.ones((1, 1, 3)), x * [1, 2, 1, 1], 2, stride=1).exact
    assert not reference.OPERATORS["avg_pool_grad"](ones, x, 2).exact


def test_the_least_exponent_is_that_of_the_least_number_but_zero():
    assert smallest_exponent(np.array([0.0, -(2.0**-500), 1.0])) == -499
    assert smallest_exponent(np.zeros(2)) == 0
