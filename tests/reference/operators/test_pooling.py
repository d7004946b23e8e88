import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference

BOOK = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
SIXTEEN = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def one(x):
    assert x.size == 1
    return x.ravel()[0]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("max_pool", [[4, 5], [7, 8]]), ("avg_pool", [[2, 3], [5, 6]]), ("min_pool", [[0, 1], [3, 4]])],
)
def test_the_book_pools_three_by_three(operator, expected):
    assert reference.OPERATORS[operator](BOOK, (2, 2), stride=1).value.tolist() == [[expected]]


@pytest.mark.parametrize(
    ("window", "parameters", "expected"),
    [
        (3, {}, [[10]]),
        (3, {"stride": 2, "padding": 1}, [[5, 7], [13, 15]]),
        ((2, 3), {"stride": (2, 3), "padding": (0, 1)}, [[5, 7], [13, 15]]),
        ((2, 3), {"stride": (2, 3), "padding": (1, 1)}, [[1, 3], [9, 11], [13, 15]]),
    ],
)
def test_the_book_pools_four_by_four(window, parameters, expected):
    for offset in (0, 1):
        got = reference.max_pool(SIXTEEN + offset, window, **parameters)
        assert got.tolist() == [[(np.array(expected) + offset).tolist()]]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, bool])
def test_selections_keep_the_dtype(dtype):
    x = np.array([[[0, 1, 1, 0, 0]]]).astype(dtype)
    assert reference.max_pool(x, 2, stride=1).tolist() == [[[1, 1, 1, 0]]]
    assert reference.min_pool(x, 2, stride=1).tolist() == [[[0, 1, 0, 0]]]
    assert reference.max_pool(x, 2).dtype == reference.min_pool(x, 2).dtype == x.dtype


def test_padding_is_never_the_largest_value():
    assert one(reference.max_pool(plane([-5.0, -3.0]), 4, padding=1)) == -3
    assert one(reference.min_pool(plane([5.0, 3.0]), 4, padding=1)) == 3


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_window_without_a_cell_selects_the_infinity(dtype):
    x = plane([1.0], dtype)
    assert reference.max_pool(x, 1, padding=1).tolist() == [[[-np.inf, 1, -np.inf]]]
    assert reference.min_pool(x, 1, padding=1).tolist() == [[[np.inf, 1, np.inf]]]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_window_without_a_cell_selects_the_end_of_the_integers(dtype):
    x, info = plane([1], dtype), np.iinfo(dtype)
    assert reference.max_pool(x, 1, padding=1).tolist() == [[[info.min, 1, info.min]]]
    assert reference.min_pool(x, 1, padding=1).tolist() == [[[info.max, 1, info.max]]]


def test_a_window_without_a_cell_selects_the_end_of_the_booleans():
    assert reference.max_pool(plane([True], bool), 1, padding=1).tolist() == [[[False, True, False]]]
    assert reference.min_pool(plane([False], bool), 1, padding=1).tolist() == [[[True, False, True]]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operator", ["max_pool", "min_pool", "avg_pool", "softmax_pool"])
def test_nan_propagates_and_is_canonical(operator, dtype):
    quiet, infinity = (
        np.array([value]).astype(dtype).view(f"u{np.dtype(dtype).itemsize}") for value in (np.nan, np.inf)
    )
    sign = quiet.dtype.type(1 << (8 * quiet.itemsize - 1))
    signalling = infinity | quiet.dtype.type(1)
    for bits in (quiet, quiet | sign, quiet | signalling, signalling, signalling | sign):
        x = np.concatenate([bits.view(dtype), np.array([1, np.inf, 2, 3]).astype(dtype)])[None, None]
        got = reference.OPERATORS[operator](x, 2, stride=3).value
        assert got.view(quiet.dtype)[0, 0, 0] == quiet[0] & ~sign
        assert not np.isnan(got[0, 0, 1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_selections_order_zeros_and_infinities(dtype):
    x = plane([-0.0, 0.0, -np.inf, np.inf], dtype)
    assert not np.signbit(one(reference.max_pool(x[..., :2], 2)))
    assert np.signbit(one(reference.min_pool(x[..., :2], 2)))
    assert one(reference.max_pool(x, 4)) == np.inf
    assert one(reference.min_pool(x, 4)) == -np.inf


def test_the_divisor_counts_real_cells_or_padding_too_or_is_given():
    x = plane([[8.0, 8.0], [8.0, 8.0]])
    assert reference.avg_pool(x, 2, padding=1).tolist() == [[[[8, 8], [8, 8]]]]
    assert reference.avg_pool(x, 2, padding=1, count_include_pad=True).tolist() == [[[[2, 2], [2, 2]]]]
    assert reference.avg_pool(x, 2, padding=1, divisor=8).tolist() == [[[[1, 1], [1, 1]]]]


def test_cells_past_the_padded_input_never_count():
    x = plane([6.0, 6.0, 6.0])
    # Windows [pad, 6], [6, 6] and [pad, past the padded input].
    got = reference.avg_pool(x, 2, padding=1, rounding="full", count_include_pad=True, stride=2)
    assert got.tolist() == [[[3, 6]]] or got.shape[-1] == 3
    got = reference.avg_pool(plane([6.0, 6.0, 6.0]), 2, rounding="ceil", count_include_pad=True)
    assert got.tolist() == [[[6, 6]]]


def test_an_average_without_a_cell_is_zero_by_its_divisor():
    x = plane([5.0])
    np.testing.assert_array_equal(reference.avg_pool(x, 1, padding=1), [[[np.nan, 5, np.nan]]])
    assert reference.avg_pool(x, 1, padding=1, count_include_pad=True).tolist() == [[[0, 5, 0]]]
    assert reference.avg_pool(x, 1, padding=1, divisor=5).tolist() == [[[0, 1, 0]]]
    assert reference.avg_pool(plane([5], "int8"), 1, padding=1).tolist() == [[[0, 5, 0]]]


def test_integer_averages_wrap_then_round_toward_zero():
    x = plane([[-3, -4], [7, 0]], "int8")
    assert reference.avg_pool(x, (1, 2)).tolist() == [[[[-3], [3]]]]
    assert one(reference.avg_pool(plane([100, 100], "int8"), 2)) == -28
    assert one(reference.avg_pool(plane([200, 100], "uint8"), 2)) == 22
    assert one(reference.avg_pool(plane([2**63, 2**63 - 1], "uint64"), 2)) == 2**63 - 1
    assert one(reference.avg_pool(plane([-(2**63)], "int64"), 1, divisor=2**31 - 1)) == -(2**63 // (2**31 - 1))
    assert one(reference.avg_pool(plane([-100], "int8"), 1, divisor=300)) == 0


def test_averages_of_infinities():
    x = plane([np.inf, 1.0, -np.inf, 1.0, np.inf, -np.inf])
    np.testing.assert_array_equal(reference.avg_pool(x, 2), [[[np.inf, -np.inf, np.nan]]])


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_sum_of_an_average_does_not_overflow(dtype):
    x = np.full((1, 1, 4), ml_dtypes.finfo(dtype).max, dtype)
    assert one(reference.avg_pool(x, 4)) == x[0, 0, 0]
    assert one(reference.avg_pool(x, 4, divisor=3)) == np.inf


def test_an_exact_zero_is_positive_and_an_underflow_keeps_its_sign():
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    values = reference.avg_pool(plane([-0.0, -0.0, 1.0, -1.0, -tiny, 0.0]), 2)[0, 0]
    assert values.tolist() == [0, 0, 0]
    assert np.signbit(values).tolist() == [False, False, True]


@pytest.mark.parametrize("operator", ["max_pool", "min_pool", "avg_pool", "softmax_pool"])
@pytest.mark.parametrize("shape", [(0, 2, 4), (2, 0, 4), (0, 0, 4, 4)])
def test_empty_batches_and_channels_give_empty_results(operator, shape):
    exact = reference.OPERATORS[operator](np.zeros(shape, np.float32), 2)
    assert exact.value.shape == shape[:2] + (2,) * (len(shape) - 2)
    assert exact.bound().shape == exact.value.shape


@pytest.mark.parametrize("operator", ["max_pool", "min_pool", "avg_pool"])
def test_an_empty_extent_is_all_padding(operator):
    assert reference.OPERATORS[operator](np.zeros((1, 1, 0), np.float32), 2, padding=1).value.shape == (1, 1, 1)
    with pytest.raises(ValueError, match="window 2 exceeds the padded input 0 on axis 0"):
        reference.OPERATORS[operator](np.zeros((1, 1, 0), np.float32), 2)


def test_inputs_are_left_as_they_were():
    x = np.array([[[np.nan, -np.inf, 2.0, -0.0]]], np.float32)
    before = x.tobytes()
    for operator in ("max_pool", "min_pool", "avg_pool", "softmax_pool"):
        reference.OPERATORS[operator](x, 1)
        assert x.tobytes() == before


@pytest.mark.parametrize("operator", ["max_pool", "avg_pool", "softmax_pool"])
def test_strided_and_reversed_views_pool_like_copies(operator):
    x = np.random.default_rng(3).standard_normal((2, 6, 8, 4)).astype(np.float32)
    view = x.transpose(0, 3, 2, 1)[:, ::-1, ::2]
    pool = reference.OPERATORS[operator]
    np.testing.assert_array_equal(pool(view, 2).value, pool(np.ascontiguousarray(view), 2).value)


def test_the_plain_function_returns_the_value_of_the_exact():
    np.testing.assert_array_equal(reference.avg_pool(BOOK, 2), reference.OPERATORS["avg_pool"](BOOK, 2).value)
    assert set(reference.OPERATORS) <= set(reference.__all__)
    for name in reference.OPERATORS:
        assert getattr(reference, name).__doc__ == reference.OPERATORS[name].__doc__


def test_softmax_pooling_of_two_values_is_their_logistic_mean():
    got = one(reference.softmax_pool(plane([0.0, 1.0], np.float64), 2))
    assert got == pytest.approx(np.e / (1 + np.e), rel=1e-15)


def test_softmax_pooling_of_equal_values_is_that_value():
    assert one(reference.softmax_pool(plane([0.1, 0.1, 0.1]), 3)) == np.float32(0.1)


def test_softmax_pooling_does_not_depend_on_a_common_shift():
    x = np.random.default_rng(5).integers(-3, 4, (1, 2, 8)).astype(np.float64)
    np.testing.assert_allclose(reference.softmax_pool(x + 2**20, 2) - 2**20, reference.softmax_pool(x, 2), atol=2**-32)


@pytest.mark.parametrize("values", [[np.inf, 0.0], [-np.inf, 0.0], [np.nan, 0.0]])
def test_softmax_pooling_of_what_is_not_finite_is_nan(values):
    assert np.isnan(one(reference.softmax_pool(plane(values), 2)))


def test_softmax_pooling_without_a_cell_is_nan():
    np.testing.assert_array_equal(reference.softmax_pool(plane([5.0]), 1, padding=1), [[[np.nan, 5, np.nan]]])


def test_softmax_pooling_far_apart_selects_and_keeps_the_sign_of_what_is_left():
    huge = float(np.finfo(np.float64).max)
    assert one(reference.softmax_pool(plane([huge, -huge], np.float64), 2)) == huge
    below_zero = one(reference.softmax_pool(plane([0.0, -huge], np.float64), 2))
    assert below_zero == 0
    assert np.signbit(below_zero)


@pytest.mark.parametrize("divisor", [2, 3, 4])
@pytest.mark.parametrize("least", [5e-324, -5e-324, 2.0**-1022, -(2.0**-1022)])
def test_a_tie_is_broken_by_the_least_number_beside_it(divisor, least):
    step = 2.0**-52
    for cells in itertools.combinations_with_replacement(
        [-1.0, -1 - step, -1 - 2 * step, -1 + step / 2, 0.0], divisor - 1
    ):
        x = np.array([*cells, least]).reshape(1, 1, divisor)
        exact = sum(map(Fraction, x.ravel().tolist()), Fraction(0)) / divisor
        assert reference.avg_pool(x, divisor).ravel()[0] == reference.round_to(exact, x.dtype)


@pytest.mark.parametrize("window", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool", "lp_pool"])
def test_a_crop_after_an_axis_is_a_crop_of_the_input(name, window):
    x = np.random.default_rng(3).standard_normal((1, 2, 12, 3)).astype(np.float32)
    pool = getattr(reference, name)
    cropped = pool(x, (window, 1), stride=1, padding=[(0, -2), (0, 0)])
    assert np.array_equal(cropped, pool(x[:, :, :-2], (window, 1), stride=1))


def test_as_many_cells_as_float64_can_count_are_counted():
    window = (6361, 69431, 20394401)
    padding = [(extent - 1, 0) for extent in window]
    x = np.ones((1, 1, 1, 1, 1))
    assert reference.avg_pool(x, window, padding=padding, count_include_pad=True) == 1 / (2**53 - 1)
    window, padding = (2**18, 2**18, 2**17), [(2**18 - 1, 0), (2**18 - 1, 0), (2**17 - 1, 0)]
    assert reference.avg_pool(x, window, padding=padding) == 1
    with pytest.raises(ValueError, match="has 9007199254740992 cells: at most 9007199254740991 can be counted"):
        reference.avg_pool(x, window, padding=padding, count_include_pad=True)


def test_more_cells_than_float64_can_count_are_refused():
    padding = [(500_000, 500_000)] * 3
    with pytest.raises(ValueError, match=r"window \(999999, 999999, 999999\) has 999997000002999999 cells"):
        reference.avg_pool(np.ones((1, 1, 1, 1, 1)), (999_999,) * 3, padding=padding, count_include_pad=True)


@pytest.mark.parametrize(("name", "parameters"), [("max_pool", {}), ("avg_pool", {"divisor": 1})])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_terms_and_magnitudes_of_pooling_are_those_of_real_cells(name, parameters, dtype):
    exact = reference.OPERATORS[name](np.ones((1, 1, 2), dtype), 1, padding=1, **parameters)
    assert exact.terms.tolist() == [[[0, 1, 1, 0]]]
    assert not exact.magnitude[..., [0, 3]].any()


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


def test_negative_padding_crops_before_anything_is_padded():
    x = plane([9, 1, 2, 3, 9])
    assert reference.max_pool(x, 2, stride=1, padding=-1).tolist() == [[[2, 3]]]
    assert reference.avg_pool(x, 2, padding=[(-1, 1)], count_include_pad=True).tolist() == [[[1.5, 6]]]
    assert reference.lp_pool(x, 3, padding=-1, p=1).tolist() == [[[6]]]
    assert reference.conv(x, plane([1, 1, 1]), padding=-1).tolist() == [[[6]]]


def test_a_partial_window_does_not_reach_into_what_was_cropped():
    x = plane([1, 2, 3, 9, 9])
    assert reference.max_pool(x, 2, padding=[(0, -2)], rounding="ceil").tolist() == [[[2, 3]]]
    assert reference.avg_pool(x, 2, padding=[(0, -2)], rounding="full", count_include_pad=True).tolist() == [[[1.5, 3]]]
