from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows
from reference.operators.convolution import _FloatConvolution

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
X = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)


def test_the_kernel_is_not_turned_round():
    kernel = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    assert reference.conv(X, kernel).tolist() == [[[[19, 25], [37, 43]]]]


def test_average_pooling_is_a_convolution():
    kernel = np.full((1, 1, 2, 2), 0.25, np.float32)
    np.testing.assert_array_equal(reference.conv(X, kernel), reference.avg_pool(X, 2, stride=1))


def test_shapes_of_the_book():
    x = np.ones((1, 3, 28, 28), np.float32)
    assert reference.conv(x, np.ones((1, 3, 3, 3), np.float32), padding=1, stride=2).shape == (1, 1, 14, 14)
    assert reference.max_pool(x, 3, stride=2).shape == (1, 3, 13, 13)
    assert reference.pad(x, 2).shape == (1, 3, 32, 32)


def test_bias_is_added_to_its_channel_and_counts_as_a_term():
    kernel = np.ones((2, 1, 2, 2), np.float32)
    plain, biased = (reference.OPERATORS["conv"](X, kernel, bias) for bias in (None, np.array([0.5, -1], np.float32)))
    np.testing.assert_array_equal(
        biased.value - plain.value, np.array([0.5, -1])[None, :, None, None] * np.ones((2, 2))
    )
    assert plain.terms.max() == 4
    assert biased.terms.min() == 5
    assert biased.magnitude[0, 1, 0, 0] == pytest.approx(plain.magnitude[0, 1, 0, 0] + 1)


def test_groups_keep_channels_apart():
    x = np.arange(4, dtype=np.int32).reshape(1, 4, 1)
    kernel = np.array([[1, 10], [2, 20], [3, 30], [4, 40]], np.int32).reshape(4, 2, 1)
    assert reference.conv(x, kernel, groups=2).ravel().tolist() == [10, 20, 2 * 3 + 3 * 30, 2 * 4 + 3 * 40]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_integers_wrap(dtype):
    x = np.full((1, 1, 2), np.iinfo(dtype).max, dtype)
    wrapped = np.array([2 * np.iinfo(dtype).max ** 2 + 1]).astype(object) % 2 ** (8 * x.itemsize)
    got = reference.conv(x, x, np.array([1], dtype))
    assert int(got[0, 0, 0]) % 2 ** (8 * x.itemsize) == wrapped[0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_not_finite_follows_ieee_arithmetic(dtype):
    def conv(x, kernel, bias=None):
        arrays = [np.array(values).astype(dtype) for values in ([[x]], [[kernel]])]
        return float(reference.conv(*arrays, None if bias is None else np.array([bias]).astype(dtype)).ravel()[0])

    assert conv([np.inf, 1], [2, 3]) == np.inf
    assert conv([np.inf, 1], [-2, 3]) == -np.inf
    assert np.isnan(conv([np.inf, 1], [0, 3]))
    assert np.isnan(conv([np.inf, 1], [1, -np.inf]))
    assert np.isnan(conv([0, 1], [np.nan, 1]))
    assert np.isnan(conv([np.inf, 1], [2, 3], -np.inf))
    assert conv([1, 1], [2, 3], np.inf) == np.inf


def test_an_infinity_elsewhere_leaves_finite_results_alone():
    x = np.random.default_rng(1).standard_normal((1, 1, 9)).astype(np.float32)
    kernel = np.ones((1, 1, 3), np.float32) / 3
    expected = reference.conv(x, kernel)
    x[0, 0, 0] = np.inf
    got = reference.conv(x, kernel)
    assert got[0, 0, 0] == np.inf
    np.testing.assert_array_equal(got[..., 1:], expected[..., 1:])


def test_padding_takes_no_part_in_a_product_with_an_infinite_weight():
    kernel = np.array([[[np.inf, 1, np.inf]]], np.float32)
    assert reference.conv(np.ones((1, 1, 1), np.float32), kernel, padding=1).tolist() == [[[1.0]]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_result_beyond_the_dtype_is_infinite(dtype):
    greatest = float(ml_dtypes.finfo(dtype).max)
    x = np.full((1, 1, 1), greatest).astype(dtype)
    assert reference.conv(x, np.full((1, 1, 1), -2).astype(dtype)).tolist() == [[[-np.inf]]]


def test_empty_channels_give_the_bias():
    x, kernel = np.zeros((1, 0, 3), np.float32), np.zeros((2, 0, 2), np.float32)
    got = reference.conv(x, kernel, np.array([1, 2], np.float32))
    assert got.tolist() == [[[1, 1], [2, 2]]]
    assert reference.conv(np.zeros((0, 1, 3), np.float32), np.zeros((2, 1, 2), np.float32)).shape == (0, 2, 2)


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


def spread_out(seed, scale):
    """Numbers across so many powers of two that slices leave something of them."""
    rng = np.random.default_rng(seed)
    return np.concatenate([[1.0], rng.uniform(0.5, 1, 7) * 2.0 ** rng.integers(-450, 0, 7)]) * 2.0**scale


def error_is_near(pair, exact, most):
    """Whether the error of a pair covers its distance from the exact value, and is at most `most`."""
    gap = abs(exact - Fraction(pair.high.item()) - Fraction(pair.low.item()))
    return 0 < gap <= Fraction(pair.error.item()) <= most


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


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


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
