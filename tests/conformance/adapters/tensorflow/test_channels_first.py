"""The module `channels_first` of TensorFlow."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.tensorflow.programs import CHANNELS_FIRST, NN, lines
from tests.support.example_steps import convolution_step, pooling_step


@pytest.mark.parametrize(("shape", "name"), [((1, 1, 5), "NCW"), ((1, 1, 5, 5), "NCHW"), ((1, 1, 5, 5, 5), "NCDHW")])
def test_channels_first_is_an_argument_of_the_call(shape, name):
    rank = len(shape) - 2
    step = pooling_step("avg_pool", shape, window=(2,) * rank)
    call = f'x = tf.nn.avg_pool{rank}d(x, 2, 1, "VALID", data_format="{name}")'
    assert lines(step, CHANNELS_FIRST) == ("native", [call])


def test_three_dimensional_channels_first_convolution_has_spatial_strides_only():
    step = convolution_step("conv", (1, 2, 5, 5, 5), (4, 2, 3, 3, 3), stride=(2, 2, 1))
    call = 'x = tf.nn.convolution(x, kernel, strides=(2, 2, 1), padding="VALID", data_format="NCDHW")'
    assert lines(step, CHANNELS_FIRST) == ("native", [call])


def test_bias_and_output_shape_follow_the_data_format():
    _, code = lines(convolution_step("conv", (1, 2, 5), (4, 2, 3), bias=True), CHANNELS_FIRST)
    assert code == [
        'x = tf.nn.conv1d(x, kernel, 1, "VALID", data_format="NCW")',
        'x = tf.nn.bias_add(x, bias, data_format="NCW")',
    ]
    step = convolution_step("conv_transpose", (2, 3, 4), (3, 5, 3), stride=(2,), output_padding=(1,))
    call = 'x = tf.nn.conv1d_transpose(x, kernel, (2, 5, 10), 2, "VALID", data_format="NCW")'
    assert lines(step, CHANNELS_FIRST) == ("native", [call])


def test_explicit_padding_is_a_separate_call_with_channels_first():
    step = pooling_step("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 0), (0, 1)))
    how, code = lines(step, CHANNELS_FIRST)
    assert (how, code[0]) == ("padded", "x = tf.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=-np.inf)")


@pytest.mark.parametrize("unsupported", [{"dtype": "float64"}, {"dtype": "float32", "gradient": True}])
def test_step_supported_with_channels_last_only_has_a_reason(unsupported):
    step = pooling_step("max_pool", (1, 1, 5), window=(2,), **unsupported)
    assert lines(step, NN)[0] == "native"
    lowered = lower_step(step, CHANNELS_FIRST, native_only=False, inner=False)
    assert isinstance(lowered, Unsupported)
    assert "oneDNN" in lowered.reason or "only supports NHWC" in lowered.reason
