"""Tests of reference.operators.convolution_grad."""

import numpy as np

import reference


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


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


INF, NAN = np.inf, np.nan


INF, NAN = np.inf, np.nan


def test_products_with_zero_follow_ieee_arithmetic():
    to_x, to_kernel = reference.conv_grad(row([INF, 1]), row([0, 1, 2]), row([0, 3]))
    np.testing.assert_array_equal(listed(to_x), [NAN, INF, 3])
    np.testing.assert_array_equal(listed(to_kernel), [NAN, INF])
