"""The module `pooling` of JAX."""

import pytest

from conformance.adapters.api import Unsupported
from tests.conformance.adapters.jax.programs import PLANE, ROW, lines, program


@pytest.mark.parametrize(
    ("dtype", "initial"),
    [
        ("float32", "-jnp.inf"),
        ("bfloat16", "-jnp.inf"),
        ("int8", "jnp.int8(jnp.iinfo(x.dtype).min)"),
        ("bool", "False"),
    ],
)
def test_initial_value_of_a_maximum_is_neutral(dtype, initial):
    (text,) = lines("jax.lax", "max_pool", x={"values": [[[1, 0, 1]]], "dtype": dtype}, window=2, stride=1)[-1:]
    assert text == f'x = lax.reduce_window(x, {initial}, lax.max, (1, 1, 2), (1, 1, 1), "VALID")'


@pytest.mark.parametrize("surface", ["jax.lax", "flax.linen"])
def test_gradient_of_a_dilated_window_uses_stacked_cells(surface):
    forward = program(surface, "max_pool", x=ROW, window=2, dilation=2)
    assert "window_dilation" in forward.text
    backward = program(surface, "max_pool_grad", x=ROW, grad={"values": "integers"}, window=2, dilation=2)
    assert "window_dilation" not in backward.text
    assert "x = jnp.stack([x[" in backward.text
    assert "]).max(0)" in backward.text
    assert backward.how == "composed"


def test_integer_averages_are_divided_in_their_dtype():
    assert lines("jax.lax", "avg_pool", x={**ROW, "dtype": "int16"}, window=3, stride=3) == [
        'total = lax.reduce_window(x, 0, lax.add, (1, 1, 3), (1, 1, 3), "VALID")',
        "x = lax.div(total, jnp.full_like(total, 3))",
    ]


def test_divisor_that_the_dtype_cannot_represent_is_unsupported():
    translated = program("jax.lax", "avg_pool", x={**ROW, "dtype": "int8"}, window=3, divisor=200)
    assert isinstance(translated, Unsupported)
    assert "cannot represent the divisor" in translated.reason


def test_indices_are_a_reduction_of_pairs():
    text = program("jax.lax", "max_pool_with_indices", x=PLANE, window=2, output="indices").text
    assert "cells = jnp.arange(20).reshape(1, 1, 4, 5)" in text
    assert "jnp.where(x == 20" not in text
    empty = program("jax.lax", "max_pool_with_indices", x=PLANE, window=1, padding=1, output="indices").text
    assert "x = jnp.where(x == 20, -1, x)" in empty


def test_index_of_minus_one_is_dropped():
    raw = {"x": {"values": [[[7, 9]]]}, "indices": {"values": [[[2, -1]]]}, "output_size": [5]}
    text = program("jax.lax", "max_unpool", **raw).text
    assert "jnp.where(indices < 0, 5, indices)" in text
    assert 'mode="drop"' in text
