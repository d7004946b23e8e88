"""Fractional maximum pooling, for given random samples."""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .arguments import FLOATS, Array, PerAxis, image, of_dtype, per_axis
from .bins import Bins
from .blocks import blocks
from .errorfree import widened
from .exact import Exact, selected
from .ordering import Order
from .pooling import ORDERED
from .selection import KEY_AND_INDEX_BYTES, Best, plane_indices


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
    best = fractional_best(x, window, output_size, samples)
    cells = math.prod(per_axis("window", window, x.ndim - 2, 1))
    return selected(Order(x.dtype, descending=False).values(best.keys), np.array(cells))


def fractional_best(x: Array, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike) -> Best:
    """Return keys and indices of what fractional_max_pool selects, the first of equals: (n, c, *output_size)."""
    rank = x.ndim - 2
    window = per_axis("window", window, rank, 1)
    output = per_axis("output_size", output_size, rank, 1)
    for axis, (size, w, m) in enumerate(zip(x.shape[2:], window, output, strict=True)):
        if w + m - 1 > size:
            raise ValueError(f"output_size {m} and window {w} need {m + w - 1} cells: x has {size} on axis {axis}")
    drawn = _checked_samples(samples, (*x.shape[:2], rank))
    order, shape = Order(x.dtype, descending=False), (*x.shape[:2], *output)
    keys, indices = np.empty(shape, order.keys(x[:0]).dtype), np.empty(shape, np.int64)
    # The regions are none of Bins, but of their sizes.
    for block in blocks(x.shape[:2], Bins(x.shape[2:], output), KEY_AND_INDEX_BYTES):
        cells = Best(order.keys(x[block.inputs]), plane_indices(x)[block.inputs])
        best = _best(cells, drawn[block.inputs[:2]], window, output)
        keys[block.outputs], indices[block.outputs] = best.keys, best.indices
    return Best(keys, indices)


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
