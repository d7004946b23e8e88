"""Geometry of windows. Each step of the computation is a method, so that a bug can override it."""

# ruff: noqa: ARG002  (every method gets the parameters p, because a bug may depend on them)
from dataclasses import dataclass
from math import prod

import numpy as np

BINS = ("adaptive_max_pool", "adaptive_avg_pool", "global_max_pool", "global_avg_pool")


@dataclass(frozen=True)
class Windows:
    """All cells of all windows, in row-major order.

    output: output size. at: positions on each axis, (windows, cells) along this axis.
    index: positions in the flattened plane, (windows, cells); the size of the plane for a cell outside the input.
    inside: whether a cell belongs to the input, (windows, cells).
    """

    output: tuple
    at: list
    index: np.ndarray
    inside: np.ndarray


def accumulation_dtype(dtype):
    """Return the dtype of sums: float32 for 16-bit floats, otherwise the dtype itself."""
    return np.dtype("float32") if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def flatten_planes(x, fill):
    """Return the planes of x as rows, with one additional cell: the value outside the input."""
    rows = x.reshape(*x.shape[:2], prod(x.shape[2:]))
    return np.concatenate([rows, np.full((*x.shape[:2], 1), fill, x.dtype)], axis=2)


class Geometry:
    """The geometry of windows, bins and padding."""

    def windows(self, size, p):
        """Return the windows of a plane."""
        at = [self.positions(axis, extent, p) for axis, extent in enumerate(size)]
        return self.combine_axes(at, size)

    def positions(self, axis, size, p):
        """Return the positions of the cells of all windows on one axis, (windows, cells); others are padding."""
        forward = p.operator.removesuffix("_grad")
        if forward in BINS:
            return self.bins(size, 1 if forward.startswith("global") else p.output_size[axis], p)
        starts = np.arange(self.position_count(axis, size, p)) * p.stride[axis] - p.padding[axis][0]
        return starts[:, None] + self.offsets(axis, p)

    def offsets(self, axis, p):
        """Return the positions of the cells of a window, relative to its first cell."""
        return np.arange(p.window[axis]) * p.dilation[axis]

    def position_count(self, axis, size, p):
        """Return the number of windows on an axis."""
        span = size + sum(p.padding[axis]) - self.dilated_window(axis, p)
        complete, remainder = divmod(span, p.stride[axis])
        return complete + 1 + (remainder > 0 and self.has_partial_window(axis, size, complete + 1, p))

    def has_partial_window(self, axis, size, window, p):
        """Check whether a partial window follows the complete ones."""
        inside = window * p.stride[axis] < size + p.padding[axis][0]
        return p.rounding == "full" or (p.rounding == "ceil" and inside)

    def dilated_window(self, axis, p):
        """Return the extent of a dilated window."""
        return p.dilation[axis] * (p.window[axis] - 1) + 1

    def bins(self, size, count, p):
        """Return the cells of each bin, from ⌊o·n/m⌋ to ⌈(o + 1)·n/m⌉."""
        starts, ends = self.bin_edges(size, count, p)
        at = starts[:, None] + np.arange(max(ends - starts, default=0))
        return np.where(at < ends[:, None], at, -1)

    def bin_edges(self, size, count, p):
        """Return the start and end of each bin."""
        order = np.arange(count)
        return order * size // count, -(-(order + 1) * size // count)

    def combine_axes(self, at, size):
        """Return the windows of a plane: the Cartesian product of the positions on its axes."""
        index, inside, rank = np.zeros((), np.int64), np.ones((), bool), len(size)
        for axis, (positions, extent) in enumerate(zip(at, size, strict=True)):
            shape = [1] * (2 * rank)
            shape[axis], shape[rank + axis] = positions.shape
            along = positions.reshape(shape)
            index = index * extent + along
            inside = inside & (along >= 0) & (along < extent)
        output = tuple(len(positions) for positions in at)
        shape = prod(output), prod(positions.shape[1] for positions in at)
        return Windows(output, at, np.where(inside, index, prod(size)).reshape(shape), inside.reshape(shape))

    def gather(self, x, windows, fill):
        """Return the cells of every window, (n, c, windows, cells)."""
        return flatten_planes(x, fill)[:, :, windows.index]

    def scatter(self, values, windows, x, p):
        """Return for each cell of x the sum of the values (n, c, windows, cells) at its position."""
        planes, size = prod(x.shape[:2]), prod(x.shape[2:])
        sums = np.zeros((size + 1, planes), accumulation_dtype(x.dtype))
        self.add(sums, windows.index.ravel(), values.reshape(planes, windows.index.size).T, p)
        return sums[:size].T.reshape(x.shape).astype(x.dtype)

    def add(self, sums, index, values, p):
        """Add each value at its index."""
        np.add.at(sums, index, values)
