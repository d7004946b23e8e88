"""Layers that one model writes as several: a grouped convolution, or a pooling, of slices whose results are joined.

The parts are joined to the one layer that they compute together, so that it is compared at the place where they meet
again. Parts belong together if their weights are slices of those of a layer in the other model. Parts without weights
belong together if their joined input is that of the layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, Geometry
from conformance.models.comparison.judgement import array_difference, noise_limit
from conformance.models.comparison.layers import ModelLayer, find_layers
from conformance.models.comparison.recording import RecordedCall, RecordedRun

MAX_NAMES = 3
"""Number of parts up to which all their names are part of the name of the joined layer."""


def merge_parts(run: RecordedRun, other: RecordedRun) -> RecordedRun:
    """Return a run in which the parts of each layer of the other run are one call, in the place of the last part."""
    layers, whole = find_layers(run.calls), find_layers(other.calls)
    merged: dict[int, ModelLayer] = {}
    used: set[int] = set()
    for one in whole:
        parts = _parts_of(one, layers, used)
        if len(parts) > 1:
            used |= {*parts}
            merged[max(parts)] = _joined([layers[index] for index in parts], one)
    if not merged:
        return run
    kept = ((index, merged.get(index, layer)) for index, layer in enumerate(layers))
    found = [layer for index, layer in kept if index in merged or index not in used]
    return replace(run, calls=[call for layer in found for call in (layer.pad, layer.call) if call])


def _parts_of(whole: ModelLayer, layers: Sequence[ModelLayer], used: set[int]) -> Sequence[int]:
    """Return the positions of the layers that together are a layer of the other model, () if there are none."""
    possible = [index for index, one in enumerate(layers) if index not in used and _may_be_part(one, whole)]
    find = _with_weights if "kernel" in whole.call.inputs else _without_weights
    return next((found for found in find(whole, layers, possible) if _are_alike([layers[one] for one in found])), ())


def _may_be_part(one: ModelLayer, whole: ModelLayer) -> bool:
    own, result = one.call.result.shape, whole.call.result.shape
    is_smaller = own[2:] == result[2:] and own[1] < result[1]
    return is_smaller and one.call.operator == whole.call.operator and one.x.shape[2:] == whole.x.shape[2:]


def _are_alike(parts: Sequence[ModelLayer]) -> bool:
    """Whether layers have the same parameters, apart from the number of groups, and the same explicit padding."""
    own = [{**part.call.parameters, "groups": 1, "pad": part.pad.parameters if part.pad else None} for part in parts]
    return len(parts) > 1 and all(one == own[0] for one in own)


def _with_weights(whole: ModelLayer, layers: Sequence[ModelLayer], possible: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the positions of layers whose kernels together are that of a layer, in the order of its channels.

    Then those of neighbouring layers of which one has its slice, so that another one has wrong weights.
    """
    slices = {index: _kernel(layers[index], whole) for index in possible}
    rows = _kernel(whole, whole)
    found = list[int]()
    while (offset := sum(len(slices[index]) for index in found)) < len(rows):
        wanted = (one for one in possible if one not in found and _is_slice(slices[one], rows, offset))
        following = next(wanted, None)
        if following is None:
            break
        found.append(following)
    for one in [found] if offset == len(rows) else _with_wrong_weights(slices, rows):
        inputs = [layers[index].x.shape[1] for index in one]
        if sum(inputs) == whole.x.shape[1] or _reads_all_channels(whole, inputs):
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


def _kernel(layer: ModelLayer, whole: ModelLayer) -> Array:
    """Return a kernel with the axis first on which those of the parts are joined."""
    return np.moveaxis(layer.call.inputs["kernel"], _joined_axis(whole), 0)


def _joined_axis(whole: ModelLayer) -> int:
    is_transposed = OPERATORS[whole.call.operator].geometry is Geometry.TRANSPOSED
    return 1 if is_transposed and _groups(whole) == 1 else 0


def _groups(layer: ModelLayer) -> int:
    return int(layer.call.parameters.get("groups", 1))


def _reads_all_channels(whole: ModelLayer, inputs: Sequence[int]) -> bool:
    """Whether each part of a convolution in one group reads all channels, and gives some channels of the result."""
    return "kernel" in whole.call.inputs and _groups(whole) == 1 and {*inputs} == {whole.x.shape[1]}


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


def _joined(parts: Sequence[ModelLayer], whole: ModelLayer) -> ModelLayer:
    """Return the layer that some layers compute together."""
    is_shared = _reads_all_channels(whole, [part.x.shape[1] for part in parts])

    def joined_inputs(calls: Sequence[RecordedCall]) -> Array:
        return calls[0].x if is_shared else np.concatenate([call.x for call in calls], axis=1)

    calls, pads = [part.call for part in parts], [part.pad for part in parts if part.pad]
    parameters, arrays = dict(calls[0].parameters), {"x": joined_inputs(calls)}
    if "kernel" in whole.call.inputs:
        arrays["kernel"] = np.concatenate([call.inputs["kernel"] for call in calls], axis=_joined_axis(whole))
        parameters["groups"] = 1 if is_shared else sum(map(_groups, parts))
    if all("bias" in call.inputs for call in calls):
        arrays["bias"] = np.concatenate([call.inputs["bias"] for call in calls])
    result = np.concatenate([call.result for call in calls], axis=1)
    pad = None
    if pads:
        padded = arrays["x"] if not is_shared else pads[0].result
        pad = _joined_call(pads, pads[0].parameters, {"x": joined_inputs(pads)}, padded)
    return ModelLayer(_joined_call(calls, parameters, arrays, result), pad)


def _joined_call(
    calls: Sequence[RecordedCall], parameters: Mapping[str, Any], inputs: Mapping[str, Array], result: Array
) -> RecordedCall:
    names = [call.name or call.operator for call in calls]
    text = " + ".join(names) if len(names) <= MAX_NAMES else f"{names[0]} … {names[-1]} ({len(names)} parts)"
    noise = max(call.input_noise for call in calls), max(call.result_noise for call in calls)
    return RecordedCall(calls[0].operator, text, parameters, inputs, result, *noise)
