"""Padding that a model writes without a call of `pad`, such as a concatenation of an array with its own rows.

The input of a layer is then larger than that of the layer of the other model, and has its numbers. The cells around
them are compared with what each mode of padding would add on each axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.judgement import array_difference, noise_limit
from conformance.models.comparison.layers import PAD, ModelLayer
from conformance.models.comparison.recording import RecordedCall

MAX_ADDED_CELLS = 32
"""Number of cells that an axis may have more."""
COPYING_MODES = ("edge", "wrap", "reflect", "symmetric")


def with_written_padding(layer: ModelLayer, other: ModelLayer) -> ModelLayer:
    """Return a layer with the padding before it as calls of `pad`, or the same layer if there is none.

    other: the layer of the other model, whose input is without this padding.
    """
    found, x = layer.x, other.x
    if found.ndim != x.ndim or found.shape[:2] != x.shape[:2] or found.shape == x.shape:
        return layer
    added = [own - other for own, other in zip(found.shape[2:], x.shape[2:], strict=True)]
    if min(added) < 0 or max(added) > MAX_ADDED_CELLS:
        return layer
    for before in itertools.product(*(range(cells + 1) for cells in added)):
        inner = (slice(None), slice(None), *map(_cells, before, x.shape[2:]))
        if array_difference(x, found[inner]) <= noise_limit(x, other.input_noise):
            pads = list(_pads(layer, inner, before, added))
            if pads and np.array_equal(pads[-1].result, found):
                return replace(layer, pads=(*pads, *layer.pads))
    return layer


def _cells(before: int, extent: int) -> slice:
    return slice(before, before + extent)


def _pads(
    layer: ModelLayer, inner: tuple[slice, ...], before: Sequence[int], added: Sequence[int]
) -> Iterator[RecordedCall]:
    """Yield one call for each padded axis, up to the first axis whose padding has no known mode.

    inner: the part of the input of the layer that is not padding. before, added: cells of each axis.
    """
    current = layer.x[inner]
    for axis, (start, cells) in enumerate(zip(before, added, strict=True)):
        inner = (*inner[: axis + 2], slice(None), *inner[axis + 3 :])
        wanted = layer.x[inner]
        if not cells:
            continue
        width = [(0, 0)] * current.ndim
        width[axis + 2] = (start, cells - start)
        mode = _mode(current, wanted, width, start)
        if mode is None:
            return
        parameters = {"pads": tuple(width[2:]), **mode}
        yield RecordedCall(PAD, "", parameters, {"x": current}, wanted, layer.input_noise, layer.input_noise)
        current = wanted


def _mode(x: Array, wanted: Array, width: Sequence[tuple[int, int]], start: int) -> Mapping[str, Any] | None:
    """Return the parameters of `pad` that give an array, None if there are none."""
    axis = next(number for number, ends in enumerate(width) if any(ends))
    first = np.take(wanted, 0 if start else -1, axis)
    value = float(first.flat[0]) if first.size else 0.0
    if np.array_equal(np.pad(x, width, constant_values=value), wanted):
        return {"mode": "constant", "value": value}
    for mode in COPYING_MODES:
        if np.array_equal(np.pad(x, width, mode=mode), wanted):  # type: ignore[call-overload]
            return {"mode": mode}
    return None
