"""Layers that a port writes as several: they are compared where their results are joined."""

from dataclasses import replace

import numpy as np
import pytest

from conformance.cli.commands.compare_models import comparison_lines
from conformance.models.comparison.compare import Place, compare_models
from conformance.models.comparison.layers import ModelLayer, dense_kernel, find_layers
from conformance.models.comparison.merging import merge_parts
from reports.results.vocabulary import Verdict
from tests.support.recorded_models import record_network

NAMES = ["conv1", "pool", "conv2", "grouped", "up", "avg"]


def sliced(call, count, change=lambda _number, part: part):
    """Return a call as `count` calls of slices. change: changes a part.

    A convolution in groups and a pooling read slices of the channels. Another convolution gives slices of the result.
    """
    kernel, groups = call.inputs.get("kernel"), call.parameters.get("groups", 1)
    axis = 1 if call.operator == "conv_transpose" and groups == 1 else 0
    parts = []
    for number in range(count):

        def cut(array, axis, number=number):
            return np.array_split(array, count, axis)[number]

        inputs = {"x": cut(call.x, 1) if kernel is None or groups > 1 else call.x}
        inputs |= {} if kernel is None else {"kernel": cut(kernel, axis)}
        inputs |= {"bias": cut(call.inputs["bias"], 0)} if "bias" in call.inputs else {}
        parameters = {**call.parameters, **({"groups": groups // count} if groups > 1 else {})}
        part = replace(call, name=f"{call.name}_{number}", inputs=inputs, parameters=parameters)
        parts.append(change(number, replace(part, result=cut(call.result, 1))))
    return parts


def written_in_parts(model, name, count=2, change=lambda _number, part: part):
    """Return a model that writes the layer with a name as several."""
    (run,) = model.runs
    calls = [part for call in run.calls for part in (sliced(call, count, change) if call.name == name else [call])]
    return replace(model, runs=[replace(run, calls=calls)])


@pytest.mark.parametrize(
    ("name", "count"),
    [("grouped", 2), ("grouped", 4), ("avg", 2), ("pool", 4), ("conv1", 2), ("conv2", 4), ("up", 2)],
)
@pytest.mark.parametrize("in_source", [False, True])
def test_a_layer_in_parts_is_compared_where_they_are_joined(name, count, in_source):
    models = [record_network(), written_in_parts(record_network(), name, count)]
    (found,) = compare_models(*models[:: -1 if in_source else 1], ["negative"])
    assert found.first is None
    assert len(found.layers) == len(NAMES)
    assert not found.aligned.only_in_source
    assert not found.aligned.only_in_port
    assert not any(layer.is_rewritten for layer in found.layers)
    one = found.layers[NAMES.index(name)]
    joined = one.source if in_source else one.port
    assert joined.name.startswith(f"{name}_0 + " if count == 2 else f"{name}_0 … {name}_3 (4 parts)")


def test_parts_that_read_channels_of_one_pad_are_one_layer():
    (run,) = record_network().runs
    grouped = run.calls[3]
    pad = replace(
        grouped,
        operator="pad",
        parameters={"pads": ((1, 1), (1, 1)), "mode": "constant", "value": 0.0},
        inputs={"x": grouped.x},
        result=np.pad(grouped.x, ((0, 0), (0, 0), (1, 1), (1, 1))),
    )
    bare = {**grouped.parameters, "padding": ((0, 0), (0, 0))}
    parts = sliced(replace(grouped, inputs={**grouped.inputs, "x": pad.result}, parameters=bare), 4)
    port = replace(run, calls=[*run.calls[:3], pad, *parts, *run.calls[4:]])
    (found,) = compare_models(record_network(), replace(record_network(), runs=[port]), ["negative"])
    assert found.first is None
    assert [layer.source.name for layer in found.layers] == NAMES
    assert not any(layer.is_rewritten for layer in found.layers)
    assert not found.aligned.only_in_port
    lines = list(comparison_lines([found]))
    assert "grouped: 4 groups in one call of the source, 4 calls in the port, of some groups each" in lines


def test_transposed_convolutions_of_groups_are_joined():
    rng = np.random.default_rng(2)
    (run,) = record_network().runs
    up = run.calls[4]
    grouped = replace(
        up,
        inputs={"x": up.x, "kernel": rng.standard_normal((16, 4, 3, 3)).astype(np.float32)},
        parameters={**up.parameters, "groups": 2},
    )
    (layer,) = find_layers([grouped])
    grouped = replace(grouped, result=layer.expected(grouped.x).value)
    whole, split = (replace(run, calls=calls) for calls in ([grouped], sliced(grouped, 2)))
    (merged,) = merge_parts(split, whole).calls
    assert merged.parameters == grouped.parameters
    assert all(np.array_equal(merged.inputs[name], grouped.inputs[name]) for name in ("x", "kernel"))
    assert np.array_equal(merged.result, grouped.result)


def wrong(number, part):
    return replace(part, inputs={**part.inputs, "kernel": part.inputs["kernel"] + 1}) if number == 1 else part


def computed(model):
    """Return a model whose results of convolutions are those of their weights."""
    (run,) = model.runs
    calls = [replace(one.call, result=one.expected(one.x).value) for one in find_layers(run.calls)]
    return replace(model, runs=[replace(run, calls=calls)])


def test_wrong_weights_of_a_part_are_a_difference_of_the_layer():
    model = computed(written_in_parts(record_network(), "grouped", 4, wrong))
    (run,) = model.runs
    up = run.calls[-2]
    read = replace(up, inputs={**up.inputs, "x": np.concatenate([one.result for one in run.calls[3:7]], axis=1)})
    port = computed(replace(model, runs=[replace(run, calls=[*run.calls[:-2], read, run.calls[-1]])]))
    (found,) = compare_models(record_network(), port, ["negative"])
    assert found.first.place is Place.LAYER
    assert found.first.layer.source.name == "grouped"
    assert "kernel: other numbers, largest difference 1" in found.first.reasons


def test_parts_with_other_parameters_are_not_joined():
    def changed(number, part):
        return replace(part, parameters={**part.parameters, "dilation": (2, 2)}) if number else part

    (run,) = written_in_parts(record_network(), "grouped", 2, changed).runs
    assert merge_parts(run, record_network().runs[0]) is run


def test_equal_layers_are_not_joined():
    (run,) = record_network().runs
    assert merge_parts(run, run) is run


def with_sums(model, parts):
    """Return a model that writes conv2 as a sum of convolutions. parts: their input channels, with weights or zeros."""
    (run,) = model.runs
    conv2 = run.calls[2]
    calls = []
    for number, (channels, used) in enumerate(parts):
        kernel = np.where(np.isin(channels, used)[:, None, None], conv2.inputs["kernel"][:, channels], np.float32(0))
        inputs = {"x": conv2.x[:, channels], "kernel": kernel}
        calls.append(replace(conv2, name=f"part_{number}", inputs=inputs))
    return computed(replace(model, runs=[replace(run, calls=[*run.calls[:2], *calls, *run.calls[3:]])]))


PARTS = [([0, 1, 2], [0, 1, 2]), ([3, 4, 5, 6, 7], [3, 4, 5, 6, 7])]
OVERLAPPING_PARTS = [([0, 1, 2, 3], [0, 1, 2]), ([3, 4, 5, 6, 7], [3, 4, 5, 6, 7])]


def test_a_layer_in_parts_that_are_added_is_one_layer():
    (found,) = compare_models(record_network(), with_sums(record_network(), PARTS), ["negative"])
    assert found.first is None
    assert [layer.source.name for layer in found.layers] == NAMES
    assert found.layers[2].verdict.verdict == Verdict.AGREE
    lines = list(comparison_lines([found]))
    assert "conv2: 2 calls in the port, of some input channels each, whose results are added" in lines


def test_a_layer_in_groups_may_be_parts_of_a_dense_kernel():
    (run,) = record_network().runs
    grouped = run.calls[3]
    dense = dense_kernel(ModelLayer(grouped))
    parts = [
        replace(
            grouped,
            inputs={"x": grouped.x, "kernel": dense[channels]},
            parameters={**grouped.parameters, "groups": 1},
            result=grouped.result[:, channels],
        )
        for channels in (slice(0, 10), slice(10, 16))
    ]
    port = replace(run, calls=[*run.calls[:3], *parts, *run.calls[4:]])
    (found,) = compare_models(record_network(), replace(record_network(), runs=[port]), ["negative"])
    assert found.first is None
    assert found.layers[3].verdict.verdict == Verdict.AGREE


def test_a_layer_written_in_another_way_is_not_compared_and_no_difference():
    (found,) = compare_models(record_network(), with_sums(record_network(), OVERLAPPING_PARTS), ["negative"])
    assert found.first is None
    assert [layer.source.name for layer in found.layers if layer.is_rewritten] == ["conv2"]
    lines = list(comparison_lines([found]))
    assert any(line.startswith("conv2") and line.endswith("written differently") for line in lines)
    assert lines[-1].startswith("negative: 5 layers and the results agree ")
    assert lines[-1].endswith("; 1 not compared: written differently")


def test_a_layer_written_differently_is_a_difference_if_what_follows_differs():
    model = with_sums(record_network(), OVERLAPPING_PARTS)
    (run,) = model.runs
    changed = [replace(call, inputs={**call.inputs, "x": call.x + 1}) for call in run.calls[-3:]]
    assert changed[0].name == "grouped"
    calls = [*run.calls[:-3], *changed]
    port = computed(replace(model, runs=[replace(run, calls=calls)]))
    (found,) = compare_models(record_network(), port, ["negative"])
    assert found.first is not None
