"""Fractional maximum pooling, for given random samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PerAxis, check_dtype, check_image, integers_per_axis
from reference.arithmetic.errorfree import to_float64
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.ordering import DtypeOrder
from reference.geometry.bins import Bins
from reference.geometry.blocks import Block, split_into_blocks
from reference.operators.max_pool_indices import KEY_AND_INDEX_BYTES, BestCells, plane_indices
from reference.operators.pooling import ORDERED_DTYPES
from reference.registry import operator


@operator
def fractional_max_pool(x: npt.ArrayLike, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike) -> Exact:
    """Largest value in each of `output_size` windows whose starts lie about evenly, and depend on a random sample.

    x: (n, c, *spatial), floating, integer or bool. window, output_size: a number, or a number per axis. samples:
    (n, c, rank), floating, each in [0, 1): one sample u per plane and spatial axis. Of m windows of w cells on n cells
    window i starts at ⌊(i + u)α⌋ − ⌊uα⌋ with α = (n − w) / (m − 1), in exact arithmetic, but the last one at n − w.
    Returns (n, c, *output_size); NaN and zeros as in max_pool. Raises ValueError if w + m − 1 exceeds n, or for what
    is no sample. Source: Graham, "Fractional Max-Pooling" (2014), https://arxiv.org/abs/1412.6071; the rule for the
    starts is PyTorch's, generate_intervals in aten/src/ATen/native/FractionalMaxPooling.h (there rounded arithmetic,
    and in two dimensions the first sample belongs to the last axis).
    """
    x = check_image(x, ORDERED_DTYPES)
    order, regions = DtypeOrder(x.dtype, descending=False), FractionalWindows.of(x, window, output_size, samples)
    values = np.empty((*x.shape[:2], *regions.output), x.dtype)
    for block, best in regions.best_cells(x, order):
        values[block.outputs] = order.values(best.keys)
    return selection_result(values, np.array(math.prod(regions.window)))


def fractional_indices(x: Array, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike) -> Array:
    """Return the plane index of each value of fractional_max_pool, the first of equals: (n, c, *output_size)."""
    order, regions = DtypeOrder(x.dtype, descending=False), FractionalWindows.of(x, window, output_size, samples)
    indices = np.empty((*x.shape[:2], *regions.output), np.int64)
    for block, best in regions.best_cells(x, order):
        indices[block.outputs] = best.indices
    return indices


@dataclass(frozen=True, eq=False)
class FractionalWindows:
    """Windows of a size, so many per spatial axis, that start where samples (n, c, rank) say."""

    window: tuple[int, ...]
    output: tuple[int, ...]
    samples: Array

    @classmethod
    def of(cls, x: Array, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike) -> FractionalWindows:
        """Parse parameters as users write them; raise as fractional_max_pool does."""
        rank = x.ndim - 2
        window = integers_per_axis("window", window, rank, 1)
        output = integers_per_axis("output_size", output_size, rank, 1)
        for axis, (size, w, m) in enumerate(zip(x.shape[2:], window, output, strict=True)):
            if w + m - 1 > size:
                raise ValueError(f"output_size {m} and window {w} need {m + w - 1} cells: x has {size} on axis {axis}")
        return cls(window, output, _check_samples(samples, (*x.shape[:2], rank)))

    def best_cells(self, x: Array, order: DtypeOrder) -> Iterator[tuple[Block, BestCells]]:
        """Yield block after block, each with the keys and indices of the best cells, the first of equals."""
        places = plane_indices(x)
        # The regions are not the Bins, but have their sizes.
        for block in split_into_blocks(
            x.shape[:2], Bins(x.shape[2:], self.output), KEY_AND_INDEX_BYTES, include_window=True
        ):
            cells = BestCells(order.keys(x[block.inputs]), places[block.inputs])
            yield block, _best_cells(cells, self.samples[block.inputs[:2]], self.window, self.output)


def _best_cells(best: BestCells, samples: Array, window: tuple[int, ...], output: tuple[int, ...]) -> BestCells:
    """Return the best cell of each region, from the last axis to the first: so the first one in row-major order."""
    rank, shape = len(window), best.keys.shape
    for axis in reversed(range(rank)):
        starts = _window_starts(samples[..., axis], shape[2 + axis], window[axis], output[axis])
        around = (output[a] if a == axis else 1 for a in range(rank))
        cells = _window_cells(best, starts.reshape(*shape[:2], *around), axis + 2)
        best = next(cells)
        for _, further in zip(range(window[axis] - 1), cells, strict=False):
            best.update(further)
    return best


def _check_samples(samples: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    samples = check_dtype("samples", samples, FLOAT_DTYPES)
    if samples.shape != shape:
        raise ValueError(f"samples have shape {samples.shape}: expected {shape}, one per plane and spatial axis")
    return check_unit_interval("samples", samples)


def check_unit_interval(name: str, numbers: Array) -> Array:
    """Return numbers in float64; raise ValueError unless all are at least 0 and less than 1."""
    wide = to_float64(numbers)
    wrong = wide[~((wide >= 0) & (wide < 1))]
    if wrong.size:
        raise ValueError(f"{name} hold {wrong[0]}: expected 0 or more and less than 1")
    return wide


def _window_starts(samples: Array, size: int, window: int, output: int) -> Array:
    """Return the first cell of each window, int64 (n, c, output), from samples (n, c)."""
    starts = np.full((samples.size, output), size - window, np.int64)
    slack, gaps = size - window, output - 1
    for row, sample in zip(starts, samples.ravel().tolist(), strict=True):
        numerator, denominator = sample.as_integer_ratio()
        first = numerator * slack // (denominator * max(gaps, 1))
        row[:gaps] = [(i * denominator + numerator) * slack // (denominator * gaps) - first for i in range(gaps)]
    return starts


def _window_cells(best: BestCells, starts: Array, axis: int) -> Iterator[BestCells]:
    """Yield cell k of every window along one axis, for k = 0, 1, 2 and so on."""
    while True:
        yield BestCells(*(np.take_along_axis(part, starts, axis) for part in (best.keys, best.indices)))
        starts = starts + 1
