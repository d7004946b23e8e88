"""The module `convolution` of TensorFlow."""

import numpy as np

from tests.conformance.adapters.tensorflow.programs import LAYERS, lines
from tests.support.example_steps import convolution_step


def test_transposed_convolution_passes_its_output_shape():
    step = convolution_step("conv_transpose", (2, 3, 4), (3, 5, 3), stride=(2,), output_padding=(1,))
    assert lines(step) == ("native", ['x = tf.nn.conv1d_transpose(x, kernel, (2, 10, 5), 2, "VALID")'])


def test_transposed_convolution_with_same_padding_is_written_as_same():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 3), stride=(2,), padding=((0, 1),))
    assert lines(step) == ("native", ['x = tf.nn.conv1d_transpose(x, kernel, (1, 8, 1), 2, "SAME")'])
    assert '"same"' in lines(step, LAYERS)[1][0]


def test_unsupported_cropping_of_a_transposed_convolution_is_a_slice():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 3), padding=((2, 0),))
    call = 'tf.nn.conv1d_transpose(x, kernel, (1, 6, 1), 1, "VALID")'
    assert lines(step) == ("composed", [f"x = {call}", "x = x[:, 2:, :]"])


def test_output_padding_is_zeros_before_the_bias_is_added():
    step = convolution_step("conv_transpose", (1, 1, 3), (1, 1, 2), dilation=(3,), output_padding=(2,), bias=True)
    _, code = lines(step)
    assert code[-2:] == ["x = tf.pad(x, ((0, 0), (0, 2), (0, 0)))", "x = tf.nn.bias_add(x, bias)"]


def test_dilation_of_a_float64_transposed_convolution_is_zeros_in_the_kernel():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 2), "float64", dilation=(2,))
    _, code = lines(step)
    assert code[0] == "kernel = tf.scatter_nd(np.moveaxis(np.mgrid[0:3:2,], 0, -1), kernel, (3, 1, 1))"
    assert "dilations" not in code[1]


def test_dilated_kernel_has_its_values_at_multiples_of_the_dilation():
    _, code = lines(convolution_step("conv_transpose", (1, 1, 4, 4), (1, 1, 2, 2), "float64", dilation=(2, 3)))
    places = eval(code[0].split("scatter_nd(")[1].split(", kernel")[0], {"np": np})  # noqa: S307 - text of the adapter
    assert places.shape == (2, 2, 2)
    assert places[1, 1].tolist() == [2, 3]


def test_groups_are_one_call_except_for_float64_gradients():
    forward = convolution_step("conv", (1, 4, 5), (4, 2, 3), "float64", groups=2)
    backward = convolution_step("conv", (1, 4, 5), (4, 2, 3), "float64", groups=2, gradient=True)
    assert lines(forward) == ("native", ['x = tf.nn.conv1d(x, kernel, 1, "VALID")'])
    how, (text,) = lines(backward)
    assert how == "composed"
    assert "zip(tf.split(x, 2, -1), tf.split(kernel, 2, -1))" in text


def test_gradient_with_dilation_uses_tf_nn_convolution():
    step = convolution_step("conv", (1, 1, 5), (1, 1, 2), "float64", dilation=(2,), gradient=True)
    assert lines(step) == ("native", ['x = tf.nn.convolution(x, kernel, padding="VALID", dilations=2)'])


def test_padding_is_a_separate_call_where_onednn_computes_the_gradient():
    parameters = {"padding": ((1, 0), (1, 0)), "dilation": (2, 2), "gradient": True}
    step = convolution_step("conv", (1, 1, 5, 5), (1, 1, 2, 2), **parameters)
    assert lines(step)[0] == "padded"
