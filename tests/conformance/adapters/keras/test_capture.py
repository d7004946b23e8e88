"""Recorded calls of Keras. CONFORMANCE_KERAS_PYTHON is the path of a Python that has keras and jax."""

import numpy as np
import pytest

from tests.support.captured_models import assert_reference_agrees, captured, needs, numbers, python_of

pytestmark = needs("keras")
TEXT = """\
import jax
import numpy as np
import keras
from keras import layers, ops


def whole(model):
    model.set_weights([(np.arange(one.size).reshape(one.shape) * 7) % 5 - 2 for one in model.get_weights()])
    return model


def make():
    return {model}
"""
MODEL = "whole(keras.Sequential([keras.Input((9, 8, 4)), {layer}]))"


def run(folder, model, *shapes):
    return captured(folder, "keras-jax", TEXT.format(model=model), *shapes, python=python_of("keras"))


@pytest.mark.parametrize(
    ("layer", "operators"),
    [
        ("layers.Conv2D(6, (3, 2), strides=(2, 2), padding='same', groups=2)", ["conv"]),
        ("layers.Conv2D(6, 3, dilation_rate=2)", ["conv"]),
        ("layers.DepthwiseConv2D(3, depth_multiplier=2)", ["conv"]),
        ("layers.SeparableConv2D(6, 3, padding='same')", ["conv", "conv"]),
        ("layers.Conv2DTranspose(6, 3, strides=2, padding='same')", ["conv_transpose"]),
        ("layers.Conv2DTranspose(6, 2, strides=3)", ["conv_transpose"]),
        ("layers.MaxPooling2D(3, strides=2, padding='same')", ["max_pool"]),
        ("layers.AveragePooling2D((3, 2), padding='same')", ["avg_pool"]),
        ("layers.ZeroPadding2D(((1, 0), (2, 1)))", ["pad"]),
    ],
)
def test_the_reference_computes_what_was_recorded(tmp_path, layer, operators):
    found = run(tmp_path, MODEL.format(layer=layer), (2, 4, 9, 8))
    assert_reference_agrees(found, *operators)
    assert np.array_equal(found.calls[0].x, numbers((2, 4, 9, 8)))


@pytest.mark.parametrize("shape", ["(0, 0), (1, 2), (1, 1), (0, 0)", "(0, 0), (0, 1), (2, 0), (0, 0)"])
def test_calls_in_a_compiled_function_are_recorded(tmp_path, shape):
    function = f"lambda x: ops.max_pool(ops.pad(x, ({shape}), constant_values=-3), 2, 2)"
    found = run(tmp_path, f"jax.jit({function})", (1, 4, 9, 8))
    assert_reference_agrees(found, "pad", "max_pool")


def test_a_call_without_numbers_is_not_recorded(tmp_path):
    function = "lambda x: (jax.eval_shape(lambda y: ops.max_pool(y, 2, 2), x), ops.max_pool(x, 3, 3))[1]"
    assert_reference_agrees(run(tmp_path, function, (1, 4, 9, 8)), "max_pool")


def test_a_functional_model_receives_several_inputs_as_a_list(tmp_path):
    inputs = "keras.Input((6, 6, 2)), keras.Input((3, 3, 2))"
    model = f"(lambda a, b: keras.Model([a, b], layers.MaxPooling2D(2)(a) + b))({inputs})"
    found = run(tmp_path, model, (1, 2, 6, 6), (1, 2, 3, 3))
    assert_reference_agrees(found, "max_pool")
    expected = found.calls[0].result + numbers((1, 2, 3, 3), 1)
    assert np.array_equal(np.moveaxis(found.results[0], -1, 1), expected)


def test_products_with_a_matrix_are_dense_layers(tmp_path):
    text = (
        "import keras\n\ndef make():\n"
        "    return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, activation='relu')])\n"
    )
    found = captured(tmp_path, "keras-jax", text, (2, 3, 2, 2), python=python_of("keras"))
    assert_reference_agrees(found, "conv")
    assert [(call.kind, call.shaped_result.shape) for call in found.calls] == [("dense", (2, 5))]
