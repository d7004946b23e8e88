"""Recorded calls of JAX. CONFORMANCE_JAX_PYTHON is the path of a Python that has jax and flax."""

import numpy as np
import pytest

from tests.support.captured_models import assert_reference_agrees, captured, needs, numbers, python_of

pytestmark = needs("jax")
TEXT = """\
import jax
import numpy as np
from jax import lax, numpy as jnp
from flax import linen as nn


def whole(key, shape, dtype=jnp.float32):
    return jnp.asarray((np.arange(np.prod(shape)).reshape(shape) * 7) % 5 - 2, dtype)


class Net(nn.Module):
    def setup(self):
        self.layer = {layer}

    def __call__(self, x):
        return self.layer(x)


def bound(x_shape):
    model = Net()
    variables = model.init(jax.random.key(0), jnp.zeros(x_shape))
    return model.bind(variables)


def make():
    return {model}
"""
INIT = "kernel_init=whole, bias_init=whole"


def run(folder, *shapes, layer="None", model="None"):
    return captured(folder, "jax", TEXT.format(layer=layer, model=model), *shapes, python=python_of("jax"))


@pytest.mark.parametrize(
    ("layer", "operator"),
    [
        (f"nn.Conv(6, (3, 2), strides=(2, 1), padding=((1, 0), (0, 1)), feature_group_count=2, {INIT})", "conv"),
        (f"nn.Conv(6, (3, 3), strides=2, padding='SAME', kernel_dilation=1, use_bias=False, {INIT})", "conv"),
        (f"nn.Conv(6, (3, 3), kernel_dilation=2, padding='VALID', {INIT})", "conv"),
        (f"nn.ConvTranspose(6, (3, 3), strides=(2, 2), padding='SAME', {INIT})", "conv_transpose"),
        (
            f"nn.ConvTranspose(4, (2, 3), strides=(2, 1), padding='VALID', transpose_kernel=True, {INIT})",
            "conv_transpose",
        ),
    ],
)  # fmt: skip
def test_the_reference_computes_what_a_layer_recorded(tmp_path, layer, operator):
    found = run(tmp_path, (2, 4, 9, 8), layer=layer, model="bound((2, 9, 8, 4))")
    # Flax adds a bias after the call of the convolution.
    assert_reference_agrees(found, operator)
    assert found.calls[0].name == "layer"
    assert np.array_equal(found.calls[0].x, numbers((2, 4, 9, 8)))


@pytest.mark.parametrize(
    ("model", "operators"),
    [
        ("lambda x: nn.max_pool(x, (3, 2), strides=(2, 1), padding=((1, 1), (0, 1)))", ["max_pool"]),
        ("lambda x: nn.max_pool(x, (2, 2))", ["max_pool"]),
        ("lambda x: nn.avg_pool(x, (3, 3), strides=(2, 2), padding='SAME')", ["avg_pool"]),
        ("lambda x: nn.avg_pool(x, (3, 3), padding='SAME', count_include_pad=False)", ["avg_pool"]),
        ("lambda x: nn.max_pool(jnp.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)), 'edge'), (2, 2))", ["pad", "max_pool"]),
        ("lambda x: jnp.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)), constant_values=3)", ["pad"]),
    ],
)  # fmt: skip
def test_the_reference_computes_what_a_function_recorded(tmp_path, model, operators):
    assert_reference_agrees(run(tmp_path, (2, 4, 9, 8), model=model), *operators)


def test_several_inputs_are_positional_with_channels_last(tmp_path):
    found = run(tmp_path, (1, 2, 6, 5), (1, 7), model="lambda x, y: (nn.max_pool(x, (2, 2)), y + 1)")
    assert_reference_agrees(found, "max_pool")
    assert np.array_equal(found.results[1], numbers((1, 7), 1) + 1)


DENSE = """\
import jax
import jax.numpy as jnp
from flax import linen, nnx

def flat(x):
    return x.reshape(len(x), -1)

def linen_layer():
    layer = linen.Dense(5)
    weights = layer.init(jax.random.key(0), jnp.zeros((1, 12)))
    return lambda x: layer.apply(weights, flat(x))

def nnx_layer():
    layer = nnx.Linear(12, 5, rngs=nnx.Rngs(0))
    return lambda x: layer(flat(x))

def make():
    return """


@pytest.mark.parametrize(
    "model",
    [
        "linen_layer()",
        "nnx_layer()",
        "lambda x: flat(x) @ jnp.ones((12, 5))",
        "lambda x: jnp.dot(flat(x), jnp.ones((12, 5)))",
    ],
)
def test_products_with_a_matrix_are_dense_layers(tmp_path, model):
    found = captured(tmp_path, "jax", f"{DENSE}{model}\n", (2, 3, 2, 2), python=python_of("jax"))
    assert_reference_agrees(found, "conv")
    assert [(call.kind, call.shaped_result.shape) for call in found.calls] == [("dense", (2, 5))]
