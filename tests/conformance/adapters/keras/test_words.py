"""The module `words` of Keras."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate
from tests.support.fake_backends import one

SURFACES = {surface.name: surface for surface in registry.get_backend("keras-jax").surfaces}
ROW = "words: true, x: {values: integers, shape: [1, 2, 6]}"
DEPTHWISE = "kernel: {values: integers, shape: [4, 1, 3]}, groups: 2"
POINTWISE = "operator: conv, kernel: {values: integers, shape: [3, 4, 1]}"


def program(tmp_path, text, surface="layers"):
    return translate(one(tmp_path, f"id: a, {ROW}, {text}", operator="conv"), SURFACES[f"keras-jax.{surface}"])


def test_separable_layer_is_built_for_the_input_of_the_first_convolution(tmp_path):
    text = program(tmp_path, f"{DEPTHWISE}, then: [{{{POINTWISE}}}]").text
    assert "keras.layers.SeparableConv1D(3, 3, depth_multiplier=2, use_bias=False, dtype=x.dtype)" in text
    assert "conv.build((1, 6, 2))" in text
    assert "conv.set_weights([first_kernel, kernel])" in text


def test_separable_operation_has_no_bias(tmp_path):
    follows = "then: [{%s%s}]"
    plain = program(tmp_path, f"{DEPTHWISE}, stride: 2, {follows % (POINTWISE, '')}", "ops").text
    call = 'keras.ops.separable_conv(x, keras.ops.reshape(first_kernel, (3, 2, 2)), kernel, strides=2, padding="valid")'
    assert call in plain
    biased = follows % (POINTWISE, ", bias: {values: [1, 2, 3]}")
    assert isinstance(program(tmp_path, f"{DEPTHWISE}, {biased}", "ops"), Unsupported)
    assert "[first_kernel, kernel, bias]" in program(tmp_path, f"{DEPTHWISE}, {biased}").text


@pytest.mark.parametrize("surface", ["layers", "ops"])
@pytest.mark.parametrize("follows", ["", f", then: [{{{POINTWISE}}}]"])
def test_stride_and_dilation_may_be_combined(tmp_path, surface, follows):
    text = program(tmp_path, f"{DEPTHWISE}, stride: 2, dilation: 2{follows}", surface).text
    assert "strides=2" in text
    assert "dilation_rate=2" in text
