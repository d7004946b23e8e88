import ml_dtypes
import numpy as np
import pytest

import reference

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
