"""Tests of reference.operators.normalization.response_normalization."""

import decimal
import math
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference.arithmetic.power_sums import PowerTerm, is_exact_sum
from reference.operators.normalization.response_normalization import (
    ChannelWindows,
    Denominators,
    Formula,
    _quotient_pair,
    if_safe,
    perturbed,
    power_error,
)
from reference.operators.normalization.response_normalization_grad import _gradient_pair
from tests.support.evaluation_orders import roundoff
from tests.support.loop_normalization import loop_lrn, loop_lrn_grad

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
SHAPES = [(2, 5, 3), (1, 4, 2, 3), (1, 6, 1, 2, 2)]
PARAMETERS = [
    {"alpha": 1e-4, "beta": 0.75, "k": 1, "alpha_over_size": True, "extra_channel": "after"},
    {"alpha": 2, "beta": 0.5, "k": 2, "alpha_over_size": True, "extra_channel": "before"},
    {"alpha": 0.5, "beta": 1, "k": 0.25, "alpha_over_size": False, "extra_channel": "before"},
    {"alpha": 3, "beta": -1.3, "k": 1, "alpha_over_size": False, "extra_channel": "after"},
    {"alpha": 0, "beta": 0.1, "k": 3, "alpha_over_size": True, "extra_channel": "after"},
]


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def column(*values, dtype=np.float32):
    """Return values as the channels of one cell."""
    return np.array(values, dtype).reshape(1, -1, 1)


def results(exact):
    return exact.value.ravel().tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_results_agree_with_decimals(shape, parameters, size, dtype):
    x = numbers(shape, dtype)
    expected = loop_lrn(x, size, **parameters)
    exact = reference.OPERATORS["lrn"](x, size, **parameters)
    np.testing.assert_array_equal(exact.value, expected.astype(dtype))
    np.testing.assert_allclose(exact.high, expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("shape", SHAPES[:2])
def test_gradients_agree_with_differences(shape, parameters, size, dtype):
    x, grad = numbers(shape, dtype), numbers(shape, dtype, 1)
    expected = loop_lrn_grad(grad, x, size, **parameters)
    exact = reference.OPERATORS["lrn_grad"](grad, x, size, **parameters)
    np.testing.assert_array_equal(exact.value, expected.astype(dtype))


def test_an_even_window_has_its_extra_channel_on_the_side_that_is_given():
    x, given = column(1, 2, 3), {"alpha": 2, "beta": 1}
    before = reference.lrn(x, 2, **given, extra_channel="before")
    after = reference.lrn(x, 2, **given, extra_channel="after")
    assert before.ravel().tolist() == [np.float32(number) for number in (1 / 2, 2 / 6, 3 / 14)]
    assert after.ravel().tolist() == [np.float32(number) for number in (1 / 6, 2 / 14, 3 / 10)]
    np.testing.assert_array_equal(before[:, ::-1], reference.lrn(x[:, ::-1], 2, **given, extra_channel="after"))


@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_side_makes_no_difference_for_an_odd_window(size):
    x = numbers((1, 6, 4), np.float32)
    sides = [reference.lrn(x, size, alpha=1, extra_channel=side) for side in ("before", "after")]
    np.testing.assert_array_equal(*sides)


def test_alpha_is_divided_by_the_size_also_at_the_ends():
    x = column(1, 2, 3)
    whole = reference.lrn(x, 3, alpha=2, beta=1, alpha_over_size=False)
    np.testing.assert_array_equal(whole, reference.lrn(x, 3, alpha=6, beta=1))
    assert whole.ravel().tolist() == [np.float32(number) for number in (1 / 11, 2 / 29, 3 / 27)]


def test_a_window_larger_than_the_channels_contains_all_of_them():
    x = numbers((1, 4, 3), np.float64)
    wide = reference.lrn(x, 10_001, alpha=10_001, beta=0.75)
    np.testing.assert_array_equal(wide, reference.lrn(x, 7, alpha=7, beta=0.75))


def test_sums_over_channels_of_every_window():
    x = np.arange(1, 6).reshape(1, 5, 1)
    assert ChannelWindows(1, 0).sums(x).ravel().tolist() == [1, 3, 5, 7, 9]
    assert ChannelWindows(0, 2).sums(x).ravel().tolist() == [6, 9, 12, 9, 5]
    assert ChannelWindows(9, 9).sums(x).ravel().tolist() == [15] * 5


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_quotient_half_way_between_two_numbers_is_rounded_to_the_even_one(dtype):
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    x = column(3 * least, 5 * least, -3 * least, dtype=dtype)
    got = reference.lrn(x, 3, alpha=0, beta=0.5, k=4).astype(np.float64).ravel()
    assert got.tolist() == [2 * least, 2 * least, -2 * least]


def test_gradients_that_cancel_exactly_are_positive_zero():
    exact = reference.OPERATORS["lrn_grad"](column(2), column(1), 1, alpha=1, beta=1)
    assert results(exact) == [0]
    assert not np.signbit(exact.value).any()
    # The terms are multiples of the same irrational root.
    exact = reference.OPERATORS["lrn_grad"](column(1), column(1), 1, alpha=2, beta=0.75, k=1)
    assert results(exact) == [0]


def test_sums_of_roots_of_rationals_are_compared_exactly():
    half = Fraction(1, 2)
    terms = [PowerTerm(Fraction(2), Fraction(2)), PowerTerm(Fraction(-4), Fraction(8))]
    assert is_exact_sum(terms, Fraction(0), half)  # 2 / √2 − 4 / √8
    assert not is_exact_sum(terms, Fraction(1, 10**30), half)
    assert not is_exact_sum(terms[:1], Fraction(0), half)
    assert is_exact_sum([PowerTerm(Fraction(3), Fraction(16, 81))], Fraction(81, 8), Fraction(3, 4))
    assert not is_exact_sum([PowerTerm(Fraction(3), Fraction(16, 81))], Fraction(81, 8), Fraction(1, 4))


def test_zeros_keep_their_sign():
    got = reference.lrn(column(-0.0, 0.0, -(2.0**-149)), 1, alpha=0, beta=1, k=8)
    assert got.ravel().tolist() == [0, 0, 0]
    assert np.signbit(got).ravel().tolist() == [True, False, True]


def test_special_values_follow_the_formula():
    x = column(1, 2, np.inf, -3, 1, np.nan, 1, 4)
    got = reference.lrn(x, 3, alpha=3, beta=1).ravel().tolist()
    expected = [1 / 6, 0, np.nan, 0, np.nan, np.nan, np.nan, 4 / 18]
    np.testing.assert_array_equal(got, np.array(expected, np.float32))
    assert np.signbit(reference.lrn(x, 3, alpha=3, beta=1)).ravel()[3]
    unchanged = reference.lrn(column(1, np.inf, np.nan), 3, beta=0).ravel().tolist()
    np.testing.assert_array_equal(unchanged, [1, np.inf, np.nan])
    multiplied = reference.lrn(column(1, np.inf, -1, 0), 3, alpha=3, beta=-1).ravel().tolist()
    np.testing.assert_array_equal(multiplied, [np.inf, np.inf, -np.inf, 0])


def test_a_sum_of_zero_is_a_division_by_zero():
    x = column(0, 0, 0, 2)
    np.testing.assert_array_equal(
        reference.lrn(x, 3, alpha=3, beta=0.5, k=0).ravel(), np.array([np.nan, np.nan, 0, 1], np.float32)
    )
    assert reference.lrn(column(1, -2), 1, alpha=0, beta=1, k=0).ravel().tolist() == [np.inf, -np.inf]
    assert reference.lrn(column(0, 0), 3, k=0, beta=-1).ravel().tolist() == [0, 0]


def test_special_gradients_reach_the_channels_of_their_windows():
    x, ones = column(1, 2, np.nan, 3, 1, 2), np.ones((1, 6, 1), np.float32)
    got = reference.lrn_grad(ones, x, 3, alpha=3, beta=1).ravel()
    assert np.isnan(got[:5]).all()
    assert got[5] == np.float32(1 / 6 - 4 * (2 / 36 + 1 / 225))
    grad = column(0, 0, np.inf, 0, 0)
    got = reference.lrn_grad(grad, column(1, 1, 1, 1, 1), 3, alpha=3, beta=1).ravel()
    np.testing.assert_array_equal(got, np.array([0, -np.inf, np.nan, -np.inf, 0], np.float32))


def test_a_channel_beside_an_infinity_has_no_share_in_other_gradients():
    # The window of the second channel contains the infinity, so its slope is 0: 1/6 - 2 · 1/36.
    got = reference.lrn_grad(np.ones((1, 3, 1), np.float32), column(1, 2, np.inf), 3, alpha=3, beta=1).ravel()
    assert got[0] == np.float32(1 / 9)
    grad = column(0, 0, np.inf, 0, 0)
    # The second channel is 0, and 0 times infinity is NaN.
    got = reference.lrn_grad(grad, column(1, 0, 1, 1, 1), 3, alpha=3, beta=1).ravel()
    np.testing.assert_array_equal(got[:4], np.array([0, np.nan, np.nan, -np.inf], np.float32))
    # With a power of -1, D is a factor, so an infinity is one of every product.
    got = reference.lrn_grad(np.ones((1, 2, 1), np.float32), column(1, np.inf), 3, alpha=3, beta=-1).ravel()
    assert got.tolist() == [np.inf, np.inf]
    # Without alpha, the gradient is divided by a power of k.
    got = reference.lrn_grad(np.ones((1, 2, 1), np.float32), column(np.inf, 3), 1, alpha=0, beta=1, k=2).ravel()
    np.testing.assert_array_equal(got, np.array([np.nan, 0.5], np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_do_not_overflow(dtype):
    large = float(ml_dtypes.finfo(dtype).max) / 2
    got = reference.lrn(column(large, dtype=dtype), 1, alpha=1, beta=0.5, k=0)
    assert got.ravel().tolist() == [1]


def power_by_logarithm(base, beta):
    return np.exp(-beta * np.log(base))


def power_by_pow(base, beta):
    return base**-beta


def evaluated(x, size, power, accumulate, *, alpha, beta, k):
    """Return the formula in a dtype, each operation rounded."""
    wide = x.astype(accumulate)
    squares = np.zeros((x.shape[0], x.shape[1] + 2 * (size // 2), *x.shape[2:]), accumulate)
    squares[:, size // 2 : size // 2 + x.shape[1]] = wide * wide
    total = np.zeros_like(wide)
    for shift in range(size):
        total = (total + squares[:, shift : shift + x.shape[1]]).astype(accumulate)
    number = np.dtype(accumulate).type
    base = number(k) + number(alpha) * (total / number(size))
    return (wide * power(base, number(beta)).astype(accumulate)).astype(x.dtype)


@pytest.mark.parametrize("power", [power_by_pow, power_by_logarithm])
@pytest.mark.parametrize("beta", [0.75, 0.5, 1, 3.3])
@pytest.mark.parametrize("size", [1, 3, 9])
@pytest.mark.parametrize(
    ("dtype", "accumulate"),
    [(one, one) for one in FLOATS] + [(np.float16, np.float32), (ml_dtypes.bfloat16, np.float32)],
)
def test_no_way_to_evaluate_leaves_the_bound(dtype, accumulate, size, beta, power):
    x = (numbers((3, 11, 7), np.float64) * 3).astype(dtype)
    exact = reference.OPERATORS["lrn"](x, size, alpha=0.7, beta=beta, k=1.3)
    got = evaluated(x, size, power, accumulate, alpha=0.7, beta=beta, k=1.3)
    bound = exact.bound(accumulate)
    assert (exact.distance(got) <= bound).all()
    # The bound is no more than what the functions are granted, and the additions.
    assert (bound <= np.abs(exact.high) * roundoff(dtype) * (60 + 3 * beta * (size + 30)) + 1e-30).all()


def test_a_bound_is_never_undefined():
    for value in (1e300, 1e-300, 0.0):
        for name, arrays in (("lrn", 1), ("lrn_grad", 2)):
            exact = reference.OPERATORS[name](*[column(value, dtype=np.float64)] * arrays, 3)
            assert not np.isnan(exact.bound()).any()
    beside = reference.OPERATORS["lrn_grad"](np.ones((1, 3, 1)), column(1, 2, np.inf, dtype=np.float64), 3)
    assert np.isfinite(beside.bound()[0, 0]).all()


# Two channels with the same base: 1 + (2² + 1²) = 6.
TWO, GIVEN = column(2, 1), {"alpha": 3, "beta": 0.75, "k": 1}
POWERS = np.array([2, 1]) * 6**-0.75


def bases(x=TWO, size=3, **changed):
    given = {**GIVEN, "alpha_over_size": True, "extra_channel": "after", **changed}
    return Denominators(x.astype(np.float64), Formula.of(size, *given.values()))


def steps(power, base, u, factors=8):
    """Return the error of a power of two channels in units of u, as power_error derives it. A function has 8 units."""
    return abs(power) * (factors + (abs(math.log(base)) + 1.05 * factors * u) * (8 + 2)) + 2 * 8


def assert_close(got, expected):
    np.testing.assert_allclose(np.ravel(got), expected, rtol=1e-10)


@pytest.mark.parametrize("u", [2.0**-24, 2.0**-8])
@pytest.mark.parametrize("power", [0.75, -3.25])
def test_the_error_of_a_power_counts_roundings(power, u):
    assert_close(power_error(bases(), power, u), [steps(power, 6, u)] * 2)
    # A window of 1 has 7 factors, of which the base 1 + 3·4 is one.
    assert_close(power_error(bases(size=1), power, u), [steps(power, 13, u, 7), steps(power, 4, u, 7)])
    # A window has no more channels than x.
    assert_close(power_error(bases(size=9, alpha=9), power, u), [steps(power, 6, u)] * 2)


def test_a_perturbed_size_has_a_second_order():
    u, count = 2.0**-8, np.array([10.0, 0.0])
    size, off = perturbed(np.array([3.0, 0.0]), count, u)
    exponent = 1.05 * 10 * u
    assert_close(size, [3 * math.exp(exponent), 0])
    assert_close(off, [3 * math.expm1(exponent) / u, 0])
    assert perturbed(np.zeros(1), np.full(1, np.inf), u)[1].tolist() == [0]
    # Both are rounded up, by less than 2 ** -38.
    powers = Fraction(decimal.Context(prec=40).exp(decimal.Decimal(exponent)))
    for got, exact in ((size[0], 3 * powers), (off[0], 3 * (powers - 1) / Fraction(u))):
        assert exact < Fraction(got) < exact * (1 + Fraction(1, 2**38))


def test_the_bound_of_a_quotient_has_one_term():
    exact, u = reference.OPERATORS["lrn"](TWO, 3, **GIVEN), 2.0**-24
    exponent = 1.05 * u * (steps(0.75, 6, u) + 4)
    assert np.unique(exact.terms).tolist() == [1]
    assert_close(exact.magnitude, POWERS * math.exp(exponent))
    assert_close(exact.extra, POWERS * math.expm1(exponent) / u)


def test_the_error_of_a_quotient_in_float64():
    u = 2.0**-53
    pair = _quotient_pair(bases(), np.zeros((1, 2, 1)))
    exponent = 1.05 * u * (steps(0.75, 6, u) + 4)
    assert_close(pair.high, POWERS)
    assert_close(pair.error, (4 * POWERS * math.exp(exponent) + POWERS * math.expm1(exponent) / u) * u)
    special = _quotient_pair(bases(column(np.inf, np.nan)), np.array([3.0, 5.0]).reshape(1, 2, 1))
    assert special.high.ravel().tolist() == [3, 5]
    assert not special.error.any()


def gradient_parts(u):
    """Return the magnitude and the extra error of the gradients of TWO with respect to ones."""
    exponent = 1.05 * u * (steps(3 * 0.75 + 1, 6, u) + 4 * 8 + 16)
    sums = np.array([2, 1]) * 2 * 0.75 * (2 + 1) * 6**-1.75
    size = 6**-0.75 + sums
    return size * math.exp(exponent), size * math.expm1(exponent) / u


def test_the_bound_of_a_gradient_has_a_term_for_each_window_and_one():
    exact = reference.OPERATORS["lrn_grad"](np.ones_like(TWO), TWO, 3, **GIVEN)
    magnitude, extra = gradient_parts(2.0**-24)
    assert exact.terms.ravel().tolist() == [3, 3]
    assert_close(exact.magnitude, magnitude)
    assert_close(exact.extra, extra)
    ends = reference.OPERATORS["lrn_grad"](*[column(1, 1, 1, 1)] * 2, 2, extra_channel="before")
    assert ends.terms.ravel().tolist() == [3, 3, 3, 2]


def test_the_error_of_a_gradient_in_float64():
    u = 2.0**-53
    pair, (magnitude, extra) = _gradient_pair(bases(), np.ones((1, 2, 1))), gradient_parts(u)
    assert_close(pair.high, 6**-0.75 - np.array([2, 1]) * 2 * 0.75 * (2 + 1) * 6**-1.75)
    assert_close(pair.error, ((3 + 3) * magnitude + extra) * u * 1.05)


def test_float64_is_not_used_near_its_limits():
    zero = np.zeros((1, 2, 1))
    assert not if_safe(bases(), zero).any()
    assert np.isinf(if_safe(bases(alpha=3e-70), zero)).all()
    assert np.isinf(if_safe(bases(alpha=3e70), zero)).all()
    assert np.isinf(if_safe(bases(k=1e-70), zero)).all()
    assert not if_safe(bases(alpha=0, k=1e60), zero).any()
    # 100 · ln 6 is 179, and 101 · ln 150 is more than 500.
    assert not if_safe(bases(beta=99), zero).any()
    assert np.isinf(if_safe(bases(beta=100, k=145), zero)).all()
    assert np.isinf(if_safe(bases(beta=-100, k=145), zero)).all()
    assert not if_safe(bases(beta=0.75, k=145), zero).any()


def test_default_parameters_are_those_of_onnx():
    x, given = numbers((1, 4, 2), np.float32), {"alpha": 1e-4, "beta": 0.75, "k": 1, "alpha_over_size": True}
    np.testing.assert_array_equal(reference.lrn(x, 2), reference.lrn(x, 2, **given, extra_channel="after"))
    grad = numbers((1, 4, 2), np.float32, 1)
    np.testing.assert_array_equal(
        reference.lrn_grad(grad, x, 2), reference.lrn_grad(grad, x, 2, **given, extra_channel="after")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"local_size": 0}, "local_size 0 must be at least 1"),
        ({"local_size": -3}, "local_size -3 must be at least 1"),
        ({"alpha": -1}, "alpha -1 must be at least 0"),
        ({"alpha": np.nan}, "alpha nan must be finite"),
        ({"k": -0.5}, "k -0.5 must be at least 0"),
        ({"k": np.inf}, "k inf must be finite"),
        ({"beta": 101}, "beta 101 must be at most 100"),
        ({"beta": -101}, "beta -101 must be at least -100"),
        ({"extra_channel": "left"}, "extra_channel 'left' must be one of before, after"),
    ],
)
def test_bad_numbers_are_named(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        reference.lrn(column(1, 2), **{"local_size": 3, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"local_size": 2.5}, "local_size 2.5 must be an integer"),
        ({"alpha": "1"}, "alpha '1' must be a number"),
        ({"alpha_over_size": 1}, "alpha_over_size 1 must be true or false"),
    ],
)
def test_bad_types_are_named(arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        reference.lrn(column(1, 2), **{"local_size": 3, **arguments})


def test_a_gradient_has_the_shape_of_the_output():
    with pytest.raises(ValueError, match=re.escape("grad has shape (1, 3, 1): the output has (1, 2, 1)")):
        reference.lrn_grad(column(1, 2, 3), column(1, 2), 3)


def test_arrays_without_elements_are_accepted():
    for shape in ((0, 3, 2), (2, 0, 2), (2, 3, 0)):
        empty = np.zeros(shape, np.float32)
        assert reference.lrn(empty, 3).shape == reference.lrn_grad(empty, empty, 3).shape == shape
