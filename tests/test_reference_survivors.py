"""What mutation testing asked for: corners of one module that no other test looks into. See docs/mutation.md."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows, round_to
from reference.errorfree import Pair, cut, divide, join, two_product
from reference.rounding import round_pair, settle, to_pair

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
NARROW = FLOATS[:3]


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


# rounding


def test_one_rounds_to_one():
    assert [float(round_to(Fraction(1), dtype)) for dtype in FLOATS] == [1.0] * 4
    assert [float(round_to(Fraction(-1), dtype)) for dtype in FLOATS] == [-1.0] * 4


def test_a_pair_beyond_float64_has_no_low_part():
    assert to_pair(Fraction(2) ** 2000) == (np.inf, 0.0)
    assert to_pair(-(Fraction(2) ** 2000)) == (-np.inf, 0.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("side", [1, -1])
def test_a_pair_is_uncertain_if_either_end_of_its_error_lies_beyond_a_tie(dtype, sign, side):
    """The pair lies a little to one side of a tie, the truth, within the error, a little to the other."""
    u, off = roundoff(dtype), 2.0**-90
    high, low, error = (np.array([v]) for v in (sign * 1.0, sign * (u + side * off), 2 * off))
    truth = sign * (1 + Fraction(u) - side * Fraction(off) / 2)
    value, *_ = settle(Pair(high, low, error), np.dtype(dtype), lambda _: truth)
    assert float(value[0]) == sign * (1.0 if side > 0 else 1 + 2 * u)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("steps", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("tie", [1, 3])
@pytest.mark.parametrize("low", [2.0**-70, -(2.0**-70)])
def test_pairs_beside_a_tie_fall_on_their_side(dtype, steps, tie, low):
    """float64 numbers up to two steps from a tie whose even neighbour lies below (1) or above (3)."""
    u = roundoff(dtype)
    high = 1 + tie * u + steps * 2.0**-52
    expected = 1 + (tie + (1 if steps + np.sign(low) / 2 > 0 else -1)) * u
    assert float(round_pair(np.array([high]), np.array([low]), np.dtype(dtype))[0]) == expected


@pytest.mark.parametrize("steps", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("tie", [1, 3])
@pytest.mark.parametrize("rest", [2.0**-40, -(2.0**-40)])
def test_numbers_on_their_way_to_bfloat16_are_not_rounded_twice(steps, tie, rest):
    """As above, in float32 steps: what float32 drops decides."""
    u = roundoff(ml_dtypes.bfloat16)
    high = 1 + tie * u + steps * 2.0**-23 + rest
    expected = 1 + (tie + (1 if steps + np.sign(rest) / 2 > 0 else -1)) * u
    assert float(round_pair(np.array([high]), np.zeros(1), np.dtype(ml_dtypes.bfloat16))[0]) == expected


# windows


def test_a_valid_padding_is_none():
    assert Windows.of((3, 4), 2, padding="valid").pads == ((0, 0), (0, 0))


def test_an_extent_below_zero_is_refused():
    with pytest.raises(ValueError, match="size -1 must be at least 0"):
        Windows.of((-1,), 1, padding=5)


# bound


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
        assert formula <= Fraction(bound) <= formula * (1 + Fraction(1, 2**38))


@pytest.mark.parametrize("n", [1021, 1022, 2000, 5000])
def test_beyond_the_most_terms_there_is_no_bound_at_all(n):
    exact = reference.OPERATORS["avg_pool"](np.ones((1, 1, n), np.float16), n)
    with pytest.raises(reference.NoBound, match=f"no bound for {n} terms"):
        exact.bound(np.float16)


# arguments


def test_arrays_list_their_entries_and_arrays_without_axes_are_numbers():
    assert Windows.of((4, 5), np.array([1, 2])).window == (1, 2)
    assert Windows.of((4, 5), np.array(2)).window == (2, 2)
    with pytest.raises(ValueError, match=r"window array\(\[2\]\) has 1 entries: expected 2"):
        Windows.of((4, 5), np.array([2]))


def test_the_greatest_number_is_accepted():
    assert Windows.of((1,), 1, 2**31 - 1).stride == (2**31 - 1,)


@pytest.mark.parametrize("entry", [(), (1,), (1, 2, 3)])
def test_a_pair_has_two_ends(entry):
    with pytest.raises(ValueError, match="must be a number or a pair"):
        Windows.of((4, 5), 1, padding=[entry, 0])


# errorfree


def test_the_error_of_joined_parts_is_what_was_dropped_and_hardly_more():
    # 2**-200 is lost below 1 + 2**-100, and nothing else is.
    parts = [np.array([v]) for v in (1.0, 2.0**-100, 2.0**-200)]
    pair = join(parts, (1,))
    assert Fraction(1, 2**200) <= Fraction(float(pair.error[0])) <= Fraction(1, 2**200) * (1 + Fraction(1, 2**39))
    assert join(parts[:2], (1,), lost=0.5).error.tolist() == [0.5]


@pytest.mark.parametrize("divisor", [3.0, 2.0**40 + 1])
def test_the_error_of_a_quotient_is_far_below_its_low_part(divisor):
    rng = np.random.default_rng(0)
    high = rng.uniform(1, 2, 1000)
    pair = divide(Pair(high, high * 2.0**-60, np.zeros(1000)), np.full(1000, divisor))
    assert (pair.error <= np.abs(pair.high) * 2.0**-103).all()
    wider = divide(Pair(high, np.zeros(1000), high * 2.0**-70), np.full(1000, divisor))
    assert (wider.error <= np.abs(wider.high) * 2.0**-70 * (1 + 2.0**-20)).all()


def test_quotients_of_small_numbers_alone_allow_for_underflow():
    for size, allowed in ((2.0**-840, 0.0), (2.0**-860, 2.0**-1070)):
        pair = divide(Pair(*(np.array([v]) for v in (3 * size, 0.0, 0.0))), np.array([3.0]))
        assert pair.error.tolist() == [allowed]


@pytest.mark.parametrize("factor", [1.0, 2.0**-300, 2.0**300])
def test_products_are_split_without_loss_whatever_their_digits(factor):
    rng = np.random.default_rng(1)
    digits = (2**53 - rng.integers(1, 2**20, (2, 2000))).astype(np.float64)
    a, b = digits[0] * factor, digits[1]
    products = [Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    high, low = (part.tolist() for part in two_product(a, b))
    assert [Fraction(x) + Fraction(y) for x, y in zip(high, low, strict=True)] == products


def test_slices_stop_where_nothing_is_left():
    assert cut(np.zeros(3), 10, 5) == ([], 0.0)
    slices, left = cut(np.array([1.0, 2.0]), 10, 5)
    assert len(slices) == 1
    assert left == 0.0
