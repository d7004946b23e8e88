"""The smallest input for which two layers compute different results."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, Geometry, PaddingWord
from conformance.models.comparison.effects import with_small_weights
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
    """The smallest input for which two layers compute different results, with both results."""

    x: Array
    source: Array
    port: Array


def smallest_difference(source: ModelLayer, port: ModelLayer) -> SmallestDifference | None:
    """Return the smallest input for which the reference of two layers differs; None if none is found.

    The input has one image and as few cells as possible. Its values are negative first, so that padding with zeros
    shows, and then of both signs. Padding that may be the word `same` depends on the input size, so only sizes are
    tried for which it is the recorded padding. Frameworks reject padding that mirrors or repeats more cells than the
    input has, so only sizes are tried that have them. The models' own layers then show the difference too.
    """
    axes = source.x.ndim - 2
    if "kernel" in source.call.inputs and "kernel" in port.call.inputs:
        source, port = (with_small_weights(layer, source.x.dtype) for layer in (source, port))
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
        f"x, shape {size_text(found.x.shape)}: {_numbers(found.x)}",
        f"source, shape {size_text(found.source.shape)}: {_numbers(found.source)}",
        f"port, shape {size_text(found.port.shape)}: {_numbers(found.port)}",
    ]


def _numbers(array: Array) -> str:
    flat = [f"{float(value):.6g}" for value in array.ravel()[:MAX_SHOWN_NUMBERS]]
    return ", ".join([*flat, "…"] if array.size > MAX_SHOWN_NUMBERS else flat)
