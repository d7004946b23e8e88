"""Where windows look: one step after the other, each a method that a fault may replace."""

# ruff: noqa: ARG002  (every method is told the parameters: a fault may depend on them)
from dataclasses import dataclass
from math import prod

import numpy as np

BINS = ("adaptive_max_pool", "adaptive_avg_pool", "global_max_pool", "global_avg_pool")


@dataclass(frozen=True)
class Walk:
    """Every cell of every window, (windows, cells) in row-major order.

    output: extents of what comes out; at: for each axis the places, (windows, cells) along it; index: the places in the
    flat plane, its size for what lies outside; inside: whether a cell is one of the input.
    """

    output: tuple
    at: list
    index: np.ndarray
    inside: np.ndarray


def wide(dtype):
    """Return the type in which sums are kept: float32 for types of 16 bits, else their own."""
    return np.dtype("float32") if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def flat(x, fill):
    """Return the planes of x as rows, with one cell more that holds what stands outside."""
    rows = x.reshape(*x.shape[:2], prod(x.shape[2:]))
    return np.concatenate([rows, np.full((*x.shape[:2], 1), fill, x.dtype)], axis=2)


class Walks:
    """The geometry of windows, bins and padding."""

    def walk(self, size, p):
        """Return the walk over a plane."""
        at = [self.reach(axis, extent, p) for axis, extent in enumerate(size)]
        return self.crossed(at, size)

    def reach(self, axis, size, p):
        """Return where the windows look along one axis, (windows, cells); outside it is padding."""
        verb = p.verb.removesuffix("_grad")
        if verb in BINS:
            return self.bins(size, 1 if verb.startswith("global") else p.output_size[axis], p)
        starts = np.arange(self.extent(axis, size, p)) * p.stride[axis] - p.padding[axis][0]
        return starts[:, None] + self.offsets(axis, p)

    def offsets(self, axis, p):
        """Return where the cells of a window lie, seen from its first."""
        return np.arange(p.window[axis]) * p.dilation[axis]

    def extent(self, axis, size, p):
        """Return the number of windows along an axis."""
        span = size + sum(p.padding[axis]) - self.covered(axis, p)
        whole, left = divmod(span, p.stride[axis])
        return whole + 1 + (left > 0 and self.one_more(axis, size, whole + 1, p))

    def one_more(self, axis, size, window, p):
        """Whether there is a window past the whole ones."""
        inside = window * p.stride[axis] < size + p.padding[axis][0]
        return p.rounding == "full" or (p.rounding == "ceil" and inside)

    def covered(self, axis, p):
        """Return how many cells a window covers, its holes among them."""
        return p.dilation[axis] * (p.window[axis] - 1) + 1

    def bins(self, size, count, p):
        """Return the cells of each bin, from ⌊o·n/m⌋ to ⌈(o + 1)·n/m⌉."""
        starts, ends = self.bin_edges(size, count, p)
        at = starts[:, None] + np.arange(max(ends - starts, default=0))
        return np.where(at < ends[:, None], at, -1)

    def bin_edges(self, size, count, p):
        """Return where bins start and end."""
        order = np.arange(count)
        return order * size // count, -(-(order + 1) * size // count)

    def crossed(self, at, size):
        """Return the walk that is the product of those along the axes."""
        index, inside, rank = np.zeros((), np.int64), np.ones((), bool), len(size)
        for axis, (places, extent) in enumerate(zip(at, size, strict=True)):
            shape = [1] * (2 * rank)
            shape[axis], shape[rank + axis] = places.shape
            along = places.reshape(shape)
            index = index * extent + along
            inside = inside & (along >= 0) & (along < extent)
        output = tuple(len(places) for places in at)
        shape = prod(output), prod(places.shape[1] for places in at)
        return Walk(output, at, np.where(inside, index, prod(size)).reshape(shape), inside.reshape(shape))

    def gathered(self, x, walk, fill):
        """Return the cells of every window, (n, c, windows, cells)."""
        return flat(x, fill)[:, :, walk.index]

    def scattered(self, values, walk, x, p):
        """Return what cells are given in all, for values (n, c, windows, cells)."""
        planes, size = prod(x.shape[:2]), prod(x.shape[2:])
        given = np.zeros((size + 1, planes), wide(x.dtype))
        self.add(given, walk.index.ravel(), values.reshape(planes, walk.index.size).T, p)
        return given[:size].T.reshape(x.shape).astype(x.dtype)

    def add(self, given, index, values, p):
        """Add each value at its index."""
        np.add.at(given, index, values)
