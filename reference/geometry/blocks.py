"""Cutting one operation into blocks that fit the cache, so that it needs little memory and less time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from reference.geometry.bins import Bins
from reference.geometry.windows import SliceTuple, Windows, WindowWalk

# Bytes of one block: so many that a step's fixed cost is small, so few that they stay in the second-level cache.
BLOCK_BYTES = 2**20

# More than any block needs at once.
WARM_UP_BYTES = 2**24


@dataclass(frozen=True)
class Block:
    """Part of an operation: `outputs` of the result come from `inputs` of x alone, by `walk`."""

    inputs: SliceTuple
    outputs: SliceTuple
    walk: WindowWalk


def split_into_blocks(
    planes: tuple[int, ...], walk: WindowWalk, size: int, *, include_window: bool = False
) -> Iterator[Block]:
    """Cut (n, c, *output) into blocks, at so many bytes a cell: several planes, or some rows of one.

    planes: (n, c). A row is all that one step along the first spatial axis gives; blocks of rows overlap in their
    inputs. whole: whether planes are left whole, however large.
    """
    n, c = planes
    cells = max(BLOCK_BYTES // size, 1)
    plane = max(math.prod(walk.size), math.prod(walk.output), 1)
    _keep_freed_memory()
    together = max(cells // plane, 1)
    rows = walk.output[0] if include_window else max(walk.output[0] * cells // plane, 1)
    for inputs, outputs, part in _split_rows(walk, rows):
        for images in _split_range(n, together // max(c, 1)):
            for channels in _split_range(c, together):
                yield Block((images, channels, *inputs), (images, channels, *outputs), part)


@cache
def _keep_freed_memory() -> None:
    """Make the C library reuse freed memory for the next array.

    glibc does so only once something as large was freed; until then every temporary array pays for fresh pages,
    which takes several times as long as the computation. With other C libraries it does nothing.
    """
    np.empty(WARM_UP_BYTES, np.uint8)


def _split_range(extent: int, step: int) -> Iterator[slice]:
    for start in range(0, extent, max(step, 1)):
        yield slice(start, min(start + max(step, 1), extent))


def _split_rows(walk: WindowWalk, step: int) -> Iterator[tuple[SliceTuple, SliceTuple, WindowWalk]]:
    whole = (slice(None),) * (len(walk.size) - 1)
    if step >= walk.output[0] or not isinstance(walk, (Windows, Bins)):
        yield (slice(None), *whole), (slice(None), *whole), walk
        return
    for rows in _split_range(walk.output[0], step):
        inputs, part = walk.rows(rows) if isinstance(walk, Bins) else _windows_of_rows(walk, rows)
        yield (inputs, *whole), (rows, *whole), part


def _windows_of_rows(windows: Windows, rows: slice) -> tuple[slice, Windows]:
    """Return the inputs of some output rows, and the walk from these to those."""
    before, after = windows.pads[0]
    first = rows.start * windows.stride[0] - before
    end = first + (rows.stop - rows.start - 1) * windows.stride[0] + windows.extent[0]
    start, stop = max(first, -before, 0), min(end, windows.size[0] + min(after, 0))
    if start >= stop:
        start, stop = 0, 0
        pads = (end - first, 0)
    else:
        pads = (start - first, end - stop)
    size = (stop - start, *windows.size[1:])
    walk = Windows(size, windows.window, windows.stride, (pads, *windows.pads[1:]), windows.dilation, windows.rounding)
    return slice(start, stop), walk
