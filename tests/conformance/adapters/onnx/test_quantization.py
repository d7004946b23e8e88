"""The nodes of quantization and of convolutions of quantized numbers, and node tests of onnx for two of them."""

import numpy as np
import pytest

import reference
from conformance.adapters.api import Unsupported
from conformance.adapters.onnx.nodes import conv_integer, quantized_conv
from conformance.adapters.onnx.quantization import dequantize, quantize
from conformance.cases.operators import Requantization
from conformance.cases.steps import Step

GIVEN = {"y_scale": 0.3, "y_zero_point": 1, "output_dtype": "uint8", "round_mode": "half_even", "formula": "quotient"}


def step(**parameters):
    return Step("quantize", (1, 2, 3), "float32", {**GIVEN, **parameters})


def test_scale_and_zero_point_are_constants():
    assert quantize(step()) == (
        "scale = np.array(0.3, np.float32)",
        "zero = np.array(1, np.uint8)",
        "x = QuantizeLinear(x, scale, zero)",
    )
    each = Step("dequantize", (1, 2, 3), "int8", {"x_scale": (0.5, 1), "x_zero_point": 3})
    assert dequantize(each) == (
        "scale = np.array([0.5, 1], np.float32)",
        "zero = np.array([3, 3], np.int8)",
        "x = DequantizeLinear(x, scale, zero)",
    )


def test_the_node_has_one_formula_and_one_rounding_rule():
    assert isinstance(quantize(step(formula="reciprocal")), Unsupported)
    assert isinstance(quantize(step(round_mode="half_away")), Unsupported)
    assert quantize(step(formula="fused", y_scale=0.5, y_zero_point=0))[-1] == "x = QuantizeLinear(x, scale, zero)"


# Inputs and outputs of test_quantizelinear_axis and test_dequantizelinear_axis in onnx/backend/test/case/node.
QUANTIZED_AXIS = (
    [
        [
            [[-162, 10], [-100, 232], [-20, -50]],
            [[-76, 0], [0, 252], [32, -44]],
            [[245, -485], [-960, -270], [-375, -470]],
        ]
    ],
    [[[[3, 89], [34, 200], [74, 59]], [[5, 24], [24, 87], [32, 13]], [[245, 99], [4, 142], [121, 102]]]],
    [2, 4, 5],
    [84, 24, 196],
)
DEQUANTIZED_AXIS = (
    [[[[3, 89], [34, 200], [74, 59]], [[5, 24], [24, 87], [32, 13]], [[245, 99], [4, 142], [121, 102]]]],
    [
        [
            [[-162, 10], [-100, 232], [-20, -50]],
            [[-76, 0], [0, 252], [32, -44]],
            [[245, -485], [-960, -270], [-375, -470]],
        ]
    ],
    [2, 4, 5],
    [84, 24, 196],
)


@pytest.mark.parametrize(("x", "expected", "scale", "zero_point"), [QUANTIZED_AXIS])
def test_quantization_agrees_with_the_node_test_of_onnx(x, expected, scale, zero_point):
    y = reference.quantize(np.array(x, np.float32), scale, zero_point, output_dtype="uint8")
    assert y.tolist() == expected


@pytest.mark.parametrize(("x", "expected", "scale", "zero_point"), [DEQUANTIZED_AXIS])
def test_dequantization_agrees_with_the_node_test_of_onnx(x, expected, scale, zero_point):
    assert reference.dequantize(np.array(x, np.uint8), scale, zero_point).tolist() == expected


def convolution(dtype="uint8", bias=False, kernel_dtype="int8", **parameters):
    given = {
        "stride": (1,), "padding": ((0, 1),), "dilation": (1,), "groups": 1, "round_mode": "half_even",
        "x_scale": 0.5, "x_zero_point": 3, "w_scale": 0.25, "w_zero_point": 0, "y_scale": 2, "y_zero_point": 5,
    }  # fmt: skip
    return Step("quantized_conv", (1, 2, 3), dtype, {**given, **parameters}, (2, 2, 2), bias, kernel_dtype)


def test_scales_and_zero_points_of_a_convolution_are_constants():
    code = quantized_conv(Requantization.PRODUCT, convolution(bias=True, requantization="exact"))
    assert code == (
        "x_scale = np.array(0.5, np.float32)",
        "x_zero = np.array(3, np.uint8)",
        "w_scale = np.array(0.25, np.float32)",
        "w_zero = np.array(0, np.int8)",
        "y_scale = np.array(2, np.float32)",
        "y_zero = np.array(5, np.uint8)",
        "x = QLinearConv(x, x_scale, x_zero, kernel, w_scale, w_zero, y_scale, y_zero, bias, pads=[0, 1])",
    )


def test_weights_have_a_scale_and_a_zero_point_for_each_channel():
    code = quantized_conv(Requantization.PRODUCT, convolution(w_scale=(0.25, 1), kernel_dtype="uint8"))
    assert code[2:4] == ("w_scale = np.array([0.25, 1], np.float32)", "w_zero = np.array([0, 0], np.uint8)")


def test_a_runtime_convolves_with_its_formula_only():
    fused = convolution(requantization="fused")
    assert isinstance(quantized_conv(Requantization.PRODUCT, fused), Unsupported)
    assert not isinstance(quantized_conv(Requantization.FUSED, fused), Unsupported)
    assert not isinstance(quantized_conv(Requantization.FLOAT64, fused), Unsupported)
    assert isinstance(quantized_conv(Requantization.FUSED, convolution(round_mode="half_up")), Unsupported)


def test_zero_points_of_an_integer_convolution_are_constants():
    given = {"stride": (2,), "padding": ((0, 1),), "dilation": (1,), "groups": 1, "x_zero_point": 3}
    step = Step("conv_integer", (1, 2, 3), "uint8", {**given, "w_zero_point": (1, -1)}, (2, 2, 2), False, "int8")
    assert conv_integer(step) == (
        "x_zero = np.array(3, np.uint8)",
        "w_zero = np.array([1, -1], np.int8)",
        "x = ConvInteger(x, kernel, x_zero, w_zero, strides=[2], pads=[0, 1])",
    )
