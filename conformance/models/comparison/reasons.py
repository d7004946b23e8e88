"""Why a layer of a port differs: parameters and weights that are not those of the source, and the smallest input."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, PARAMETERS, Arithmetic, Geometry, PaddingWord
from conformance.models.comparison.layers import ModelLayer
from conformance.translation.option_text import size_text
from reference import Windows

MAX_SMALL_EXTENT = 9
"""Largest extent of the inputs among which the smallest one that shows a difference is searched."""

CONSTANT = "constant"
PADDING_MODE_NAMES: Mapping[str, str] = {
    "edge": "replicate (edge)",
    "reflect": "reflect",
    "symmetric": "symmetric",
    "wrap": "circular (wrap)",
}
"""The names that frameworks have for a mode of padding."""


def layer_reasons(source: ModelLayer, port: ModelLayer) -> list[str]:
    """Return what differs between two layers, as phrases."""
    return [*_operator_reasons(source, port), *_parameter_reasons(source, port), *_weight_reasons(source, port)]


def _operator_reasons(source: ModelLayer, port: ModelLayer) -> Iterator[str]:
    if source.call.operator != port.call.operator:
        yield f"operator: {source.call.operator} in the source, {port.call.operator} in the port"
    if port.pad is not None and source.pad is None and OPERATORS[port.call.operator].arithmetic is Arithmetic.SELECTION:
        mode = port.pad.parameters.get("mode", "constant")
        text = f"{port.pad.parameters.get('value', 0):g}" if mode == "constant" else mode
        yield f"padding: the port pads with {text} before {port.call.operator}, so that padding can be the result"


def _parameter_reasons(source: ModelLayer, port: ModelLayer) -> Iterator[str]:
    first, second = all_parameters(source), all_parameters(port)
    has_mode = any(layer.pad and layer.pad.parameters.get("mode", CONSTANT) != CONSTANT for layer in (source, port))
    if has_mode and (one := _padding_text(source)) != (two := _padding_text(port)):
        yield f"padding mode: {one} in the source, {two} in the port"
    for name in PARAMETERS:
        if name not in first or name not in second or (has_mode and name == "padding"):
            continue
        if first[name] != second[name]:
            yield f"{name}: {size_text(first[name])} in the source, {size_text(second[name])} in the port"


def _padding_text(layer: ModelLayer) -> str:
    """Return the mode of the padding of a layer, by the names that frameworks use, and its extents."""
    axes = layer.x.ndim - 2
    own = layer.call.parameters.get("padding", 0) or ((0, 0),) * axes
    pads = layer.pad.parameters["pads"] if layer.pad else ((0, 0),) * axes
    mode = layer.pad.parameters.get("mode", CONSTANT) if layer.pad else CONSTANT
    if mode == CONSTANT and not (layer.pad and layer.pad.parameters.get("value", 0)):
        found = tuple((one[0] + two[0], one[1] + two[1]) for one, two in zip(own, pads, strict=True))
        return f"zeros by {size_text(found)}" if any(map(any, found)) else "none"
    words = f"{layer.pad.parameters['value']:g}" if layer.pad and mode == CONSTANT else PADDING_MODE_NAMES[mode]
    return f"{words} by {size_text(pads)}{f' and zeros by {size_text(own)}' if any(map(any, own)) else ''}"


def all_parameters(layer: ModelLayer) -> Mapping[str, Any]:
    """Return all parameters of a layer, defaults included. Explicit padding with zeros counts as padding."""
    operator, axes = OPERATORS[layer.call.operator], layer.x.ndim - 2
    found: dict[str, Any] = {}
    for parameter in operator.parameters:
        value = layer.call.parameters.get(parameter.name, parameter.default)
        if parameter.name == "padding":
            value = ((0, 0),) * axes if value == 0 else value
        elif parameter.is_per_axis and isinstance(value, int):
            value = (value,) * axes
        found[parameter.name] = value
    if found.get("stride", 0) is None:
        found["stride"] = found.get("window")
    pad = layer.pad
    if pad is not None and "padding" in found and pad.parameters.get("mode", "constant") == "constant":
        pairs = zip(found["padding"], pad.parameters["pads"], strict=True)
        found["padding"] = tuple((one[0] + two[0], one[1] + two[1]) for one, two in pairs)
    return found


def _weight_reasons(source: ModelLayer, port: ModelLayer) -> Iterator[str]:
    for name in ("kernel", "bias"):
        one, two = source.call.inputs.get(name), port.call.inputs.get(name)
        # A bias may be added after the call.
        if one is None or two is None or np.array_equal(one, two):
            continue
        yield f"{name}: {weights_relation(one, two)}"


def weights_relation(source: Array, port: Array) -> str:
    """Return how the weights of a port relate to those of the source."""
    spatial = tuple(range(2, source.ndim))
    changes = {
        "flipped on all spatial axes": np.flip(source, spatial) if spatial else source,
        "with input and output channels exchanged": source.swapaxes(0, 1) if source.ndim > 1 else source,
        "flipped, with input and output channels exchanged": (
            np.flip(source.swapaxes(0, 1), spatial) if source.ndim > 1 else source
        ),
        "with its spatial axes exchanged": source.transpose(0, 1, *reversed(spatial)) if source.ndim > 1 else source,
    }
    for text, changed in changes.items():
        if changed.shape == port.shape and np.array_equal(changed, port):
            return f"that of the source {text}"
    if source.shape != port.shape:
        return f"shape {size_text(source.shape)} in the source, {size_text(port.shape)} in the port"
    for axis, text in ((0, "output"), (1, "input")):
        if source.ndim > axis and _is_reordered(source, port, axis):
            return f"that of the source with its {text} channels in another order"
    if np.array_equal(np.sort(source, axis=None), np.sort(port, axis=None)):
        return "that of the source with its numbers in another order"
    largest = float(np.abs(source.astype(np.float64) - port.astype(np.float64)).max(initial=0.0))
    return f"other numbers, largest difference {largest:.3g}"


def _is_reordered(source: Array, port: Array, axis: int) -> bool:
    """Whether the slices of two arrays along an axis are the same in another order."""
    rows = [sorted(map(bytes, np.moveaxis(one, axis, 0).reshape(one.shape[axis], -1).copy())) for one in (source, port)]
    return rows[0] == rows[1]


@dataclass(frozen=True)
class SmallestDifference:
    """The smallest input for which two layers compute different results, with both results."""

    x: Array
    source: Array
    port: Array


def smallest_difference(source: ModelLayer, port: ModelLayer) -> SmallestDifference | None:
    """Return the smallest input for which the reference of two layers differs; None if none is found.

    The input has one image and as few cells as possible. Its values are negative first, so that padding with zeros
    shows, and then of both signs. Padding that may be the word `same` depends on the input size, so only sizes are
    tried for which it is the recorded padding. The models' own layers then show the difference too.
    """
    axes = source.x.ndim - 2
    if "kernel" in source.call.inputs and "kernel" in port.call.inputs:
        source, port = (_with_one_output(layer) for layer in (source, port))
    sizes = sorted(
        itertools.product(range(1, MAX_SMALL_EXTENT + 1), repeat=min(axes, 2)), key=lambda one: (np.prod(one), one)
    )
    for size in sizes:
        extents = (*size, *[size[-1]] * (axes - len(size)))
        if not all(_has_recorded_padding(layer, extents) for layer in (source, port)):
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


def _results(source: ModelLayer, port: ModelLayer, x: Array) -> tuple[Array, Array] | None:
    try:
        return source.expected(x).value, port.expected(x).value
    except (ValueError, TypeError, IndexError):
        return None


def _with_one_output(layer: ModelLayer) -> ModelLayer:
    """Return a convolution with small whole weights and one input channel, whose other parameters remain."""
    kernel = layer.call.inputs["kernel"]
    small = (np.arange(int(np.prod(kernel.shape[2:]))) + 1).reshape(1, 1, *kernel.shape[2:]).astype(kernel.dtype)
    x = layer.x[:, :1]
    parameters = {**layer.call.parameters, "groups": 1}
    call = replace(layer.call, inputs={"x": x, "kernel": small}, parameters=parameters)
    pad = replace(layer.pad, inputs={"x": x}) if layer.pad else None
    return ModelLayer(call, pad)


MAX_SHOWN_NUMBERS = 12
"""Maximum number of shown numbers of an array."""


def difference_text(found: SmallestDifference) -> Sequence[str]:
    """Return the lines that show a smallest difference."""
    return [
        f"x, shape {size_text(found.x.shape)}: {_numbers(found.x)}",
        f"source, shape {size_text(found.source.shape)}: {_numbers(found.source)}",
        f"port, shape {size_text(found.port.shape)}: {_numbers(found.port)}",
    ]


def _numbers(array: Array) -> str:
    flat = [f"{float(value):.6g}" for value in array.ravel()[:MAX_SHOWN_NUMBERS]]
    return ", ".join([*flat, "…"] if array.size > MAX_SHOWN_NUMBERS else flat)
