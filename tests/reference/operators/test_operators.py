"""What the further operators return, in numbers written down by hand."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference.arithmetic.norms import certain_norm, is_exact_norm

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def one(x):
    assert x.size == 1
    return x.ravel()[0]


# Lp pooling.


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


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1, 2, 2.5])
def test_nan_in_a_norm_wins_over_infinity_and_infinity_over_numbers(dtype, p):
    x = plane([np.nan, np.inf, -np.inf, 1, 1, np.nan], dtype)
    np.testing.assert_array_equal(reference.lp_pool(x, 2, p=p).astype(float), [[[np.nan, np.inf, np.nan]]])


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


# Indices.


def test_indices_count_in_the_unpadded_plane_row_major():
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    values, indices = reference.max_pool_with_indices(x, 2, padding=(1, 0))
    assert values[0, 1].tolist() == [[13, 15], [21, 23]]
    assert indices[0, 1].tolist() == [[1, 3], [9, 11]]
    assert indices.dtype == np.int64


def test_the_first_of_equals_has_the_index():
    assert reference.max_pool_with_indices(plane([[1, 2, 2], [2, 0, 2]]), (2, 3))[1].tolist() == [[[[1]]]]
    assert reference.max_pool_with_indices(plane([[1, 0], [2, 2]]), 2)[1].tolist() == [[[[2]]]]
    assert reference.max_pool_with_indices(plane([-0.0, 0.0, 0.0]), 3)[1].tolist() == [[[1]]]
    assert reference.max_pool_with_indices(plane([-np.inf, -np.inf]), 2)[1].tolist() == [[[0]]]
    assert reference.max_pool_with_indices(plane([np.inf, np.nan, -np.nan, 1]), 4)[1].tolist() == [[[1]]]
    assert reference.max_pool_with_indices(plane([-128, -128], "int8"), 2)[1].tolist() == [[[0]]]


def test_a_window_without_a_cell_has_the_index_minus_one():
    values, indices = reference.max_pool_with_indices(plane([5.0]), 1, padding=1)
    assert values.tolist() == [[[-np.inf, 5, -np.inf]]]
    assert indices.tolist() == [[[-1, 0, -1]]]


def test_indices_count_cropped_cells_too():
    values, indices = reference.max_pool_with_indices(plane([9, 1, 2, 3, 9]), 2, stride=1, padding=-1)
    assert values.tolist() == [[[2, 3]]]
    assert indices.tolist() == [[[2, 3]]]


def test_values_go_back_to_their_indices():
    x = plane([[1, 5, 2, 0], [3, 4, 8, 1]])
    values, indices = reference.max_pool_with_indices(x, 2)
    assert reference.max_unpool(values, indices, (2, 4)).tolist() == [[[[0, 5, 0, 0], [0, 0, 8, 0]]]]


def test_of_values_with_one_index_the_last_stays_and_minus_one_goes_nowhere():
    indices = np.array([[[1, 1, -1]]])
    assert reference.max_unpool(plane([7, 8, 9]), indices, 3).tolist() == [[[0, 8, 0]]]
    assert reference.max_unpool(plane([7, 8, 9], "uint8"), indices.astype("int8"), 2).dtype == np.uint8


# Bins.


def test_bins_overlap_where_the_output_does_not_divide_the_input():
    x = plane([1, 2, 3, 4, 5])
    assert reference.adaptive_max_pool(x, 3).tolist() == [[[2, 4, 5]]]
    assert reference.adaptive_avg_pool(x, 3).tolist() == [[[1.5, 3, 4.5]]]
    assert reference.adaptive_avg_pool(x, 2).tolist() == [[[2, 4]]]
    assert reference.adaptive_max_pool(x, 7).tolist() == [[[1, 2, 3, 3, 4, 5, 5]]]


def test_none_keeps_an_axis():
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    assert reference.adaptive_max_pool(x, (None, 1)).tolist() == [[[[2], [5]]]]
    assert reference.adaptive_avg_pool(x, None).tolist() == x.tolist()


def test_global_pooling_leaves_one_cell_an_axis():
    x = np.arange(12, dtype=np.float64).reshape(1, 2, 2, 3)
    assert reference.global_max_pool(x).tolist() == [[[[5]], [[11]]]]
    assert reference.global_avg_pool(x).tolist() == [[[[2.5]], [[8.5]]]]
    assert reference.global_avg_pool(plane([-1, -2, -4], "int8")).tolist() == [[[-2]]]


def test_an_empty_axis_has_empty_bins():
    x = np.zeros((1, 1, 0, 2), np.float32)
    assert reference.global_max_pool(x).tolist() == [[[[-np.inf]]]]
    assert np.isnan(one(reference.global_avg_pool(x)))
    assert reference.adaptive_max_pool(x, (2, 1)).tolist() == [[[[-np.inf], [-np.inf]]]]
    assert one(reference.global_avg_pool(x.astype(np.int8))) == 0
    assert reference.adaptive_avg_pool(x, None).shape == x.shape


# Transposed convolution.


def test_a_transposed_convolution_lays_kernels_out_and_adds_them():
    x, kernel = plane([1, 10]), plane([1, 2, 3])
    assert reference.conv_transpose(x, kernel).tolist() == [[[1, 12, 23, 30]]]
    assert reference.conv_transpose(x, kernel, stride=2).tolist() == [[[1, 2, 13, 20, 30]]]
    assert reference.conv_transpose(x, kernel, dilation=2).tolist() == [[[1, 10, 2, 20, 3, 30]]]
    assert reference.conv_transpose(x, kernel, padding=[(1, 2)]).tolist() == [[[12]]]
    assert reference.conv_transpose(x, kernel, padding=[(-1, 1)]).tolist() == [[[0, 1, 12, 23]]]
    assert reference.conv_transpose(x, kernel, padding=2, bias=np.ones(1, np.float32)).tolist() == [[[]]]


def test_output_padding_adds_cells_at_the_end_that_hold_what_reaches_them():
    x, kernel = plane([1, 10]), plane([1, 2, 3])
    got = reference.conv_transpose(x, kernel, stride=2, padding=1, output_padding=1)
    assert got.tolist() == [[[2, 13, 20, 30]]]
    assert reference.conv_transpose(x, kernel, plane([5])[0, 0], stride=2, output_padding=1)[0, 0, -1] == 5


@pytest.mark.parametrize(
    ("word", "expected"),
    [("same_upper", [1, 2, 13, 20]), ("same_lower", [2, 13, 20, 30]), ("valid", [1, 2, 13, 20, 30])],
)
def test_padding_words_say_what_they_say_of_the_convolution_whose_adjoint_it_is(word, expected):
    x, kernel = plane([1, 10]), plane([1, 2, 3])
    assert reference.conv_transpose(x, kernel, stride=2, padding=word).tolist() == [[expected]]
    y = np.zeros((1, 1, len(expected)), np.float32)
    assert reference.conv(y, kernel, stride=2, padding=word).shape == x.shape


def test_transposed_groups_keep_channels_apart():
    x = np.array([[[1], [10], [100], [1000]]], np.int32)
    kernel = np.arange(1, 9, dtype=np.int32).reshape(4, 2, 1)
    assert reference.conv_transpose(x, kernel, groups=2).ravel().tolist() == [31, 42, 7500, 8600]


def test_a_product_with_an_infinity_is_transposed_as_it_is():
    x, kernel = plane([np.inf, 0.0]), plane([1, 0])
    np.testing.assert_array_equal(reference.conv_transpose(x, kernel), [[[np.inf, np.nan, 0]]])
    kernel = plane([np.inf])
    np.testing.assert_array_equal(
        reference.conv_transpose(plane([1.0, 2.0]), kernel, stride=2), [[[np.inf, 0, np.inf]]]
    )


def test_terms_of_a_transposed_convolution_are_the_products_that_reach_a_cell():
    x, kernel = np.ones((1, 2, 3), np.float32), np.ones((2, 1, 2), np.float32)
    exact = reference.OPERATORS["conv_transpose"](x, kernel, np.ones(1, np.float32))
    assert exact.terms.tolist() == [[[3, 5, 5, 3]]]
    assert exact.magnitude[0, 0].tolist() == pytest.approx([3, 5, 5, 3])
    whole = reference.OPERATORS["conv_transpose"](x.astype(int), kernel.astype(int), np.ones(1, int))
    assert whole.terms.tolist() == [[[3, 5, 5, 3]]]
    assert whole.exact


# Padding.


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0]),
        ("edge", [1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3]),
        ("reflect", [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]),
        ("symmetric", [2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1]),
        ("wrap", [2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]),
    ],
)
def test_padding_goes_on_for_ever(mode, expected):
    assert reference.pad(plane([1, 2, 3]), [(5, 4)], mode=mode).tolist() == [[expected]]


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_a_single_cell_pads_with_itself(mode):
    assert reference.pad(plane([7]), 3, mode=mode).tolist() == [[[7] * 7]]


def test_a_crop_comes_before_the_cells_that_are_taken():
    x = plane([1, 2, 3, 4])
    assert reference.pad(x, [(2, -1)], mode="reflect").tolist() == [[[3, 2, 1, 2, 3]]]
    assert reference.pad(x, [(-2, 3)], mode="wrap").tolist() == [[[3, 4, 3, 4, 3]]]


def test_corners_are_padded_by_both_axes():
    x = plane([[1, 2], [3, 4]])
    assert reference.pad(x, 1, mode="wrap").tolist() == [[[[4, 3, 4, 3], [2, 1, 2, 1], [4, 3, 4, 3], [2, 1, 2, 1]]]]


# Negative padding.


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


# Fractional maximum pooling.


def test_fractional_windows_start_where_the_sample_says():
    x = plane([0, 1, 2, 3, 4, 5, 6])
    # α = 5 / 3: starts ⌊(i + u)α⌋ − ⌊uα⌋, the last one at 5.
    for sample, starts in ((0.0, [0, 1, 3, 5]), (0.5, [0, 2, 4, 5]), (0.9, [0, 2, 3, 5])):
        got = reference.fractional_max_pool(x, 2, 4, np.array([[[sample]]]))
        assert got.tolist() == [[[start + 1 for start in starts]]]


def test_each_plane_and_axis_has_its_own_sample():
    x = np.arange(2 * 49, dtype=np.int32).reshape(1, 2, 7, 7)
    samples = np.array([[[0.0, 0.5], [0.5, 0.0]]])
    rows, columns = np.array([1, 2, 4, 6]), np.array([1, 3, 5, 6])
    got = reference.fractional_max_pool(x, 2, 4, samples)
    np.testing.assert_array_equal(got[0, 0], 7 * rows[:, None] + columns)
    np.testing.assert_array_equal(got[0, 1], 49 + 7 * columns[:, None] + rows)


def test_a_single_fractional_window_is_the_last_one():
    assert reference.fractional_max_pool(plane([9, 1, 2, 3]), 2, 1, np.zeros((1, 1, 1))).tolist() == [[[3]]]


# Stochastic pooling.


def test_probabilities_are_shares_of_the_sum():
    x = plane([[1.6, 0, 0], [0, 0, 2.4], [0, 0, 0]], np.float64)
    # Figure 1 of the paper.
    got = reference.stochastic_pool_probabilities(x, 3)
    assert got.shape == (1, 1, 1, 1, 3, 3)
    assert got[0, 0, 0, 0].tolist() == [[0.4, 0, 0], [0, 0, 0.6], [0, 0, 0]]


def test_padding_and_windows_that_sum_to_zero_have_probability_zero():
    got = reference.stochastic_pool_probabilities(plane([1.0, 0.0, 0.0]), 2, padding=1)
    assert got.tolist() == [[[[0, 1], [0, 0]]]]


def test_what_is_not_finite_has_no_probability():
    got = reference.stochastic_pool_probabilities(plane([np.inf, 1, np.nan, 1]), 2)
    np.testing.assert_array_equal(got, [[[[np.nan, 0], [np.nan, np.nan]]]])
    got = reference.stochastic_pool(plane([np.inf, 1, np.nan, 1, 1, 1]), 2, np.zeros((1, 1, 3)))
    np.testing.assert_array_equal(got, [[[np.nan, np.nan, 1]]])


@pytest.mark.parametrize(
    ("draw", "value"), [(0, 2), (0.25 - 2.0**-54, 2), (0.25, 3), (0.625 - 2.0**-53, 3), (0.625, 2), (1 - 2.0**-53, 1)]
)
def test_a_draw_selects_the_cell_at_which_the_running_sum_exceeds_its_share(draw, value):
    x = plane([[0, 2], [3, 0], [2, 0], [0, 1]])
    assert one(reference.stochastic_pool(x, (4, 2), np.full((1, 1, 1, 1), float(draw)))) == value


def test_a_cell_of_activation_zero_is_never_drawn_unless_all_are():
    x = plane([0.0, 0.0, 5e-324, 0.0, 0.0, 0.0], np.float64)
    for draw in (0.0, 0.5, 1 - 2.0**-53):
        assert reference.stochastic_pool(x, 3, np.full((1, 1, 2), draw)).tolist() == [[[5e-324, 0]]]


# What is empty.


@pytest.mark.parametrize(("x", "kernel"), [((0, 2, 4), (2, 1, 3)), ((2, 0, 4), (0, 1, 3)), ((1, 2, 4), (2, 0, 3))])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_empty_batches_and_channels_of_a_transposed_convolution_add_nothing(x, kernel, dtype):
    exact = reference.OPERATORS["conv_transpose"](np.ones(x, dtype), np.ones(kernel, dtype))
    assert exact.value.shape == exact.bound().shape == exact.terms.shape == (x[0], kernel[1], 6)
    assert not exact.value.any()


def test_an_empty_extent_is_all_padding():
    x = np.zeros((1, 1, 0), np.float32)
    assert reference.lp_pool(x, 2, padding=1).tolist() == [[[0]]]
    assert [value.tolist() for value in reference.max_pool_with_indices(x, 2, padding=1)] == [[[[-np.inf]]], [[[-1]]]]
    assert reference.stochastic_pool(x, 2, np.zeros((1, 1, 1)), padding=1).tolist() == [[[0]]]
    assert reference.pad(x, 1, value=3).tolist() == [[[3, 3]]]
