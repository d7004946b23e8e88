"""The text of JAX and Flax programs, and the reasons for unsupported cases. No framework is imported."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.adapters.jax.windows import inline_jit_lines, jit_lines
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

SURFACES = {surface.name: surface for surface in registry.get_backend("jax").surfaces}
PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}
ROW = {"values": "integers", "shape": [1, 2, 6]}


def program(surface, operator, **raw):
    case = parse_case({"operator": operator, "source": "here"}, {"id": "case", **raw}, "here")
    return translate(case, SURFACES[surface])


def lines(surface, operator, **raw):
    """Return the lines of a program between the conversion of its inputs and the conversion of its result."""
    translated = program(surface, operator, **raw)
    assert isinstance(translated, Program), translated
    body = [line.strip() for line in translated.text.splitlines()]
    return [line for line in body if not line.endswith(("device_put(x)", "1, -1))"))][1:-1]


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


def test_bfloat16_input_is_viewed_from_16_bit_words():
    text = program("jax.lax", "max_pool", x={**ROW, "dtype": "bfloat16"}, window=2).text
    assert "x = jax.device_put(x).view(jnp.bfloat16)" in text
    assert text.endswith("return np.asarray(x)\n")


def test_arrays_are_converted_without_a_compilation():
    text = program("flax.linen", "max_pool", x=ROW, window=2).text
    assert "x = jax.device_put(np.moveaxis(x, 1, -1))" in text
    assert text.endswith("return np.moveaxis(np.asarray(x), -1, 1)\n")


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


def test_whole_program_is_one_compiled_function():
    assert lines("jax.jit", "avg_pool", x=ROW, window=2, stride=1, padding=1) == [
        "@jax.jit",
        "def forward(x):",
        "def total(x):",
        "return lax.reduce_window(x, 0.0, lax.add, (1, 1, 2), (1, 1, 1), ((0, 0), (0, 0), (1, 1)))",
        "x = total(x) / total(jnp.ones_like(x))",
        "return x",
        "x = forward(x)",
    ]


def test_compiled_program_contains_no_other_compiled_function():
    inputs = {"x": ROW, "kernel": {"values": "integers", "shape": [3, 2, 2]}, "bias": {"values": [1, 2, 3]}}
    lax = program("jax.lax", "conv", **inputs).text
    jit = program("jax.jit", "conv", **inputs).text
    assert lax.count("@jax.jit") == jit.count("@jax.jit") == 1
    assert "def convolve" in lax
    assert "def convolve" not in jit
    assert "    def forward(x, kernel, bias):\n        x = lax.conv_general_dilated(" in jit


def test_compiled_functions_are_inlined_between_other_lines():
    two = [*jit_lines("y = x", "x = y"), "x = x + 1", *jit_lines("z = x", "x = z")]
    assert inline_jit_lines(two) == ("y = x", "x = y", "x = x + 1", "z = x", "x = z")
    assert inline_jit_lines(["x = x"]) == ("x = x",)


def test_linen_minimum_is_nn_pool_with_lax_min():
    translated = program("flax.linen", "min_pool", x=PLANE, window=2, stride=2, padding=[[1, 0], [0, 0]])
    assert translated.how == "native"
    assert "nn.pool(x, jnp.inf, lax.min, (2, 2), (2, 2), ((1, 0), (0, 0)))" in translated.text


def test_gradient_is_a_vjp_in_one_compiled_function():
    assert lines("jax.lax", "max_pool_grad", x=ROW, grad={"values": "integers"}, window=2)[1:] == [
        "@jax.jit",
        "def gradient(grad, x):",
        "def forward(x):",
        'x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2), (1, 1, 2), "VALID")',
        "return x",
        "_, pull = jax.vjp(forward, x)",
        "return pull(grad)[0]",
        "x = gradient(grad, x)",
    ]


def test_gradient_of_a_kernel_is_returned_channels_first():
    weights = {"values": "integers", "shape": [3, 2, 2]}
    text = program("flax.linen", "conv_grad", x=ROW, kernel=weights, grad={"values": "integers"}, output="kernel").text
    assert "return pull(grad)[1]" in text
    assert text.endswith("return np.moveaxis(np.asarray(x), (-1, -2), (0, 1))\n")


@pytest.mark.parametrize("surface", ["jax.lax", "flax.linen"])
def test_gradient_of_a_dilated_window_uses_stacked_cells(surface):
    forward = program(surface, "max_pool", x=ROW, window=2, dilation=2)
    assert "window_dilation" in forward.text
    backward = program(surface, "max_pool_grad", x=ROW, grad={"values": "integers"}, window=2, dilation=2)
    assert "window_dilation" not in backward.text
    assert "x = windows.max(0)" in backward.text
    assert backward.how == "composed"


def test_flax_average_that_is_float64_is_not_differentiated():
    inputs = {"x": ROW, "grad": {"values": "integers"}, "window": 2, "padding": 1}
    assert "nn.avg_pool" not in program("flax.linen", "avg_pool_grad", **inputs).text
    double = {**inputs, "x": {**ROW, "dtype": "float64"}}
    assert "nn.avg_pool" in program("flax.linen", "avg_pool_grad", **double).text


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


def test_transposed_convolution_has_the_padding_of_the_forward_convolution():
    kernel = {"values": "integers", "shape": [2, 3, 3]}
    translated = program("jax.lax", "conv_transpose", x=ROW, kernel=kernel, stride=2, padding=1, output_padding=1)
    assert translated.how == "native"
    assert 'lax.conv_transpose(x, kernel, (2,), ((1, 0),), dimension_numbers=("NCW", "OIW", "NCW")' in translated.text
    layer = program("flax.linen", "conv_transpose", x=ROW, kernel=kernel, stride=2, padding=1, output_padding=1)
    assert "nn.ConvTranspose(3, (3,), strides=(2,), padding=((1, 2),), transpose_kernel=True" in layer.text


def test_groups_of_a_transposed_convolution_are_concatenated():
    kernel = {"values": "integers", "shape": [2, 3, 3]}
    translated = program("flax.linen", "conv_transpose", x=ROW, kernel=kernel, groups=2)
    assert translated.how == "composed"
    assert "zip(jnp.split(x, 2, -1), jnp.split(kernel, 2, -1))" in translated.text
    assert "feature_group_count=2" in program("jax.lax", "conv_transpose", x=ROW, kernel=kernel, groups=2).text


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_modes_are_those_of_numpy(mode):
    assert lines("jax.lax", "pad", x=ROW, pads=[[1, 2]], mode=mode) == [
        f'x = jnp.pad(x, ((0, 0), (0, 0), (1, 2)), mode="{mode}")'
    ]


def test_negative_pads_are_native_in_constant_mode():
    (text,) = lines("jax.lax", "pad", x=ROW, pads=[[-1, 2]])
    assert text == "x = lax.pad(x, jnp.array(0, x.dtype), ((0, 0, 0), (0, 0, 0), (-1, 2, 0)))"


def test_layers_do_not_support_integers():
    integers = {**ROW, "dtype": "int32"}
    kernel = {"values": "integers", "shape": [3, 2, 2], "dtype": "int32"}
    translated = program("flax.linen", "conv", x=integers, kernel=kernel)
    assert isinstance(translated, Unsupported)
    assert "float32" in translated.reason
    assert isinstance(program("jax.lax", "conv", x=integers, kernel=kernel), Program)


def test_compiled_programs_are_cached_in_the_users_cache_folder(monkeypatch, tmp_path):
    backend = registry.get_backend("jax")
    for name in (
        "XLA_FLAGS",
        "JAX_PLATFORMS",
        *(f"JAX_PERSISTENT_CACHE_MIN_{w}" for w in ("COMPILE_TIME_SECS", "ENTRY_SIZE_BYTES")),
    ):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    names = {}
    exec(backend.threads, names)  # noqa: S102 - source text of the adapter
    assert names["os"].environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "nn-conformance" / "jax")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    exec(backend.threads, names)  # noqa: S102 - source text of the adapter
    assert names["os"].environ["JAX_COMPILATION_CACHE_DIR"] == "elsewhere"


def test_worker_clears_compiled_programs_every_200_cases():
    class Counting:
        def __init__(self):
            self.cleared = 0
            self.config = self

        def update(self, *_):
            pass

        def clear_caches(self):
            self.cleared += 1

    names = {"jax": Counting()}
    for _ in range(400):
        exec(registry.get_backend("jax").reset, names)  # noqa: S102 - source text of the adapter
    assert names["jax"].cleared == 2
