"""Convolution of quantized numbers against fractions and loops, at ties, at limits and in padding."""

from itertools import product

import numpy as np
import pytest

import reference
from reference.operators.quantization.convolution import REQUANTIZATIONS
from reference.operators.quantization.quantizing import ROUND_MODES
from tests.support.loop_quantization import loop_quantized_convolution, loop_sums

SCALES = {"x_scale": 0.5, "w_scale": 1, "y_scale": 1}
SUMS = (12, 60, 108, 156, 180, 204, 252)
# The results of SUMS without a zero point of y.
FORMULAS = {
    "product": [8, 43, 77, 111, 128, 145, 179],
    "reciprocal": [8, 42, 76, 110, 128, 144, 178],
    "exact": [9, 43, 77, 111, 128, 145, 179],
    "stepwise": [8, 42, 76, 110, 127, 144, 178],
}


def image(numbers, dtype=np.int8):
    return np.array(numbers, dtype).reshape(1, 1, -1)


def convolve(numbers, dtype=np.int8, weights=(1,), bias=None, **parameters):
    """Return the result for one row of numbers as a list."""
    given = {**SCALES, **parameters}
    return reference.quantized_conv(image(numbers, dtype), image(weights), bias, **given).ravel().tolist()


@pytest.mark.parametrize("requantization", REQUANTIZATIONS)
@pytest.mark.parametrize("round_mode", ROUND_MODES)
def test_convolutions_agree_with_fractions(round_mode, requantization):
    rng = np.random.default_rng(7)
    numbers = ((0.5, (0.25, 2.0), 1.0), (0.31, (0.07, 0.3), 1.3), (0.1, (0.02, 0.7), 0.7))
    for scales, dtype, zeros in product(numbers, (np.int8, np.uint8), ((0, (0, 0), 0), (3, (1, -2), 5))):
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max + 1, (2, 2, 5, 4)).astype(dtype)
        kernel, bias = rng.integers(-9, 10, (2, 1, 2, 3)).astype(np.int8), np.array([-300, 45], np.int32)
        options = {"round_mode": round_mode, "requantization": requantization}
        expected = loop_quantized_convolution(x, kernel, bias, (2, 1, 1, 2), scales=scales, zeros=zeros, **options)
        got = reference.quantized_conv(
            x, kernel, bias, stride=2, padding=1, groups=2, **options,
            x_scale=scales[0], w_scale=list(scales[1]), y_scale=scales[2],
            x_zero_point=zeros[0], w_zero_point=list(zeros[1]), y_zero_point=zeros[2],
        )  # fmt: skip
        np.testing.assert_array_equal(got, expected)


def test_unsigned_weights_agree_with_fractions():
    rng = np.random.default_rng(8)
    x, kernel = (rng.integers(0, 256, shape).astype(np.uint8) for shape in ((1, 3, 6), (2, 3, 2)))
    expected = loop_quantized_convolution(
        x, kernel, None, (1, 0, 2, 1), scales=(0.01, (0.02, 0.02), 0.3), zeros=(7, (128, 128), 99),
        round_mode="half_even", requantization="product",
    )  # fmt: skip
    got = reference.quantized_conv(
        x,
        kernel,
        dilation=2,
        x_scale=0.01,
        w_scale=0.02,
        y_scale=0.3,
        x_zero_point=7,
        w_zero_point=128,
        y_zero_point=99,
    )
    np.testing.assert_array_equal(got, expected)


def test_requantizations_differ_from_each_other():
    given = {"x_scale": 7.791667, "w_scale": 0.1, "y_scale": 1.1}
    for requantization, expected in FORMULAS.items():
        assert convolve(SUMS, np.uint8, requantization=requantization, **given) == expected
    # With a zero point of 128, fused rounds the sum, and float64 does not.
    given = {"x_scale": 31.166667, "w_scale": 0.1, "y_scale": 1.1, "x_zero_point": 128, "y_zero_point": 128}
    assert convolve([113, 125, 131], np.uint8, requantization="fused", **given) == [86, 120, 136]
    assert convolve([113, 125, 131], np.uint8, requantization="float64", **given) == [85, 119, 137]


def test_requantizations_are_equal_for_powers_of_two_without_zero_point():
    sums = range(-128, 128)
    results = {tuple(convolve(sums, requantization=one)) for one in REQUANTIZATIONS if one != "fixed_point"}
    assert len(results) == 1


def test_fixed_point_rounds_twice():
    given = {"x_scale": 0.25, "requantization": "fixed_point"}
    # -127/4 is -63.5/2. The first number is rounded up to -63, and -63/2 to -31 or -32.
    assert convolve([-127, -125, 125], round_mode="half_up", **given) == [-31, -31, 32]
    assert convolve([-127, -125, 125], round_mode="half_away", **given) == [-32, -31, 32]
    assert convolve([-127, 127], x_scale=2.0**20, requantization="fixed_point") == [-128, 127]
    # The quotient 1/2 - 2 ** -47 becomes 1/2, so that nothing is rounded twice: -1/2 becomes 0.
    given = {"x_scale": 1 + 2.0**-23, "w_scale": 1 - 2.0**-23, "y_scale": 2, "requantization": "fixed_point"}
    assert convolve([1, -1], round_mode="half_away", **given) == [1, 0]
    assert convolve([100, -100], **given) == [50, -50]


def test_the_factor_of_fixed_point_has_31_digits():
    # With 30 or 32 digits the result is 101.
    given = {"x_scale": 1, "y_scale": 75772.46875, "requantization": "fixed_point", "round_mode": "half_up"}
    assert convolve([0], bias=np.array([7690905], np.int32), **given) == [102]


def test_a_product_of_scales_may_be_the_smallest_normal_number():
    assert convolve([3], x_scale=2.0**-63, w_scale=2.0**-63, y_scale=2.0**-126) == [3]


def test_ties_depend_on_the_place_of_the_zero_point():
    for requantization in ("product", "reciprocal", "exact"):
        assert convolve([-3, -1, 1, 3], y_zero_point=1, requantization=requantization) == [-1, 1, 1, 3]
    for requantization in ("fused", "stepwise", "float64"):
        assert convolve([-3, -1, 1, 3], y_zero_point=1, requantization=requantization) == [0, 0, 2, 2]


def test_padding_of_quantized_numbers_is_the_zero_point():
    assert convolve([6, 7, 8], weights=(1, 1, 1), padding=1, x_zero_point=5, x_scale=1) == [3, 6, 5]


def test_the_bias_has_the_scale_of_the_products():
    bias = np.array([3], np.int32)
    assert convolve([-2, 0, 1, 2], bias=bias) == [0, 2, 2, 2]
    assert convolve([0], bias=np.array([2**24], np.int32), x_scale=2.0**-20) == [16]


def test_results_are_limited_to_eight_bits():
    assert convolve([-128, -65, 0, 64, 127], weights=(2,), x_scale=1) == [-128, -128, 0, 127, 127]
    unsigned = convolve([0, 99, 100, 255], np.uint8, weights=(2,), x_scale=1, x_zero_point=100)
    assert unsigned == [0, 0, 0, 255]


def test_a_channel_of_zero_weights_is_the_zero_point():
    x, kernel = image([7, 9], np.uint8), np.array([[[2]], [[0]]], np.int8)
    got = reference.quantized_conv(
        x, kernel, x_scale=1, w_scale=[1, 2**-10], y_scale=1, x_zero_point=10, y_zero_point=20
    )
    assert got.tolist() == [[[14, 18], [20, 20]]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"x_scale": 0}, ValueError, "x_scale 0 must be a positive normal number of float32"),
        ({"x_scale": [1]}, ValueError, r"x_scale \[1\] must be one number"),
        ({"y_scale": [1]}, ValueError, r"y_scale \[1\] must be one number"),
        ({"x_zero_point": [1]}, ValueError, r"x_zero_point \[1\] must be one number"),
        ({"y_zero_point": [1]}, ValueError, r"y_zero_point \[1\] must be one number"),
        ({"w_scale": [1, 2]}, ValueError, r"w_scale \[1, 2\] has 2 entries: expected 1"),
        ({"w_zero_point": [1, 2]}, ValueError, r"w_zero_point \[1, 2\] has 2 entries: expected 1"),
        ({"w_zero_point": 200}, ValueError, "w_zero_point 200 must be from -128 to 127"),
        ({"y_zero_point": 128}, ValueError, "y_zero_point 128 must be from -128 to 127"),
        ({"x_scale": 1e-30, "w_scale": 1e-30}, ValueError, "x_scale · w_scale 0.0 must be"),
        ({"x_scale": 1e30, "y_scale": 1e-30}, ValueError, "x_scale · w_scale / y_scale inf must be"),
        ({"requantization": "fast"}, ValueError, "requantization 'fast' must be one of"),
        ({"round_mode": "up"}, ValueError, "round_mode 'up' must be one of"),
        ({"groups": 2}, ValueError, "groups 2 does not divide"),
        ({"bias": np.zeros(1, np.int8)}, TypeError, "bias has dtype int8"),
        ({"bias": np.zeros(2, np.int32)}, ValueError, r"bias has shape \(2,\)"),
        ({"bias": np.array([2**24 + 1], np.int32)}, ValueError, "a sum of more than 16777216"),
    ],
)
def test_bad_quantized_convolutions_are_rejected(call, error, message):
    with pytest.raises(error, match=message):
        convolve([1, 2], **call)


def test_other_dtypes_of_quantized_convolutions_are_rejected():
    with pytest.raises(TypeError, match="x has dtype float32"):
        convolve([1.0], np.float32)
    with pytest.raises(TypeError, match="kernel has dtype int32"):
        reference.quantized_conv(image([1]), image([1], np.int32), **SCALES)


def test_a_large_kernel_of_quantized_numbers_is_rejected():
    with pytest.raises(ValueError, match="kernel"):
        convolve([1, 2], weights=(1, 1, 1))


BOTH = (np.int8, np.uint8)


@pytest.mark.parametrize(("x_dtype", "w_dtype"), list(product(BOTH, BOTH)))
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_integer_convolutions_agree_with_loops(axes, x_dtype, w_dtype):
    rng = np.random.default_rng(9)
    x, kernel = (
        rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
        for dtype, shape in ((x_dtype, (2, 4, 6, 5, 4)[: axes + 2]), (w_dtype, (4, 2, 2, 3, 2)[: axes + 2]))
    )
    for x_zero, w_zero in ((0, 0), (127, 5), (3, [0, 1, 100, 127])):
        each = w_zero if isinstance(w_zero, list) else [w_zero] * 4
        got = reference.conv_integer(
            x, kernel, stride=2, padding=1, dilation=2, groups=2, x_zero_point=x_zero, w_zero_point=w_zero
        )
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, loop_sums(x, kernel, None, (2, 1, 2, 2), (x_zero, each)))


def test_integer_convolutions_have_the_numbers_of_the_node_test_of_onnx():
    # onnx/backend/test/case/node/convinteger.py
    x, kernel = np.arange(2, 11, dtype=np.uint8).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2), np.uint8)
    assert reference.conv_integer(x, kernel, x_zero_point=1).tolist() == [[[[12, 16], [24, 28]]]]
    padded = reference.conv_integer(x, kernel, x_zero_point=1, padding=1)
    assert padded[0, 0].tolist() == [[1, 3, 5, 3], [5, 12, 16, 9], [11, 24, 28, 15], [7, 15, 17, 9]]


def test_terms_are_the_products_of_real_cells_and_the_bias():
    x, kernel, bias = np.ones((1, 4, 3), np.int8), np.ones((4, 2, 3), np.int8), np.ones(4, np.int32)
    sums = reference.OPERATORS["conv_integer"](x, kernel, padding=1, groups=2)
    assert np.unique(sums.terms).tolist() == [4, 6]
    exact = reference.OPERATORS["quantized_conv"](x, kernel, bias, padding=1, groups=2, **SCALES)
    assert np.unique(exact.terms).tolist() == [5, 7]


def test_padding_of_integer_convolutions_is_the_zero_point():
    weights = image([1, 1, 1])
    assert reference.conv_integer(image([6, 7, 8]), weights, padding=1, x_zero_point=5).tolist() == [[[3, 6, 5]]]


@pytest.mark.parametrize(
    ("cells", "weights", "limit"),
    [
        # 33025 · 255 · 255 + 130 · 254 + 2
        ([255] * 33025 + [130, 2], [255] * 33025 + [254, 1], 2**31 - 1),
        # 65793 · 255 · -128 - 128
        ([255] * 65793 + [1, 0], [-128] * 65793 + [-128, -1], -(2**31)),
    ],
)
def test_sums_are_exact_up_to_the_limits_of_int32(cells, weights, limit):
    x, kernel = image(cells, np.uint8), image(weights, np.uint8 if limit > 0 else np.int8)
    assert reference.conv_integer(x, kernel).tolist() == [[[limit]]]
    x[0, 0, -1] += 1
    with pytest.raises(ValueError, match="has a sum beyond -2147483648 to 2147483647, the range of int32"):
        reference.conv_integer(x, kernel)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"x_zero_point": [1]}, ValueError, r"x_zero_point \[1\] must be one number"),
        ({"x_zero_point": 128}, ValueError, "x_zero_point 128 must be from -128 to 127"),
        ({"w_zero_point": [1, 2]}, ValueError, r"w_zero_point \[1, 2\] has 2 entries: expected 1"),
        ({"w_zero_point": 200}, ValueError, "w_zero_point 200 must be from -128 to 127"),
        ({"groups": 2}, ValueError, "groups 2 does not divide"),
        ({"kernel": image([1], np.int32)}, TypeError, "kernel has dtype int32"),
        ({"kernel": image([1, 2, 3])}, ValueError, "kernel"),
        ({"x": image([1], np.float32)}, TypeError, "x has dtype float32"),
    ],
)
def test_bad_integer_convolutions_are_rejected(call, error, message):
    with pytest.raises(error, match=message):
        reference.conv_integer(**{"x": image([1, 2]), "kernel": image([1]), **call})
