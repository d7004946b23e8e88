"""The module `words` of TensorFlow."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate
from tests.support.fake_backends import one

SURFACES = {surface.name: surface for surface in registry.get_backend("tensorflow").surfaces}
PLANE = "words: true, x: {values: integers, shape: [1, 2, 6, 7]}"
DEPTHWISE = "kernel: {values: integers, shape: [4, 1, 3, 2]}, groups: 2"
POINTWISE = "operator: conv, kernel: {values: integers, shape: [3, 4, 1, 1]}"


def program(tmp_path, text, surface="tf.nn"):
    return translate(one(tmp_path, f"id: a, {PLANE}, {text}", operator="conv"), SURFACES[surface])


def test_separable_call_has_both_kernels(tmp_path):
    text = program(tmp_path, f"{DEPTHWISE}, then: [{{{POINTWISE}}}]").text
    assert "first_kernel = kernel\n" in text
    assert 'tf.nn.separable_conv2d(x, tf.reshape(first_kernel, (3, 2, 2, 2)), kernel, (1, 1, 1, 1), "VALID")' in text
    assert text.index("first_kernel = kernel") < text.index("kernel = np.array")


def test_separable_layer_adds_the_bias_of_the_second_convolution(tmp_path):
    follows = f"then: [{{{POINTWISE}, bias: {{values: [1, 2, 3]}}}}]"
    text = program(tmp_path, f"{DEPTHWISE}, stride: 2, {follows}", "tf.keras.layers").text
    assert "tf.keras.layers.SeparableConv2D(3, (3, 2), strides=2, depth_multiplier=2, dtype=x.dtype)" in text
    assert "conv.set_weights([tf.reshape(first_kernel, (3, 2, 2, 2)), kernel, bias])" in text
    # tf.nn.separable_conv2d has no bias.
    assert isinstance(program(tmp_path, f"{DEPTHWISE}, {follows}"), Unsupported)


OTHER_CHAINS = {
    "a bias after the first": f"{DEPTHWISE}, bias: {{values: [1, 2, 3, 4]}}, then: [{{{POINTWISE}}}]",
    "a group of two channels": (f"kernel: {{values: integers, shape: [4, 2, 3, 2]}}, then: [{{{POINTWISE}}}]"),
    "a stride of the second": f"{DEPTHWISE}, then: [{{{POINTWISE}, stride: 2}}]",
    "padding of the second": f"{DEPTHWISE}, then: [{{{POINTWISE}, padding: 1}}]",
    "groups of the second": (
        f"{DEPTHWISE}, then: [{{operator: conv, kernel: {{values: integers, shape: [2, 2, 1, 1]}}, groups: 2}}]"
    ),
    "a second kernel of two cells": (
        f"{DEPTHWISE}, then: [{{operator: conv, kernel: {{values: integers, shape: [3, 4, 1, 2]}}}}]"
    ),
}


@pytest.mark.parametrize("surface", ["tf.nn", "tf.keras.layers"])
@pytest.mark.parametrize("text", OTHER_CHAINS.values(), ids=OTHER_CHAINS)
def test_other_convolutions_in_a_row_are_not_separable(tmp_path, text, surface):
    assert "separable" in program(tmp_path, text, surface).reason


def test_layer_has_no_padding_without_a_name(tmp_path):
    text = f"{DEPTHWISE}, padding: [[1, 0], [0, 2]]"
    assert "[[0, 0], [1, 0], [0, 2], [0, 0]]" in program(tmp_path, text).text
    assert isinstance(program(tmp_path, text, "tf.keras.layers"), Unsupported)
    follows = f"{text}, then: [{{{POINTWISE}}}]"
    assert "[[0, 0], [1, 0], [0, 2], [0, 0]]" in program(tmp_path, follows).text
    assert isinstance(program(tmp_path, follows, "tf.keras.layers"), Unsupported)
