"""The layers of a recorded run.

A layer is a call of a window operator with the explicit padding before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry
from conformance.judging.expected import compute_reference
from conformance.models.comparison.recording import RecordedCall
from reference import Exact

PAD = "pad"
MAX_DENSE_ELEMENTS = 10_000_000
"""Largest number of elements of a kernel in one group that is made from one in several."""


@dataclass(frozen=True)
class ModelLayer:
    """A call of a window operator; pads: the calls of `pad` before it, in order, of which it reads the last result."""

    call: RecordedCall
    pads: tuple[RecordedCall, ...] = ()

    @property
    def first_call(self) -> RecordedCall:
        """The call that reads the input of the layer: the first padding, or the operator."""
        return self.pads[0] if self.pads else self.call

    @property
    def name(self) -> str:
        """The name of the layer in the model, or the operator if it has none."""
        return self.call.name or self.call.kind

    @property
    def x(self) -> Array:
        """The input, before its padding."""
        return self.first_call.x

    @property
    def input_noise(self) -> float:
        """The measured effect of rounding on the input."""
        return self.first_call.input_noise

    @property
    def family(self) -> str:
        """What the operator computes: layers of two models can only correspond if it is the same."""
        known = OPERATORS[self.call.operator]
        if known.geometry is Geometry.TRANSPOSED:
            return known.name
        if known.arithmetic is Arithmetic.SELECTION:
            # global_max_pool, adaptive_max_pool and max_pool are all maxima.
            return known.name.rpartition("_pool")[0].rpartition("_")[2]
        return known.arithmetic.name

    def with_bias_of(self, other: ModelLayer) -> ModelLayer:
        """Return this layer for the comparison with a layer that adds its bias after the call, or only there.

        A bias that differs then shows in the input of the next layer.
        """
        own, theirs = (one.call.inputs.get("bias") for one in (self, other))
        if (own is None) == (theirs is None):
            return self
        inputs = {name: value for name, value in self.call.inputs.items() if name != "bias"}
        inputs |= {} if theirs is None else {"bias": theirs}
        return replace(self, call=replace(self.call, inputs=inputs))

    def expected(self, x: Array, channels: Sequence[int] | None = None) -> Exact:
        """Return the exact result of this layer for another input.

        channels: the output channels to compute, None for all. Raises ValueError if the layer rejects the input.
        """
        for pad in self.pads:
            x = compute_reference(PAD, {"x": x}, pad.parameters).value
        weights = {name: value for name, value in self.call.inputs.items() if name != "x"}
        parameters = dict(self.call.parameters)
        if channels is not None:
            x, weights, parameters = select_channels(x, weights, parameters, channels, self.call.operator)
        return compute_reference(self.call.operator, {"x": x, **weights}, parameters)


def dense_kernel(layer: ModelLayer) -> Array | None:
    """Return the kernel of a convolution in groups as that of one in one group, with zeros; None if it is too large."""
    kernel, groups = layer.call.inputs["kernel"], int(layer.call.parameters.get("groups", 1))
    if groups == 1 or kernel.size * groups > MAX_DENSE_ELEMENTS or kernel.shape[0] % groups:
        return kernel if groups == 1 else None
    blocks = np.split(kernel, groups)
    found = np.zeros((kernel.shape[0], kernel.shape[1] * groups, *kernel.shape[2:]), kernel.dtype)
    for number, block in enumerate(blocks):
        rows, columns = (slice(number * extent, (number + 1) * extent) for extent in block.shape[:2])
        found[rows, columns] = block
    return found


def select_channels(
    x: Array, weights: Mapping[str, Array], parameters: Mapping[str, Any], channels: Sequence[int], operator: str
) -> tuple[Array, dict[str, Array], dict[str, Any]]:
    """Return the inputs of an operator that compute some of its output channels.

    Only channels of one group can be computed together, so each channel becomes a group of its own.
    """
    kernel = weights.get("kernel")
    if kernel is None:
        return x[:, channels], {}, dict(parameters)
    groups = parameters.get("groups", 1)
    transposed = OPERATORS[operator].geometry is Geometry.TRANSPOSED
    per_group = kernel.shape[1] if transposed else kernel.shape[0] // groups
    inputs_per_group = x.shape[1] // groups
    if transposed:
        chosen = np.concatenate(
            [_rows_of_group(kernel, one // per_group, inputs_per_group)[:, one % per_group, None] for one in channels]
        )
    else:
        chosen = kernel[list(channels)]
    columns = x.swapaxes(0, 1)
    inputs = np.concatenate([_rows_of_group(columns, one // per_group, inputs_per_group) for one in channels])
    inputs = inputs.swapaxes(0, 1)
    found = {"kernel": chosen} | ({"bias": weights["bias"][list(channels)]} if "bias" in weights else {})
    return inputs, found, {**parameters, "groups": len(channels)}


def _rows_of_group(array: Array, group: int, count: int) -> Array:
    return array[group * count : (group + 1) * count]


def find_layers(calls: Sequence[RecordedCall]) -> list[ModelLayer]:
    """Return the layers of a run. A pad whose result no window operator reads is part of no layer.

    Several layers may read the result of one pad, or channels of it, and a pad may read the result of another one.
    """
    layers = []
    pads = list[_PadResult]()
    for call in calls:
        if call.operator == PAD:
            pads.append(_PadResult(call, _channel_digests(call.result)))
        else:
            layers.append(ModelLayer(call, _pads_before(call, pads)))
    return layers


@dataclass(frozen=True)
class _PadResult:
    """A call of `pad`, and a digest of each channel of its result."""

    call: RecordedCall
    digests: Sequence[bytes]

    def channels(self, digests: Sequence[bytes]) -> list[int] | None:
        """Return the channels of the result with some digests, in their order; None if one is not among them."""
        if self.digests == digests:
            return list(range(len(digests)))
        numbers = {digest: channel for channel, digest in enumerate(self.digests)}
        found = [numbers.get(digest, -1) for digest in digests]
        return None if -1 in found or not found else found


def _channel_digests(array: Array) -> list[bytes]:
    shape = repr((array.dtype.str, array.shape[0], *array.shape[2:])).encode()
    channels = (array[:, channel].tobytes() for channel in range(array.shape[1]))
    return [hashlib.blake2b(shape + channel, digest_size=16).digest() for channel in channels]


def _pads_before(call: RecordedCall, pads: Sequence[_PadResult]) -> tuple[RecordedCall, ...]:
    """Return the pads that lead to the input of a call, the first one first."""
    found: tuple[RecordedCall, ...] = ()
    digests = _channel_digests(call.x) if pads else []
    for pad in reversed(pads):
        channels = pad.channels(digests)
        if channels is not None:
            part = pad.call if channels == list(range(pad.call.x.shape[1])) else _channels_of(pad.call, channels)
            found, digests = (part, *found), _channel_digests(part.x)
    return found


def _channels_of(pad: RecordedCall, channels: Sequence[int]) -> RecordedCall:
    return replace(pad, inputs={"x": pad.x[:, list(channels)]}, result=pad.result[:, list(channels)])


def find_readers(layers: Sequence[ModelLayer]) -> list[int | None]:
    """Return for each layer the position of the first later layer that may read its result; None if there is none.

    Two kinds of layers do not read it: those with the same input as a layer up to this one, which begin another branch,
    and those whose input has the shape of a later result, and not of this one.
    """
    inputs = [hash((one.x.shape, one.x.tobytes())) for one in layers]
    results = [one.call.result.shape for one in layers]

    def may_read(reader: int, position: int) -> bool:
        if inputs[reader] in inputs[: position + 1]:
            return False
        shape = layers[reader].x.shape
        return shape == results[position] or shape not in results[position + 1 : reader]

    count = len(layers)
    return [
        next((reader for reader in range(position + 1, count) if may_read(reader, position)), None)
        for position in range(count)
    ]
