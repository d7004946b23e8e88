"""Conversion of weights: each layer in the layout of the target, computed by plain loops, and the errors."""

import itertools

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.translation.weights import LayerKind, WeightedLayer, convert, format_names
from tests.support.weighted_layers import EXAMPLES

OTHERS = [name for name in format_names() if name not in {"torch", "tf.keras", "flax"}]
CONV, TRANSPOSED = LayerKind.CONV, LayerKind.CONV_TRANSPOSE


def loop_conv(x, kernel, bias, *, groups=1, stride=1, dilation=1):
    """Return a convolution of (n, *spatial, c) with a kernel (*window, in/groups, out)."""
    *window, per_group, outputs = kernel.shape
    steps, gaps = np.broadcast_to(stride, len(window)), np.broadcast_to(dilation, len(window))
    sizes = [(s - (w - 1) * d - 1) // t + 1 for s, w, d, t in zip(x.shape[1:-1], window, gaps, steps, strict=True)]
    y = np.zeros((len(x), *sizes, outputs), x.dtype)
    for place in np.ndindex(*sizes):
        for cell in np.ndindex(*window):
            at = tuple(p * t + k * d for p, k, d, t in zip(place, cell, gaps, steps, strict=True))
            for o, i in itertools.product(range(outputs), range(per_group)):
                channel = o // (outputs // groups) * per_group + i
                y[(slice(None), *place, o)] += x[(slice(None), *at, channel)] * kernel[(*cell, i, o)]
    return y if bias is None else y + bias


def loop_transposed(x, kernel, bias, stride=1):
    """Return a transposed convolution with a kernel (*window, out, in): each input cell adds a scaled kernel."""
    *window, outputs, inputs = kernel.shape
    sizes = [(s - 1) * stride + w for s, w in zip(x.shape[1:-1], window, strict=True)]
    y = np.zeros((len(x), *sizes, outputs), x.dtype)
    for place in np.ndindex(*x.shape[1:-1]):
        for cell in np.ndindex(*window):
            at = tuple(p * stride + k for p, k in zip(place, cell, strict=True))
            for o, i in itertools.product(range(outputs), range(inputs)):
                y[(slice(None), *at, o)] += x[(slice(None), *place, i)] * kernel[(*cell, o, i)]
    return y if bias is None else y + bias


def loop_depthwise(x, kernel, bias):
    """Return a depthwise convolution with a kernel (*window, in, multiplier): channel c gives c * multiplier + m."""
    channels = kernel.shape[-2]
    parts = [loop_conv(x[..., c : c + 1], kernel[..., c : c + 1, :], None) for c in range(channels)]
    return np.concatenate(parts, -1) + bias


def computed(name, target, weights, x):
    """Return the result of a layer in the layout of the target."""
    example = EXAMPLES[name]
    if target == "keras":
        arrays = weights["layer"]
        if name == "batch-norm":
            gamma, beta, mean, variance = arrays
            return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta
        kernel, bias = arrays[0], arrays[1] if len(arrays) > 1 else None
    else:
        state = {**weights.get("params", weights)["layer"], **weights.get("batch_stats", {}).get("layer", {})}
        if name == "batch-norm":
            return (x - state["mean"]) / np.sqrt(state["var"] + 1e-5) * state["scale"] + state["bias"]
        kernel, bias = state["kernel"], state.get("bias")
    if kernel.ndim == 2:
        return x.reshape(len(x), -1) @ kernel + bias
    if example.layer.kind is not TRANSPOSED:
        is_keras_depthwise = target == "keras" and example.layer.depthwise
        return loop_depthwise(x, kernel, bias) if is_keras_depthwise else loop_conv(x, kernel, bias, **example.options)
    if example.layer.flipped:
        # Without transpose_kernel, the layer is a convolution of the input with zeros between and around its cells.
        dilated = np.zeros((len(x), *(2 * s - 1 for s in x.shape[1:-1]), x.shape[-1]), x.dtype)
        dilated[:, ::2, ::2] = x
        ends = [(0, 0), *((w - 1, w - 1) for w in kernel.shape[:-2]), (0, 0)]
        return loop_conv(np.pad(dilated, ends), kernel, bias)
    groups = example.layer.groups
    parts = zip(*(np.split(one, groups, -1) for one in (x, kernel)), strict=True)
    y = np.concatenate([loop_transposed(*part, None, example.options.get("stride", 1)) for part in parts], -1)
    return y if bias is None else y + bias


# Keras has no transposed convolution without flipped kernels.
LAYERS = [(name, target) for name in EXAMPLES for target in OTHERS if (name, target) != ("transposed-flipped", "keras")]


@pytest.mark.parametrize(("name", "target"), LAYERS)
def test_layer_with_converted_weights_computes_the_same(name, target):
    example = EXAMPLES[name]
    x = np.moveaxis(example.x(), 1, -1)
    weights = convert(example.state(), "torch", target, {"layer": example.layer})
    found = np.moveaxis(computed(name, target, weights, x), -1, 1)
    assert np.allclose(found, example.expected(), rtol=2e-6 if name == "batch-norm" else 0, atol=1e-5)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("target", format_names())
def test_conversion_back_gives_the_same_weights(name, target):
    example = EXAMPLES[name]
    layers = {"layer": example.layer}
    state = example.state()
    back = convert(convert(state, "torch", target, layers), target, "torch", layers)
    assert back.keys() == state.keys()
    for key, array in state.items():
        assert np.array_equal(back[key], array)
        assert back[key].dtype == array.dtype


@pytest.mark.parametrize("source", OTHERS)
@pytest.mark.parametrize("target", OTHERS)
def test_conversion_between_two_other_formats_is_that_from_the_first(source, target):
    layers = {"layer": WeightedLayer(depthwise=2)}
    state = EXAMPLES["depthwise"].state()
    first = convert(state, "torch", source, layers)
    expected, found = convert(state, "torch", target, layers), convert(first, source, target, layers)
    assert str(found) == str(expected)


KERNEL = np.arange(2 * 3 * 3 * 3, dtype="float32").reshape(2, 3, 3, 3)
STATE = {"layer1.0.conv1.weight": KERNEL, "bn.running_mean": np.ones(2), "bn.running_var": np.ones(2)}


def test_names_are_levels_of_variables_and_lists_have_an_underscore():
    found = convert({**STATE, "bn.num_batches_tracked": np.array(7)}, "torch", "flax")
    assert found["params"]["layer1_0"]["conv1"]["kernel"].shape == (3, 3, 3, 2)
    assert found["batch_stats"] == {"bn": {"mean": pytest.approx(np.ones(2)), "var": pytest.approx(np.ones(2))}}
    assert list(convert(STATE, "torch", "flax.nnx")["layer1"]) == [0]


def test_rename_gives_the_name_in_the_target():
    found = convert(STATE, "torch", "keras", rename=lambda name: f"my.{name}")
    assert list(found) == ["my_layer1_0_conv1", "my_bn"]


def test_layer_that_is_left_out_may_have_any_arrays():
    state = {**STATE, "lstm.weight_ih_l0": np.ones((4, 4)), "scale": object()}
    assert "lstm" not in convert(state, "torch", "keras", leave_out=("lstm", ""))


def test_embedding_keeps_its_layout():
    table = np.arange(6.0).reshape(3, 2)
    layers = {"words": WeightedLayer(LayerKind.EMBEDDING)}
    assert np.array_equal(convert({"words.weight": table}, "torch", "keras", layers)["words"][0], table)
    found = convert({"words.weight": table}, "torch", "flax", layers)
    assert np.array_equal(found["params"]["words"]["embedding"], table)
    assert np.array_equal(convert(found, "flax", "torch")["words.weight"], table)


@pytest.mark.parametrize(
    ("state", "options", "message"),
    [
        ({"lstm.weight_ih_l0": np.ones((4, 4))}, {}, "lstm: 'weight_ih_l0' is not an array of a norm layer"),
        ({"up.weight": np.ones((4, 3, 2, 2)), "up.bias": np.ones(3)}, {}, "is it a transposed convolution?"),
        ({"a.weight": [[1.0]]}, {}, "a.weight: expected a NumPy array of numbers, not list"),
        ({"a.weight": np.array([None])}, {}, "not an array of object"),
        (STATE, {"layers": {"conv2": WeightedLayer()}}, "'conv2' matches no layer"),
        (STATE, {"rename": lambda _: "a"}, "several layers get the same name"),
        ({"a.weight": np.ones((4, 4))}, {"layers": {"a": WeightedLayer(CONV)}}, "conv needs a kernel with at least 3"),
        ({"a.weight": np.ones((4, 6))}, {"layers": {"a": WeightedLayer(flattened=(2, 2))}}, "has 4 elements"),
        ({"a.weight": np.ones((6, 2, 3))}, {"layers": {"a": WeightedLayer(depthwise=1)}}, "this one has the shape"),
        ({"a.weight": np.ones((5, 2, 3))}, {"layers": {"a": WeightedLayer(TRANSPOSED, groups=2)}}, "do not divide"),
        ({"a.b.weight": np.ones(1), "a_b.weight": np.ones(1)}, {}, "another layer has the name 'a_b' in Keras"),
        ({"a.weight": np.array(1.0)}, {}, "a kernel without axes"),
    ],
)
def test_weights_that_do_not_match_are_an_error(state, options, message):
    with pytest.raises(ConformanceError, match=r"\A[^\n]*\Z") as error:
        convert(state, "torch", "keras", **options)
    assert message in str(error.value)


@pytest.mark.parametrize("target", ["flax.linen", "flax.nnx"])
def test_flipped_kernels_of_groups_are_an_error(target):
    layers = {"a": WeightedLayer(TRANSPOSED, groups=2, flipped=True)}
    with pytest.raises(ConformanceError, match="a: several groups need a kernel of transpose_kernel=True"):
        convert({"a.weight": np.ones((6, 2, 3))}, "torch", target, layers)


@pytest.mark.parametrize(
    ("source", "weights", "message"),
    [
        ("keras", {"a": np.ones(3)}, "expected the list that get_weights"),
        ("keras", {"a": [np.ones(3)] * 3}, "3 arrays; a normalization has 2, or 4"),
        ("keras", {"a": [np.ones((3, 3))] * 3}, "3 arrays; a layer with a kernel has at most"),
        ("flax", {"conv": {}}, "expected the collections 'params' and 'batch_stats'"),
        ("flax", {"params": {"a": {"kernel": np.ones((2, 2)), "b": np.ones(2)}}}, "'b' is not an array"),
        ("caffe", {}, "unknown, known are flax, flax.linen"),
    ],
)
def test_weights_of_another_structure_are_an_error(source, weights, message):
    with pytest.raises(ConformanceError, match=message):
        convert(weights, source, "torch")


@pytest.mark.parametrize(
    ("source", "weights", "message"),
    [
        ("torch", {"weight": 3}, "weight: expected a NumPy array of numbers, not int"),
        ("torch", {"x": np.ones(3)}, "'x' is not an array of a norm layer"),
        ("flax", {"params": {"kernel": 3}}, "kernel: expected a NumPy array of numbers, not int"),
    ],
)
def test_an_error_of_a_model_that_is_one_layer_has_no_name_of_a_layer(source, weights, message):
    with pytest.raises(ConformanceError) as error:
        convert(weights, source, "keras")
    assert str(error.value) == message


def test_depthwise_multiplier_must_be_that_of_the_kernel():
    with pytest.raises(ConformanceError, match="the kernel has the channel multiplier 2"):
        convert({"a": [np.ones((3, 3, 4, 2))]}, "keras", "torch", {"a": WeightedLayer(depthwise=1)})
