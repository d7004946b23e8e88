"""Maximum pooling that also returns the index of each maximum, and its inverse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    INTEGER_DTYPES,
    Array,
    PaddingArgument,
    PerAxis,
    check_dtype,
    check_image,
    check_plane_size,
    integers_per_axis,
)
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.ordering import DtypeOrder
from reference.geometry.blocks import split_into_blocks
from reference.geometry.windows import Windows, WindowWalk
from reference.operators.pooling import ORDERED_DTYPES
from reference.registry import operator

# Maximum number of temporary bytes per cell.
KEY_AND_INDEX_BYTES = 16


@operator
def max_pool_with_indices(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> tuple[Exact, Exact]:
    """Largest value in each window, as max_pool, and the index of its cell.

    x: (n, c, *spatial), floating, integer or bool. Returns (n, c, *output) twice: values of x's dtype, and int64
    indices that count in the unpadded (and uncropped) plane, row-major. Of equal values the first counts, of NaNs
    the first; +0 is larger than −0. A window without a real cell has the index −1.
    Raises ValueError if the window exceeds the padded input.
    Source: ONNX MaxPool-22 (there indices count through n and c too),
    https://onnx.ai/onnx/operators/onnx__MaxPool.html
    """
    x = check_image(x, ORDERED_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    order, shape = DtypeOrder(x.dtype, descending=False), (*x.shape[:2], *windows.output)
    values, indices, places = np.empty(shape, x.dtype), np.empty(shape, np.int64), plane_indices(x)
    for block in split_into_blocks(x.shape[:2], windows, KEY_AND_INDEX_BYTES):
        cells = BestCells(order.keys(x[block.inputs]), places[block.inputs])
        best = first_best_cells(cells, block.walk, order.lowest_key)
        values[block.outputs], indices[block.outputs] = order.values(best.keys), best.indices
    terms = windows.counts(False)
    return selection_result(values, terms), selection_result(indices, terms)


def plane_indices(x: Array) -> Array:
    """Number the cells of each plane, row-major: int64, broadcast to the shape (n, c, *spatial) of x."""
    spatial = x.shape[2:]
    return np.broadcast_to(np.arange(math.prod(spatial), dtype=np.int64).reshape(spatial), x.shape)


@dataclass(frozen=True, eq=False)
class BestCells:
    """The largest key so far and the index of the first cell with it, or −1; arrays of one shape."""

    keys: Array
    indices: Array

    def select(self, where: Any) -> BestCells:
        """Return some of the elements; a view where `where` is made of slices."""
        return BestCells(self.keys[where], self.indices[where])

    def update(self, others: BestCells) -> None:
        """Replace, in place, every entry that is smaller than the other's or absent."""
        better = (others.keys > self.keys) | (self.indices < 0)
        np.copyto(self.keys, others.keys, where=better)
        np.copyto(self.indices, others.indices, where=better)


def first_best_cells(best: BestCells, windows: WindowWalk, bottom: int | bool) -> BestCells:
    """Return the best cell of each window, the first of equals.

    A window without cells has the key `bottom` and the index −1. best: (n, c, *spatial). Axes are reduced from the last
    to the first, so that the first of equals is the first in row-major order. Returns (n, c, *output).
    """
    for axis in reversed(range(len(windows.size))):
        shape = list(best.keys.shape)
        shape[2 + axis] = windows.output[axis]
        reduced = BestCells(np.full(shape, bottom, best.keys.dtype), np.full(shape, -1, np.int64))
        before = (slice(None),) * (2 + axis)
        for _, inputs, outputs in windows.axis(axis).cells():
            reduced.select(before + outputs).update(best.select(before + inputs))
        best = reduced
    return best


@operator
def max_unpool(x: npt.ArrayLike, indices: npt.ArrayLike, output_size: PerAxis) -> Exact:
    """Put each value at its index in a plane of zeros: the way back from max_pool_with_indices.

    x: (n, c, *spatial), floating, integer or bool; indices: of x's shape, integers of any dtype that count in the
    plane of the output, row-major; values with the index −1 are dropped. output_size: a number, or a number per axis.
    Where several values have one index the last in row-major order stays. Returns (n, c, *output_size).
    Raises ValueError for an index beyond the plane, or if the shapes differ.
    Source: ONNX MaxUnpool-22 (there indices count through n and c too),
    https://onnx.ai/onnx/operators/onnx__MaxUnpool.html
    """
    x = check_image(x, ORDERED_DTYPES)
    indices = check_dtype("indices", indices, INTEGER_DTYPES)
    size = integers_per_axis("output_size", output_size, x.ndim - 2, 1)
    check_plane_size("output_size", size)
    if indices.shape != x.shape:
        raise ValueError(f"indices have shape {indices.shape}: x has {x.shape}")
    cells = math.prod(size)
    # As Python's integers, for −1 and the largest of uint64 share no dtype.
    for index in (int(indices.min(initial=0)), int(indices.max(initial=0))):
        if not -1 <= index < cells:
            raise ValueError(f"indices hold {index}: output_size {size} wants -1 or more and less than {cells}")
    planes = np.zeros((math.prod(x.shape[:2]), cells), x.dtype)
    flat = (len(planes), math.prod(x.shape[2:]))
    for plane, values, places in zip(planes, x.reshape(flat), indices.reshape(flat), strict=True):
        kept = places != -1 if places.dtype.kind == "i" else slice(None)
        plane[places[kept].astype(np.int64)] = values[kept]
    return selection_result(planes.reshape(*x.shape[:2], *size), np.ones((), np.int64))
