"""The text of Keras programs on each engine. No framework is imported."""

import pytest

from conformance.adapters import keras, registry
from conformance.adapters.api.surface import Unsupported
from conformance.adapters.keras.engines import ENGINES
from conformance.cases.steps import Step
from conformance.translation.lowering import lower_step
from tests.support.example_steps import convolution_step, pooling_step

SURFACES = {surface.name: surface for variant in keras.VARIANTS.values() for surface in variant.surfaces}
OPS = [name for name in SURFACES if name.endswith(".ops")]
LAYERS = [name for name in SURFACES if name.endswith(".layers")]
CHANNELS_FIRST = [name for name in SURFACES if name.endswith(".channels_first")]


def lines(step, surface, *, native_only=False):
    """Return how a step is lowered (native, padded or composed), and its lines."""
    lowered = lower_step(step, SURFACES[surface], native_only=native_only, inner=False)
    assert not isinstance(lowered, Unsupported), lowered.reason
    return lowered[1], lowered[0]


def padding(mode, shape, *pads, dtype="float32"):
    return Step("pad", shape, dtype, {"mode": mode, "pads": pads, "value": 0})


def test_each_engine_is_a_backend_with_a_surface_for_operations_and_two_for_layers():
    assert [name for name in registry.backend_names() if name.startswith("keras")] == [
        "keras-jax",
        "keras-tensorflow",
        "keras-torch",
    ]
    surfaces = registry.get_backend("keras-torch").surfaces
    names = ["keras-torch.ops", "keras-torch.layers", "keras-torch.layers.channels_first"]
    assert [surface.name for surface in surfaces] == names


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engine_is_chosen_before_keras_is_imported(engine):
    setup = keras.VARIANTS[engine.name].setup
    assert setup.index(f'os.environ["KERAS_BACKEND"] = "{engine.name}"') < setup.index("import keras")


@pytest.mark.parametrize("surface", OPS)
def test_pooling_is_the_same_on_every_engine(surface):
    step = pooling_step("max_pool", (1, 2, 5, 5), window=(2, 2), stride=(2, 2), padding=((0, 1), (0, 1)))
    assert lines(step, surface) == ("native", ['x = keras.ops.max_pool(x, 2, strides=2, padding="same")'])


@pytest.mark.parametrize("surface", LAYERS)
def test_layer_gets_the_dtype_of_its_input_and_omits_a_stride_equal_to_the_window(surface):
    step = pooling_step("avg_pool", (1, 2, 4, 4), window=(2, 2), stride=(2, 2))
    assert lines(step, surface) == ("native", ["x = keras.layers.AveragePooling2D(2, dtype=x.dtype)(x)"])


@pytest.mark.parametrize("surface", OPS)
def test_stride_omitted_by_a_convention_case_is_omitted(surface):
    step = pooling_step("max_pool", (1, 1, 4), window=(2,), stride=None)
    assert lines(step, surface, native_only=True) == ("native", ["x = keras.ops.max_pool(x, 2)"])


@pytest.mark.parametrize("surface", LAYERS)
def test_layer_is_built_before_its_weights_are_set(surface):
    how, text = lines(convolution_step("conv", (1, 2, 5), (4, 1, 3), groups=2, bias=True), surface)
    assert how == "native"
    assert text[0].startswith("conv = keras.layers.Conv1D(4, 3, groups=2")
    assert text[1:] == ["conv.build((1, 5, 2))", "conv.set_weights([kernel, bias])", "x = conv(x)"]


@pytest.mark.parametrize("surface", CHANNELS_FIRST)
def test_layers_get_a_channels_first_data_format(surface):
    how, text = lines(convolution_step("conv", (1, 2, 5), (4, 1, 3), groups=2, bias=True), surface)
    assert how == "native"
    assert 'data_format="channels_first"' in text[0]
    assert text[1] == "conv.build((1, 2, 5))"
    pooled = pooling_step("avg_pool", (1, 2, 4, 4), window=(2, 2), stride=(2, 2))
    call = 'x = keras.layers.AveragePooling2D(2, data_format="channels_first", dtype=x.dtype)(x)'
    assert lines(pooled, surface) == ("native", [call])
    call = 'x = keras.layers.GlobalMaxPooling1D(keepdims=True, data_format="channels_first", dtype=x.dtype)(x)'
    assert lines(pooling_step("global_max_pool", (1, 2, 4)), surface) == ("native", [call])


@pytest.mark.parametrize("surface", CHANNELS_FIRST)
def test_spatial_axes_are_padded_with_channels_first(surface):
    padded = padding("constant", (1, 2, 3, 4), (1, 0), (0, 2))
    call = 'x = keras.layers.ZeroPadding2D(((1, 0), (0, 2)), data_format="channels_first", dtype=x.dtype)(x)'
    assert lines(padded, surface) == ("native", [call])
    step = pooling_step("max_pool", (1, 2, 5), window=(2,), stride=(2,), padding=((1, 0),))
    assert lines(step, surface)[1][0] == "x = keras.ops.pad(x, ((0, 0), (0, 0), (1, 0)), constant_values=-np.inf)"
    call = 'x = keras.ops.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)), "reflect")'
    assert lines(padding("reflect", (1, 2, 3, 4), (1, 0), (0, 2)), surface) == ("composed", [call])


def test_gather_uses_the_spatial_axis_with_channels_first():
    step = padding("wrap", (1, 2, 3, 4), (4, 0), (0, 0))
    call = "x = keras.ops.take(x, [i % 3 for i in range(-4, 3)], axis=2)"
    assert lines(step, "keras-torch.layers.channels_first") == ("composed", [call])


def test_last_of_four_axes_is_not_reflected_alone_on_pytorch():
    step = padding("reflect", (1, 2, 3, 4), (0, 0), (0, 2))
    call = "x = keras.ops.take(x, [min(i % 6, 6 - i % 6) for i in range(6)], axis=3)"
    assert lines(step, "keras-torch.layers.channels_first") == ("composed", [call])
    assert lines(step, "keras-tensorflow.layers.channels_first")[1][0].startswith("x = keras.ops.pad(")


def test_cropping1d_has_no_channels_first():
    step = padding("constant", (1, 2, 5), (-1, 0))
    lowered = lower_step(step, SURFACES["keras-torch.layers.channels_first"], native_only=True, inner=False)
    assert lowered.reason == "Cropping1D has no data_format"
    assert lines(step, "keras-torch.layers", native_only=True)[0] == "native"


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


@pytest.mark.parametrize(
    ("mode", "engine", "how", "ending"),
    [
        ("reflect", "torch", "native", '"reflect")'),
        ("wrap", "torch", "native", '"circular")'),
        ("edge", "torch", "composed", "keras.ops.take(x, [min(max(i, 0), 2) for i in range(5)], axis=1)"),
        ("wrap", "jax", "native", '"wrap")'),
        ("edge", "jax", "native", '"edge")'),
        ("wrap", "tensorflow", "composed", "keras.ops.take(x, [i % 3 for i in range(5)], axis=1)"),
        ("symmetric", "tensorflow", "native", '"symmetric")'),
    ],
)
def test_padding_mode_has_the_engines_name_or_is_a_gather(mode, engine, how, ending):
    found, text = lines(padding(mode, (1, 1, 3), (0, 2)), f"keras-{engine}.ops")
    assert found == how
    assert text[-1].endswith(ending)


def test_layers_pad_with_zeros_or_crop_and_other_modes_are_operations():
    assert lines(padding("constant", (1, 1, 3), (0, 2)), "keras-jax.layers") == (
        "native",
        ["x = keras.layers.ZeroPadding1D((0, 2), dtype=x.dtype)(x)"],
    )
    assert lines(padding("constant", (1, 1, 3), (-1, 0)), "keras-jax.layers")[1] == [
        "x = keras.layers.Cropping1D((1, 0), dtype=x.dtype)(x)"
    ]
    assert lines(padding("reflect", (1, 1, 3), (0, 2)), "keras-jax.layers") == (
        "composed",
        ['x = keras.ops.pad(x, ((0, 0), (0, 2), (0, 0)), "reflect")'],
    )


def test_minimum_of_signed_integers_is_a_complement_of_a_maximum():
    _, text = lines(pooling_step("min_pool", (1, 1, 3), "int64", window=(2,)), "keras-torch.ops")
    assert (text[0], text[-1]) == ("x = ~x", "x = ~x")
    _, text = lines(pooling_step("min_pool", (1, 1, 3), "uint8", window=(2,)), "keras-torch.ops")
    assert text[0].startswith("x = keras.ops.min(")


def test_three_dimensional_softmax_is_flattened_to_two_axes():
    _, text = lines(pooling_step("softmax_pool", (1, 1, 3, 3, 3), window=(2, 2, 2)), "keras-tensorflow.ops")
    assert "shares = keras.ops.softmax(keras.ops.reshape(weights, (len(weights), -1)), axis=0)" in text


def test_bfloat16_conversion_depends_on_the_engine():
    assert SURFACES["keras-torch.ops"].bfloat16.to_framework == "{}.to(torch.uint16).view(torch.bfloat16)"
    assert SURFACES["keras-jax.ops"].bfloat16.to_framework == 'keras.ops.view({}, "bfloat16")'


def test_integer_averages_are_unsupported_but_convention_cases_call_them():
    step = pooling_step("avg_pool", (1, 1, 4, 4), "int32", window=(2, 2))
    lowered = lower_step(step, SURFACES["keras-tensorflow.ops"], native_only=False, inner=False)
    assert "floating-point dtypes only" in lowered.reason
    assert lines(step, "keras-tensorflow.ops", native_only=True)[1] == ["x = keras.ops.average_pool(x, 2, strides=1)"]


def test_number_of_values_that_pytorch_scatters_is_limited():
    def scattered(values, surface):
        step = Step("max_unpool", (1, 1, values), "float32", {"output_size": (values,)})
        return lower_step(step, SURFACES[surface], native_only=False, inner=False)

    assert not isinstance(scattered(10_000, "keras-torch.ops"), Unsupported)
    assert "10001 values" in scattered(10_001, "keras-torch.ops").reason
    assert not isinstance(scattered(10_001, "keras-jax.ops"), Unsupported)
