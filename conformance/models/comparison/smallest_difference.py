"""The smallest input for which two layers compute different results."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, WEIGHT_INPUTS, Geometry, PaddingWord
from conformance.models.comparison.effects import GROUPS, with_small_weights
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.reasons import all_parameters
from conformance.translation.option_text import size_text
from reference import Windows

MAX_SMALL_EXTENT = 9
"""Largest extent of the inputs among which the smallest one that shows a difference is searched."""
CELLS_NOT_REPEATED: Mapping[str, int] = {"reflect": 1, "symmetric": 0, "wrap": 0}
"""Number of cells of an axis that padding of a mode cannot contain: reflect mirrors without the last cell."""


@dataclass(frozen=True)
class SmallestDifference:
    """The smallest input for which two layers compute different results, with both results.

    channels: the one input channel and the one output channel whose weights were taken; None without them. weights:
    those of the source and of the port, by name.
    """

    x: Array
    source: Array
    port: Array
    channels: tuple[int, int] | None = None
    weights: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)


def smallest_difference(source: ModelLayer, port: ModelLayer) -> SmallestDifference | None:
    """Return the smallest input for which the reference of two layers differs; None if none is found.

    The input has one image and as few cells as possible. Its values are negative first, so that padding with zeros
    shows, and then of both signs. Padding that may be the word `same` depends on the input size, so only sizes are
    tried for which it is the recorded padding. Frameworks reject padding that mirrors or repeats more cells than the
    input has, so only sizes are tried that have them. The models' own layers then show the difference too. Layers with
    weights have small ones. If these show no difference, the weights of one channel are taken that differ the most.
    """
    if "kernel" not in source.call.inputs or "kernel" not in port.call.inputs:
        return _searched(source, port)
    small = (with_small_weights(layer, source.x.dtype) for layer in (source, port))
    return _searched(*small) or _with_own_weights(source, port)


def _with_own_weights(source: ModelLayer, port: ModelLayer) -> SmallestDifference | None:
    """Return the smallest input for one input and one output channel of two layers; None if their weights are equal."""
    position = _most_different(source, port)
    if position is None:
        return None
    names = [name for name in WEIGHT_INPUTS if name in source.call.inputs and name in port.call.inputs]
    channels = _channels_at(source, position)
    one, other = (_channel_layer(layer, position, channels[1], names) for layer in (source, port))
    found = _searched(one, other)
    weights = {name: (one.call.inputs[name], other.call.inputs[name]) for name in names}
    return replace(found, channels=channels, weights=weights) if found else None


def _most_different(source: ModelLayer, port: ModelLayer) -> tuple[int, int] | None:
    """Return the position in the first two axes of the kernels at which two layers differ the most."""
    kernels = [layer.call.inputs["kernel"].astype(np.float64) for layer in (source, port)]
    if kernels[0].shape != kernels[1].shape:
        return None
    change = np.abs(kernels[0] - kernels[1]).max(axis=tuple(range(2, kernels[0].ndim)), initial=0)
    if not change.any():
        biases = [layer.call.inputs["bias"] for layer in (source, port) if "bias" in layer.call.inputs]
        if len(biases) < len(kernels) or np.array_equal(biases[0], biases[1]):
            return None
        number = int(np.argmax(np.abs(biases[0] - biases[1])))
        positions = itertools.product(*map(range, change.shape))
        return next((one, two) for one, two in positions if _channels_at(source, (one, two))[1] == number)
    first, second = divmod(int(np.argmax(change)), change.shape[1])
    return first, second


def _channels_at(layer: ModelLayer, position: Sequence[int]) -> tuple[int, int]:
    """Return the input channel and the output channel of a position in the first two axes of a kernel."""
    first, second = position
    kernel, groups = layer.call.inputs["kernel"], int(layer.call.parameters.get("groups", 1))
    channel = first // (kernel.shape[0] // groups) * kernel.shape[1] + second
    return (first, channel) if OPERATORS[layer.call.operator].geometry is Geometry.TRANSPOSED else (channel, first)


def _channel_layer(layer: ModelLayer, position: Sequence[int], channel: int, names: Sequence[str]) -> ModelLayer:
    """Return a layer with the weights of one input and one output channel. names: of its weights."""
    first, second = position
    own = {"kernel": layer.call.inputs["kernel"][first : first + 1, second : second + 1]}
    if "bias" in names:
        own["bias"] = layer.call.inputs["bias"][channel : channel + 1]
    call = replace(
        layer.call, inputs={"x": layer.call.x[:, :1], **own}, parameters={**layer.call.parameters, GROUPS: 1}
    )
    return ModelLayer(call, tuple(replace(pad, inputs={"x": pad.x[:, :1]}) for pad in layer.pads))


def _searched(source: ModelLayer, port: ModelLayer) -> SmallestDifference | None:
    """Return the smallest input of one channel for which two layers differ."""
    axes = source.x.ndim - 2
    sizes = sorted(
        itertools.product(range(1, MAX_SMALL_EXTENT + 1), repeat=min(axes, 2)), key=lambda one: (np.prod(one), one)
    )
    for size in sizes:
        extents = (*size, *[size[-1]] * (axes - len(size)))
        if not all(
            _has_recorded_padding(one, extents) and _has_cells_of_padding(one, extents) for one in (source, port)
        ):
            continue
        count = int(np.prod(extents))
        for values in (-1 - np.arange(count), np.arange(count) % 5 - 2):
            x = values.reshape(1, 1, *extents).astype(source.x.dtype)
            found = _results(source, port, x)
            if found and (found[0].shape != found[1].shape or not np.array_equal(*found)):
                return SmallestDifference(x, *found)
    return None


def _has_recorded_padding(layer: ModelLayer, extents: Sequence[int]) -> bool:
    """Whether a layer has the padding of its recorded call for another input size, also if its padding is `same`."""
    call = layer.call
    if OPERATORS[call.operator].geometry is not Geometry.WINDOWS:
        return True
    found, window = all_parameters(layer), call.parameters.get("window", call.inputs.get("kernel", call.x).shape[2:])
    for word in (PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER):
        own, other = (
            Windows.of(size, window, found["stride"], word.value, found["dilation"]).pads
            for size in (call.x.shape[2:], extents)
        )
        if own == call.parameters.get("padding") and any(map(any, own)):
            return other == own
    return True


def _has_cells_of_padding(layer: ModelLayer, extents: Sequence[int]) -> bool:
    """Whether no mode of padding needs more cells than an input of these extents has, which frameworks reject."""
    for pad in layer.pads:
        unused = CELLS_NOT_REPEATED.get(pad.parameters.get("mode", ""))
        pads = pad.parameters["pads"]
        if unused is not None and any(max(pair) > size - unused for pair, size in zip(pads, extents, strict=True)):
            return False
        extents = [size + sum(pair) for pair, size in zip(pads, extents, strict=True)]
    return True


def _results(source: ModelLayer, port: ModelLayer, x: Array) -> tuple[Array, Array] | None:
    try:
        return source.expected(x).value, port.expected(x).value
    except (ValueError, TypeError, IndexError):
        return None


MAX_SHOWN_NUMBERS = 12
"""Maximum number of shown numbers of an array."""


def difference_text(found: SmallestDifference) -> Sequence[str]:
    """Return the lines that show a smallest difference."""
    return [
        *_channel_lines(found),
        f"x, shape {size_text(found.x.shape)}: {_numbers(found.x)}",
        f"source, shape {size_text(found.source.shape)}: {_numbers(found.source)}",
        f"port, shape {size_text(found.port.shape)}: {_numbers(found.port)}",
    ]


def _channel_lines(found: SmallestDifference) -> Iterator[str]:
    if found.channels is None:
        return
    yield f"with the weights of input channel {found.channels[0]} and output channel {found.channels[1]} alone"
    for name, (one, other) in found.weights.items():
        yield f"{name}, shape {size_text(one.shape)}: {_numbers(one)} in the source, {_numbers(other)} in the port"


def _numbers(array: Array) -> str:
    flat = [f"{float(value):.6g}" for value in array.ravel()[:MAX_SHOWN_NUMBERS]]
    return ", ".join([*flat, "…"] if array.size > MAX_SHOWN_NUMBERS else flat)
