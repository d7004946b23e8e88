"""The module `flax` of JAX."""

import pytest

from conformance.adapters.api import Program, Unsupported
from tests.conformance.adapters.jax.programs import PLANE, ROW, lines, program


def test_nnx_layer_is_created_without_initializing_weights():
    weights = {"values": "integers", "shape": [4, 1, 3]}
    inputs = {"x": ROW, "kernel": weights, "bias": {"values": [1, 2, 3, 4]}, "groups": 2, "padding": 1}
    assert lines("flax.nnx", "conv", **inputs)[2:] == [
        "layer = nnx.eval_shape(lambda: nnx.Conv(2, 4, (3,), strides=(1,), padding=((1, 1),), "
        "feature_group_count=2, rngs=nnx.Rngs(0)))",
        "layer.kernel = nnx.Param(kernel)",
        "layer.bias = nnx.Param(bias)",
        "x = layer(x)",
    ]


def test_grouped_transposed_nnx_layer_gets_the_weights_of_each_group():
    inputs = {"x": ROW, "kernel": {"values": "integers", "shape": [2, 3, 3]}, "groups": 2}
    translated = lines("flax.nnx", "conv_transpose", **inputs)
    assert "nnx.ConvTranspose(1, 3, (3,)" in translated[1]
    assert translated[2:] == [
        "parts = []",
        "for part, weights in zip(jnp.split(x, 2, -1), jnp.split(kernel, 2, -1)):",
        "layer.kernel = nnx.Param(weights)",
        "parts.append(layer(part))",
        "x = jnp.concatenate(parts, -1)",
    ]


def test_nnx_exports_min_pool():
    assert lines("flax.nnx", "min_pool", x=PLANE, window=2) == ["x = nnx.min_pool(x, (2, 2), strides=(2, 2))"]


def test_linen_minimum_is_nn_pool_with_lax_min():
    translated = program("flax.linen", "min_pool", x=PLANE, window=2, stride=2, padding=[[1, 0], [0, 0]])
    assert translated.how == "native"
    assert "nn.pool(x, jnp.inf, lax.min, (2, 2), (2, 2), ((1, 0), (0, 0)))" in translated.text


@pytest.mark.parametrize(
    ("dtype", "is_differentiated"), [("float32", True), ("float64", True), ("float16", False), ("bfloat16", False)]
)
def test_flax_average_that_is_float32_for_16_bit_numbers_is_not_differentiated(dtype, is_differentiated):
    inputs = {"x": {**ROW, "dtype": dtype}, "grad": {"values": "integers"}, "window": 2, "padding": 1}
    assert ("nn.avg_pool" in program("flax.linen", "avg_pool_grad", **inputs).text) == is_differentiated


def test_layers_do_not_support_integers():
    integers = {**ROW, "dtype": "int32"}
    kernel = {"values": "integers", "shape": [3, 2, 2], "dtype": "int32"}
    translated = program("flax.linen", "conv", x=integers, kernel=kernel)
    assert isinstance(translated, Unsupported)
    assert "float32" in translated.reason
    assert isinstance(program("jax.lax", "conv", x=integers, kernel=kernel), Program)
