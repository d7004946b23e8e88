"""The module `quantization` of the adapter for TensorFlow."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.tensorflow.quantization import (
    INT8_ONLY,
    NO_BIAS,
    NO_CHANNELS,
    ROUNDED_PRODUCT,
    compiled_quantize,
    conv_integer,
    dequantize,
    quantize,
    quantized_conv,
)
from conformance.cases.operators import Requantization, RoundMode
from conformance.cases.steps import Step

GIVEN = {"y_scale": 0.5, "y_zero_point": 3, "output_dtype": "int8", "round_mode": "half_up", "formula": "reciprocal"}


def numbers(**parameters):
    return Step("quantize", (1, 2, 3, 4), "float32", {**GIVEN, **parameters})


def convolution(operator="conv_integer", dtype="int8", kernel_dtype="int8", bias=False, **parameters):
    given = {
        "stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1, "x_scale": 0.5,
        "x_zero_point": 3, "w_scale": 0.25, "w_zero_point": 0, "y_scale": 2, "y_zero_point": 5,
        "round_mode": "half_up", "requantization": "product",
    }  # fmt: skip
    return Step(operator, (1, 2, 5, 5), dtype, {**given, **parameters}, (2, 2, 2, 2), bias, kernel_dtype)


def test_the_limits_of_the_dtype_are_arguments():
    assert quantize(numbers(output_dtype="uint8")) == (
        "x = tf.raw_ops.UniformQuantize(input=x, scales=0.5, zero_points=3, Tout=tf.quint8, quantization_min_val=0, "
        "quantization_max_val=255)",
        "x = tf.bitcast(x, tf.uint8)",
    )


def test_numbers_of_channels_belong_to_the_last_axis():
    assert "scales=[0.5, 2], zero_points=[3, 3]" in quantize(numbers(y_scale=(0.5, 2)))[0]
    assert quantize(numbers(y_scale=(0.5, 2)))[0].endswith("quantization_axis=3)")
    one = Step("dequantize", (1, 2, 4), "int8", {"x_scale": (1, 2), "x_zero_point": (0, 5)})
    assert dequantize(one)[0] == "x = tf.bitcast(x, tf.qint8)"
    assert dequantize(one)[1].endswith("quantization_axis=2)")


def test_xla_rounds_half_to_even_and_takes_no_scale_for_each_channel():
    fused = {"round_mode": "half_even", "formula": "fused", "y_scale": 0.3}
    assert compiled_quantize(numbers(**fused))[0].startswith("x = tf.raw_ops.UniformQuantize(")
    assert "half_up" in quantize(numbers(**fused)).reason
    assert compiled_quantize(numbers(**{**fused, "y_scale": (0.3, 0.7)})) is NO_CHANNELS


def test_sums_have_scales_of_one_and_the_axes_of_channels_last():
    *_, axes, bitcast, call, last = conv_integer(
        convolution(padding=((1, 0), (0, 2)), dilation=(1, 2), groups=2, w_zero_point=(1, 2))
    )
    assert axes.startswith(
        "axes = Axes(input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2]"
    )
    assert (bitcast, last) == ("x = tf.bitcast(x, tf.qint8)", "x = tf.bitcast(x, tf.int32)")
    assert "lhs_scales=1, lhs_zero_points=3, rhs_scales=[1, 1], rhs_zero_points=[1, 2], output_scales=[1, 1]" in call
    assert 'padding="EXPLICIT", explicit_padding=[1, 0, 0, 2]' in call
    assert "rhs_dilation=[1, 2], feature_group_count=2" in call
    assert "rhs_quantization_axis=3, output_quantization_axis=3" in call


def test_a_requantized_sum_has_the_product_of_the_scales():
    code = quantized_conv(Requantization.PRODUCT, RoundMode.HALF_UP, convolution("quantized_conv", w_scale=(0.25, 1)))
    assert "input_scales=[0.125, 0.5], input_zero_points=[0, 0], output_scales=2.0, output_zero_points=5" in code[-2]
    assert code[-1] == "x = tf.bitcast(x, tf.int8)"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"dtype": "uint8"}, INT8_ONLY),
        ({"kernel_dtype": "uint8"}, INT8_ONLY),
        ({"bias": True}, NO_BIAS),
        ({"x_scale": 0.3}, ROUNDED_PRODUCT),
    ],
)
def test_other_numbers_are_unsupported(changed, reason):
    assert quantized_conv(Requantization.PRODUCT, RoundMode.HALF_UP, convolution("quantized_conv", **changed)) is reason


def test_another_rounding_rule_is_unsupported():
    code = quantized_conv(Requantization.PRODUCT, RoundMode.HALF_EVEN, convolution("quantized_conv"))
    assert isinstance(code, Unsupported)
    assert "has the rounding rule half_even" in code.reason
