"""Tests of reference.operators.lp_pooling."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows
from reference.arithmetic.errorfree import FloatPair
from reference.arithmetic.norms import certain_norm, is_exact_norm
from reference.operators.lp_pooling import _norm_pairs, _power_roots, _real_powers, _square_norms, weighted_log_spread


@pytest.mark.parametrize("p", [1, 2, 3, 7, 16])
def test_powers_lack_no_more_than_their_error(p):
    rng = np.random.default_rng(p)
    base = rng.uniform(0, 1, 200) * 2.0 ** rng.integers(-200, 1, 200)
    pair = _real_powers(base, p)
    for b, high, low, error in zip(*(part.tolist() for part in (base, pair.high, pair.low, pair.error)), strict=True):
        assert abs(Fraction(b) ** p - Fraction(high) - Fraction(low)) <= Fraction(error)
        assert error == high * (p * (p - 1) * (p - 2) * 2.0**-105) + 2 * p * 2.0**-1072


@pytest.mark.parametrize("error", [0.0, 2.0**-80])
@pytest.mark.parametrize("p", [2, 3, 7, 16])
def test_roots_lack_no_more_than_their_error(p, error):
    rng = np.random.default_rng(p)
    high, low = rng.uniform(0.5, 4, 100), rng.uniform(-1, 1, 100) * 2.0**-54
    pair = _power_roots(FloatPair(high, low, np.full(100, error)), p)
    with localcontext(Context(prec=60)):
        for s, t, r, q, off in zip(
            *(part.tolist() for part in (high, low, pair.high, pair.low, pair.error)), strict=True
        ):
            total = Decimal(s) + Decimal(t)
            root = (total.ln() / p).exp()
            slope = root / (p * total)
            gap = abs(root - Decimal(r) - Decimal(q))
            assert (
                gap + slope * Decimal(error)
                <= Decimal(off)
                <= slope * Decimal(error) + root * p * p * Decimal(2) ** -94
            )


def test_roots_of_nothing_are_certain_and_those_of_almost_nothing_are_not():
    zero, some = np.zeros(2), np.array([0.0, 2.0**-500])
    with np.errstate(all="ignore"):
        pair = _power_roots(FloatPair(zero, zero, some), 3)
    assert (pair.high[0], pair.low[0], pair.error[0]) == (0, 0, 0)
    assert not pair.error[1] < 1


def near(got, expected):
    """Whether a part of a bound is rounded up, and by hardly anything."""
    return expected <= Decimal(float(got)) <= expected * (1 + Decimal(2) ** -36)


@pytest.mark.parametrize("u", [0.0, 2.0**-11])
def test_the_spread_of_powers_is_made_as_its_docstring_says(u):
    values, p = [0.5, 3.0, 0.0, 1.25], Decimal("2.5")
    with np.errstate(all="ignore"):
        got = weighted_log_spread(np.array([[values]]), Windows.of((4,), 4), Fraction(5, 2), u)
    numbers = [Decimal(value) for value in values if value]
    exponents = [p * abs(value.ln()) for value in numbers]
    grown = [((Decimal(u) * e).exp() - 1) / Decimal(u) if u else e for e in exponents]
    parts = [value**p * e for value, e in zip(numbers, grown, strict=True)]
    assert near(got.item(), sum(parts) / sum(value**p for value in numbers))
    for whole in (2, 256):
        assert weighted_log_spread(np.ones((1, 1, 4)), Windows.of((4,), 4), Fraction(whole)) == 0
    assert weighted_log_spread(np.full((1, 1, 4), 2.0), Windows.of((4,), 4), Fraction(257)).item() > 0


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


FUNCTION = 8  # unit roundoffs: four units in the last place


def norm_of(values, p):
    return sum(value**p for value in values) ** (1 / p)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("p", [1, 2, 3, 2.5])
def test_the_bound_of_norms_is_made_as_its_docstring_says(dtype, p):
    x = np.array([0.5, -3.0, 2.0, 1.25], dtype)
    exact = reference.OPERATORS["lp_pool"](x.reshape(1, 1, 4), 4, p=p)
    u, power, values = Decimal(roundoff(dtype)), Decimal(p), [abs(Decimal(value)) for value in x.tolist()]
    y, shares = norm_of(values, power), [value**power for value in values]
    grown = [((u * power * abs(value.ln())).exp() - 1) / u for value in values]
    spread = sum(a * b for a, b in zip(shares, grown, strict=True)) / sum(shares) if p == 2.5 else 0
    c = (FUNCTION + spread) / (1 - FUNCTION * u)
    logarithm = abs(y.ln()) + (1 + u * c) / power
    r = (FUNCTION + (0 if p in (1, 2) else ((u * logarithm).exp() - 1) / u)) / (1 - FUNCTION * u)
    assert exact.terms.item() == 4
    assert near(exact.magnitude.item(), y * (1 + u * c / power) * (1 + u * r) / power)
    assert near(exact.extra.item(), y * (c / power + r + u * c * r / power))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2, 3, 5, 16])
def test_norms_lack_no_more_than_their_error_and_hardly_less(p, dtype):
    rng = np.random.default_rng(p)
    exponents = rng.integers(90 - 60 // p, 90, (1, 1, 400)) if dtype is np.float64 else 0
    x = (rng.uniform(0, 1, (1, 1, 400)) * 2.0**exponents).astype(dtype)
    pair = _norm_pairs(x, Windows.of((400,), 4), Fraction(p))
    with localcontext(Context(prec=60)):
        for values, high, low, error in zip(
            x.reshape(-1, 4).tolist(),
            *(part.ravel().tolist() for part in (pair.high, pair.low, pair.error)),
            strict=True,
        ):
            norm = norm_of([Decimal(value) for value in values], Decimal(p))
            gap = abs(norm - Decimal(high) - Decimal(low))
            assert gap <= Decimal(error) + norm * Decimal("1e-55")
            assert Decimal(error) <= norm * Decimal(2) ** -80


def test_norms_of_squares_at_once_are_off_by_what_additions_and_a_root_round():
    x = np.random.default_rng(0).uniform(0, 1, (1, 1, 400)).astype(np.float32).astype(np.float64)
    pair = _square_norms(x, Windows.of((400,), 4))
    assert not pair.low.any()
    assert pair.error.ravel().tolist() == (pair.high * 5 * 2.0**-53).ravel().tolist()
    for values, high, error in zip(
        x.reshape(-1, 4).tolist(), pair.high.ravel().tolist(), pair.error.ravel().tolist(), strict=True
    ):
        square = sum(Fraction(value) ** 2 for value in values)
        assert (Fraction(high) - Fraction(error)) ** 2 <= square <= (Fraction(high) + Fraction(error)) ** 2


@pytest.mark.parametrize("value", [1e200, 1e-200])
def test_the_bound_of_large_and_small_norms_is_finite(value):
    exact = reference.OPERATORS["lp_pool"](np.full((1, 1, 4), value), 4, p=2.5)
    assert np.isfinite([exact.extra.item(), exact.magnitude.item(), exact.bound().item()]).all()


def test_a_norm_of_the_greatest_p_is_accepted_and_no_other_beyond():
    assert reference.lp_pool(np.ones((1, 1, 1)), 1, p=10**6).item() == 1
    with pytest.raises(ValueError, match="p 1000001 must be a number of at least 1 and at most 1000000"):
        reference.lp_pool(np.ones((1, 1, 1)), 1, p=10**6 + 1)


@pytest.mark.parametrize("p", [3, 7])
def test_the_error_of_a_root_is_that_of_its_step(p):
    sums = FloatPair(np.array([2.5]), np.array([2.0**-54]), np.array([2.0**-100]))
    start = np.power(sums.high, 1 / p)
    powers, slope = _real_powers(start, p), p * start ** (p - 1)
    rest = Fraction(2.5) + Fraction(1, 2**54) - Fraction(powers.high.item()) - Fraction(powers.low.item())
    step = abs(float(rest)) / slope.item()
    rounding = (abs(2.5 - powers.high.item()) + 2.0**-54 + abs(powers.low.item())) * 2.0**-50
    error = (2.0**-100 + powers.error.item() + rounding) / slope.item() + step * 2.0**-48
    error += (p - 1) * step * step / start.item()
    assert _power_roots(sums, p).error.item() == pytest.approx(error, rel=1e-6, abs=0)


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def test_the_norm_of_three_and_four_is_five():
    assert reference.lp_pool(plane([[3, 0], [0, -4]]), 2).tolist() == [[[[5]]]]
    assert reference.lp_pool(plane([3, -4]), 2, p=1).tolist() == [[[7]]]
    assert reference.lp_pool(plane([3, 4, 5]), 3, p=3).tolist() == [[[6]]]
    assert reference.lp_pool(plane([1.0] * 8), 8, p=1.5).tolist() == [[[4]]]


def test_a_norm_sums_and_does_not_average_and_padding_adds_nothing():
    assert reference.lp_pool(plane([1, 1, 1, 1]), 4).tolist() == [[[2]]]
    assert reference.lp_pool(plane([3, 4]), 4, padding=1).tolist() == [[[5]]]
    assert reference.lp_pool(plane([3.0]), 1, padding=1).tolist() == [[[0, 3, 0]]]


def test_a_norm_is_never_negative_nor_negative_zero():
    values = reference.lp_pool(plane([-0.0, -0.0, -2.0, 0.0]), 2, p=3)
    assert values.tolist() == [[[0, 2]]]
    assert not np.signbit(values).any()


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1, 2, 2.5])
def test_nan_in_a_norm_wins_over_infinity_and_infinity_over_numbers(dtype, p):
    x = plane([np.nan, np.inf, -np.inf, 1, 1, np.nan], dtype)
    np.testing.assert_array_equal(reference.lp_pool(x, 2, p=p).astype(float), [[[np.nan, np.inf, np.nan]]])


def one(x):
    assert x.size == 1
    return x.ravel()[0]


@pytest.mark.parametrize("p", [2, 3, 40, 2.5])
def test_powers_that_overflow_or_underflow_do_not_spoil_a_norm(p):
    greatest, least = np.finfo(np.float64).max, 5e-324
    for value in (greatest, 1e200, 1e-200, least):
        assert one(reference.lp_pool(plane([value, 0], np.float64), 2, p=p)) == value
    assert one(reference.lp_pool(plane([greatest, greatest], np.float64), 2, p=p)) == np.inf
    assert reference.lp_pool(plane([1e300, 0, 1e-300, 0], np.float64), 2, p=p).tolist() == [[[1e300, 1e-300]]]


def test_a_large_p_approaches_the_largest_value():
    x = plane([1.0, -3.0, 2.0], np.float64)
    for p in (1e3, 1e4 + 0.5, 10**6):
        assert one(reference.lp_pool(x, 3, p=p)) == 3


@pytest.mark.parametrize(("value", "expected"), [(1 + 2.0**-7, 3 + 2.0**-5), (1 + 3 * 2.0**-7, 3 + 2.0**-4)])
def test_a_norm_half_way_between_two_numbers_goes_to_even(value, expected):
    # 81 fourth powers make three times the value: an odd number of half units of bfloat16.
    x = np.full((1, 1, 81), value).astype(ml_dtypes.bfloat16)
    assert 3 * value % 2.0**-6 == 2.0**-7
    assert one(reference.lp_pool(x, 81, p=4)) == expected


def test_a_norm_a_hair_above_half_way_is_told_from_it():
    value, dtype = 1 + 3 * 2.0**-7, np.dtype(ml_dtypes.bfloat16)
    for hair in (2.0**-100, 2.0**-900):
        assert certain_norm([value] * 6561, Fraction(8), dtype) == 3 * Fraction(value)
        assert certain_norm([*[value] * 6561, hair], Fraction(8), dtype) > 3 * Fraction(value)


@pytest.mark.parametrize(
    ("values", "p", "number", "expected"),
    [
        ([3.0, 4.0], Fraction(2), Fraction(5), True),
        ([3.0, 4.0], Fraction(2), Fraction(5) + Fraction(1, 2**200), False),
        ([1.0] * 8, Fraction(3, 2), Fraction(4), True),
        ([1.0, 2.0], Fraction(3, 2), Fraction(3), False),
        ([4.0, 16.0], Fraction(1, 1), Fraction(20), True),
        ([1.0] * 32, Fraction(5, 4), Fraction(16), True),
        ([1.0, 0.0], Fraction(2**60), Fraction(1), True),
        ([1.0, 0.5], Fraction(10**9), Fraction(1), False),
    ],
)
def test_whether_a_number_is_a_norm_is_decided_in_whole_numbers(values, p, number, expected):
    assert is_exact_norm(values, p, number) is expected


@pytest.mark.parametrize("p", [1, 2, 3, 1.5, 2.3, 300])
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_computed_as_frameworks_do_stay_within_the_bound(dtype, p):
    spread = 0.1 if p == 300 else 0.75
    x = np.random.default_rng(7).uniform(1 - spread, 1 + spread, (1, 1, 360)).astype(dtype)
    exact = reference.OPERATORS["lp_pool"](x, 9, p=p)
    accumulate = np.float64 if dtype is np.float64 else np.float32
    p_of_type = np.array(p, accumulate)
    powers = np.abs(x.astype(accumulate).reshape(-1, 9)) ** p_of_type
    for total in (powers.sum(-1), powers[:, ::-1].cumsum(-1)[:, -1], powers.mean(-1) * accumulate(9)):
        got = (total ** (accumulate(1) / p_of_type)).astype(dtype).reshape(exact.value.shape)
        assert (exact.distance(got) <= exact.bound()).all()


def test_the_bound_of_a_norm_carries_four_units_of_each_function_through_the_root():
    exact = reference.OPERATORS["lp_pool"](np.full((1, 1, 4), 1, np.float64), 4)
    u = 2.0**-53
    # y = 2: S = y / 2; the powers 8u of the sum, halved by the root, and 8u of the root.
    expected = 7 * u * 1 + (2 * (4 + 8)) * u + 2 * u
    assert exact.bound().item() == pytest.approx(expected, rel=1e-9)
