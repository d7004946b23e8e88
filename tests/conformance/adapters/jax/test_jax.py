"""The adapter of JAX: surfaces, and source text that runs around programs."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.adapters.jax import X64_MODE
from conformance.translation.side_by_side import program_with_setup
from tests.conformance.adapters.jax.programs import ROW, SURFACES, lines, program


def test_bfloat16_input_is_viewed_from_16_bit_words():
    text = program("jax.lax", "max_pool", x={**ROW, "dtype": "bfloat16"}, window=2).text
    assert "x = jax.device_put(x).view(jnp.bfloat16)" in text
    assert text.endswith("return np.asarray(x)\n")


def test_arrays_are_converted_without_a_compilation():
    text = program("flax.linen", "max_pool", x=ROW, window=2).text
    assert "x = jax.device_put(np.moveaxis(x, 1, -1))" in text
    assert text.endswith("return np.moveaxis(np.asarray(x), -1, 1)\n")


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


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_modes_are_those_of_numpy(mode):
    assert lines("jax.lax", "pad", x=ROW, pads=[[1, 2]], mode=mode) == [
        f'x = jnp.pad(x, ((0, 0), (0, 0), (1, 2)), mode="{mode}")'
    ]


def test_negative_pads_are_native_in_constant_mode():
    (text,) = lines("jax.lax", "pad", x=ROW, pads=[[-1, 2]])
    assert text == "x = lax.pad(x, jnp.array(0, x.dtype), ((0, 0, 0), (0, 0, 0), (-1, 2, 0)))"


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


INDICES = {"values": [[[0, 3]]], "dtype": "int64"}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "float64", "int64", "uint64"])
def test_only_cases_with_64_bit_numbers_run_in_64_bit_mode(surface, dtype):
    plane = {"values": "arange", "shape": [1, 1, 4, 4], "dtype": dtype}
    translated = program(surface, "max_pool", x=plane, window=2, stride=1)
    if isinstance(translated, Program):
        text = program_with_setup(registry.get_backend("jax"), translated)
        assert ("jax_enable_x64" in text) == dtype.endswith("64")


@pytest.mark.parametrize("output", ["values", "indices"])
def test_int64_indices_need_64_bit_mode_and_their_values_do_not(output):
    translated = program("jax.lax", "max_pool_with_indices", x=ROW, window=2, output=output)
    assert bool(translated.mode) == (output == "indices")


def test_int64_indices_as_input_need_64_bit_mode():
    x = {"values": [[[1, 2]]]}
    assert program("jax.lax", "max_unpool", x=x, indices=INDICES, output_size=[4]).mode


@pytest.mark.parametrize("name", ["jax", "keras-jax"])
def test_processes_start_in_the_default_mode_of_jax(name):
    backend = registry.get_backend(name)
    assert "jax_enable_x64" not in backend.threads + backend.setup
    assert backend.reset.count('jax.config.update("jax_enable_x64", False)') == 1
    assert backend.in_mode(X64_MODE).reset.endswith('jax.config.update("jax_enable_x64", True)\n')
