"""Every order of evaluation is within the bound, and wrong results exceed it."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference.arithmetic.bound import BOUND_DIGITS, FUNCTION_ULPS, error_bound
from reference.arithmetic.rounding import FLOAT_FORMATS
from tests.support.evaluation_orders import (
    ACCUMULATIONS,
    FLOATS,
    averages,
    cancelling,
    dots,
    left_to_right,
    norms,
    positive,
    random,
    rationals,
    softmaxes,
    sticky,
    subnormal,
    wide,
)

OUTPUTS = 40
# The slack of the arithmetic, and rounding up to 24 digits.
MOST_ADDED = Fraction(1, 2**38) + Fraction(1, 2**23)
# Decimals of many digits take their time.
FEW = 8


def windows_of(kind, n, dtype):
    """(outputs, n) values: random, of wide range, or cancelling."""
    rng = np.random.default_rng(n)
    values = rng.uniform(1, 2, (OUTPUTS, n)) * rng.choice([-1, 1], (OUTPUTS, n))
    if kind == "wide":
        values *= 2.0 ** rng.integers(-6, 7, values.shape)
    if kind == "cancelling":
        values[:, n // 2 :] = -values[:, : n - n // 2]
        values[:, -1] += 2.0**-6
    return values.astype(dtype)


def budget(exact, got, accumulate):
    """Largest share of the bound that an answer uses."""
    return (exact.distance(got.astype(exact.value.dtype).reshape(exact.value.shape)) / exact.bound(accumulate)).max()


@pytest.mark.parametrize("kind", ["random", "wide", "cancelling"])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 49, 100])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_averages_stay_within_the_bound(dtype, accumulate, n, kind):
    x = windows_of(kind, n, dtype)
    exact = reference.OPERATORS["avg_pool"](x.reshape(1, 1, -1), n)
    assert max(budget(exact, got, accumulate) for _, got in averages(x, n, accumulate)) <= 1


@pytest.mark.parametrize("kind", ["random", "wide", "cancelling"])
@pytest.mark.parametrize("n", [1, 2, 9, 49, 100])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_dot_products_stay_within_the_bound(dtype, accumulate, n, kind):
    x, kernel = windows_of(kind, n, dtype), windows_of("random", n, dtype)[:1]
    exact = reference.OPERATORS["conv"](x.reshape(1, 1, -1), kernel[None], stride=n)
    assert max(budget(exact, got, accumulate) for _, got in dots(x, kernel, accumulate)) <= 1


def test_the_bound_is_not_idle():
    """Numbers that all round the same way use half of it."""
    n = 100
    x = np.full((1, 1, n), 1 + 2.0**-23, np.float32)
    x[0, 0, 0] = 2.0**24
    exact = reference.OPERATORS["avg_pool"](x, n)
    adversary = np.full((1, 1, n), 1.0, np.float32)
    adversary[0, 0, 0] = 2.0**24
    stuck = reference.OPERATORS["avg_pool"](adversary, n)
    assert budget(stuck, left_to_right(adversary[0, 0]) / np.float32(n), np.float32) > 0.4
    assert budget(exact, left_to_right(x[0, 0]) / np.float32(n), np.float32) <= 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_wrong_answer_leaves_the_bound(dtype):
    n = 9
    x = np.abs(windows_of("random", n, dtype))
    exact = reference.OPERATORS["avg_pool"](x.reshape(1, 1, -1), n)
    right = x.astype(np.float64).sum(-1)
    for wrong in (right / (n + 1), right / (n - 1), right / n - x[:, 4].astype(np.float64) / n):
        distance = exact.distance(wrong.astype(dtype).reshape(exact.value.shape))
        assert (distance > exact.bound()).all()
    assert not exact.distance(exact.value).any() or (exact.distance(exact.value) <= exact.bound()).all()


def test_the_bound_is_the_formula_of_the_design():
    x = np.array([[[0.1, -0.7, 0.3]]], np.float32)
    exact = reference.OPERATORS["avg_pool"](x, 3)
    values = [Fraction(float(v)) for v in x.ravel()]
    magnitude, result = sum(map(abs, values)) / 3, abs(sum(values) / 3)
    for accumulate, u in (
        (None, Fraction(1, 2**24)),
        (np.float64, Fraction(1, 2**53)),
        (ml_dtypes.bfloat16, Fraction(1, 2**8)),
    ):
        g = 6 * u / (1 - 6 * u)
        eta = max(Fraction(1, 2**149), Fraction(1, 2**133) if accumulate is ml_dtypes.bfloat16 else 0)
        error = g * magnitude + 6 * eta
        expected = error + Fraction(1, 2**24) * (result + error)
        got = Fraction(exact.bound(accumulate).item())
        assert expected <= got <= expected * (1 + MOST_ADDED)


def test_flushing_allows_the_smallest_normal():
    x = np.zeros((1, 1, 3), np.float32)
    exact = reference.OPERATORS["avg_pool"](x, 3)
    assert exact.bound().item() == pytest.approx(6 * 2.0**-149 * (1 + 2.0**-24), rel=2.0**-39)
    assert exact.bound(flush=True).item() == pytest.approx(6 * 2.0**-126 * (1 + 2.0**-24), rel=2.0**-39)


def test_the_coarser_of_two_types_says_what_is_subnormal():
    exact = reference.OPERATORS["avg_pool"](np.zeros((1, 1, 3), np.float16), 3)
    assert exact.bound(np.float32).item() == pytest.approx(6 * 2.0**-24 * (1 + 2.0**-11), rel=2.0**-39)


@pytest.mark.parametrize(("dtype", "most"), [(np.float16, 1020), (ml_dtypes.bfloat16, 124)])
def test_too_many_terms_have_no_bound(dtype, most):
    for n in (most, most + 1):
        exact = reference.OPERATORS["avg_pool"](np.ones((1, 1, n), dtype), n)
        assert exact.bound(np.float32) > 0
        if n == most:
            assert exact.bound(dtype) > 0
            continue
        with pytest.raises(reference.NoBound, match=f"no bound for {n} terms"):
            exact.bound(dtype)


def test_selections_and_integers_have_bound_zero():
    x = np.ones((1, 1, 4), np.float32)
    for exact in (
        reference.OPERATORS["max_pool"](x, 2),
        reference.OPERATORS["avg_pool"](x.astype(np.int32), 2),
        reference.OPERATORS["conv"](x.astype(np.int8), x.astype(np.int8)),
    ):
        assert exact.exact
        assert not exact.bound(np.float16).any()
        assert exact.terms.dtype == np.int64


def test_terms_count_what_is_added():
    x = np.ones((1, 2, 3), np.float32)
    assert reference.OPERATORS["avg_pool"](x, 2, stride=1, padding=1).terms[0, 0].tolist() == [1, 2, 2, 1]
    assert reference.OPERATORS["softmax_pool"](x, 2, stride=1, padding=1).terms[0, 0].tolist() == [2, 4, 4, 2]
    kernel = np.ones((1, 2, 2), np.float32)
    assert reference.OPERATORS["conv"](x, kernel, kernel[:, 0, 0], padding=1).terms[0, 0].tolist() == [3, 5, 5, 3]


@pytest.mark.parametrize("parameters", [{}, {"padding": 1}, {"stride": 2, "padding": 1, "rounding": "ceil"}])
@pytest.mark.parametrize("window", [2, 3])
def test_softmax_averages_add_an_even_number_of_terms(window, parameters):
    """As many weights as products of them, wherever a window ends."""
    x = np.ones((1, 1, 6, 5), np.float32)
    terms = reference.OPERATORS["softmax_pool"](x, window, **parameters).terms
    assert (terms % 2 == 0).all()
    assert terms.max() == 2 * window**2


def test_magnitudes_are_sums_of_absolute_values_rounded_up():
    x = np.random.default_rng(2).standard_normal((1, 1, 12)).astype(np.float32)
    exact = reference.OPERATORS["avg_pool"](x, 3)
    for o, magnitude in enumerate(exact.magnitude.ravel().tolist()):
        rational = sum(abs(Fraction(float(v))) for v in x[0, 0, 3 * o : 3 * o + 3]) / 3
        assert rational <= Fraction(magnitude) <= rational * (1 + Fraction(1, 2**38))


def test_special_values_have_bound_zero_and_agree_only_with_themselves():
    exact = reference.OPERATORS["avg_pool"](np.array([[[np.inf, 1, np.nan, 1, 1, 1]]], np.float32), 2)
    assert exact.bound()[0, 0].tolist()[:2] == [0, 0]
    assert exact.distance(np.array([[[np.inf, np.nan, 1]]], np.float32)).tolist() == [[[0, 0, 0]]]
    assert exact.distance(np.array([[[-np.inf, 1, np.nan]]], np.float32)).tolist() == [[[np.inf] * 3]]
    assert exact.distance(np.array([[[np.nan, np.inf, np.inf]]], np.float32)).tolist() == [[[np.inf] * 3]]


def test_an_overflow_agrees_with_infinity():
    exact = reference.OPERATORS["conv"](np.full((1, 1, 1), 3e38, np.float32), np.full((1, 1, 1), 4, np.float32))
    assert exact.value.item() == np.inf
    assert exact.distance(np.full((1, 1, 1), np.inf, np.float32)).item() == 0
    assert exact.high.item() == pytest.approx(1.2e39)


# Softmax pooling.


def exact_exponentials(weights, _):
    return weights


def adversary(accumulate):
    u = float(ml_dtypes.finfo(accumulate).eps) / 2

    def wobble(weights, x):
        wide = x.astype(np.float64)
        y = (wide * weights).sum(-1, keepdims=True) / weights.sum(-1, keepdims=True)
        # What rounding to the type itself takes is left out.
        return weights * (1 + np.sign(wide - y) * (2 * FUNCTION_ULPS - 1) * u)

    return wobble


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 2, 4, 9, 40])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_softmax_averages_stay_within_the_bound(dtype, accumulate, n, scale):
    x = (np.random.default_rng(n).uniform(-1, 1, (FEW, n)) * scale).astype(dtype)
    exact = reference.OPERATORS["softmax_pool"](x.reshape(1, 1, -1), n)
    used = [
        budget(exact, got, accumulate)
        for wobble in (exact_exponentials, adversary(accumulate))
        for got in softmaxes(x, accumulate, wobble)
    ]
    assert max(used) <= 1


DIGITS = Context(prec=80)
# Exponentials up to this are normal numbers of float16, and their products do not overflow.
GREATEST = 4.0


def within(exact, truth, got, dtype, accumulate):
    """Return whether results are within the bound of decimals of 80 digits."""
    parts = (rationals(part.ravel()) for part in (got.astype(dtype), exact.bound(accumulate)))
    return all(abs(n - Fraction(t)) <= b for n, b, t in zip(*parts, truth, strict=True))


def softmax_average(row):
    with localcontext(DIGITS):
        weights = [Decimal(x).exp() for x in row]
        return sum(Decimal(x) * w for x, w in zip(row, weights, strict=True)) / sum(weights)


@pytest.mark.parametrize("kind", [random, positive, wide, cancelling, subnormal, sticky])
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_no_way_to_weigh_by_softmax_leaves_the_bound(dtype, accumulate, n, kind):
    x = np.clip(kind(np.random.default_rng(n), (FEW, n), dtype), -GREATEST, GREATEST).astype(dtype)
    exact = reference.OPERATORS["softmax_pool"](x.reshape(1, 1, -1), n)
    truth = [softmax_average(row) for row in x.astype(np.float64).tolist()]
    for wobble in (exact_exponentials, adversary(accumulate)):
        for got in softmaxes(x, accumulate, wobble):
            assert within(exact, truth, got, dtype, accumulate)


def norm(row, p):
    with localcontext(DIGITS):
        return sum(abs(Decimal(x)) ** p for x in row) ** (1 / p)


@pytest.mark.parametrize("kind", [random, positive, wide, cancelling])
@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_no_way_to_take_a_norm_leaves_the_bound(dtype, accumulate, n, p, kind):
    """Powers of subnormal numbers are no normal ones, and not covered."""
    rng = np.random.default_rng(n)
    x = kind(rng, (FEW, n), dtype)
    exact = reference.OPERATORS["lp_pool"](x.reshape(1, 1, -1), n, p=p)
    truth = [norm(row, Decimal(p)) for row in x.astype(np.float64).tolist()]
    for got in norms(x, p, accumulate, rng):
        assert within(exact, truth, got, dtype, accumulate)


def test_the_bound_of_softmax_averages_is_not_idle():
    x = (np.random.default_rng(0).choice([-1, 1], (OUTPUTS, 4))).astype(np.float32)
    exact = reference.OPERATORS["softmax_pool"](x.reshape(1, 1, -1), 4)
    assert max(budget(exact, got, np.float32) for got in softmaxes(x, np.float32, adversary(np.float32))) > 0.2


@pytest.mark.parametrize("distance", [5.0, 30.0, 80.0])
@pytest.mark.parametrize("accumulate", [ml_dtypes.bfloat16, np.float32, np.float64])
def test_a_rounded_difference_spoils_its_exponential_within_the_bound(accumulate, distance):
    u = float(ml_dtypes.finfo(accumulate).eps) / 2
    x = np.array([[0, -distance]]).astype(accumulate)
    exact = reference.OPERATORS["softmax_pool"](x[None], 2)
    used = []
    for sign in (1, -1):
        # As if the difference had been off by u, and exp by FUNCTION_ULPS.
        spoilt = np.exp(-distance) * np.exp(sign * u * distance) * (1 + sign * (2 * FUNCTION_ULPS - 2) * u)
        weights = np.array([[1, spoilt]]).astype(accumulate)
        used.append(budget(exact, left_to_right(x * weights) / left_to_right(weights), accumulate))
    assert 0.3 < max(used) <= 1


def test_a_softmax_average_without_one_element_leaves_the_bound():
    x = np.random.default_rng(0).uniform(-1, 1, (OUTPUTS, 9)).astype(np.float32)
    exact = reference.OPERATORS["softmax_pool"](x.reshape(1, 1, -1), 9)
    wide = x[:, :-1].astype(np.float64)
    wrong = (wide * np.exp(wide)).sum(-1) / np.exp(wide).sum(-1)
    distance = exact.distance(wrong.astype(np.float32).reshape(exact.value.shape))
    assert (distance > exact.bound()).mean() > 0.9


def test_far_apart_values_have_a_finite_bound():
    x = np.array([[[1e30, -1e30, 0.0, -100.0]]], np.float32)
    bound = reference.OPERATORS["softmax_pool"](x, 2).bound()
    assert np.isfinite(bound).all()
    assert bound[0, 0, 0] < 1e24


def test_the_bound_is_never_below_its_formula_in_rational_numbers():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1, 500, 7)).astype(np.float32)
    exact = reference.OPERATORS["avg_pool"](x, 7)
    u, n = Fraction(1, 2**24), 7
    g = (n + 3) * u / (1 - (n + 3) * u)
    for row, bound in zip(x[0].tolist(), exact.bound().ravel().tolist(), strict=True):
        values = [Fraction(v) for v in row]
        error = g * sum(map(abs, values)) / n + (n + 3) * Fraction(1, 2**149)
        formula = error + u * (abs(sum(values)) / n + error)
        assert formula <= Fraction(bound) <= formula * (1 + MOST_ADDED)


def test_the_bound_of_any_magnitude_is_never_below_its_formula():
    rng, form = np.random.default_rng(0), FLOAT_FORMATS[np.dtype(np.float64)]
    exact, magnitude, extra = rng.uniform(-1, 1, 500), rng.uniform(1, 2, 500), rng.uniform(0, 9, 500)
    given = {"magnitude": magnitude, "extra": extra, "accumulate": form, "result": form, "flush": False}
    bounds = error_bound(exact, terms=np.full(500, 6), **given)
    u, eta = Fraction(1, 2**53), Fraction(1, 2**1074)
    for y, s, more, bound in zip(*(part.tolist() for part in (exact, magnitude, extra, bounds)), strict=True):
        error = 9 * u / (1 - 9 * u) * Fraction(s) + Fraction(more) * u + 9 * eta
        formula = error + u * (abs(Fraction(y)) + error)
        assert formula <= Fraction(bound) <= formula * (1 + MOST_ADDED)


def test_a_power_and_a_root_are_granted_four_units_in_the_last_place_each():
    # One cell of 1: g·S is 4 u / p. The power adds 8 u / p and the root 8 u: 4 ulp, of 2 u each. The result adds u.
    exact = reference.OPERATORS["lp_pool"](np.ones((1, 1, 1), np.float32), 1, p=2)
    assert exact.bound().item() == pytest.approx((4 / 2 + 8 / 2 + 8 + 1) * 2.0**-24, rel=1e-5)


@pytest.mark.parametrize("n", [1021, 1022, 2000, 5000])
def test_beyond_the_most_terms_there_is_no_bound_at_all(n):
    exact = reference.OPERATORS["avg_pool"](np.ones((1, 1, n), np.float16), n)
    with pytest.raises(reference.NoBound, match=f"no bound for {n} terms"):
        exact.bound(np.float16)


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_bound_is_by_itself_that_of_float32_or_float64_without_flushing(dtype):
    exact = reference.OPERATORS["avg_pool"](np.full((1, 1, 3), 8 * ml_dtypes.finfo(dtype).tiny, dtype), 3)
    accumulate = np.float64 if dtype is np.float64 else np.float32
    assert exact.bound() == exact.bound(accumulate, flush=False) < exact.bound(accumulate, flush=True)


def test_a_bound_has_24_digits_and_ignores_the_last_bits_of_a_sum():
    form = FLOAT_FORMATS[np.dtype(np.float32)]
    given = {"terms": np.full(999, 6), "extra": 0.0, "accumulate": form, "result": form, "flush": False}
    exact = np.zeros(999)
    sums = np.random.default_rng(0).uniform(1, 2, 999)
    sums[:99] = np.arange(1, 100)
    bounds = error_bound(exact, magnitude=sums, **given)
    assert (np.ldexp(np.frexp(bounds)[0], BOUND_DIGITS) % 1 == 0).all()
    for other in (np.nextafter(sums, 0), np.nextafter(sums, 9)):
        assert (error_bound(exact, magnitude=other, **given) == bounds).all()
    assert (error_bound(exact, magnitude=sums * (1 + 2.0**-22), **given) != bounds).all()
