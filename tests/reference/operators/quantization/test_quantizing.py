"""Quantization against fractions, the examples of ONNX, and numbers at ties and limits."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import reference
from reference.operators.quantization.quantizing import FORMULAS, ROUND_MODES
from tests.support.loop_quantization import float32_of, loop_quantize, loop_quantized_average

SCALES = (1.0, 0.5, 0.3, 0.7, 7.0, 0.1)
# For each sum, the average by every formula.
AVERAGES = ([3, 3, 2, 2, 2], [1, 1, 2, 1, 1], [-3, -4, -4, -4, -4], [-7, -7, -6, -6, -7])


def image(numbers, dtype=np.float32):
    return np.array(numbers, dtype).reshape(1, 1, -1)


def near_ties(scale, count=16):
    """Return the multiples of half a scale, and the numbers of float32 beside them."""
    ties = (np.arange(-count, count + 1) / 2).astype(np.float32) * np.float32(scale)
    above, below = np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(-np.inf))
    return np.concatenate([ties, above, below])


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("round_mode", ROUND_MODES)
@pytest.mark.parametrize("scale", SCALES)
def test_it_agrees_with_fractions_at_ties(scale, round_mode, formula):
    x = near_ties(scale)
    for dtype, zero in (("int8", 0), ("int8", 1), ("int8", -128), ("uint8", 255)):
        got = reference.quantize(image(x), scale, zero, output_dtype=dtype, round_mode=round_mode, formula=formula)
        assert got.ravel().tolist() == loop_quantize(
            x, scale, zero, dtype=dtype, round_mode=round_mode, formula=formula
        )


def test_formulas_differ_from_each_other():
    x = image([-0.34999996423721313, 1.7499998807907104, -3.1500000953674316])
    results = [reference.quantize(x, 0.7, 1, formula=formula).ravel().tolist() for formula in FORMULAS]
    assert results == [[1, 3, -3], [1, 3, -4], [0, 3, -4], [0, 4, -4], [1, 4, -4]]


def test_product_and_sum_are_rounded_once_when_fused():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(400).astype(np.float32) * np.float32(2.0) ** rng.integers(-60, 10, 400).astype(np.float32)
    for scale, zero in product(SCALES, (1, -128, 127)):
        assert reference.quantize(image(x), scale, zero, formula="fused").ravel().tolist() == loop_quantize(
            x, scale, zero, formula="fused"
        )


@pytest.mark.parametrize(
    ("x", "scale", "expected"),
    # The sum with 128 is 128.5 + 2 ** -17, halfway between two numbers of float32, plus 2 ** -47 or minus 2 ** -48.
    [(0.34710457921028137, 0.6941985487937927, 129), (0.6597205996513367, 1.3194210529327393, 128)],
)
def test_a_fused_sum_is_not_rounded_through_float64(x, scale, expected):
    given = {"dtype": "uint8", "formula": "fused"}
    assert loop_quantize([x], scale, 128, **given) == [expected]
    assert reference.quantize(image([x]), scale, 128, output_dtype="uint8", formula="fused").ravel() == [expected]


def test_the_zero_point_is_0_by_default():
    x = image([-1, 0, 1])
    assert reference.quantize(x, 0.5).ravel().tolist() == [-2, 0, 2]
    assert reference.dequantize(reference.quantize(x, 0.5), 0.5).ravel().tolist() == [-1, 0, 1]
    assert reference.quantized_avg_pool(image([1, 2], np.int8), 2).ravel().tolist() == [2]


def test_infinities_and_overflow_become_the_limits():
    x = image([np.inf, -np.inf, 3e38, -3e38, 2.0**31, -(2.0**31) - 256])
    for formula in FORMULAS:
        assert reference.quantize(x, 0.125, 3, formula=formula).ravel().tolist() == [127, -128] * 3
        unsigned = reference.quantize(x, 0.125, 3, output_dtype="uint8", formula=formula)
        assert unsigned.ravel().tolist() == [255, 0] * 3


def test_each_channel_has_its_scale_and_zero_point():
    x = np.ones((2, 3, 1, 2), np.float32)
    y = reference.quantize(x, [1, 0.5, 0.25], [0, 10, -20])
    assert y[:, :, 0, 0].tolist() == [[1, 12, -16]] * 2
    assert reference.dequantize(y, [1, 0.5, 0.25], [0, 10, -20]).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("scale", SCALES)
def test_dequantized_products_are_rounded_once(scale, dtype):
    limits = np.iinfo(dtype)
    x = np.arange(limits.min, limits.max + 1)
    for zero in (limits.min, 3, limits.max):
        expected = [float(float32_of((int(one) - zero) * scale_of(scale))) for one in x]
        exact = reference.OPERATORS["dequantize"](image(x, dtype), scale, zero)
        assert exact.value.ravel().tolist() == expected
        assert exact.value.dtype == np.float32
        assert exact.exact


def scale_of(scale):
    return Fraction(float(np.float32(scale)))


def test_quantized_numbers_return_after_dequantization():
    every = np.arange(-128, 128).astype(np.int8).reshape(1, 1, 16, 16)
    for scale, zero in product(SCALES, (-128, 3, 127)):
        back = reference.quantize(reference.dequantize(every, scale, zero), scale, zero)
        np.testing.assert_array_equal(back, every)


def test_the_examples_of_onnx():
    x = image([0, 2, 3, 1000, -254, -1000])
    assert reference.quantize(x, 2, 128, output_dtype="uint8").ravel().tolist() == [128, 129, 130, 255, 1, 0]
    assert reference.dequantize(image([0, 3, 128, 255], np.uint8), 2, 128).ravel().tolist() == [-256, -250, 0, 254]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"y_scale": 0}, ValueError, "y_scale 0 must be a positive normal number of float32"),
        ({"y_scale": -1.0}, ValueError, "y_scale -1.0 must be"),
        ({"y_scale": 1e-40}, ValueError, "y_scale 1e-40 must be"),
        ({"y_scale": float("nan")}, ValueError, "y_scale nan must be"),
        ({"y_scale": "1"}, TypeError, "y_scale '1' must be a number"),
        ({"y_scale": [1, 2]}, ValueError, "y_scale [1, 2] has 2 entries: expected 1, one for each channel"),
        ({"y_scale": 1, "y_zero_point": 128}, ValueError, "y_zero_point 128 must be from -128 to 127"),
        ({"y_scale": 1, "y_zero_point": -1, "output_dtype": "uint8"}, ValueError, "from 0 to 255"),
        ({"y_scale": 1, "y_zero_point": 0.5}, TypeError, "y_zero_point 0.5 must be an integer"),
        ({"y_scale": 1, "output_dtype": "int4"}, ValueError, "output_dtype 'int4' must be one of int8, uint8"),
        ({"y_scale": 1, "round_mode": "up"}, ValueError, "round_mode 'up' must be one of"),
        ({"y_scale": 1, "formula": "fast"}, ValueError, "formula 'fast' must be one of"),
    ],
)
def test_bad_parameters_are_named(call, error, message):
    with pytest.raises(error, match=message.replace("[", r"\[")):
        reference.quantize(image([1.0]), **call)


def test_nan_and_other_dtypes_are_rejected():
    with pytest.raises(ValueError, match="x contains NaN"):
        reference.quantize(image([np.nan]), 1)
    with pytest.raises(TypeError, match="x has dtype float64"):
        reference.quantize(np.zeros((1, 1, 2)), 1)
    with pytest.raises(TypeError, match="x has dtype int32"):
        reference.dequantize(np.zeros((1, 1, 2), np.int32), 1)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("round_mode", ROUND_MODES)
def test_averages_agree_with_fractions(round_mode, formula):
    rng = np.random.default_rng(1)
    for window, stride, pads, divisor, zero in ((2, 1, 1, None, 1), (6, 2, 3, None, -128), (7, 1, 0, 14, 3)):
        x = rng.integers(-128, 128, 40).astype(np.int8)
        expected = loop_quantized_average(
            x, window, stride, pads, zero, divisor=divisor, round_mode=round_mode, formula=formula
        )
        got = reference.quantized_avg_pool(
            image(x, np.int8), window, stride=stride, padding=pads, count_include_pad=True, divisor=divisor,
            x_zero_point=zero, round_mode=round_mode, formula=formula,
        )  # fmt: skip
        assert got.ravel().tolist() == expected


def test_formulas_of_averages_differ_from_each_other():
    totals = np.array([-7, -21, -91, -133]) + 14 * 3
    x = np.concatenate([[total // 14 + (place < total % 14) for place in range(14)] for total in totals])
    results = [
        reference.quantized_avg_pool(image(x, np.int8), 14, x_zero_point=3, formula=one).ravel().tolist()
        for one in FORMULAS
    ]
    assert results == [list(row) for row in zip(*AVERAGES, strict=True)]


def test_padding_of_averages_is_the_zero_point():
    x = image([4, 8], np.int8)
    counted = reference.quantized_avg_pool(x, 2, padding=1, count_include_pad=True, x_zero_point=10)
    assert counted.ravel().tolist() == [7, 9]
    assert reference.quantized_avg_pool(x, 2, padding=1, x_zero_point=10).ravel().tolist() == [4, 8]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_window_of_padding_is_the_zero_point(formula):
    y = reference.quantized_avg_pool(image([9], np.int8), 1, padding=1, x_zero_point=5, formula=formula)
    assert y.tolist() == [[[5, 9, 5]]]


def test_sums_are_exact_up_to_24_bits():
    x = np.full((1, 1, 2**17), 128, np.uint8)
    assert reference.quantized_avg_pool(x, 2**17).tolist() == [[[128]]]
    x[0, 0, 0] = 129
    with pytest.raises(ValueError, match="a sum of more than 16777216, which float32 rounds"):
        reference.quantized_avg_pool(x, 2**17)


def test_bad_averages_are_rejected():
    with pytest.raises(ValueError, match="float32 rounds"):
        reference.quantized_avg_pool(np.full((1, 1, 2**18), 127, np.int8), 2**18)
    with pytest.raises(ValueError, match="must be one number"):
        reference.quantized_avg_pool(image([1, 2], np.int8), 2, x_zero_point=[1])
    with pytest.raises(TypeError, match="x has dtype float32"):
        reference.quantized_avg_pool(image([1.0, 2.0]), 2)
