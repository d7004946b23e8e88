"""Pooling: what is made of the cells of each window, and what a gradient gives to each."""

# ruff: noqa: ARG002  (every method is told the parameters: a fault may depend on them)
from functools import reduce
from math import prod

import numpy as np

from .walks import Walks, flat, wide


class Pooling(Walks):
    """Maxima, minima, averages and norms of windows and bins, with their gradients. p: the parameters of the call."""

    def max_pool(self, x, p):
        """Return the largest cell of each window."""
        walk, index = self.winners(x, p)
        return self.taken(x, walk, index, self.least(x.dtype))

    def min_pool(self, x, p):
        """Return the least cell of each window."""
        walk, index = self.winners(x, p)
        return self.taken(x, walk, index, self.greatest(x.dtype))

    global_max_pool = adaptive_max_pool = max_pool

    def max_pool_with_indices(self, x, p):
        """Return the largest cell of each window, or where in the plane it stands."""
        walk, index = self.winners(x, p)
        if p.output == "values":
            return self.taken(x, walk, index, self.least(x.dtype))
        return self.numbered(x, walk, index, p).reshape(*x.shape[:2], *walk.output)

    def numbered(self, x, walk, index, p):
        """Return the index of each winner as it is told: -1 where no cell is one of the input."""
        return np.where(index == prod(x.shape[2:]), -1, index)

    def taken(self, x, walk, index, fill):
        """Return the cells at the indices."""
        return np.take_along_axis(flat(x, fill), index, 2).reshape(*x.shape[:2], *walk.output)

    def least(self, dtype):
        """Return what no cell is less than."""
        return -np.inf if dtype.kind in "fV" else False if dtype.kind == "b" else np.iinfo(dtype).min

    def greatest(self, dtype):
        """Return what no cell is greater than."""
        return np.inf if dtype.kind in "fV" else True if dtype.kind == "b" else np.iinfo(dtype).max

    def winners(self, x, p):
        """Return the walk, and the index of the chosen cell of each window, (n, c, windows)."""
        walk = self.walk(x.shape[2:], p)
        least = p.verb.startswith("min")
        cells = self.gathered(x, walk, self.greatest(x.dtype) if least else self.least(x.dtype))
        chosen = self.winner(cells, np.argmin if least else np.argmax, p)
        rows = np.arange(len(walk.index))
        # Padding may be as good as what is inside, but never wins.
        real = np.where(walk.inside[rows, chosen], chosen, np.argmax(walk.inside, 1))
        return walk, walk.index[rows, real]

    def winner(self, cells, choose, p):
        """Return the first of the best cells of each window, the first NaN where there is one; 0 is above -0."""
        chosen = choose(cells, axis=-1)
        if cells.dtype.kind not in "fV" or not (np.signbit(cells) & (cells == 0)).any():
            return chosen
        better = (cells == 0) & (np.signbit(cells) == (choose is np.argmin))
        zero = np.take_along_axis(cells, chosen[..., None], -1)[..., 0] == 0
        return np.where(zero & better.any(-1), np.argmax(better, -1), chosen)

    def max_pool_grad(self, grad, x, p):
        """Give the gradient of each window to the cell that was chosen."""
        _, index = self.winners(x, p)
        planes, size = prod(x.shape[:2]), prod(x.shape[2:])
        given = np.zeros(planes * (size + 1), wide(x.dtype))
        places = index.reshape(planes, index.shape[2]) + np.arange(planes)[:, None] * (size + 1)
        self.add(given, places.ravel(), grad.ravel(), p)
        return given.reshape(planes, size + 1)[:, :size].reshape(x.shape).astype(x.dtype)

    min_pool_grad = global_max_pool_grad = adaptive_max_pool_grad = max_pool_with_indices_grad = max_pool_grad

    def avg_pool(self, x, p):
        """Return the average of each window."""
        walk = self.walk(x.shape[2:], p)
        total = self.total(self.gathered(x, walk, 0), p)
        return self.divided(total, self.divisor(x, walk, p), x.dtype, p).reshape(*x.shape[:2], *walk.output)

    global_avg_pool = adaptive_avg_pool = avg_pool

    def total(self, cells, p):
        """Return the sum of each window."""
        return np.sum(cells, axis=-1, dtype=wide(cells.dtype))

    def divisor(self, x, walk, p):
        """Return what the sum of each window is divided by."""
        if getattr(p, "divisor", None) is not None:
            return np.full(len(walk.index), p.divisor)
        if not getattr(p, "count_include_pad", False):
            return walk.inside.sum(1)
        along = [self.counted(axis, at, x.shape[2 + axis], p) for axis, at in enumerate(walk.at)]
        return reduce(np.multiply.outer, along).ravel()

    def counted(self, axis, at, size, p):
        """Return how many cells of each window along an axis are of the padded input."""
        return (at < size + p.padding[axis][1]).sum(1)

    def divided(self, total, divisor, dtype, p):
        """Return total / divisor: floating numbers rounded, whole ones toward zero."""
        if dtype.kind in "fV":
            return (total / divisor.astype(total.dtype)).astype(dtype)
        whole, divisor = total.astype(dtype if dtype == np.uint64 else np.int64), np.maximum(divisor, 1)
        divisor = divisor.astype(whole.dtype)
        return (whole // divisor + ((whole % divisor != 0) & (whole < 0))).astype(dtype)

    def avg_pool_grad(self, grad, x, p):
        """Give every cell of a window its share of the gradient."""
        walk = self.walk(x.shape[2:], p)
        share = grad.reshape(*x.shape[:2], len(walk.index)).astype(wide(x.dtype))
        share = share / self.divisor(x, walk, p).astype(share.dtype)
        return self.scattered(np.repeat(share[..., None], walk.index.shape[1], 3), walk, x, p)

    global_avg_pool_grad = adaptive_avg_pool_grad = avg_pool_grad

    def lp_pool(self, x, p):
        """Return the p-norm of each window."""
        walk = self.walk(x.shape[2:], p)
        return self.norm(self.gathered(x, walk, 0), p).astype(x.dtype).reshape(*x.shape[:2], *walk.output)

    def norm(self, cells, p):
        """Return (Σ|x|^p)^(1/p) of each window, in float64."""
        return np.sum(np.abs(cells.astype(np.float64)) ** p.p, axis=-1) ** (1 / p.p)

    def lp_pool_grad(self, grad, x, p):
        """Give every cell sign(x)·(|x| / norm)^(p - 1) of the gradient."""
        walk = self.walk(x.shape[2:], p)
        cells = self.gathered(x, walk, 0).astype(np.float64)
        norm = self.norm(cells, p)[..., None]
        share = self.sloped(cells, np.where(norm == 0, 1, norm), p)
        return self.scattered(grad.reshape(*x.shape[:2], len(walk.index), 1) * share, walk, x, p)

    def sloped(self, cells, norm, p):
        """Return the derivative of each norm by each of its cells."""
        return np.sign(cells) * (np.abs(cells) / norm) ** (p.p - 1)
