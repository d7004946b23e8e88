from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import round_to
from reference.arithmetic import rounding
from reference.arithmetic.errorfree import (
    FloatPair,
    add_parts,
    divide_pair,
    split_into_slices,
    two_product,
    two_sum,
    zero_array,
)
from reference.arithmetic.rounding import rational_to_pair, round_certainly, round_pair
from tests.support import loop_reference

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
TINY = Fraction(1, 2**1200)


def bits_of(dtype):
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def numbers(dtype):
    """Pairs of neighbours from all over the format, the last one the greatest number and what would follow it."""
    infinity = int(np.array([np.inf]).astype(dtype).view(bits_of(dtype))[0])
    rng = np.random.default_rng(7)
    chosen = [0, 1, 2, 3, infinity - 2, infinity - 1, *rng.integers(0, infinity - 1, 40, np.int64).tolist()]
    least_normal = np.array([float(ml_dtypes.finfo(dtype).tiny)]).astype(dtype).view(bits_of(dtype))[0]
    for here in [*chosen, int(least_normal) - 1, int(least_normal)]:
        low, high = (np.array([b], bits_of(dtype)).view(dtype)[0] for b in (here, here + 1))
        a = Fraction(float(low))
        below = Fraction(float(np.array([here - 1], bits_of(dtype)).view(dtype)[0])) if here else a
        b = Fraction(float(high)) if np.isfinite(high) else 2 * a - below
        yield (low, a), (high, b), here % 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_ties_go_to_even_and_their_neighbours_to_the_nearest(dtype):
    for (low, a), (high, b), odd in numbers(dtype):
        middle = (a + b) / 2
        for number, expected in (
            (a, low),
            (middle, high if odd else low),
            (middle - TINY, low),
            (middle + TINY, high),
        ):
            for sign in (1, -1):
                got = reference.round_to(sign * number, dtype)
                assert got.dtype == dtype
                assert got == sign * expected, (float(number), sign)
                assert np.signbit(got) == (sign < 0 and number != 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_pairs_near_ties_are_not_rounded_twice(dtype):
    for (low, a), (high, b), odd in numbers(dtype):
        middle = (a + b) / 2
        first, rest = rounding.rational_to_pair(middle)
        if not np.isfinite(first) or Fraction(first) + Fraction(rest) != middle:
            continue  # below or beyond float64
        for nudge, expected in ((-1, low), (0, high if odd else low), (1, high)):
            small = np.float64(rest) + nudge * max(abs(first) * 2.0**-90, 2.0**-1074)
            if nudge and small == rest:
                continue
            for sign in (1.0, -1.0):
                pair = sign * np.array([first]), sign * np.array([small])
                with np.errstate(over="ignore"):
                    assert rounding.round_pair(*pair, np.dtype(dtype))[0] == sign * expected


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_agrees_with_the_search_for_the_nearest(dtype):
    rng = np.random.default_rng(11)
    for _ in range(300):
        number = Fraction(int(rng.integers(-(2**62), 2**62)), int(rng.integers(1, 2**62)))
        number *= Fraction(2) ** int(rng.integers(-160, 140))
        assert reference.round_to(number, dtype) == loop_reference.nearest(number, np.dtype(dtype))


def test_rounding_refuses_integers():
    with pytest.raises(TypeError, match=r"int8 is no floating dtype: accepted are float16, bfloat16, float32, float64"):
        reference.round_to(Fraction(1), np.int8)


@pytest.mark.parametrize("dtype", FLOATS)
def test_formats_are_those_of_the_dtypes(dtype):
    form, info = rounding.format_of(dtype), ml_dtypes.finfo(dtype)
    assert form.unit_roundoff == float(info.eps) / 2
    assert form.smallest_normal == float(info.tiny)
    assert form.smallest_subnormal == float(info.smallest_subnormal)
    assert (
        Fraction(float(info.max)) == (2 - Fraction(2) * Fraction(form.unit_roundoff)) * Fraction(2) ** form.max_exponent
    )


def test_an_uncertain_element_is_computed_again_and_a_certain_one_is_not():
    half_unit = 2.0**-53
    high, low = np.array([1.0, 1.0, np.inf]), np.array([half_unit, half_unit / 2, 0.0])
    pair = FloatPair(high, low, np.array([2.0**-120, 2.0**-120, 0.0]))
    asked = []

    def exactly(position):
        asked.append(position)
        return Fraction(3)

    value, _, _ = rounding.round_certainly(pair, np.dtype(np.float64), exactly)
    assert asked == [(0,), (2,)]
    assert value.tolist() == [3, 1, 3]


def test_an_exact_tie_without_error_is_certain():
    pair = FloatPair(np.array([1.0]), np.array([2.0**-53]), np.array([0.0]))
    assert rounding.round_certainly(pair, np.dtype(np.float64), pytest.fail)[0].tolist() == [1]


@pytest.mark.parametrize("transformation", [two_sum, two_product])
def test_transformations_lose_nothing(transformation):
    rng = np.random.default_rng(13)
    a, b = (rng.standard_normal(500) * 2.0 ** rng.integers(-200, 200, 500) for _ in range(2))
    total, rest = transformation(a, b)
    for x, y, high, low in zip(*(z.tolist() for z in (a, b, total, rest)), strict=True):
        exact = Fraction(x) + Fraction(y) if transformation is two_sum else Fraction(x) * Fraction(y)
        assert Fraction(high) + Fraction(low) == exact


def within(pair, exact):
    """Return whether each element of a pair is as close to the rational as its error says."""
    parts = zip(*(part.tolist() for part in (pair.high, pair.low, pair.error)), exact, strict=True)
    return all(abs(Fraction(h) + Fraction(low) - e) <= Fraction(error) for h, low, error, e in parts)


def test_joined_parts_are_within_their_error():
    rng = np.random.default_rng(17)
    for spread in (1, 60, 300):
        parts = [rng.standard_normal(200) * 2.0 ** rng.integers(-spread, spread, 200) for _ in range(9)]
        pair = add_parts(parts, (200,))
        assert within(pair, [sum(map(Fraction, column)) for column in np.transpose(parts).tolist()])
        assert spread > 1 or pair.error.max() < 2.0**-150


@pytest.mark.parametrize("scale", [0, -900, -1040, -1074])
def test_quotients_are_within_their_error(scale):
    rng = np.random.default_rng(19)
    high = np.ldexp(rng.standard_normal(400), scale)
    low = high * 2.0**-54 * rng.uniform(-1, 1, 400)
    divisor = rng.integers(1, 60, 400).astype(np.float64)
    pair = FloatPair(high, low, np.zeros(400))
    exact = [
        (Fraction(h) + Fraction(rest)) / Fraction(d)
        for h, rest, d in zip(high.tolist(), low.tolist(), divisor.tolist(), strict=True)
    ]
    assert within(divide_pair(pair, divisor), exact)


def test_a_quotient_that_is_exact_has_no_error():
    pair = FloatPair(np.array([6.0, 9.0]), np.array([0.0, 0.0]), np.zeros(2))
    assert divide_pair(pair, np.array([4.0, 3.0])).error.tolist() == [0, 0]


@pytest.mark.parametrize("width", [10, 26, 50])
def test_slices_add_up_and_lie_on_their_grids(width):
    rng = np.random.default_rng(23)
    x = rng.standard_normal(300) * 2.0 ** rng.integers(-200, 200, 300)
    slices, rest = split_into_slices(x, width, 99)
    assert rest == 0
    for column, number in zip(np.transpose(slices).tolist(), x.tolist(), strict=True):
        assert sum(map(Fraction, column)) == Fraction(number)
    for part in slices:
        sizes = [Fraction(abs(value)) for value in part.tolist() if value]
        steps = max(sizes) / min(Fraction(1, (size.denominator)) * (size.numerator & -size.numerator) for size in sizes)
        assert steps <= 2**width


def test_what_slices_leave_is_bounded():
    x = np.array([1.0, 2.0**-60, -(2.0**-300)])
    slices, rest = split_into_slices(x, 20, 2)
    assert len(slices) == 2
    left = max(
        abs(Fraction(v) - sum(map(Fraction, c))) for v, c in zip(x.tolist(), np.transpose(slices).tolist(), strict=True)
    )
    assert 0 < left <= rest


def counting(monkeypatch):
    """Count the elements that are computed again."""
    seen = []
    round_to = rounding.round_to
    monkeypatch.setattr(rounding, "round_to", lambda *arguments: seen.append(1) or round_to(*arguments))
    return seen


@pytest.mark.parametrize("dtype", FLOATS)
def test_random_averages_and_convolutions_are_certain_at_once(monkeypatch, dtype):
    seen = counting(monkeypatch)
    rng = np.random.default_rng(29)
    x, kernel = rng.standard_normal((1, 4, 12, 12)).astype(dtype), rng.standard_normal((4, 4, 3, 3)).astype(dtype)
    reference.avg_pool(x, 3)
    reference.avg_pool(x, 2)
    reference.conv(x, kernel)
    assert not seen


TIE, BEYOND = 2.0**-24, 2.0**-60


@pytest.mark.parametrize("copies", [1, 20, 3000])
@pytest.mark.parametrize("name", ["conv", "avg_pool", "lp_pool"])
@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1, TIE, BEYOND], 1 + 2 * TIE),
        ([1, TIE, -BEYOND], 1),
        ([1, TIE, 0], 1),
        ([1 + 2 * TIE, TIE, 0], 1 + 4 * TIE),
        ([1 + 2 * TIE, TIE, -BEYOND], 1 + 2 * TIE),
        ([1, -1, BEYOND], BEYOND),
        ([1, BEYOND, -1], BEYOND),
        ([1, -1, -0.0], 0),
    ],
)
def test_sums_of_float32_beyond_float64_are_rounded_once(name, values, total, copies):
    """Whether an output is tested alone or in an array of many hard ones."""
    x = np.tile(np.array(values, np.float32), (1, 1, copies))
    if name == "conv":
        got = reference.conv(x, np.ones((1, 1, 3), np.float32), stride=3)
    elif name == "avg_pool":
        got = reference.avg_pool(x, 3, divisor=2) * 2
    else:
        got = reference.lp_pool(np.abs(x), 3, p=1)
        total = float(reference.round_to(sum(abs(Fraction(value)) for value in values), np.float32))
    assert got.tolist() == [[[total] * copies]]
    assert not np.signbit(got).any()


def test_products_lost_beside_a_larger_one_that_cancels_count():
    # float64 drops the part below 2**-12 of the sum, and 1 remains; the sum rounds up.
    terms = np.array([2.0**40, 1, TIE, TIE / 4, -(2.0**40)], np.float32)
    for order in (terms, terms[::-1], terms[[1, 0, 2, 3, 4]]):
        got = reference.conv_transpose(np.ones((1, 1, 9), np.float32), order[None, None])
        assert got[0, 0, 4] == 1 + 2 * TIE


def test_many_products_too_small_to_move_a_sum_move_it_together():
    # Each is a little less than half a unit of the last digit of 1; together they carry it across a tie.
    n = 600
    kernel = np.full(n + 2, 0.99 * 2.0**-53, np.float32)
    kernel[:2] = 1, TIE - 2.0**-44
    rational = sum(map(Fraction, kernel.tolist()))
    assert 1 + Fraction(TIE) < rational < 1 + 2 * Fraction(TIE)
    got = reference.conv_transpose(np.ones((1, 1, n + 2), np.float32), kernel[None, None])
    assert got[0, 0, n + 1] == 1 + 2 * TIE


@pytest.mark.parametrize("copies", [1, 3000])
def test_norms_of_float32_half_way_between_two_numbers_go_to_even(copies):
    # 3² + 4² = 5², scaled so that the norm has 25 digits.
    scale = np.float32(2**22 + 1)
    x = np.tile(np.array([3 * scale, 4 * scale], np.float32), (1, 1, copies))
    assert x[0, 0].tolist()[:2] == [3 * (2**22 + 1), 4 * (2**22 + 1)]
    assert set(reference.lp_pool(x, 2).ravel().tolist()) == {5 * 2**22 + 4}


def test_cancellation_across_the_whole_range_is_computed_again(monkeypatch):
    seen = counting(monkeypatch)
    huge = 2.0**900
    x = np.array([[[huge, 2.0**-500, -huge], [huge, 2.0**-900, -huge]]])
    x[0, 0, 1] *= 3
    assert reference.avg_pool(x, 3).ravel().tolist() == [2.0**-500, float(Fraction(2) ** -900 / 3)]
    rng = np.random.default_rng(31)
    wide = np.sort(rng.standard_normal(40) * 2.0 ** rng.integers(-900, 900, 40))
    wide = np.concatenate([wide, -wide, [1e-300]])[None, None]
    assert reference.conv(wide, np.ones((1, 1, 81)))[0, 0, 0] == 1e-300
    assert reference.avg_pool(wide, 81)[0, 0, 0] == float(Fraction(1e-300) / 81)
    assert seen


def test_sums_beyond_float64_come_back():
    x = np.array([[[1.5e308, 1.5e308, -1.5e308, 1.0]]])
    assert reference.avg_pool(x, 4).tolist() == [[[1.5e308 / 4]]]
    exact = reference.OPERATORS["conv"](x, np.ones((1, 1, 2)))
    assert exact.value.tolist() == [[[np.inf, 0, -1.5e308]]]
    assert exact.high.tolist() == exact.value.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_high_and_low_are_the_exact_result_but_for_a_millionth_of_the_bound(dtype):
    x = np.random.default_rng(37).standard_normal((1, 1, 30)).astype(dtype)
    exact = reference.OPERATORS["avg_pool"](x, 3)
    parts = (part.ravel().tolist() for part in (exact.high, exact.low, exact.bound()))
    for o, (high, low, bound) in enumerate(zip(*parts, strict=True)):
        rational = sum(Fraction(float(v)) for v in x[0, 0, 3 * o : 3 * o + 3]) / 3
        assert abs(Fraction(high) + Fraction(low) - rational) <= Fraction(bound) / 2**20


def test_results_do_not_depend_on_the_order_of_multiplication():
    """The slices make every order exact: permuted channels give the same bits of the unrounded result."""
    rng = np.random.default_rng(41)
    x, kernel = rng.standard_normal((1, 64, 5)), rng.standard_normal((8, 64, 3))
    order = rng.permutation(64)
    first, second = reference.OPERATORS["conv"](x, kernel), reference.OPERATORS["conv"](x[:, order], kernel[:, order])
    assert first.high.tobytes() == second.high.tobytes()
    assert first.low.tobytes() == second.low.tobytes()


@pytest.mark.parametrize("n", [8, 9, 100, 1000])
def test_long_sums_of_full_numbers_are_correctly_rounded(n):
    rng = np.random.default_rng(n)
    x, kernel = rng.uniform(1, 2, (1, 1, 10 * n)), rng.uniform(1, 2, (1, 1, n))
    averages, dots = reference.avg_pool(x, n).ravel(), reference.conv(x, kernel, stride=n).ravel()
    for values, average, dot in zip(x.reshape(10, n).tolist(), averages, dots, strict=True):
        assert average == float(sum(map(Fraction, values)) / n)
        weights = kernel.ravel().tolist()
        assert dot == float(sum(Fraction(a) * Fraction(b) for a, b in zip(values, weights, strict=True)))


def test_products_that_underflow_are_correctly_rounded():
    rng = np.random.default_rng(43)
    x = rng.uniform(1, 2, (1, 1, 900)) * 2.0**-600
    kernel = rng.uniform(1, 2, (1, 1, 3)) * 2.0**-465
    got = reference.conv(x, kernel, stride=3).ravel().tolist()
    weights = kernel.ravel().tolist()
    for values, value in zip(x.reshape(300, 3).tolist(), got, strict=True):
        assert value == float(sum(Fraction(a) * Fraction(b) for a, b in zip(values, weights, strict=True)))


def test_one_rounds_to_one():
    assert [float(round_to(Fraction(1), dtype)) for dtype in FLOATS] == [1.0] * 4
    assert [float(round_to(Fraction(-1), dtype)) for dtype in FLOATS] == [-1.0] * 4


def test_a_pair_beyond_float64_has_no_low_part():
    assert rational_to_pair(Fraction(2) ** 2000) == (np.inf, 0.0)
    assert rational_to_pair(-(Fraction(2) ** 2000)) == (-np.inf, 0.0)


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("side", [1, -1])
def test_a_pair_is_uncertain_if_either_end_of_its_error_lies_beyond_a_tie(dtype, sign, side):
    """The pair is slightly on one side of a tie. The exact value, within the error, is on the other side."""
    u, off = roundoff(dtype), 2.0**-90
    high, low, error = (np.array([v]) for v in (sign * 1.0, sign * (u + side * off), 2 * off))
    truth = sign * (1 + Fraction(u) - side * Fraction(off) / 2)
    value, *_ = round_certainly(FloatPair(high, low, error), np.dtype(dtype), lambda _: truth)
    assert float(value[0]) == sign * (1.0 if side > 0 else 1 + 2 * u)


NARROW = FLOATS[:3]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("steps", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("tie", [1, 3])
@pytest.mark.parametrize("low", [2.0**-70, -(2.0**-70)])
def test_pairs_beside_a_tie_fall_on_their_side(dtype, steps, tie, low):
    """float64 numbers up to two steps from a tie whose even neighbour is below (1) or above (3)."""
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


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("high", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("error", [0.0, np.inf, np.nan])
def test_a_pair_that_left_the_range_is_uncertain(dtype, high, error):
    pair = FloatPair(np.array([1.5, high]), np.zeros(2), np.array([0.0, error]))
    value, highs, _ = round_certainly(pair, np.dtype(dtype), lambda _: Fraction(1, 3))
    assert value.tolist() == np.array([1.5, 1 / 3], dtype).tolist()
    assert highs.tolist() == [1.5, 1 / 3]
    assert (
        round_certainly(
            FloatPair(pair.high, zero_array((2,)), zero_array((2,))), np.dtype(dtype), lambda _: Fraction(1, 3)
        )[0][1]
        < 1
    )


def test_at_a_glance_the_whole_error_counts_where_it_is_nearly_as_large_as_the_number():
    # Half of the smallest float32. The lower end of the interval is slightly below it.
    high, error = 1.5 * 2.0**-150, 0.5 * 2.0**-150 * (1 + 2.0**-42)
    pair = FloatPair(np.array([[[high]]]), np.zeros((1, 1, 1)), np.array([[[error]]]))
    value, _, _ = round_certainly(pair, np.dtype(np.float32), lambda _: Fraction(high) - Fraction(error))
    assert value == 0
