"""Fractional maximum pooling, for given random samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOATS, Array, PerAxis, image, of_dtype, per_axis
from reference.arithmetic.errorfree import widened
from reference.arithmetic.exact import Exact, selected
from reference.arithmetic.ordering import Order
from reference.geometry.bins import Bins
from reference.geometry.blocks import Block, blocks
from reference.operators.max_pool_indices import KEY_AND_INDEX_BYTES, Best, plane_indices
from reference.operators.pooling import ORDERED


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
    x = image(x, ORDERED)
    order, regions = Order(x.dtype, descending=False), Regions.of(x, window, output_size, samples)
    values = np.empty((*x.shape[:2], *regions.output), x.dtype)
    for block, best in regions.bests(x, order):
        values[block.outputs] = order.values(best.keys)
    return selected(values, np.array(math.prod(regions.window)))


def fractional_indices(x: Array, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike) -> Array:
    """Return where the values of fractional_max_pool stand in the plane, the first of equals: (n, c, *output_size)."""
    order, regions = Order(x.dtype, descending=False), Regions.of(x, window, output_size, samples)
    indices = np.empty((*x.shape[:2], *regions.output), np.int64)
    for block, best in regions.bests(x, order):
        indices[block.outputs] = best.indices
    return indices


@dataclass(frozen=True, eq=False)
class Regions:
    """Windows of a size, so many per spatial axis, that start where samples (n, c, rank) say."""

    window: tuple[int, ...]
    output: tuple[int, ...]
    samples: Array

    @classmethod
    def of(cls, x: Array, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike) -> Regions:
        """Parse parameters as users write them; raise as fractional_max_pool does."""
        rank = x.ndim - 2
        window = per_axis("window", window, rank, 1)
        output = per_axis("output_size", output_size, rank, 1)
        for axis, (size, w, m) in enumerate(zip(x.shape[2:], window, output, strict=True)):
            if w + m - 1 > size:
                raise ValueError(f"output_size {m} and window {w} need {m + w - 1} cells: x has {size} on axis {axis}")
        return cls(window, output, _checked_samples(samples, (*x.shape[:2], rank)))

    def bests(self, x: Array, order: Order) -> Iterator[tuple[Block, Best]]:
        """Yield block after block, each with the keys and indices of the best cells, the first of equals."""
        places = plane_indices(x)
        # The regions are none of Bins, but of their sizes.
        for block in blocks(x.shape[:2], Bins(x.shape[2:], self.output), KEY_AND_INDEX_BYTES, whole=True):
            cells = Best(order.keys(x[block.inputs]), places[block.inputs])
            yield block, _best(cells, self.samples[block.inputs[:2]], self.window, self.output)


def _best(best: Best, samples: Array, window: tuple[int, ...], output: tuple[int, ...]) -> Best:
    """Return the best cell of each region, from the last axis to the first: so the first one in row-major order."""
    rank, shape = len(window), best.keys.shape
    for axis in reversed(range(rank)):
        starts = _starts(samples[..., axis], shape[2 + axis], window[axis], output[axis])
        around = (output[a] if a == axis else 1 for a in range(rank))
        cells = _cells(best, starts.reshape(*shape[:2], *around), axis + 2)
        best = next(cells)
        for _, further in zip(range(window[axis] - 1), cells, strict=False):
            best.update(further)
    return best


def _checked_samples(samples: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    samples = of_dtype("samples", samples, FLOATS)
    if samples.shape != shape:
        raise ValueError(f"samples have shape {samples.shape}: expected {shape}, one per plane and spatial axis")
    return in_unit("samples", samples)


def in_unit(name: str, numbers: Array) -> Array:
    """Return numbers in float64; raise ValueError unless all are at least 0 and less than 1."""
    wide = widened(numbers)
    wrong = wide[~((wide >= 0) & (wide < 1))]
    if wrong.size:
        raise ValueError(f"{name} hold {wrong[0]}: expected 0 or more and less than 1")
    return wide


def _starts(samples: Array, size: int, window: int, output: int) -> Array:
    """Return the first cell of each window, int64 (n, c, output), from samples (n, c)."""
    starts = np.full((samples.size, output), size - window, np.int64)
    slack, gaps = size - window, output - 1
    for row, sample in zip(starts, samples.ravel().tolist(), strict=True):
        numerator, denominator = sample.as_integer_ratio()
        first = numerator * slack // (denominator * max(gaps, 1))
        row[:gaps] = [(i * denominator + numerator) * slack // (denominator * gaps) - first for i in range(gaps)]
    return starts


def _cells(best: Best, starts: Array, axis: int) -> Iterator[Best]:
    """Yield cell k of every window along one axis, for k = 0, 1, 2 and so on."""
    while True:
        yield Best(*(np.take_along_axis(part, starts, axis) for part in (best.keys, best.indices)))
        starts = starts + 1
