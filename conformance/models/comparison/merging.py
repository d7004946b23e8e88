"""Layers that one model writes as several: convolutions of groups, or poolings of slices, whose results are joined.

The parts are joined to the one layer that they compute together, so that it is compared at the place where they meet
again. Parts belong together if their weights are slices of those of a layer in the other model: of its groups, of its
output channels, or of its input channels, where the results of the parts are added. Parts without weights belong
together if their joined input is that of the layer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, Geometry
from conformance.models.comparison.judgement import array_difference, noise_limit
from conformance.models.comparison.layers import ModelLayer, dense_kernel, find_layers
from conformance.models.comparison.recording import Joining, Parts, RecordedCall, RecordedRun

GROUPED, UNGROUPED = (Joining.GROUPS,), (Joining.OUTPUTS, Joining.INPUTS)
"""How the parts of a convolution in several groups and in one group may be joined."""
MAX_NAMES = 3
"""Number of parts up to which all their names are part of the name of the joined layer."""


@dataclass(frozen=True)
class _FoundParts:
    """The positions of the layers that are the parts of another one, whole, and how they are joined."""

    indices: Sequence[int]
    whole: ModelLayer
    joining: Joining


def merge_parts(run: RecordedRun, other: RecordedRun) -> RecordedRun:
    """Return a run in which the parts of each layer of the other run are one call, in the place of the last part."""
    layers, whole = find_layers(run.calls), find_layers(other.calls)
    merged: dict[int, ModelLayer] = {}
    used: set[int] = set()
    for one in whole:
        parts = _parts_of(one, layers, used)
        if parts:
            used |= {*parts.indices}
            merged[max(parts.indices)] = _joined([layers[index] for index in parts.indices], parts)
    if not merged:
        return run
    kept = ((index, merged.get(index, layer)) for index, layer in enumerate(layers))
    found = [layer for index, layer in kept if index in merged or index not in used]
    return replace(run, calls=[call for layer in found for call in (*layer.pads, layer.call)])


def _parts_of(whole: ModelLayer, layers: Sequence[ModelLayer], used: set[int]) -> _FoundParts | None:
    """Return the layers that together are a layer of the other model, None if there are none."""
    possible = [index for index, one in enumerate(layers) if index not in used and _may_be_part(one, whole)]
    if "kernel" not in whole.call.inputs:
        found = (_FoundParts(one, whole, Joining.CHANNELS) for one in _without_weights(whole, layers, possible))
    else:
        found = (
            _FoundParts(one, form, joining)
            for form in _forms(whole, [layers[index] for index in possible])
            for joining in (GROUPED if _groups(form) > 1 else UNGROUPED)
            for one in _with_weights(form, joining, layers, possible)
        )
    return next((one for one in found if _are_alike([layers[index] for index in one.indices])), None)


def _forms(whole: ModelLayer, possible: Sequence[ModelLayer]) -> Iterator[ModelLayer]:
    """Yield a convolution, and if it is in groups, the same one in one group; possible: layers that may be parts."""
    yield whole
    window = whole.call.inputs["kernel"].shape[2:]
    alike = [one for one in possible if _groups(one) == 1 and one.call.inputs["kernel"].shape[2:] == window]
    # A dense kernel is large, so it is made only if there may be parts of it.
    dense = dense_kernel(whole) if _groups(whole) > 1 and len(alike) > 1 else None
    if dense is not None:
        parameters, inputs = {**whole.call.parameters, "groups": 1}, {**whole.call.inputs, "kernel": dense}
        yield replace(whole, call=replace(whole.call, parameters=parameters, inputs=inputs))


def _may_be_part(one: ModelLayer, whole: ModelLayer) -> bool:
    is_smaller = one.call.result.shape[1] < whole.call.result.shape[1] or one.x.shape[1] < whole.x.shape[1]
    return is_smaller and one.call.operator == whole.call.operator and one.x.shape[2:] == whole.x.shape[2:]


def _are_alike(parts: Sequence[ModelLayer]) -> bool:
    """Whether layers have the same parameters, apart from the number of groups, and the same explicit padding."""
    own = [{**part.call.parameters, "groups": 1, "pads": [pad.parameters for pad in part.pads]} for part in parts]
    return len(parts) > 1 and all(one == own[0] for one in own)


def _with_weights(
    whole: ModelLayer, joining: Joining, layers: Sequence[ModelLayer], possible: Sequence[int]
) -> Iterator[Sequence[int]]:
    """Yield the positions of layers whose kernels together are that of a layer, in the order of its channels.

    Then those of neighbouring layers of which one has its slice, so that another one has wrong weights.
    """
    axis = _joined_axis(whole, joining)
    rows = np.moveaxis(whole.call.inputs["kernel"], axis, 0)
    slices = {index: np.moveaxis(layers[index].call.inputs["kernel"], axis, 0) for index in possible}
    found = list[int]()
    while (offset := sum(len(slices[index]) for index in found)) < len(rows):
        wanted = (one for one in possible if one not in found and _is_slice(slices[one], rows, offset))
        following = next(wanted, None)
        if following is None:
            break
        found.append(following)
    for one in [found] if offset == len(rows) else _with_wrong_weights(slices, rows):
        inputs = [layers[index].x.shape[1] for index in one]
        if {*inputs} == {whole.x.shape[1]} if joining is Joining.OUTPUTS else sum(inputs) == whole.x.shape[1]:
            yield one


def _with_wrong_weights(slices: Mapping[int, Array], rows: Array) -> Iterator[Sequence[int]]:
    alike = [index for index, part in slices.items() if part.shape[1:] == rows.shape[1:]]
    for start in range(len(alike)):
        ends = np.cumsum([len(slices[index]) for index in alike[start:]])
        found = alike[start : start + 1 + int(np.searchsorted(ends, len(rows)))]
        offsets = [0, *map(int, ends)]
        some = any(_is_slice(slices[one], rows, offset) for one, offset in zip(found, offsets, strict=False))
        if some and len(rows) in ends:
            yield found


def _is_slice(part: Array, rows: Array, offset: int) -> bool:
    own = rows[offset : offset + len(part)]
    return own.shape == part.shape and np.array_equal(own, part)


def _joined_axis(whole: ModelLayer, joining: Joining) -> int:
    """Return the axis of the kernels on which those of the parts are joined."""
    is_transposed = OPERATORS[whole.call.operator].geometry is Geometry.TRANSPOSED
    return {Joining.OUTPUTS: int(is_transposed), Joining.INPUTS: int(not is_transposed)}.get(joining, 0)


def _groups(layer: ModelLayer) -> int:
    return int(layer.call.parameters.get("groups", 1))


def _without_weights(
    whole: ModelLayer, layers: Sequence[ModelLayer], possible: Sequence[int]
) -> Iterator[Sequence[int]]:
    """Yield the positions of layers in a row whose inputs together are that of a layer."""
    for start in range(len(possible)):
        ends = np.cumsum([layers[index].x.shape[1] for index in possible[start:]])
        found = possible[start : start + 1 + int(np.searchsorted(ends, whole.x.shape[1]))]
        if whole.x.shape[1] in ends:
            x = np.concatenate([layers[index].x for index in found], axis=1)
            if array_difference(whole.x, x) <= noise_limit(whole.x, whole.input_noise):
                yield found


def _joined(parts: Sequence[ModelLayer], found: _FoundParts) -> ModelLayer:
    """Return the layer that some layers compute together."""
    joining, calls = found.joining, [part.call for part in parts]
    parameters, arrays = dict(calls[0].parameters), {"x": _joined_arrays([call.x for call in calls], joining)}
    if "kernel" in calls[0].inputs:
        axis = _joined_axis(found.whole, joining)
        arrays["kernel"] = np.concatenate([call.inputs["kernel"] for call in calls], axis=axis)
        parameters["groups"] = sum(map(_groups, parts)) if joining is Joining.GROUPS else 1
    biases = [call.inputs["bias"] for call in calls if "bias" in call.inputs]
    if joining is Joining.INPUTS and biases:
        arrays["bias"] = functools.reduce(np.add, biases)
    elif len(biases) == len(calls):
        arrays["bias"] = np.concatenate(biases)
    results = [call.result for call in calls]
    result = functools.reduce(np.add, results) if joining is Joining.INPUTS else np.concatenate(results, axis=1)
    joined = _joined_call(calls, parameters, arrays, result, joining)
    levels = zip(*(part.pads for part in parts), strict=True)
    return ModelLayer(joined, tuple(_joined_pad(level, joining) for level in levels))


def _joined_arrays(arrays: Sequence[Array], joining: Joining) -> Array:
    return arrays[0] if joining is Joining.OUTPUTS else np.concatenate(arrays, axis=1)


def _joined_pad(pads: Sequence[RecordedCall], joining: Joining) -> RecordedCall:
    x, result = (_joined_arrays(arrays, joining) for arrays in ([pad.x for pad in pads], [pad.result for pad in pads]))
    return _joined_call(pads, pads[0].parameters, {"x": x}, result, joining)


def _joined_call(
    calls: Sequence[RecordedCall],
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Array],
    result: Array,
    joining: Joining,
) -> RecordedCall:
    names = [call.name or call.kind for call in calls]
    text = " + ".join(names) if len(names) <= MAX_NAMES else f"{names[0]} … {names[-1]} ({len(names)} parts)"
    noise = max(call.input_noise for call in calls), max(call.result_noise for call in calls)
    return RecordedCall(calls[0].operator, text, parameters, inputs, result, *noise, Parts(len(calls), joining))
