"""Convolutions and averages of exported programs: the lines, and their limits."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.torch import DECOMPOSED_LOWERINGS
from conformance.cases.steps import Step

OPERATOR = "torch.ops.quantized_decomposed"


def convolution(dtype="int8", kernel_dtype="int8", bias=False, **parameters):
    given = {
        "stride": (1, 1), "padding": ((1, 1), (0, 0)), "dilation": (1, 1), "groups": 1,
        "x_scale": 0.5, "x_zero_point": 3, "w_scale": 0.25, "w_zero_point": 0, "y_scale": 2, "y_zero_point": 5,
        "round_mode": "half_even", "requantization": "product",
    }  # fmt: skip
    step = Step("quantized_conv", (1, 2, 5, 5), dtype, {**given, **parameters}, (2, 2, 2, 2), bias, kernel_dtype)
    return DECOMPOSED_LOWERINGS["quantized_conv"](step)


def average(**parameters):
    given = {
        "window": (1, 2), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor",
        "count_include_pad": False, "divisor": None, "x_zero_point": 3, "round_mode": "half_even",
        "formula": "quotient",
    }  # fmt: skip
    step = Step("quantized_avg_pool", (1, 2, 4, 6), "uint8", {**given, **parameters})
    return DECOMPOSED_LOWERINGS["quantized_avg_pool"](step)


def test_a_convolution_is_between_two_conversions():
    assert convolution()[1:] == (
        f"x = {OPERATOR}.dequantize_per_tensor(x, 0.5, 3, -128, 127, torch.int8)",
        f"kernel = {OPERATOR}.dequantize_per_tensor(kernel, 0.25, 0, -128, 127, torch.int8)",
        "x = F.conv2d(x, kernel, padding=(1, 0))",
        f"x = {OPERATOR}.quantize_per_tensor(x, 2.0, 5, -128, 127, torch.int8)",
    )


def test_weights_have_their_own_dtype_and_scales():
    code = convolution("uint8", bias=True, w_scale=(0.25, 1))
    assert f"kernel = {OPERATOR}.dequantize_per_channel(kernel, scale, zero, 0, -128, 127, torch.int8)" in code
    assert "bias = bias.float() * scale * 0.5" in code
    assert code[-1].endswith("0, 255, torch.uint8)")
    assert "bias = bias.float() * 0.125" in convolution(bias=True)


def test_an_average_is_between_two_conversions():
    assert average()[1:] == (
        f"x = {OPERATOR}.dequantize_per_tensor(x, 1.0, 3, 0, 255, torch.uint8)",
        "x = F.avg_pool2d(x, (1, 2))",
        f"x = {OPERATOR}.quantize_per_tensor(x, 1.0, 3, 0, 255, torch.uint8)",
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (convolution(x_scale=0.3), "rounds its sums if a scale is no power of two"),
        (convolution(requantization="fused"), "computes the formula product"),
        (convolution(round_mode="half_up"), "has the rounding rule half_even"),
        (average(formula="quotient_plus_zero_point"), "computes the formula quotient"),
        (average(dilation=(1, 2)), "average pooling has no dilation"),
    ],
)
def test_other_numbers_are_unsupported(code, reason):
    assert isinstance(code, Unsupported)
    assert reason in code.reason
