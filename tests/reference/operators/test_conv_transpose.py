"""Tests of reference.operators.conv_transpose."""

import numpy as np
import pytest

import reference


def test_terms_of_a_transposed_convolution_of_integers_are_whole_numbers():
    exact = reference.OPERATORS["conv_transpose"](np.ones((1, 2, 3), np.int8), np.ones((2, 1, 1), np.int8))
    assert exact.terms.dtype == np.int64
    assert exact.terms.tolist() == [[[2, 2, 2]]]


@pytest.mark.parametrize("name", ["stride", "dilation", "groups"])
def test_a_transposed_convolution_refuses_zero(name):
    x = np.ones((1, 2, 3))
    with pytest.raises(ValueError, match=f"{name} 0.* must be at least 1"):
        reference.conv_transpose(x, np.ones((2, 1, 2)), **{name: 0})


@pytest.mark.parametrize("sign", [1, -1])
def test_products_too_small_for_slices_break_ties(sign):
    many, none, far = [2.0 ** (-40 * k) for k in range(1, 9)], [0.0] * 8, 2.0**-400
    x, kernel = np.array([1, 1, far, *many, *none]), np.array([1, 2.0**-53, sign * far, *none, *many])
    got = reference.conv_transpose(x.reshape(1, -1, 1), kernel.reshape(-1, 1, 1))
    assert got.item() == (1 + 2.0**-52 if sign > 0 else 1.0)


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


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


@pytest.mark.parametrize(("x", "kernel"), [((0, 2, 4), (2, 1, 3)), ((2, 0, 4), (0, 1, 3)), ((1, 2, 4), (2, 0, 3))])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_empty_batches_and_channels_of_a_transposed_convolution_add_nothing(x, kernel, dtype):
    exact = reference.OPERATORS["conv_transpose"](np.ones(x, dtype), np.ones(kernel, dtype))
    assert exact.value.shape == exact.bound().shape == exact.terms.shape == (x[0], kernel[1], 6)
    assert not exact.value.any()
