"""What mutation testing asked for: corners of one module that no other test looks into. See docs/mutation.md."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows, round_to
from reference.arguments import check_plane_size
from reference.arithmetic.bound import error_bound
from reference.arithmetic.certainty import without_certainty_check
from reference.arithmetic.decimal_sums import DecimalSums, units_in_last_place
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
from reference.arithmetic.exact import UnroundedResult
from reference.arithmetic.norms import certain_norm, decimal_norm, finite_rational
from reference.arithmetic.ordering import DtypeOrder, make_nan_canonical
from reference.arithmetic.rounding import FLOAT_FORMATS, rational_to_pair, round_certainly, round_pair
from reference.arithmetic.sums import _product_sums, _sum_pairs, smallest_exponent
from reference.geometry.bins import Bins
from reference.geometry.blocks import split_into_blocks
from reference.geometry.columns import window_columns
from reference.geometry.folding import _fastest_pass, _plan_passes
from reference.operators import softmax_pooling_grad
from reference.operators.convolution import _FloatConvolution
from reference.operators.fractional_pooling import FractionalWindows
from reference.operators.lp_pooling import _norm_pairs, _power_roots, _real_powers, _square_norms, weighted_log_spread
from reference.operators.lp_pooling_grad import LpTerm, _is_tie
from reference.operators.lp_pooling_grad import _term_sum as norm_term_sum
from reference.operators.max_pool_indices import BestCells
from reference.operators.softmax_pooling import PerturbationSums, SoftmaxWindows, decimal_average, window_averages
from reference.operators.softmax_pooling_grad import SoftmaxTerm, _term_sum, is_constant_sum, is_exact_sum
from reference.operators.stochastic_pooling import _exact_drawn_cell, _pair_quotients
from reference.operators.stochastic_pooling_grad import _as_pair

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
NARROW = FLOATS[:3]


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


# rounding


def test_one_rounds_to_one():
    assert [float(round_to(Fraction(1), dtype)) for dtype in FLOATS] == [1.0] * 4
    assert [float(round_to(Fraction(-1), dtype)) for dtype in FLOATS] == [-1.0] * 4


def test_a_pair_beyond_float64_has_no_low_part():
    assert rational_to_pair(Fraction(2) ** 2000) == (np.inf, 0.0)
    assert rational_to_pair(-(Fraction(2) ** 2000)) == (-np.inf, 0.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("side", [1, -1])
def test_a_pair_is_uncertain_if_either_end_of_its_error_lies_beyond_a_tie(dtype, sign, side):
    """The pair lies a little to one side of a tie, the truth, within the error, a little to the other."""
    u, off = roundoff(dtype), 2.0**-90
    high, low, error = (np.array([v]) for v in (sign * 1.0, sign * (u + side * off), 2 * off))
    truth = sign * (1 + Fraction(u) - side * Fraction(off) / 2)
    value, *_ = round_certainly(FloatPair(high, low, error), np.dtype(dtype), lambda _: truth)
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


def test_windows_of_one_cell_at_stride_1_are_the_identity_unless_they_pad_or_crop():
    assert Windows.of((3, 4), 1, padding=[(0, 0), 0]).is_identity
    assert not Windows.of((3,), 2, 1).is_identity
    assert not Windows.of((3,), 1, 2).is_identity
    for padding in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
        assert not Windows.of((3,), 1, padding=[padding]).is_identity


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


def test_the_bound_of_any_magnitude_is_never_below_its_formula():
    rng, form = np.random.default_rng(0), FLOAT_FORMATS[np.dtype(np.float64)]
    exact, magnitude, extra = rng.uniform(-1, 1, 500), rng.uniform(1, 2, 500), rng.uniform(0, 9, 500)
    given = {"magnitude": magnitude, "extra": extra, "accumulate": form, "result": form, "flush": False}
    bounds = error_bound(exact, terms=np.full(500, 6), **given)
    u, eta = Fraction(1, 2**53), Fraction(1, 2**1074)
    for y, s, more, bound in zip(*(part.tolist() for part in (exact, magnitude, extra, bounds)), strict=True):
        error = 9 * u / (1 - 9 * u) * Fraction(s) + Fraction(more) * u + 9 * eta
        formula = error + u * (abs(Fraction(y)) + error)
        assert formula <= Fraction(bound) <= formula * (1 + Fraction(1, 2**40) + Fraction(1, 2**48))


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


def test_a_plane_of_the_greatest_size_is_affordable_and_no_other_beyond():
    check_plane_size("size", (2**14, 2**14))
    with pytest.raises(ValueError, match="268435457 elements a plane: at most 268435456"):
        check_plane_size("size", (2**28 + 1,))


@pytest.mark.parametrize("entry", [(), (1,), (1, 2, 3)])
def test_a_pair_has_two_ends(entry):
    with pytest.raises(ValueError, match="must be a number or a pair"):
        Windows.of((4, 5), 1, padding=[entry, 0])


# errorfree


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


@pytest.mark.parametrize("factor", [1.0, 2.0**-300, 2.0**300])
def test_products_are_split_without_loss_whatever_their_digits(factor):
    rng = np.random.default_rng(1)
    digits = (2**53 - rng.integers(1, 2**20, (2, 2000))).astype(np.float64)
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


# bins and columns


def test_an_axis_of_bins_has_an_extent_of_at_least_0():
    assert Bins.of((0,), None).output == (0,)
    assert list(Bins.of((0,), None).cells()) == []
    with pytest.raises(ValueError, match="size -1 must be at least 0"):
        Bins.of((-1,), 1)


@pytest.mark.parametrize(("size", "number"), [(7, 3), (6, 4), (3, 5), (4, 4)])
def test_cells_of_bins_come_in_row_major_order_and_begin_each_bin_at_0(size, number):
    bins = Bins.of((size,), number)
    numbers = [k for (k,), _, _ in bins.cells()]
    assert numbers == sorted(numbers)
    for o, count in enumerate(bins.counts(False).tolist()):
        assert range(9)[bins.inside((o,))[0][0]] == range(count)


@pytest.mark.parametrize("padding", [0, 2, [(-1, 0)], [(0, -1)], [(-2, 1)], [(1, -2)], [(3, -1)]])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("rounding", ["floor", "full"])
def test_columns_hold_the_real_cells_of_each_window_and_zeros(padding, stride, rounding):
    x = np.arange(1.0, 13).reshape(1, 2, 6)
    windows = Windows.of((6,), 2, stride, padding, rounding=rounding)
    found = window_columns(x, windows, 1)[0, 0].T.reshape(-1, 2, 2)
    for o, window in enumerate(found):
        (cells,), (inputs,) = windows.inside((o,))
        expected = np.zeros((2, 2))
        expected[:, cells] = x[0, :, inputs]
        assert window.tolist() == expected.tolist()


# blocks


def shapes_of_blocks(planes, walk, size):
    """Return (images, channels, rows) of each block."""
    parts = [block.outputs for block in split_into_blocks(planes, walk, size)]
    extents = (*planes, walk.output[0])
    return [tuple(len(range(n)[part]) for n, part in zip(extents, slices, strict=False)) for slices in parts]


@pytest.mark.parametrize(
    ("planes", "size", "expected"),
    [
        ((2, 3), 1, [(2, 3, 6)]),
        ((2, 3), 2, [(1, 3, 6)] * 2),
        ((2, 3), 5, [(1, 2, 6), (1, 1, 6)] * 2),
        ((4, 1), 5, [(2, 1, 6)] * 2),
        ((1, 2), 12, [(1, 1, 5)] * 2 + [(1, 1, 1)] * 2),
        ((1, 1), 20, [(1, 1, 3)] * 2),
        ((1, 1), 500, [(1, 1, 1)] * 6),
        ((2, 0), 1, []),
    ],
)
def test_blocks_are_as_many_planes_as_fit_or_some_rows_of_one(planes, size, expected, monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 240)
    assert shapes_of_blocks(planes, Windows.of((6, 4), 1), size) == expected


def test_a_cell_is_the_least_block(monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 240)
    assert shapes_of_blocks((1, 4), Windows.of((1,), 1), 60) == [(1, 4, 1)]
    assert shapes_of_blocks((1, 2), Windows.of((1,), 1), 240) == [(1, 1, 1)] * 2


def test_a_block_of_all_rows_has_the_walk_itself(monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 24)
    for walk in (Windows.of((6, 4), 1), Bins.of((6, 4), (3, 2))):
        (block,) = split_into_blocks((1, 1), walk, 1)
        assert block.walk is walk
        assert len(block.inputs) == len(block.outputs) == 4


def test_planes_can_be_left_whole(monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 24)
    for walk in (Windows.of((6, 4), 1), Bins.of((6, 4), (3, 2))):
        assert [block.walk for block in split_into_blocks((1, 2), walk, 24, include_window=True)] == [walk] * 2


def test_bins_give_the_same_in_small_blocks(monkeypatch):
    x = np.arange(70.0).reshape(1, 2, 7, 5)
    expected = reference.adaptive_max_pool(x, (4, 3))
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 1)
    assert reference.adaptive_max_pool(x, (4, 3)).tolist() == expected.tolist()


def test_planes_of_no_cells_at_all_are_a_block():
    assert reference.adaptive_max_pool(np.zeros((1, 2, 0), np.float32), None).shape == (1, 2, 0)


# ordering


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float16, np.float32])
@pytest.mark.parametrize("descending", [False, True])
def test_keys_are_in_order_and_values_come_back(dtype, descending):
    order, x = DtypeOrder(np.dtype(dtype), descending), np.arange(5).astype(dtype)
    keys = order.keys(x).tolist()
    assert keys == sorted(keys, reverse=descending)
    assert order.values(order.keys(x)).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_every_nan_becomes_the_canonical_one_wherever_it_stands(dtype, monkeypatch):
    monkeypatch.setattr("reference.arithmetic.ordering.COMPARISON_CHUNK_ELEMENTS", 4)
    other, canonical = -np.array(np.nan, dtype), np.array(np.nan, dtype)
    for view in (slice(None), slice(8)):
        x = np.zeros((3, 16), dtype)[:, view]
        x[1, 6] = other
        make_nan_canonical(x)
        assert x[1, 6].tobytes() == canonical.tobytes()
        assert np.isnan(x).sum() == 1


# selection


def test_terms_of_maxima_with_indices_are_the_real_cells():
    for exact in reference.OPERATORS["max_pool_with_indices"](np.ones((1, 1, 3), np.float32), 2, padding=1):
        assert exact.terms.tolist() == [[[1, 2]]]


@pytest.mark.parametrize(
    "kind",
    [
        reference.Exact,
        UnroundedResult,
        FloatPair,
        BestCells,
        FractionalWindows,
        SoftmaxWindows,
        PerturbationSums,
        DecimalSums,
        _FloatConvolution,
    ],
)
def test_what_holds_arrays_is_compared_as_a_whole(kind):
    assert kind.__eq__ is object.__eq__


# gradients


def test_a_largest_value_without_equals_is_given_all_and_zero_is_not_minus_one():
    x, ones = np.array([[[-1.0, 0.0, -1.0]]]), np.ones((1, 1, 2))
    for ties in ("first", "last", "all", "split"):
        assert reference.max_pool_grad(ones, x, 2, stride=1, ties=ties).tolist() == [[[0.0, 2.0, 0.0]]]


def test_windows_of_padding_alone_have_no_equals_to_split_among():
    x, ones = np.ones((1, 1, 1)), np.ones((1, 1, 3))
    assert reference.max_pool_grad(ones, x, 1, padding=1, ties="split").tolist() == [[[1.0]]]


def test_values_put_nowhere_have_no_terms():
    x, grad = np.ones((1, 2, 3)), np.ones((1, 2, 1))
    for indices, expected in [([-1, -1, 0], [0, 0, 1]), ([0, -1, -1], [1, 0, 0])]:
        exact = reference.OPERATORS["max_unpool_grad"](grad, x, np.array([[indices] * 2]), 1)
        assert exact.terms.tolist() == exact.value.tolist() == [[expected] * 2]


# transposition


def test_terms_of_a_transposed_convolution_of_integers_are_whole_numbers():
    exact = reference.OPERATORS["conv_transpose"](np.ones((1, 2, 3), np.int8), np.ones((2, 1, 1), np.int8))
    assert exact.terms.dtype == np.int64
    assert exact.terms.tolist() == [[[2, 2, 2]]]


@pytest.mark.parametrize("name", ["stride", "dilation", "groups"])
def test_a_transposed_convolution_refuses_zero(name):
    x = np.ones((1, 2, 3))
    with pytest.raises(ValueError, match=f"{name} 0.* must be at least 1"):
        reference.conv_transpose(x, np.ones((2, 1, 2)), **{name: 0})


# sums


def operands(name):
    """Arrays whose result, of one element, adds many ones."""
    n, one = 2**14, np.ones((1, 1, 1))
    row, column = np.ones((1, 1, n)), np.ones((1, n, 1))
    return {
        "avg_pool": [row, n, {"divisor": 1}],
        "conv": [column, column, {}],
        "conv_transpose": [column, column.swapaxes(0, 1), {}],
        "conv_grad": [row, row, one, one[0, 0], {}],
    }[name]


@pytest.mark.parametrize("name", ["avg_pool", "conv", "conv_transpose", "conv_grad"])
def test_magnitudes_allow_for_all_that_adding_them_may_lose_and_hardly_more(name):
    *arrays, parameters = operands(name)
    results = reference.OPERATORS[name](*arrays, **parameters)
    for exact in results[1:] if isinstance(results, tuple) else [results]:
        n = int(exact.terms.item())
        assert n == 2**14
        assert n * (1 + n * 2.0**-53) <= exact.magnitude.item() <= n * (1 + 2.0**-40 + n * 2.0**-52)


@pytest.mark.parametrize("sign", [1, -1])
def test_products_too_small_for_slices_break_ties(sign):
    many, none, far = [2.0 ** (-40 * k) for k in range(1, 9)], [0.0] * 8, 2.0**-400
    x, kernel = np.array([1, 1, far, *many, *none]), np.array([1, 2.0**-53, sign * far, *none, *many])
    got = reference.conv_transpose(x.reshape(1, -1, 1), kernel.reshape(-1, 1, 1))
    assert got.item() == (1 + 2.0**-52 if sign > 0 else 1.0)


def test_what_slices_leave_of_a_sum_is_multiplied_by_the_denominator():
    heads = 2.0 ** (-60.0 * np.arange(8))
    x, divisors = np.concatenate([heads, -heads, [2.0**-540]]), np.array([1001] * 16 + [1])
    pair = _sum_pairs(x, lambda shares: np.array([shares.sum()]), divisors, np.array([17]))
    assert error_is_near(pair, Fraction(1, 2**540), Fraction(1, 2**500))


def spread_out(seed, scale):
    """Numbers across so many powers of two that slices leave something of them."""
    rng = np.random.default_rng(seed)
    return np.concatenate([[1.0], rng.uniform(0.5, 1, 7) * 2.0 ** rng.integers(-450, 0, 7)]) * 2.0**scale


def error_is_near(pair, exact, most):
    """Whether the error of a pair holds what it lacks, and is at most so much."""
    gap = abs(exact - Fraction(pair.high.item()) - Fraction(pair.low.item()))
    return 0 < gap <= Fraction(pair.error.item()) <= most


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


# norms


def test_the_error_of_a_norm_is_that_of_its_proof():
    middle, error = decimal_norm([1.0, 0.0, 2.0], Fraction(3), 20)
    assert abs(middle**3 - 9) <= 27 * error
    assert error == middle * (6 * 20 + 3 * 3 + 5) / 10**19


def test_infinity_stands_for_the_number_that_would_follow_the_greatest():
    assert finite_rational(np.float16(np.inf)) == 2**16
    assert finite_rational(np.float64(np.inf)) == 2**1024
    assert finite_rational(np.float32(-0.5)) == Fraction(-1, 2)


# What exp, ln and powers add to bounds: the formulas of the docstrings, in decimals.

FUNCTION = 8  # unit roundoffs: four units in the last place


def near(got, expected):
    """Whether a part of a bound is rounded up, and by hardly anything."""
    return expected <= Decimal(float(got)) <= expected * (1 + Decimal(2) ** -36)


def softmax_parts(values, u):
    """Return p, c, the average y, T, C and M of one window, as the docstrings of softmax pooling name them."""
    weights = [(x - max(values)).exp() for x in values]
    p = [weight / sum(weights) for weight in weights]
    y = sum(x * share for x, share in zip(values, p, strict=True))
    c = [((1 + FUNCTION * u) * (u * (max(values) - x)).exp() - 1) / u for x in values]
    t = sum(share * more * abs(x - y) for share, more, x in zip(p, c, values, strict=True))
    return (
        p,
        c,
        y,
        t,
        sum(a * b for a, b in zip(p, c, strict=True)),
        sum(abs(x) * s for x, s in zip(values, p, strict=True)),
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_bound_of_softmax_averages_is_made_as_its_docstring_says(dtype):
    x = np.array([0.5, -3.0, 2.0, 1.25], dtype)
    exact = reference.OPERATORS["softmax_pool"](x.reshape(1, 1, 4), 4)
    u = Decimal(roundoff(dtype))
    *_, t, c, size = softmax_parts([Decimal(value) for value in x.tolist()], u)
    assert exact.terms.item() == 8
    assert near(exact.extra.item(), t / (1 - u * c))
    assert near(exact.magnitude.item(), (size * (1 + u * c) + u * t) / (1 - u * c))


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


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("p", [2, 3, 2.5])
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


# Errors of what decimals approach: the formulas of the docstrings.


def test_the_error_of_a_softmax_average_is_that_of_its_steps():
    middle, error = decimal_average([0.0, 1.5, 9.0], 40)
    weights = [Decimal(-9).exp(), Decimal("-7.5").exp(), Decimal(1)]
    size = (Decimal("1.5") * weights[1] + 9) / sum(weights)
    assert float(middle) == pytest.approx(float(size))
    assert float(error) == pytest.approx(float(size) * (2 * 3 + 8 + 2 * 9) * 1e-39, rel=1e-9, abs=0)
    assert decimal_average([9000.0, 0.0], 40)[1] == 9000 * 10 * Decimal("1e-39")
    assert decimal_average([0.0, -6000.0, -7000.0], 40)[1] == 2 * 5000 * Decimal("1e-2171")


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


# decimal sums


def test_a_unit_of_the_last_digit():
    assert units_in_last_place(Decimal(3), 5) == Decimal("0.0003")


def test_the_error_of_a_pair_of_decimals_is_what_it_lacks_and_hardly_more():
    tenth, off = Decimal("0.1"), Decimal(2) ** -120
    sums = DecimalSums((2,), {(1,): [None]}, lambda *_: (tenth, off), lambda *_: False, 40)
    pair = sums.almost_exact()
    assert pair.high.tolist() == [0.0, 0.1]
    gap = abs(Fraction(tenth) - Fraction(pair.high[1]) - Fraction(pair.low[1]))
    rest = Fraction(pair.error[1]) - Fraction(off)
    assert gap < rest <= Fraction(pair.high[1]) / 2**105 * (1 + Fraction(1, 2**20))
    assert pair.error[0] == 0


# stochastic pooling


@pytest.mark.parametrize("error", [0.0, 2.0**-90, 2.0**-60])
def test_the_error_of_a_probability_is_what_it_lacks_and_hardly_more(error):
    rng = np.random.default_rng(0)
    a, high, low = rng.uniform(1, 2, 500), rng.uniform(1, 2, 500), rng.uniform(-1, 1, 500) * 2.0**-54
    pair = _pair_quotients(a, FloatPair(high, low, np.full(500, error)))
    parts = (a, high, low, pair.high, pair.low, pair.error)
    for x, h, m, q, r, off in zip(*(part.tolist() for part in parts), strict=True):
        gap = abs(Fraction(x) / (Fraction(h) + Fraction(m)) - Fraction(q) - Fraction(r))
        worst = Fraction(x) / Fraction(h) * Fraction(error) / Fraction(h)
        assert gap + worst <= Fraction(off) <= worst * Fraction(101, 100) + Fraction(1, 2**99)


def test_a_draw_selects_the_first_cell_beyond_its_share_in_exact_arithmetic():
    assert _exact_drawn_cell([1.0, 2.0, 1.0], Fraction(1, 4)) == 1
    assert _exact_drawn_cell([1.0, 2.0, 1.0], Fraction(1, 4) - Fraction(1, 2**99)) == 0
    assert _exact_drawn_cell([0.0, 2.0, 0.0], Fraction(0)) == 1


@pytest.mark.parametrize("off", [Decimal("1e-400"), Decimal(1) + Decimal(2) ** -60])
def test_the_error_of_decimals_is_rounded_up(off):
    sums = DecimalSums((1,), {(0,): [None]}, lambda *_: (Decimal(0), off), lambda *_: False, 40)
    (error,) = sums.almost_exact().error.tolist()
    assert Fraction(off) <= Fraction(error) <= Fraction(off) * (1 + Fraction(1, 2**39)) + Fraction(1, 2**1072)


def test_digits_are_doubled_until_a_tie_is_proved():
    asked = []

    def total(_, digits):
        return Decimal(0), units_in_last_place(Decimal(2), digits)

    def is_tie(_, number, digits):
        asked.append((number, digits))
        return len(asked) == 3

    sums = DecimalSums((1,), {(0,): [None]}, total, is_tie, 40)
    assert sums.certain_rational((0,), np.dtype(np.float32)) == 0
    assert asked == [(0, 40), (0, 80), (0, 160)]


# fractional pooling


def test_terms_of_fractional_maxima_are_the_cells_of_a_window():
    x, samples = np.ones((1, 1, 7, 7), np.float32), np.zeros((1, 1, 2))
    for window, terms in [(2, 4), ((2, 3), 6)]:
        assert (reference.OPERATORS["fractional_max_pool"](x, window, 3, samples).terms == terms).all()


def test_fractional_windows_start_where_exact_arithmetic_says():
    x = np.arange(12.0).reshape(1, 1, 12)
    got = reference.fractional_max_pool(x, 1, 12, np.full((1, 1, 1), 1 - 2.0**-53))
    assert got.tolist() == x.tolist()


def test_blocks_of_fractional_windows_have_their_own_samples(monkeypatch):
    x, samples = np.arange(21.0).reshape(1, 3, 7), np.array([[[0.0], [0.5], [0.9]]])
    expected = reference.fractional_max_pool(x, 2, 4, samples)
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 1)
    assert reference.fractional_max_pool(x, 2, 4, samples).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("window", "output", "sample", "message"),
    [
        (0, 1, 0.0, "window 0 on axis 0 must be at least 1"),
        (1, 0, 0.0, "output_size 0 on axis 0 must be at least 1"),
        (1, 1, -0.5, "samples hold -0.5: expected 0 or more"),
    ],
)
def test_fractional_pooling_refuses_what_is_too_small(window, output, sample, message):
    with pytest.raises(ValueError, match=message):
        reference.fractional_max_pool(np.ones((1, 1, 3)), window, output, np.full((1, 1, 1), sample))


def test_the_error_of_a_probability_of_subnormal_numbers_allows_for_underflow():
    rng = np.random.default_rng(0)
    high = rng.uniform(1, 2, 500) * 2.0 ** rng.integers(-1074, -900, 500)
    a = high * rng.uniform(0, 1, 500) * 2.0 ** rng.integers(-60, 0, 500)
    pair = _pair_quotients(a, FloatPair(high, np.zeros(500), np.zeros(500)))
    for x, h, q, r, off in zip(*(part.tolist() for part in (a, high, pair.high, pair.low, pair.error)), strict=True):
        assert abs(Fraction(x) / Fraction(h) - Fraction(q) - Fraction(r)) <= Fraction(off)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_draws_beside_the_share_of_a_cell_are_decided_exactly(n):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (1, 400, n))
    draws = x[..., : n // 2].sum(-1, keepdims=True) / x.sum(-1, keepdims=True)
    got = reference.stochastic_pool(x, n, draws).ravel().tolist()
    for values, draw, value in zip(x[0].tolist(), draws.ravel().tolist(), got, strict=True):
        assert value == values[_exact_drawn_cell(values, Fraction(draw))]


def test_any_cell_of_a_plane_can_be_drawn_and_is_given_the_gradient():
    x, grad = np.array([[[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, np.nan, 1.0]]]), np.array([[[1.0, 2.0, 3.0, 4.0]]])
    got = reference.stochastic_pool_grad(grad, x, 2, np.array([[[0.0, 0.9, 0.0, 0.0]]]))
    assert got.tolist() == [[[1, 0, 0, 2, 0, 0, 0, 0]]]


def test_padding_has_probability_zero_even_beside_nan():
    got = reference.stochastic_pool_probabilities(np.array([[[np.nan, 1.0, np.inf]]]), 2, padding=1)
    np.testing.assert_array_equal(got, [[[[0, np.nan], [0, np.nan]]]])


def test_draws_from_a_sum_beyond_float64_are_decided_exactly():
    x = np.array([[[1.2e308, 1.6e308]]])
    got = [reference.stochastic_pool(x, 2, np.array([[[draw]]])).item() for draw in (0.1, 0.9)]
    assert got == [1.2e308, 1.6e308]


def test_terms_of_stochastic_pooling_are_the_cells_that_can_be_drawn():
    x = np.ones((1, 1, 3))
    probabilities = reference.OPERATORS["stochastic_pool_probabilities"](x, 2, padding=1)
    assert probabilities.terms.tolist() == [[[[1, 1], [2, 2]]]]
    assert reference.OPERATORS["stochastic_pool"](x, 2, np.zeros((1, 1, 2)), padding=1).terms.tolist() == [[[1, 2]]]


@pytest.mark.parametrize("name", ["stochastic_pool_probabilities", "lp_pool"])
def test_unchecked_probabilities_and_norms_are_close_to_the_certain_ones(name):
    x = np.random.default_rng(0).uniform(1, 2, (1, 1, 6)).astype(np.float32)
    with without_certainty_check():
        rough = reference.OPERATORS[name](x, 3)
        assert rough.high.dtype == np.float64
        assert not rough.low.any()
        assert not rough.magnitude.any()
    certain = reference.OPERATORS[name](x, 3)
    np.testing.assert_allclose(rough.value, certain.value, rtol=1e-6)
    np.testing.assert_allclose(rough.high, certain.high, rtol=1e-12)


def test_the_error_of_a_probability_is_that_of_its_rounding():
    one, third = np.ones(1), 1 / 3
    rest = Fraction(1) - 3 * Fraction(third) - Fraction(third) / 2**55
    pair = _pair_quotients(one, FloatPair(3 * one, 2.0**-55 * one, 2.0**-100 * one))
    error = (abs(rest) + Fraction(third) / 2**55) / 2**51 + Fraction(third) / 2**100
    error = error / 3 + abs(rest) / 3 / 2**50
    assert pair.error.item() == pytest.approx(float(error), rel=1e-6, abs=0)
    assert _pair_quotients(one, FloatPair(one, 0 * one, 0 * one)).error.item() == 3 * 2.0**-1072


def test_any_negative_activation_is_refused():
    with pytest.raises(ValueError, match=r"x has the negative value -0\.5"):
        reference.stochastic_pool(np.full((1, 1, 2), -0.5), 2, np.zeros((1, 1, 1)))


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


@pytest.mark.parametrize("off", [Decimal("1e-400"), Decimal(1) + Decimal(2) ** -60])
@pytest.mark.parametrize("middle", [Decimal(0), Decimal("0.1")])
def test_the_error_of_pairs_of_softmax_averages_is_rounded_up(off, middle, monkeypatch):
    monkeypatch.setattr("reference.operators.softmax_pooling.decimal_average", lambda *_: (middle, off))
    pair = window_averages(SoftmaxWindows(np.ones((1, 1, 1)), Windows.of((1,), 1)))
    high, low, error = (part.item() for part in (pair.high, pair.low, pair.error))
    least = Fraction(off) + abs(Fraction(middle) - Fraction(high) - Fraction(low))
    room = abs(Fraction(middle)) / 2**105 * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1072)
    assert least <= Fraction(error) <= Fraction(off) * (1 + Fraction(1, 2**39)) + room


def test_terms_of_a_softmax_average_are_twice_the_real_cells():
    exact = reference.OPERATORS["softmax_pool"](np.ones((1, 1, 3)), 2, padding=1)
    assert exact.terms.tolist() == [[[2, 4]]]


def test_a_softmax_window_without_a_cell_has_a_bound_of_zeros():
    exact = reference.OPERATORS["softmax_pool"](np.ones((1, 1, 1)), 1, padding=1)
    assert (exact.magnitude.ravel().tolist()[::2], exact.extra.ravel().tolist()[::2]) == ([0, 0], [0, 0])


@pytest.mark.parametrize("number", [1, 2, 3, 5, 7])
def test_equal_values_have_rational_softmax_gradients(number):
    term = SoftmaxTerm(1.5, 1.0, (1.0,) * number)
    assert is_exact_sum([term, term], Fraction(3, number))
    assert not is_exact_sum([term, term], Fraction(3, number) + Fraction(1, 2**300))


def test_fractions_of_a_power_are_no_constant():
    assert not is_constant_sum([SoftmaxTerm(1.0, 0.0, (0.0, 0.5))], Fraction(1, 2))
    assert is_constant_sum([SoftmaxTerm(1.0, 0.0, (0.0, 0.5)), SoftmaxTerm(1.0, 0.5, (0.0, 0.5))], Fraction(1))


# lp pooling


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


def norm_of(values, p):
    return sum(value**p for value in values) ** (1 / p)


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


# Sums that are divided once, or exact.


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


def test_the_norm_of_nothing_but_zeros_is_zero():
    assert certain_norm([0.0, 0.0], Fraction(3), np.dtype(np.float32)) == 0


# exact


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_bound_is_by_itself_that_of_float32_or_float64_without_flushing(dtype):
    exact = reference.OPERATORS["avg_pool"](np.full((1, 1, 3), 8 * ml_dtypes.finfo(dtype).tiny, dtype), 3)
    accumulate = np.float64 if dtype is np.float64 else np.float32
    assert exact.bound() == exact.bound(accumulate, flush=False) < exact.bound(accumulate, flush=True)


def test_the_distance_counts_the_low_part():
    high, low = np.ones(1), np.full(1, 2.0**-60)
    exact = reference.Exact(high, high, low, np.ones(1, np.int64), high, 0.0, False)
    assert exact.distance(high + 2.0**-52).item() == 2.0**-52 - 2.0**-60
    assert exact.distance(high - 2.0**-53).item() == 2.0**-53 + 2.0**-60


def test_only_selections_are_exact_themselves_and_their_distance_is_what_is_left():
    x = np.array([[[1.0, 3.0]]], np.float32)
    for name, expected in [("max_pool", True), ("avg_pool", False), ("softmax_pool", False)]:
        assert reference.OPERATORS[name](x, 2).exact is expected
    exact = reference.OPERATORS["max_pool"](x, 2)
    assert exact.distance(exact.value).item() == 0
    assert exact.distance(exact.value + 1).item() == 1
    assert (exact.magnitude.item(), exact.extra) == (0, 0)


def test_sums_have_no_error_but_that_of_rounding():
    x, grad = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    assert reference.OPERATORS["avg_pool_grad"](grad, x, 2, stride=1).extra == 0
    assert not reference.OPERATORS["avg_pool"](x, 2).extra.any()


def test_sums_too_large_to_keep_are_settled_too(monkeypatch):
    monkeypatch.setattr("reference.arithmetic.exact.MAX_CACHED_ELEMENTS", 0)
    x = np.array([[[1.0, 2.0**-24, 2.0**-60]]], np.float32)
    assert reference.avg_pool(x, 3, divisor=1).item() == 1 + 2.0**-23


# rounding, again


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


# pooling


@pytest.mark.parametrize(("name", "parameters"), [("max_pool", {}), ("avg_pool", {"divisor": 1})])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_terms_and_magnitudes_of_pooling_are_those_of_real_cells(name, parameters, dtype):
    exact = reference.OPERATORS[name](np.ones((1, 1, 2), dtype), 1, padding=1, **parameters)
    assert exact.terms.tolist() == [[[0, 1, 1, 0]]]
    assert not exact.magnitude[..., [0, 3]].any()


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


def test_a_quotient_of_zero_is_certain():
    zero = np.zeros(1)
    assert divide_pair(FloatPair(zero, zero, zero), np.array([3.0])).error.tolist() == [0]


# gradients of norms


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


# folding


@pytest.mark.parametrize(
    ("walk", "innermost", "expected"),
    [
        (Windows.of((9,), 2, 1), True, "_end_to_end"),
        (Windows.of((9,), 2, 4), True, "_end_to_end"),
        (Windows.of((9,), 2, 5), True, "_cell_by_cell"),
        (Windows.of((9,), 1, 2), True, "_cell_by_cell"),
        (Windows.of((9,), 2, 1), False, "_cell_by_cell"),
        (Windows.of((9,), 3, 1), False, "_cell_by_cell"),
        (Windows.of((9,), 4, 1), False, "_span_by_span"),
        (Windows.of((9,), 4, 2), False, "_cell_by_cell"),
        (Windows.of((9,), 9), True, "_window_by_window"),
        (Windows.of((10,), 9, 1), True, "_end_to_end"),
        (Windows.of((16,), 8, 8), False, "_cell_by_cell"),
        (Windows.of((17,), 9, 8), False, "_window_by_window"),
        (Bins.of((9,), 1), True, "_window_by_window"),
        (Bins.of((9,), 3), True, "_cell_by_cell"),
        (Bins.of((16,), 2), True, "_cell_by_cell"),
        (Bins.of((18,), 2), True, "_window_by_window"),
    ],
)
def test_the_way_to_fold_is_the_one_that_takes_the_least_time(walk, innermost, expected):
    assert _fastest_pass(walk, innermost).func.__name__ == expected


def test_axes_that_shrink_most_come_first_and_the_last_one_is_innermost():
    plan = _plan_passes(Windows.of((9, 9), (2, 5), 1))
    assert [(axis, outputs, way.func.__name__) for axis, outputs, way in plan] == [
        (3, 5, "_end_to_end"),
        (2, 8, "_cell_by_cell"),
    ]
    assert [axis for axis, _, _ in _plan_passes(Windows.of((9, 9), (5, 2), 1))] == [2, 3]
    assert _plan_passes(Windows.of((9, 9), 1)) == ()


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [8, 9, 10, 11])
def test_rows_of_any_length_fold_at_stride_2(dtype, size):
    x = np.arange(2 * size).reshape(1, 2, size).astype(dtype)
    assert reference.max_pool(x, 2).tolist() == x[..., 1::2].tolist()
    assert reference.max_pool(x, 3, stride=2).tolist() == x[..., 2::2].tolist()


@pytest.mark.parametrize("padding", [(-1, 0), (-1, -1), (0, -1), (1, -1), (-1, 1)])
@pytest.mark.parametrize("window", [2, 3, 4, 5, 8])
def test_folding_crops_and_pads_whichever_way_it_takes(padding, window):
    x = np.arange(36.0).reshape(1, 1, 3, 12)
    before, after = padding
    kept = np.full((3, 12 + before + after), -np.inf)
    kept[:, max(before, 0) : kept.shape[1] - max(after, 0)] = x[0, 0, :, max(-before, 0) : 12 + min(after, 0)]
    expected = np.lib.stride_tricks.sliding_window_view(kept, window, axis=1).max(-1)
    for shape, parts in [((1, window), [0, padding]), ((window, 1), [padding, 0])]:
        turned = x if shape[0] == 1 else x.swapaxes(2, 3)
        got = reference.max_pool(turned, shape, stride=1, padding=parts)
        assert (got if shape[0] == 1 else got.swapaxes(2, 3))[0, 0].tolist() == expected.tolist()


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


# convolution


def pair_of(x, kernel, bias=0.0):
    """Return the sum of products of two rows, and a bias."""
    n = len(x)
    sums = _FloatConvolution(
        np.array(kernel).reshape(1, 1, 1, n), np.full((1, 1), bias), n + (bias != 0), np.dtype(np.float64)
    )
    return sums._convolve_pair(np.array(x).reshape(1, 1, n), Windows.of((n,), n))


def test_products_of_a_convolution_have_an_error_only_if_their_last_digits_may_underflow():
    digits = 2 - 2.0**-52
    for exponent, error in [(-484, 0.0), (-485, 36 * 2.0**-1072)]:
        pair = pair_of([digits * 2.0**-485], [digits * 2.0 ** (exponent - 1)])
        assert 0 <= pair.error.item() <= error
        assert (pair.error.item() > 0) == (error > 0)


@pytest.mark.parametrize(("one", "other"), [(0, 0), (100, -50), (-50, 100), (-200, -90)])
def test_the_error_of_a_convolution_is_what_slices_leave(one, other):
    a, b = spread_out(0, one), spread_out(1, other)
    exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert error_is_near(pair_of(a, b), exact, Fraction(2) ** (one + other - 130))
    assert error_is_near(pair_of(b, a), exact, Fraction(2) ** (one + other - 130))
    assert error_is_near(pair_of(a, b, 0.5), exact + Fraction(1, 2), Fraction(2) ** (max(one + other, 0) - 90))


def test_a_convolution_of_float32_at_once_is_off_by_its_additions():
    values = np.random.default_rng(0).uniform(-1, 1, (2, 9)).astype(np.float32).astype(np.float64)
    sums = _FloatConvolution(values[0].reshape(1, 1, 1, 9), np.full((1, 1), 0.5), 10, np.dtype(np.float32))
    found = sums._convolve_float64(values[1].reshape(1, 1, 9), Windows.of((9,), 9), np.array([10]), None)
    exact = sum(Fraction(a) * Fraction(b) for a, b in values.T.tolist()) + Fraction(1, 2)
    size = np.abs(values.prod(axis=0)).sum() + 0.5
    assert abs(exact - Fraction(found.pair.high.item())) <= Fraction(found.pair.error.item())
    assert found.pair.error.item() == pytest.approx(size * 10 * 2.0**-53, rel=1e-9, abs=0)


@pytest.mark.parametrize("window", [(0,), (0, 1), (1, 0)])
def test_a_kernel_without_a_window_is_refused(window):
    x, kernel = np.ones((1, 1, *[3] * len(window))), np.ones((1, 1, *window))
    for operator in (reference.conv, reference.conv_transpose):
        with pytest.raises(ValueError, match="its window must be at least 1 on every axis"):
            operator(x, kernel)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_of_a_grouped_convolution_are_broken_by_their_own_group(dtype):
    half, far = roundoff(dtype), 2.0**-120 if dtype is np.float32 else 2.0**-300
    x = np.array([[[1, 1, far], [2, 4, -far]]], dtype)
    kernel = np.array([[[1, half, far * sign]] for sign in (1, -1, 0)] * 2, dtype)
    got = reference.conv(x, kernel, groups=2).ravel().tolist()
    for out, value in enumerate(got):
        pairs = zip(x[0, out // 3].tolist(), kernel[out, 0].tolist(), strict=True)
        exact = sum(Fraction(a) * Fraction(b) for a, b in pairs)
        assert value == float(reference.round_to(exact, dtype))


def test_convolutions_of_nothing_and_of_too_much_have_their_shape():
    x, kernel = np.full((1, 1, 3), 1e300), np.array([[[1e9]], [[-1e300]]])
    assert reference.conv(x, kernel).tolist() == [[[float("inf")] * 3, [-float("inf")] * 3]]
    assert reference.conv(0 * x, kernel).tolist() == [[[0.0] * 3] * 2]


@pytest.mark.parametrize("divisor", [3.0, 7.0, 2.0**26 + 1, 2.0**40 + 1])
def test_quotients_of_full_pairs_lack_no_more_than_their_error(divisor):
    rng = np.random.default_rng(0)
    high, low = rng.uniform(1, 2, 2000), rng.uniform(-1, 1, 2000) * 2.0**-54
    pair = divide_pair(FloatPair(high, low, np.zeros(2000)), np.full(2000, divisor))
    for x, y, q, r, error in zip(
        *(part.tolist() for part in (high, low, pair.high, pair.low, pair.error)), strict=True
    ):
        assert abs((Fraction(x) + Fraction(y)) / Fraction(divisor) - Fraction(q) - Fraction(r)) <= Fraction(error)


def test_the_magnitude_of_a_probability_is_itself_rounded_up():
    exact = reference.OPERATORS["stochastic_pool_probabilities"](np.array([[[1.0, 2.0]]]), 2)
    for got, share in zip(exact.magnitude.ravel().tolist(), (Fraction(1, 3), Fraction(2, 3)), strict=True):
        assert share <= Fraction(got) <= share * (1 + Fraction(1, 2**39))
    assert not exact.extra.any()


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


def test_bins_of_an_axis_do_not_depend_on_another():
    bins, alone = Bins.of((7, 5), (3, 3)), Bins.of((5,), 3)
    assert [bins.inside((0, o))[1][1] for o in range(3)] == [alone.inside((o,))[1][0] for o in range(3)]
    assert bins.counts(False).tolist() == np.outer(Bins.of((7,), 3).counts(False), alone.counts(False)).tolist()


@pytest.mark.parametrize(("size", "number"), [(7, 3), (6, 4), (3, 5), (12, 8)])
def test_rows_of_bins_are_the_same_bins(size, number):
    bins = Bins.of((size, 5), (number, 2))
    for start, stop in itertools.combinations(range(number + 1), 2):
        inputs, part = bins.rows(slice(start, stop))
        assert (part.size, part.output) == ((inputs.stop - inputs.start, 5), (stop - start, 2))
        assert part.counts(False).tolist() == bins.counts(False)[start:stop].tolist()
        assert inputs == slice(bins.inside((start, 0))[1][0].start, bins.inside((stop - 1, 0))[1][0].stop)
        covered = np.zeros(part.size, int)
        for position in np.ndindex(*part.output):
            own, every = part.inside(position)[1], bins.inside((start + position[0], position[1]))[1]
            assert (own[0].start + inputs.start, own[0].stop + inputs.start) == (every[0].start, every[0].stop)
            assert own[1] == every[1]
            covered[own] += 1
        assert part.coverage().tolist() == covered.tolist()
        assert part.is_identity == (part.size == part.output and size == number)
        if stop - start > 1:
            assert part.rows(slice(1, stop - start))[1] == bins.rows(slice(start + 1, stop))[1]


@pytest.mark.parametrize("size", [1, 40, 2**20])
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_gives_the_same_in_small_blocks(mode, size, monkeypatch):
    monkeypatch.setattr("reference.operators.padding.BYTES", size)
    x = np.arange(2 * 3 * 4 * 3.0).reshape(2, 3, 4, 3)
    expected = np.pad(x, [(0, 0), (0, 0), (3, 1), (0, 2)], mode)
    assert reference.pad(x, [(3, 1), (0, 2)], mode=mode).tolist() == expected.tolist()


def test_an_empty_plane_that_is_not_padded_stays_empty():
    assert reference.pad(np.zeros((1, 1, 0)), 0, mode="edge").shape == (1, 1, 0)


def test_at_a_glance_the_whole_error_counts_where_it_is_nearly_as_large_as_the_number():
    # Half of the least float32, and the lower end of what is known is a hair below it.
    high, error = 1.5 * 2.0**-150, 0.5 * 2.0**-150 * (1 + 2.0**-42)
    pair = FloatPair(np.array([[[high]]]), np.zeros((1, 1, 1)), np.array([[[error]]]))
    value, _, _ = round_certainly(pair, np.dtype(np.float32), lambda _: Fraction(high) - Fraction(error))
    assert value == 0


def test_a_gradient_that_is_rounded_is_not_called_exact():
    grad, x = np.ones((1, 1, 2), np.float32), np.ones((1, 1, 4), np.float32)
    assert not reference.OPERATORS["avg_pool_grad"](grad, x, 3, stride=1).exact
    assert reference.OPERATORS["max_pool"](x, 2).exact


def test_nothing_is_told_by_its_strides_and_a_single_zero_is_not_nothing():
    assert is_zero_array(zero_array((1, 2, 3)))
    assert not is_zero_array(np.zeros(()))
    assert not is_zero_array(np.zeros((1, 2, 3)))
    assert not is_zero_array(np.broadcast_to(1.0, (2, 3)))


def test_an_average_of_integers_just_below_zero_is_zero():
    x = np.array([[[-1, 0, -1, -1, -3, 0]]], np.int8)
    assert reference.avg_pool(x, 2).tolist() == [[[0, -1, -1]]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_negative_zeros_are_zero(dtype):
    x, one = np.full((1, 1, 4), -0.0, dtype), np.ones((1, 1, 1), dtype)
    for name, result in {
        "avg_pool": reference.avg_pool(x, 2),
        "conv": reference.conv(x, one),
        "conv_transpose": reference.conv_transpose(x, one),
        "avg_pool_grad": reference.OPERATORS["avg_pool_grad"](x, np.ones((1, 1, 8), dtype), 2).value,
    }.items():
        assert not np.signbit(result).any(), name


def test_unchecked_softmax_pooling_is_the_average():
    with without_certainty_check():
        assert reference.softmax_pool(np.full((1, 1, 4), 3.0), 2).tolist() == [[[3, 3]]]
