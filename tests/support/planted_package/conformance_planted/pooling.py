"""Pooling operators without a bug, and their gradients."""

# ruff: noqa: ARG002  (every method gets the parameters p, because a bug may depend on them)
from functools import reduce
from math import prod

import numpy as np

from .geometry import Geometry, accumulation_dtype, flatten_planes


class Pooling(Geometry):
    """Maxima, minima, averages and norms of windows and bins, with their gradients. p: the parameters of the call."""

    def max_pool(self, x, p):
        """Return the largest cell of each window."""
        windows, index = self.winners(x, p)
        return self.take(x, windows, index, self.smallest_value(x.dtype))

    def min_pool(self, x, p):
        """Return the smallest cell of each window."""
        windows, index = self.winners(x, p)
        return self.take(x, windows, index, self.largest_value(x.dtype))

    global_max_pool = adaptive_max_pool = max_pool

    def max_pool_with_indices(self, x, p):
        """Return the largest cell of each window, or its index in the plane."""
        windows, index = self.winners(x, p)
        if p.output == "values":
            return self.take(x, windows, index, self.smallest_value(x.dtype))
        return self.index_output(x, windows, index, p).reshape(*x.shape[:2], *windows.output)

    def index_output(self, x, windows, index, p):
        """Return the index of each winner; -1 for a window without an input cell."""
        return np.where(index == prod(x.shape[2:]), -1, index)

    def take(self, x, windows, index, fill):
        """Return the cells at the indices."""
        return np.take_along_axis(flatten_planes(x, fill), index, 2).reshape(*x.shape[:2], *windows.output)

    def smallest_value(self, dtype):
        """Return the smallest value of a dtype."""
        return -np.inf if dtype.kind in "fV" else False if dtype.kind == "b" else np.iinfo(dtype).min

    def largest_value(self, dtype):
        """Return the largest value of a dtype."""
        return np.inf if dtype.kind in "fV" else True if dtype.kind == "b" else np.iinfo(dtype).max

    def winners(self, x, p):
        """Return the windows, and the index of the selected cell of each window, (n, c, windows)."""
        windows = self.windows(x.shape[2:], p)
        minimum = p.operator.startswith("min")
        cells = self.gather(x, windows, self.largest_value(x.dtype) if minimum else self.smallest_value(x.dtype))
        chosen = self.winner(cells, np.argmin if minimum else np.argmax, p)
        rows = np.arange(len(windows.index))
        # A padding cell can equal the extremum of a window. Then the first input cell is selected.
        real = np.where(windows.inside[rows, chosen], chosen, np.argmax(windows.inside, 1))
        return windows, windows.index[rows, real]

    def winner(self, cells, choose, p):
        """Return the first extremum of each window, or its first NaN. 0 is larger than -0."""
        chosen = choose(cells, axis=-1)
        if cells.dtype.kind not in "fV" or not (np.signbit(cells) & (cells == 0)).any():
            return chosen
        better = (cells == 0) & (np.signbit(cells) == (choose is np.argmin))
        zero = np.take_along_axis(cells, chosen[..., None], -1)[..., 0] == 0
        return np.where(zero & better.any(-1), np.argmax(better, -1), chosen)

    def max_pool_grad(self, grad, x, p):
        """Return the gradient: the gradient of each window goes to its selected cell."""
        _, index = self.winners(x, p)
        planes, size = prod(x.shape[:2]), prod(x.shape[2:])
        sums = np.zeros(planes * (size + 1), accumulation_dtype(x.dtype))
        positions = index.reshape(planes, index.shape[2]) + np.arange(planes)[:, None] * (size + 1)
        self.add(sums, positions.ravel(), grad.ravel(), p)
        return sums.reshape(planes, size + 1)[:, :size].reshape(x.shape).astype(x.dtype)

    min_pool_grad = global_max_pool_grad = adaptive_max_pool_grad = max_pool_with_indices_grad = max_pool_grad

    def avg_pool(self, x, p):
        """Return the average of each window."""
        windows = self.windows(x.shape[2:], p)
        total = self.total(self.gather(x, windows, 0), p)
        return self.divide(total, self.divisor(x, windows, p), x.dtype, p).reshape(*x.shape[:2], *windows.output)

    global_avg_pool = adaptive_avg_pool = avg_pool

    def total(self, cells, p):
        """Return the sum of each window."""
        return np.sum(cells, axis=-1, dtype=accumulation_dtype(cells.dtype))

    def divisor(self, x, windows, p):
        """Return the divisor of each window."""
        if getattr(p, "divisor", None) is not None:
            return np.full(len(windows.index), p.divisor)
        if not getattr(p, "count_include_pad", False):
            return windows.inside.sum(1)
        along = [self.counted_cells(axis, at, x.shape[2 + axis], p) for axis, at in enumerate(windows.at)]
        return reduce(np.multiply.outer, along).ravel()

    def counted_cells(self, axis, at, size, p):
        """Return the number of cells of each window on an axis that belong to the padded input."""
        return (at < size + p.padding[axis][1]).sum(1)

    def divide(self, total, divisor, dtype, p):
        """Return total / divisor. Integers are rounded toward zero."""
        if dtype.kind in "fV":
            return (total / divisor.astype(total.dtype)).astype(dtype)
        integers, divisor = total.astype(dtype if dtype == np.uint64 else np.int64), np.maximum(divisor, 1)
        divisor = divisor.astype(integers.dtype)
        return (integers // divisor + ((integers % divisor != 0) & (integers < 0))).astype(dtype)

    def avg_pool_grad(self, grad, x, p):
        """Return the gradient: the gradient of a window, divided by its divisor, goes to each of its cells."""
        windows = self.windows(x.shape[2:], p)
        share = grad.reshape(*x.shape[:2], len(windows.index)).astype(accumulation_dtype(x.dtype))
        share = share / self.divisor(x, windows, p).astype(share.dtype)
        return self.scatter(np.repeat(share[..., None], windows.index.shape[1], 3), windows, x, p)

    global_avg_pool_grad = adaptive_avg_pool_grad = avg_pool_grad

    def lp_pool(self, x, p):
        """Return the p-norm of each window."""
        windows = self.windows(x.shape[2:], p)
        return self.norm(self.gather(x, windows, 0), p).astype(x.dtype).reshape(*x.shape[:2], *windows.output)

    def norm(self, cells, p):
        """Return (Σ|x|^p)^(1/p) of each window, in float64."""
        return np.sum(np.abs(cells.astype(np.float64)) ** p.p, axis=-1) ** (1 / p.p)

    def lp_pool_grad(self, grad, x, p):
        """Return the gradient: each cell receives sign(x)·(|x| / norm)^(p - 1) times the gradient of the window."""
        windows = self.windows(x.shape[2:], p)
        cells = self.gather(x, windows, 0).astype(np.float64)
        norm = self.norm(cells, p)[..., None]
        share = self.norm_derivative(cells, np.where(norm == 0, 1, norm), p)
        return self.scatter(grad.reshape(*x.shape[:2], len(windows.index), 1) * share, windows, x, p)

    def norm_derivative(self, cells, norm, p):
        """Return the derivative of each norm with respect to each of its cells."""
        return np.sign(cells) * (np.abs(cells) / norm) ** (p.p - 1)
