import numpy as np
import pytest

from conformance.judging.expected import compute_reference
from conformance.models.comparison.layers import (
    ModelLayer,
    dense_kernel,
    find_layers,
    find_readers,
    select_channels,
)
from conformance.models.comparison.recording import RecordedCall

X = np.arange(4 * 25, dtype=np.float32).reshape(1, 4, 5, 5)


def call(operator, x=X, name="", **given):
    weights = {key: given.pop(key) for key in ("kernel", "bias") if key in given}
    value = compute_reference(operator, {"x": x, **weights}, given).value
    return RecordedCall(operator, name, given, {"x": x, **weights}, value)


def test_a_pad_belongs_to_the_layer_that_reads_its_result():
    pad = call("pad", pads=((1, 1), (1, 1)), mode="constant", value=0.0)
    pool = call("max_pool", pad.result, window=(2, 2))
    (layer,) = find_layers([pad, pool])
    assert layer.pads == (pad,)
    assert layer.x is pad.x
    assert np.array_equal(layer.expected(X).value, pool.result)


def test_a_pad_whose_result_is_not_read_belongs_to_no_layer():
    pad = call("pad", pads=((1, 1), (1, 1)), mode="constant", value=0.0)
    (layer,) = find_layers([pad, call("max_pool", window=(2, 2))])
    assert layer.pads == ()


def test_pads_one_after_another_belong_to_the_layer():
    first = call("pad", pads=((1, 1), (0, 0)), mode="wrap")
    second = call("pad", first.result, pads=((0, 0), (1, 1)), mode="constant", value=0.0)
    conv = call("conv", second.result, kernel=np.ones((1, 4, 3, 3), np.float32))
    (layer,) = find_layers([first, second, conv])
    assert layer.pads == (first, second)
    assert layer.x is first.x
    assert np.array_equal(layer.expected(X).value, conv.result)


def test_layers_may_read_channels_of_one_pad():
    pad = call("pad", pads=((1, 1), (1, 1)), mode="constant", value=0.0)
    kernel = np.ones((2, 2, 3, 3), np.float32)
    parts = [call("conv", pad.result[:, channels], kernel=kernel) for channels in ([0, 1], [3, 2])]
    layers = find_layers([pad, *parts])
    assert [np.array_equal(layer.x, X[:, one]) for layer, one in zip(layers, ([0, 1], [3, 2]), strict=True)] == [
        True
    ] * 2
    assert all(np.array_equal(layer.expected(layer.x).value, layer.call.result) for layer in layers)


@pytest.mark.parametrize("operator", ["conv", "conv_transpose"])
def test_a_kernel_of_groups_has_a_dense_form(operator):
    rng = np.random.default_rng(3)
    shape = (8, 2, 3, 3) if operator == "conv" else (4, 4, 3, 3)
    grouped = call(operator, kernel=rng.integers(-3, 4, shape).astype(np.float32), groups=2)
    dense = call(operator, kernel=dense_kernel(ModelLayer(grouped)))
    assert np.array_equal(grouped.result, dense.result)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("operator", ["conv", "conv_transpose"])
def test_some_output_channels_are_computed_as_with_all(operator, groups):
    rng = np.random.default_rng(groups)
    shape = (8, 4 // groups, 3, 3) if operator == "conv" else (4, 8 // groups, 3, 3)
    kernel, bias = rng.integers(-3, 4, shape).astype(np.float32), np.arange(8, dtype=np.float32)
    whole = call(operator, kernel=kernel, bias=bias, groups=groups)
    layer = ModelLayer(whole)
    for channels in ([0], [7], [0, 3, 7]):
        assert np.array_equal(layer.expected(X, channels).value, whole.result[:, channels])


def test_channels_of_pooling_are_those_of_the_input():
    x, weights, parameters = select_channels(X, {}, {"window": (2, 2)}, [1, 3], "max_pool")
    assert np.array_equal(x, X[:, [1, 3]])
    assert (weights, parameters) == ({}, {"window": (2, 2)})


@pytest.mark.parametrize(("operator", "other"), [("max_pool", "adaptive_max_pool"), ("avg_pool", "global_avg_pool")])
def test_pooling_of_one_kind_is_one_family(operator, other):
    given = {"output_size": (1, 1)} if other.startswith("adaptive") else {}
    one, two = ModelLayer(call(operator, window=(5, 5))), ModelLayer(call(other, **given))
    assert one.family == two.family


def test_maximum_and_average_are_no_family():
    families = {
        ModelLayer(call(name, window=(2, 2))).family for name in ("max_pool", "min_pool", "avg_pool", "lp_pool")
    }
    assert len(families) == 4


def layer(x, result):
    return ModelLayer(RecordedCall("conv", "", {}, {"x": x}, result))


def numbers(*shape, seed):
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.float32)


def test_a_shortcut_does_not_read_the_result_of_the_main_branch():
    # conv1, conv2 and the projection of a residual block, and the first layer of the next block.
    x, inner, out = numbers(1, 4, 8, 8, seed=0), numbers(1, 8, 4, 4, seed=1), numbers(1, 8, 4, 4, seed=2)
    projected = numbers(1, 8, 4, 4, seed=3)
    block = [layer(x, inner), layer(np.maximum(inner, 0), out), layer(x, projected)]
    block.append(layer(np.maximum(out + projected, 0), inner))
    assert find_readers(block) == [1, 3, 3, None]


def test_branches_that_are_joined_are_read_after_the_last_one():
    x, middle = numbers(1, 4, 8, 8, seed=0), numbers(1, 6, 8, 8, seed=1)
    first, second = numbers(1, 8, 8, 8, seed=2), numbers(1, 10, 8, 8, seed=3)
    joined = np.concatenate([first, second], 1)
    branches = [layer(x, first), layer(x, middle), layer(middle, second), layer(joined, x)]
    assert find_readers(branches) == [3, 2, 3, None]
