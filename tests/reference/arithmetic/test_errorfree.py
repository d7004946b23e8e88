"""Tests of reference.arithmetic.errorfree."""

from fractions import Fraction

import numpy as np
import pytest

from reference.arithmetic.errorfree import (
    FloatPair,
    add_parts,
    divide_pair,
    divide_sums,
    exact_sum,
    is_zero_array,
    power_of_two_above,
    split_into_slices,
    two_product,
    zero_array,
)


def test_the_error_of_joined_parts_is_what_was_dropped_and_hardly_more():
    # 2**-200 is lost below 1 + 2**-100, and nothing else is.
    parts = [np.array([v]) for v in (1.0, 2.0**-100, 2.0**-200)]
    pair = add_parts(parts, (1,))
    assert Fraction(1, 2**200) <= Fraction(float(pair.error[0])) <= Fraction(1, 2**200) * (1 + Fraction(1, 2**39))
    assert add_parts(parts[:2], (1,), lost=0.5).error.tolist() == [0.5]


@pytest.mark.parametrize("divisor", [3.0, 2.0**40 + 1])
def test_the_error_of_a_quotient_is_far_below_its_low_part(divisor):
    rng = np.random.default_rng(0)
    high = rng.uniform(1, 2, 1000)
    pair = divide_pair(FloatPair(high, high * 2.0**-60, np.zeros(1000)), np.full(1000, divisor))
    assert (pair.error <= np.abs(pair.high) * 2.0**-103).all()
    wider = divide_pair(FloatPair(high, np.zeros(1000), high * 2.0**-70), np.full(1000, divisor))
    assert (wider.error <= np.abs(wider.high) * 2.0**-70 * (1 + 2.0**-20)).all()


def test_quotients_of_small_numbers_alone_allow_for_underflow():
    for size, allowed in ((2.0**-840, 0.0), (2.0**-860, 2.0**-1070)):
        pair = divide_pair(FloatPair(*(np.array([v]) for v in (3 * size, 0.0, 0.0))), np.array([3.0]))
        assert pair.error.tolist() == [allowed]


@pytest.mark.parametrize("least", [2**53 - 2**20, 2**52])
@pytest.mark.parametrize("factor", [1.0, 2.0**-300, 2.0**300])
def test_products_are_split_without_loss_whatever_their_digits(factor, least):
    rng = np.random.default_rng(1)
    digits = rng.integers(least, 2**53, (2, 2000)).astype(np.float64)
    a, b = digits[0] * factor, digits[1]
    products = [Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    high, low = (part.tolist() for part in two_product(a, b))
    assert [Fraction(x) + Fraction(y) for x, y in zip(high, low, strict=True)] == products


def test_limits_are_the_next_power_of_two():
    assert [power_of_two_above(np.array([x, 0.25])) for x in (1.5, -1.5, 1.0, -0.125)] == [2.0, 2.0, 2.0, 0.5]
    assert power_of_two_above(np.zeros(2)) == power_of_two_above(np.zeros(0)) == 0


def test_slices_stop_where_nothing_is_left():
    assert split_into_slices(np.zeros(3), 10, 5) == ([], 0.0)
    slices, left = split_into_slices(np.array([1.0, 2.0]), 10, 5)
    assert len(slices) == 1
    assert left == 0.0


@pytest.mark.parametrize("divisor", [1.0, 3.0, 8.0])
def test_a_quotient_at_once_is_off_by_its_one_rounding(divisor):
    sums = np.random.default_rng(0).uniform(1, 2, 100)
    pair = divide_sums(sums, np.full(100, divisor))
    assert not pair.low.any()
    for total, high, error in zip(sums.tolist(), pair.high.tolist(), pair.error.tolist(), strict=True):
        assert abs(Fraction(total) / Fraction(divisor) - Fraction(high)) <= Fraction(error)
        assert error == (abs(high) * 2.0**-53 if divisor == 3 else 0)


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [0.0, -0.0],
        [1.0, 2.0**-1074],
        [1e308, 1e308, -1e308],
        [1.0, 2.0**-60, 2.0**-200, -1.0],
        [0.1] * 10,
    ],
)
def test_sums_of_floats_are_exact(numbers):
    assert exact_sum(numbers) == sum(map(Fraction, numbers), Fraction(0))


def test_only_nothing_is_nothing():
    assert is_zero_array(zero_array((2, 3)))
    assert is_zero_array(zero_array((1, 1)))
    for x in (np.zeros((2, 3)), np.broadcast_to(1.0, (2, 3)), zero_array((0, 3))):
        assert not is_zero_array(x)


@pytest.mark.parametrize("divisor", [3.0, 7.0, 2.0**26 + 1, 2.0**40 + 1])
def test_quotients_lack_what_their_error_says(divisor):
    high = np.random.default_rng(0).uniform(1, 2, 500)
    pair = divide_pair(FloatPair(high, np.zeros(500), np.zeros(500)), np.full(500, divisor))
    for x, q, r, error in zip(*(part.tolist() for part in (high, pair.high, pair.low, pair.error)), strict=True):
        gap = abs(Fraction(x) / Fraction(divisor) - Fraction(q) - Fraction(r))
        assert gap <= Fraction(error) <= gap * (1 + Fraction(1, 2**39)) + Fraction(1, 2**1069)


def test_a_cleared_pair_is_a_certain_zero_and_no_other():
    ones = np.ones(2)
    pair = FloatPair(ones, ones, ones).with_zeros(np.array([True, False]))
    assert [part.tolist() for part in (pair.high, pair.low, pair.error)] == [[0, 1]] * 3


@pytest.mark.parametrize("divisor", [2.0, 2.0**40])
def test_quotients_by_powers_of_two_are_exact_unless_they_are_subnormal(divisor):
    high, low = np.array([3.0, 2.0**-1021 * 1.5, 0.0]), np.array([2.0**-60, 2.0**-1074, 0.0])
    pair = divide_pair(FloatPair(high, low, np.zeros(3)), np.array([divisor]))
    for x, y, q, r, error in zip(
        *(part.tolist() for part in (high, low, pair.high, pair.low, pair.error)), strict=True
    ):
        gap = abs((Fraction(x) + Fraction(y)) / Fraction(divisor) - Fraction(q) - Fraction(r))
        assert gap <= Fraction(error) <= Fraction(1, 2**1069)
        assert (error == 0) == (gap == 0)


def test_the_error_of_a_pair_is_divided_by_a_power_of_two():
    pair = divide_pair(FloatPair(np.ones(1), np.zeros(1), np.array([2.0**-80])), np.array([4.0]))
    assert 2.0**-82 <= pair.error[0] <= 2.0**-82 * (1 + 2.0**-30)


def test_a_quotient_of_zero_is_certain():
    zero = np.zeros(1)
    assert divide_pair(FloatPair(zero, zero, zero), np.array([3.0])).error.tolist() == [0]


@pytest.mark.parametrize("divisor", [3.0, 7.0, 2.0**26 + 1, 2.0**40 + 1])
def test_quotients_of_full_pairs_lack_no_more_than_their_error(divisor):
    rng = np.random.default_rng(0)
    high, low = rng.uniform(1, 2, 2000), rng.uniform(-1, 1, 2000) * 2.0**-54
    pair = divide_pair(FloatPair(high, low, np.zeros(2000)), np.full(2000, divisor))
    for x, y, q, r, error in zip(
        *(part.tolist() for part in (high, low, pair.high, pair.low, pair.error)), strict=True
    ):
        assert abs((Fraction(x) + Fraction(y)) / Fraction(divisor) - Fraction(q) - Fraction(r)) <= Fraction(error)


def test_nothing_is_told_by_its_strides_and_a_single_zero_is_not_nothing():
    assert is_zero_array(zero_array((1, 2, 3)))
    assert not is_zero_array(np.zeros(()))
    assert not is_zero_array(np.zeros((1, 2, 3)))
    assert not is_zero_array(np.broadcast_to(1.0, (2, 3)))
