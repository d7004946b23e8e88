"""What the gradients are, on small examples and at the edges."""

import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference.operators import lp_pooling_grad as lp
from reference.operators.softmax_pooling_grad import SoftmaxTerm, is_exact_sum

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INF, NAN = np.inf, np.nan


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


TIED = [1, 3, 2, 3, 3]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("first", [0, 6, 0, 0, 0]),
        ("last", [0, 0, 0, 0, 6]),
        ("all", [0, 6, 0, 6, 6]),
        ("split", [0, 2, 0, 2, 2]),
    ],
)
def test_ties_decide_which_of_several_largest_values_is_given_the_gradient(ties, expected, dtype):
    x, grad = row(TIED, dtype), row([6], dtype)
    for got in (
        reference.max_pool_grad(grad, x, 5, ties=ties),
        reference.min_pool_grad(grad, -x, 5, ties=ties),
        reference.global_max_pool_grad(grad, x, ties=ties),
        reference.adaptive_max_pool_grad(grad, x, 1, ties=ties),
    ):
        assert got.dtype == dtype
        assert listed(got) == expected


def test_the_first_of_a_plane_is_the_first_in_row_major_order():
    x, grad = np.zeros((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)
    assert reference.max_pool_grad(grad, x, 2).ravel().tolist() == [1, 0, 0, 0]
    assert reference.max_pool_grad(grad, x, 2, ties="last").ravel().tolist() == [0, 0, 0, 1]
    x[0, 0, 1, 0] = x[0, 0, 0, 1] = 1
    assert reference.max_pool_grad(grad, x, 2).ravel().tolist() == [0, 1, 0, 0]


def test_a_cell_adds_the_gradients_of_all_windows_that_choose_it():
    assert listed(reference.max_pool_grad(row([1, 2, 4]), row([0, 1, 5, 2, 3]), 3, stride=1)) == [0, 0, 7, 0, 0]


def test_each_window_splits_by_itself():
    assert listed(reference.max_pool_grad(row([4, 8]), row([1, 1, 1]), 2, stride=1, ties="split")) == [2, 6, 4]
    assert listed(reference.max_pool_grad(row([3, 3]), row([1, 1, 1, 0]), 3, stride=1, ties="split")) == [
        1,
        2.5,
        2.5,
        0,
    ]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_nan_is_given_the_gradient_and_all_nans_are_equal(dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    x = row([1, NAN, 5, NAN], dtype)
    x.view(bits)[0, 0, 3] += 1 + (1 << (8 * bits.itemsize - 1))
    grad = row([4], dtype)
    for name in ("max_pool_grad", "min_pool_grad"):
        gradient = getattr(reference, name)
        assert listed(gradient(grad, x, 4)) == [0, 4, 0, 0]
        assert listed(gradient(grad, x, 4, ties="last")) == [0, 0, 0, 4]
        assert listed(gradient(grad, x, 4, ties="split")) == [0, 2, 0, 2]
    assert listed(reference.max_pool_with_indices_grad(grad, x, 4)) == [0, 4, 0, 0]


def test_zeros_of_both_signs_are_equal_but_for_the_index():
    grad, x = row([1]), row([-0.0, 0.0])
    assert listed(reference.max_pool_grad(grad, x, 2)) == [1, 0]
    assert listed(reference.min_pool_grad(grad, -x, 2)) == [1, 0]
    assert listed(reference.max_pool_grad(grad, x, 2, ties="split")) == [0.5, 0.5]
    assert listed(reference.fractional_max_pool_grad(grad, x, 2, 1, np.zeros((1, 1, 1), np.float32))) == [1, 0]
    assert listed(reference.max_pool_with_indices_grad(grad, x, 2)) == [0, 1]


def test_padding_is_given_nothing_even_where_it_looks_like_the_largest_value():
    assert listed(reference.max_pool_grad(row([1, 2]), row([-INF, -INF]), 2, padding=1)) == [1, 2]
    assert listed(reference.avg_pool_grad(row([2, 4]), row([0, 0]), 2, padding=1)) == [2, 4]
    assert listed(reference.avg_pool_grad(row([2, 4]), row([0, 0]), 2, padding=1, count_include_pad=True)) == [1, 2]


def test_the_gradient_of_a_window_of_padding_is_lost():
    parameters = {"stride": 2, "padding": 2}
    for name in ("max_pool_grad", "min_pool_grad", "avg_pool_grad", "softmax_pool_grad", "lp_pool_grad"):
        got = getattr(reference, name)(row([NAN, 5, INF]), row([3]), 1, **parameters)
        assert listed(got) == [5]


def test_averages_divide_by_what_the_operator_divides_by():
    x = row([0] * 5)
    assert listed(reference.avg_pool_grad(row([6, 6]), x, 3, padding=(((0, 1)),))) == [2, 2, 2, 3, 3]
    assert listed(reference.avg_pool_grad(row([6, 6]), x, 3, stride=2, divisor=2)) == [3, 3, 6, 3, 3]
    assert listed(reference.avg_pool_grad(row([6, 6]), row([0] * 4), 3, rounding="ceil")) == [2, 2, 2, 6]


def test_gradients_through_indices_go_back_where_the_values_came_from():
    x = row([1, 5, 2, 4])
    _, indices = reference.max_pool_with_indices(x, 2)
    assert listed(reference.max_pool_with_indices_grad(row([7, 8]), x, 2)) == [0, 7, 0, 8]
    assert listed(reference.max_unpool_grad(row([1, 2, 3, 4]), row([5, 4]), indices, 4)) == [2, 4]


def test_a_value_that_another_replaced_is_given_nothing():
    indices = np.array([[[2, 0, 2, -1]]])
    assert listed(reference.max_unpool_grad(row([1, 2, 3]), row([9, 9, 9, 9]), indices, 3)) == [0, 1, 3, 0]


def test_copies_give_their_gradients_to_what_they_copy():
    grad = row([1, 2, 4, 8, 16, 32, 64])
    x = row([0, 0, 0])
    for mode, expected in [
        ("constant", [4, 8, 16]),
        ("edge", [7, 8, 112]),
        ("reflect", [4 + 64, 8 + 2 + 32, 16 + 1]),
        ("symmetric", [4 + 2, 8 + 1 + 64, 16 + 32]),
        ("wrap", [4 + 32, 8 + 1 + 64, 16 + 2]),
    ]:
        assert listed(reference.pad_grad(grad, x, 2, mode=mode)) == expected


def test_cropped_cells_are_given_nothing():
    assert listed(reference.pad_grad(row([1, 2, 3]), row([0] * 4), [(-2, 1)])) == [0, 0, 1, 2]
    assert listed(reference.pad_grad(row([1, 2, 3]), row([0] * 4), [(-2, 1)], mode="edge")) == [0, 0, 1, 5]


def test_convolution_gradients_of_one_product():
    x, kernel, bias = row([2, 3, 5]), row([7, 11]), np.array([13], np.float32)
    to_x, to_kernel, to_bias = reference.conv_grad(row([1, 10]), x, kernel, bias)
    assert listed(to_x) == [7, 81, 110]
    assert listed(to_kernel) == [2 + 30, 3 + 50]
    assert to_bias.tolist() == [11]
    assert len(reference.conv_grad(row([1, 10]), x, kernel)) == 2


def test_transposed_convolution_gradients_of_one_product():
    to_x, to_kernel, to_bias = reference.conv_transpose_grad(
        row([1, 10, 100, 1000]), row([2, 3]), row([7, 11]), np.array([13], np.float32), stride=2
    )
    assert listed(to_x) == [7 + 110, 700 + 11000]
    assert listed(to_kernel) == [2 + 300, 20 + 3000]
    assert to_bias.tolist() == [1111]


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_not_finite_adds_as_in_ieee_arithmetic(dtype):
    def gradient(grad):
        return listed(reference.avg_pool_grad(row(grad, dtype), row([0] * 4, dtype), 2, stride=1))

    np.testing.assert_array_equal(gradient([INF, 2, 4]), [INF, INF, 3, 2])
    np.testing.assert_array_equal(gradient([INF, -INF, 4]), [INF, NAN, -INF, 2])
    np.testing.assert_array_equal(gradient([2, NAN, 4]), [1, NAN, NAN, 2])


def test_values_that_lose_take_no_part_whatever_the_gradient():
    assert listed(reference.max_pool_grad(row([INF, NAN]), row([1, 2, NAN, 3]), 2))[:2] == [0, INF]


def test_products_with_zero_follow_ieee_arithmetic():
    to_x, to_kernel = reference.conv_grad(row([INF, 1]), row([0, 1, 2]), row([0, 3]))
    np.testing.assert_array_equal(listed(to_x), [NAN, INF, 3])
    np.testing.assert_array_equal(listed(to_kernel), [NAN, INF])


# Softmax and Lp pooling.


def test_equal_values_share_a_softmax_gradient():
    assert listed(reference.softmax_pool_grad(row([6]), row([5, 5, 5]), 3)) == [2, 2, 2]


def test_the_gradients_of_one_softmax_window_add_up_to_its_own():
    """The average moves as all values do together."""
    x = np.random.default_rng(1).standard_normal((1, 1, 6))
    assert reference.softmax_pool_grad(row([4], np.float64), x, 6).sum() == pytest.approx(4, rel=1e-15)


@pytest.mark.parametrize("dtype", FLOATS)
def test_evenly_spaced_values_have_rational_softmax_gradients(dtype):
    """Shifted softmaxes add up to 1, a number that no digits prove."""
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    x = row(range(8), dtype)
    for g in (1.0, 3 * least):
        got = listed(reference.softmax_pool_grad(np.full((1, 1, 6), g).astype(dtype), x, 3, stride=1))
        assert got[2:-2] == [g] * 4


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_softmax_gradient_half_way_between_two_numbers_goes_to_the_even_one(dtype):
    unit = float(ml_dtypes.finfo(dtype).eps)
    for grad, expected in [([1, 1 + unit], 1), ([1 + unit, 1 + 2 * unit], 1 + 2 * unit)]:
        got = reference.softmax_pool_grad(row(grad, dtype), row([5, 5, 5], dtype), 2, stride=1)
        assert listed(got)[1] == expected


def test_opposite_softmax_windows_cancel_to_plus_zero():
    got = reference.softmax_pool_grad(row([1, -1]), row([0.1, 0.7, 0.1]), 2, stride=1)
    assert got[0, 0, 1] == 0
    assert not np.signbit(got[0, 0, 1])


def test_a_softmax_sum_is_held_rational_only_where_it_is():
    up, down = SoftmaxTerm(1.0, 0.0, (0.0, 1.0)), SoftmaxTerm(1.0, 0.0, (-1.0, 0.0))
    assert is_exact_sum([up, down], Fraction(1))
    assert not is_exact_sum([up, down], Fraction(1, 2))
    assert not is_exact_sum([up], Fraction(1))
    # Both limits are 1, but the sum is not.
    assert not is_exact_sum([up, SoftmaxTerm(1.0, 0.0, (-2.0, 0.0))], Fraction(1))
    assert is_exact_sum([SoftmaxTerm(3.0, 2.0, (2.0, 2.0))], Fraction(3, 2))
    # (1 + z)(1 + z²) = 1 + z + z² + z³: windows of different shapes.
    assert not is_exact_sum([up, SoftmaxTerm(-1.0, 0.0, (0.0, 1.0, 2.0, 3.0))], Fraction(0))


def test_negligible_values_have_no_softmax_gradient():
    assert listed(reference.softmax_pool_grad(row([2]), row([0, -6000]), 2)) == [2, 0]
    x = row([0, -700], np.float64)
    assert 0 > reference.softmax_pool_grad(row([2], np.float64), x, 2)[0, 0, 1] > -1e-300


def test_a_softmax_window_that_is_not_finite_gives_nan_to_all_its_cells():
    for x, grad in [([1, INF, 2, 3], [1, 1]), ([1, NAN, 2, 3], [1, 1]), ([1, 4, 2, 3], [-INF, 1])]:
        got = listed(reference.softmax_pool_grad(row(grad), row(x), 2))
        assert np.isnan(got).tolist() == [True, True, False, False]


@pytest.mark.parametrize("dtype", FLOATS)
def test_norm_gradients_are_the_direction(dtype):
    got = reference.lp_pool_grad(row([5], dtype), row([3, -4, 0], dtype), 3)
    assert listed(got) == [3, -4, 0]
    assert listed(reference.lp_pool_grad(row([1, 1], dtype), row([0.0, 0, 4], dtype), 2, stride=1)) == [0, 0, 1]


@pytest.mark.parametrize("p", [1.5, 2, 3, 4])
def test_norm_gradients_half_way_between_two_numbers_go_to_the_even_one(p):
    unit = 2.0**-23
    # A window with one value that is not 0 has the gradient itself; opposite windows cancel, to +0.
    for grad, expected in [([1, unit / 2], 1), ([1 + unit, unit / 2], 1 + 2 * unit), ([3, -3], 0)]:
        got = listed(reference.lp_pool_grad(row(grad), row([0, 7, 0]), 2, stride=1, p=p))
        assert got[1] == expected
        got = reference.lp_pool_grad(row(grad), row([5, 7, 5]), 2, stride=1, p=p)
        assert not np.signbit(got[0, 0, 1])


def test_a_norm_sum_is_held_rational_only_where_it_is():
    def term(grad, value, *values):
        return lp.LpTerm(grad, value, tuple(sorted((value, *values))))

    assert lp.is_exact_sum([term(5.0, 3.0, 4.0)], Fraction(3), 2)
    assert not lp.is_exact_sum([term(5.0, 3.0, 5.0)], Fraction(3), 2)
    # 1 / √2 − 3 / √18 = 0, and 1 / √2 + 1 / √3 is no rational.
    assert lp.is_exact_sum([term(1.0, 1.0, 1.0), term(-1.0, 3.0, 3.0)], Fraction(0), 2)
    assert not lp.is_exact_sum([term(1.0, 1.0, 1.0), term(-1.0, 1.0, 1.0, 1.0)], Fraction(0), 2)
    # 3³ + 4³ + 5³ = 6³.
    assert lp.is_exact_sum([term(4.0, 3.0, 4.0, 5.0)], Fraction(1), 3)
    assert not lp.is_exact_sum([term(4.0, 3.0, 4.0, 5.0)], Fraction(1), 2)


@pytest.mark.parametrize("degree", [2, 3, 7])
def test_roots_of_rationals_are_exact_or_none(degree):
    for base in (Fraction(1), Fraction(7, 3), Fraction(2**70 + 1, 3**40)):
        assert lp.rational_root(base**degree, degree) == base
        assert lp.rational_root(base**degree + 1, degree) is None


def test_the_1_norm_has_the_signs_for_a_gradient():
    assert listed(reference.lp_pool_grad(row([7]), row([-2, 0.0, -0.0, 5, -INF]), 5, p=1)) == [-7, 0, 0, 7, -7]


def test_norm_gradients_of_what_is_not_finite():
    np.testing.assert_array_equal(listed(reference.lp_pool_grad(row([1]), row([3, INF, -INF]), 3)), [0, NAN, NAN])
    np.testing.assert_array_equal(listed(reference.lp_pool_grad(row([1]), row([3, NAN, 0]), 3)), [NAN] * 3)
    np.testing.assert_array_equal(listed(reference.lp_pool_grad(row([INF]), row([3, -4, 0]), 3)), [INF, -INF, NAN])


def test_large_and_small_norms_neither_overflow_nor_vanish():
    for size in (1e300, 1e-300):
        got = reference.lp_pool_grad(row([5], np.float64), size * row([3, 4], np.float64), 2, p=2)
        np.testing.assert_allclose(listed(got), [3, 4], rtol=1e-15)


# Stochastic pooling.


def test_probabilities_move_at_the_expense_of_each_other():
    got = reference.stochastic_pool_probabilities_grad(row([1, 0]).reshape(1, 1, 1, 2), row([1, 3]), 2)
    assert listed(got) == [0.1875, -0.0625]
    got = reference.stochastic_pool_probabilities_grad(np.ones((1, 1, 1, 3), np.float32), row([1, 3, 7]), 3)
    assert listed(got) == [0, 0, 0]


def test_a_window_without_activations_has_no_gradient_and_one_that_is_not_finite_has_nan():
    grad = np.ones((1, 1, 2, 2), np.float32)
    got = reference.stochastic_pool_probabilities_grad(grad, row([0, 0, INF, 1]), 2)
    np.testing.assert_array_equal(listed(got), [0, 0, NAN, NAN])
    draws = row([0, 0.5])
    assert listed(reference.stochastic_pool_grad(row([2, 3]), row([0, 0, 1, 3]), 2, draws)) == [0, 0, 0, 3]
    assert listed(reference.stochastic_pool_grad(row([2, 3]), row([0, 0, INF, 3]), 2, draws)) == [0] * 4


# What is refused.

X = np.zeros((1, 2, 4, 5), np.float32)
KERNEL = np.zeros((2, 2, 3, 3), np.float32)
INDICES = np.zeros(X.shape, np.int64)
CALLS = {
    "max_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "min_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "avg_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "lp_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "softmax_pool_grad": ([X, 2], (1, 2, 2, 2)),
    "max_pool_with_indices_grad": ([X, 2], (1, 2, 2, 2)),
    "max_unpool_grad": ([X, INDICES, (8, 9)], (1, 2, 8, 9)),
    "global_max_pool_grad": ([X], (1, 2, 1, 1)),
    "global_avg_pool_grad": ([X], (1, 2, 1, 1)),
    "adaptive_max_pool_grad": ([X, (3, None)], (1, 2, 3, 5)),
    "adaptive_avg_pool_grad": ([X, (3, None)], (1, 2, 3, 5)),
    "fractional_max_pool_grad": ([X, 2, 2, np.zeros((1, 2, 2), np.float32)], (1, 2, 2, 2)),
    "stochastic_pool_grad": ([X, 2, np.zeros((1, 2, 2, 2), np.float32)], (1, 2, 2, 2)),
    "stochastic_pool_probabilities_grad": ([X, 2], (1, 2, 2, 2, 2, 2)),
    "pad_grad": ([X, [1, (-1, 2)]], (1, 2, 6, 6)),
    "conv_grad": ([X, KERNEL], (1, 2, 2, 3)),
    "conv_transpose_grad": ([X, KERNEL], (1, 2, 6, 7)),
}


def test_every_operator_has_a_gradient():
    operators = {name for name in reference.OPERATORS if not name.endswith("_grad")}
    assert set(CALLS) == {name for name in reference.OPERATORS if name.endswith("_grad")}
    assert operators == {name.removesuffix("_grad") for name in CALLS}


@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_of_another_shape_is_refused(name):
    inputs, shape = CALLS[name]
    wrong = (*shape[:-1], shape[-1] + 1)
    with pytest.raises(ValueError, match=re.escape(f"grad has shape {wrong}: the output has {shape}")):
        reference.OPERATORS[name](np.zeros(wrong, np.float32), *inputs)
    got = reference.OPERATORS[name](np.zeros(shape, np.float32), *inputs)
    assert (got[0] if isinstance(got, tuple) else got).value.shape == X.shape


@pytest.mark.parametrize("name", CALLS)
def test_other_dtypes_are_refused(name):
    inputs, shape = CALLS[name]
    with pytest.raises(TypeError, match="grad has dtype float64: accepted are float32"):
        reference.OPERATORS[name](np.zeros(shape), *inputs)
    with pytest.raises(TypeError, match="x has dtype int32: accepted are float16, bfloat16, float32, float64"):
        reference.OPERATORS[name](np.zeros(shape, np.int32), X.astype(np.int32), *inputs[1:])


@pytest.mark.parametrize("name", ["max_pool_grad", "min_pool_grad", "global_max_pool_grad", "adaptive_max_pool_grad"])
def test_other_tie_rules_are_refused(name):
    inputs, shape = CALLS[name]
    with pytest.raises(ValueError, match="ties 'any' must be one of first, last, all, split"):
        reference.OPERATORS[name](np.zeros(shape, np.float32), *inputs, ties="any")


@pytest.mark.parametrize("name", CALLS)
def test_empty_batches_and_channels_have_empty_gradients(name):
    inputs, shape = CALLS[name]
    if not name.startswith("conv"):
        empty = [part[:0] if isinstance(part, np.ndarray) else part for part in inputs]
        assert reference.OPERATORS[name](np.zeros((0, *shape[1:]), np.float32), *empty).value.shape == (0, *X.shape[1:])
    else:
        to_x, to_kernel = reference.OPERATORS[name](np.zeros((0, *shape[1:]), np.float32), X[:0], KERNEL)
        assert to_x.value.shape == (0, *X.shape[1:])
        assert not to_kernel.value.any()


EMPTY = np.zeros((1, 2, 0), np.float32)


@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool", "lp_pool", "softmax_pool", "stochastic_pool"])
def test_an_empty_extent_has_an_empty_gradient_however_much_padding_there_is(name):
    grad = np.ones((1, 2, 2), np.float32)
    inputs = [EMPTY, 2, np.zeros_like(grad)] if name == "stochastic_pool" else [EMPTY, 2]
    assert getattr(reference, name + "_grad")(grad, *inputs, padding=2).shape == (1, 2, 0)


def test_bins_constants_and_kernels_on_an_empty_extent_have_empty_gradients():
    ones = np.ones((1, 2, 4), np.float32)
    assert reference.adaptive_max_pool_grad(ones, EMPTY, 4).shape == (1, 2, 0)
    assert reference.global_avg_pool_grad(ones[..., :1], EMPTY).shape == (1, 2, 0)
    assert reference.pad_grad(ones, EMPTY, 2).shape == (1, 2, 0)
    assert reference.max_unpool_grad(ones, EMPTY, np.zeros((1, 2, 0), np.int64), 4).shape == (1, 2, 0)
    to_x, to_kernel = reference.conv_grad(ones, EMPTY, ones[..., :1].reshape(2, 1, 1), groups=2, padding=2)
    assert to_x.shape == (1, 2, 0)
    assert to_kernel.tolist() == [[[0]], [[0]]]
