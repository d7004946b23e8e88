"""Nodes of float32 between dequantized and quantized numbers."""

from functools import partial

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.onnx import dequantized, nodes
from conformance.cases.operators import Formula, Requantization
from conformance.cases.steps import Step

WINDOWS = {"window": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
AVERAGE = {**WINDOWS, "count_include_pad": False, "divisor": None, "x_zero_point": 3, "round_mode": "half_even"}
CONVOLUTION = {
    "stride": (1,), "padding": ((0, 0),), "dilation": (1,), "groups": 1, "x_scale": 0.5, "x_zero_point": 3,
    "w_scale": 0.25, "w_zero_point": 0, "y_scale": 1, "y_zero_point": 4, "round_mode": "half_even",
    "requantization": "product",
}  # fmt: skip
conv = partial(dequantized.conv, Requantization.PRODUCT, {"int8"}, nodes.conv)
avg_pool = partial(dequantized.avg_pool, lambda _step: Formula.QUOTIENT, nodes.avg_pool)
max_pool = partial(dequantized.max_pool, nodes.pooling_node)


def pooling_step(dtype="uint8", **parameters):
    return Step("max_pool", (1, 2, 5), dtype, {**WINDOWS, **parameters})


def conv_step(dtype="uint8", *, bias=False, **parameters):
    given = {**CONVOLUTION, **parameters}
    return Step("quantized_conv", (1, 1, 5), dtype, given, kernel=(2, 1, 2), kernel_dtype="int8", bias=bias)


def test_maxima_have_a_scale_and_a_zero_point_that_do_not_matter():
    assert max_pool(pooling_step()) == (
        "x_scale = np.array(0.5, np.float32)",
        "x_zero = np.array(3, np.uint8)",
        "x = DequantizeLinear(x, x_scale, x_zero)",
        "x = MaxPool(x, kernel_shape=[2])",
        "x = QuantizeLinear(x, x_scale, x_zero)",
    )
    assert isinstance(max_pool(pooling_step("float32")), Unsupported)


def test_a_rejected_call_is_not_one_of_the_node_alone():
    full = max_pool(pooling_step(rounding="full"))
    assert isinstance(full, Unsupported)
    assert full.rejected_call is None


def test_averages_have_a_scale_of_one():
    lines = avg_pool(Step("quantized_avg_pool", (1, 2, 5), "int8", {**AVERAGE, "formula": "quotient"}))
    assert lines[:2] == ("x_scale = np.array(1, np.float32)", "x_zero = np.array(3, np.int8)")
    assert lines[3:] == ("x = AveragePool(x, kernel_shape=[2])", "x = QuantizeLinear(x, x_scale, x_zero)")
    other = avg_pool(Step("quantized_avg_pool", (1, 2, 5), "int8", {**AVERAGE, "window": (3,), "formula": "fused"}))
    assert "computes the formula quotient" in other.reason


def test_weights_and_bias_are_dequantized():
    lines = conv(conv_step(bias=True))
    assert lines[3:] == (
        "w_scale = np.array(0.25, np.float32)",
        "w_zero = np.array(0, np.int8)",
        "kernel = DequantizeLinear(kernel, w_scale, w_zero)",
        "b_scale = x_scale * w_scale",
        "b_zero = np.zeros(b_scale.shape, np.int32)",
        "bias = DequantizeLinear(bias, b_scale, b_zero)",
        "x = Conv(x, kernel, bias)",
        "y_scale = np.array(1, np.float32)",
        "y_zero = np.array(4, np.uint8)",
        "x = QuantizeLinear(x, y_scale, y_zero)",
    )


def test_scales_of_channels_are_on_the_first_axis_of_the_weights():
    lines = conv(conv_step(bias=True, w_scale=(0.25, 1)))
    assert "w_scale = np.array([0.25, 1], np.float32)" in lines
    assert "kernel = DequantizeLinear(kernel, w_scale, w_zero, axis=0)" in lines
    assert "bias = DequantizeLinear(bias, b_scale, b_zero, axis=0)" in lines


@pytest.mark.parametrize(
    ("dtype", "parameters", "reason"),
    [
        ("uint8", {"requantization": "fused"}, "computes the formula product"),
        ("uint8", {"round_mode": "half_up"}, "has the rounding rule half_even"),
        ("int8", {"x_scale": 0.3}, "rounds its sums"),
    ],
)
def test_other_convolutions_are_unsupported(dtype, parameters, reason):
    assert reason in conv(conv_step(dtype, **parameters)).reason
