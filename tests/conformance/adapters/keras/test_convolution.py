"""The module `convolution` of Keras."""

import pytest

from tests.conformance.adapters.keras.programs import LAYERS, lines
from tests.support.example_steps import convolution_step


@pytest.mark.parametrize("surface", LAYERS)
def test_layer_is_built_before_its_weights_are_set(surface):
    how, text = lines(convolution_step("conv", (1, 2, 5), (4, 1, 3), groups=2, bias=True), surface)
    assert how == "native"
    assert text[0].startswith("conv = keras.layers.Conv1D(4, 3, groups=2")
    assert text[1:] == ["conv.build((1, 5, 2))", "conv.set_weights([kernel, bias])", "x = conv(x)"]


def test_compositions_are_one_function_on_jax_only():
    step = convolution_step("conv", (1, 2, 5), (4, 2, 3), bias=True)
    assert lines(step, "keras-torch.ops") == ("composed", ["x = keras.ops.conv(x, kernel) + bias"])
    assert lines(step, "keras-jax.ops")[1] == [
        "@jax.jit",
        "def convolve(x, kernel, bias):",
        "    x = keras.ops.conv(x, kernel) + bias",
        "    return x",
        "x = convolve(x, kernel, bias)",
    ]


def test_transposed_convolution_with_other_padding_is_sliced():
    step = convolution_step("conv_transpose", (1, 4, 3), (4, 1, 3), stride=(2,), padding=((1, 1),))
    assert lines(step, "keras-torch.ops") == (
        "composed",
        ["x = keras.ops.conv_transpose(x, kernel, strides=2)", "x = x[:, 1:6, :]"],
    )


def test_groups_of_a_transposed_convolution_are_concatenated():
    step = convolution_step("conv_transpose", (1, 4, 3), (4, 1, 2), groups=2, bias=True)
    _, text = lines(step, "keras-tensorflow.ops")
    assert text[0].startswith("x = keras.ops.concatenate([keras.ops.conv_transpose(part, weights) for part, weights in")
    assert text[1:] == ["x = x + bias"]


def test_dilation_unsupported_by_a_layer_is_zeros_in_the_kernel():
    step = convolution_step("conv_transpose", (1, 4, 3), (4, 1, 2), stride=(2,), dilation=(2,))
    assert lines(step, "keras-torch.ops")[0] == "native"
    how, text = lines(step, "keras-torch.layers")
    assert how == "composed"
    assert "kernel = keras.ops.scatter(np.moveaxis(np.mgrid[0:3:2,], 0, -1), kernel, (3, 1, 4))" in text
