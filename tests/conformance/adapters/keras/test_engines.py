"""The module `engines` of Keras."""

import pytest

from conformance.adapters import keras
from conformance.adapters.api import Unsupported
from conformance.adapters.keras.engines import ENGINES
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.keras.programs import SURFACES, lines
from tests.support.example_steps import convolution_step


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engine_is_chosen_before_keras_is_imported(engine):
    setup = keras.VARIANTS[engine.name].setup
    assert setup.index(f'os.environ["KERAS_BACKEND"] = "{engine.name}"') < setup.index("import keras")


@pytest.mark.parametrize(
    ("dtype", "groups", "rank", "supported"),
    [
        ("float32", 1, 2, True),
        ("float64", 1, 2, False),
        ("float16", 1, 1, False),
        ("float64", 2, 2, True),
        ("float64", 1, 3, True),
    ],
)
def test_tensorflow_convolves_channels_first_with_onednn_or_xla(dtype, groups, rank, supported):
    step = convolution_step("conv", (1, 2, *(5,) * rank), (4, 2 // groups, *(3,) * rank), groups=groups, dtype=dtype)
    lowered = lower_step(step, SURFACES["keras-tensorflow.layers.channels_first"], native_only=True, inner=False)
    assert isinstance(lowered, Unsupported) is not supported
    assert supported or "oneDNN" in lowered.reason


@pytest.mark.parametrize(
    ("engine", "last"),
    [
        ("torch", "(x,) = torch.autograd.grad(x, conv.kernel.value, grad)"),
        ("tensorflow", "x = tape.gradient(x, conv.kernel, grad)"),
    ],
)
def test_gradient_of_a_kernel_is_that_of_the_layers_variable(engine, last):
    surface = f"keras-{engine}.layers"
    _, text = lines(convolution_step("conv", (1, 2, 5), (4, 2, 3)), surface)
    assert SURFACES[surface].write_gradient(text, ["x", "kernel"], "kernel")[-1] == last


def test_gradient_on_jax_creates_the_layer_outside_the_compiled_function():
    _, text = lines(convolution_step("conv", (1, 2, 5), (4, 2, 3), bias=True), "keras-jax.layers")
    assert SURFACES["keras-jax.layers"].write_gradient(text, ["x", "kernel", "bias"], "bias") == (
        'conv = keras.layers.Conv1D(4, 3, kernel_initializer="zeros", dtype=x.dtype)',
        "conv.build((1, 5, 2))",
        "@jax.jit",
        "def gradient(grad, x, kernel, bias):",
        "    def forward(x, kernel, bias):",
        "        x = conv.stateless_call([kernel, bias], [], x)[0]",
        "        return x",
        "    _, pull = jax.vjp(forward, x, kernel, bias)",
        "    return pull(grad)[2]",
        "x = gradient(grad, x, kernel, bias)",
    )


def test_gradient_of_a_kernel_without_a_layer_is_that_of_the_input():
    _, text = lines(convolution_step("conv_transpose", (1, 4, 3), (4, 1, 2), groups=2), "keras-torch.layers")
    taped = SURFACES["keras-torch.layers"].write_gradient(text, ["x", "kernel"], "kernel")
    assert taped[0] == "leaf = kernel.requires_grad_()"


def test_bfloat16_conversion_depends_on_the_engine():
    assert SURFACES["keras-torch.ops"].bfloat16.to_framework == "{}.to(torch.uint16).view(torch.bfloat16)"
    assert SURFACES["keras-jax.ops"].bfloat16.to_framework == 'keras.ops.view({}, "bfloat16")'
