"""What moves values to other places: padding, unpooling, convolution and its adjoint."""

# ruff: noqa: ARG002  (every method is told the parameters: a fault may depend on them)
from math import prod
from types import SimpleNamespace

import numpy as np

from .walks import Walks, flat, wide

MODES = {
    "constant": lambda a, n: np.where((a >= 0) & (a < n), a, -1),
    "edge": lambda a, n: np.clip(a, 0, n - 1),
    "reflect": lambda a, n: n - 1 - np.abs(n - 1 - a % max(2 * n - 2, 1)),
    "symmetric": lambda a, n: np.minimum(a % (2 * n), 2 * n - 1 - a % (2 * n)),
    "wrap": lambda a, n: a % n,
}
"""Which of n cells a mode takes for the place a."""


class Placing(Walks):
    """Padding and unpooling with their gradients. p: the parameters of the call."""

    def pad(self, x, p):
        """Return x with what its pads say around it; negative ones crop, first."""
        walk = self.padded(x.shape[2:], p)
        return self.gathered(x, walk, p.value).reshape(*x.shape[:2], *walk.output)

    def pad_grad(self, grad, x, p):
        """Give every cell what its copies are given."""
        walk = self.padded(x.shape[2:], p)
        return self.scattered(grad.astype(wide(x.dtype)).reshape(*x.shape[:2], len(walk.index), 1), walk, x, p)

    def padded(self, size, p):
        """Return the walk that looks up every cell of the padded plane."""
        return self.crossed([self.copied(axis, extent, p) for axis, extent in enumerate(size)], size)

    def copied(self, axis, size, p):
        """Return which cell of an axis stands at each place of the padded one, (places, 1); -1 for none."""
        before, after = p.pads[axis]
        first, left = self.cropped(axis, size, p)
        taken = self.mode(np.arange(-max(before, 0), left + max(after, 0)), left, axis, p)
        return np.where(taken < 0, -1, taken + first)[:, None]

    def cropped(self, axis, size, p):
        """Return the first cell of an axis that is left, and how many are."""
        before, after = p.pads[axis]
        return max(-before, 0), size + min(before, 0) + min(after, 0)

    def mode(self, places, left, axis, p):
        """Return which of the cells that are left stands at each place."""
        return MODES[p.mode](places, left)

    def max_unpool(self, x, indices, p):
        """Put each value at its index; -1 goes nowhere, and of two at one index the last stays."""
        size = prod(p.output_size)
        rows = indices.reshape(*x.shape[:2], -1)
        y = np.zeros((*x.shape[:2], size + 1), x.dtype)
        np.put_along_axis(y, self.aims(rows, size, p), x.reshape(rows.shape), 2)
        return y[:, :, :size].reshape(*x.shape[:2], *p.output_size)

    def aims(self, rows, size, p):
        """Return where each value goes; the cell behind the plane is thrown away."""
        return np.where(rows < 0, size, rows)

    def max_unpool_grad(self, grad, x, indices, p):
        """Give the value that stayed what its cell is given."""
        rows = indices.reshape(*x.shape[:2], -1)
        order = np.broadcast_to(np.arange(rows.shape[2]), rows.shape)
        stayed = self.max_unpool(order, rows, SimpleNamespace(verb=p.verb, output_size=[grad[0, 0].size]))
        aims = np.where(rows < 0, grad[0, 0].size, rows)
        stays = np.take_along_axis(flat(stayed, -1), aims, 2) == order
        return np.where(stays, np.take_along_axis(flat(grad, 0), aims, 2), 0).reshape(x.shape).astype(x.dtype)


class Convolving(Walks):
    """Convolution, its transpose and their gradients; p: the parameters of the call.

    All are sums over products of three arrays: narrow has a cell for each place of the kernel, broad is what it walks
    over, and the kernel is (narrow channels, broad channels / groups, *window).
    """

    def conv(self, x, kernel, *bias, p):
        """Return the sums of what the kernel covers at each place."""
        walk = self.kernel_walk(x.shape[2:], kernel, p)
        y = self.products_gathered(self.grouped(x, p), self.weights(kernel, p), walk, p)
        return self.biased(y.reshape(len(x), -1, *walk.output), bias, p).astype(x.dtype)

    def conv_transpose(self, x, kernel, *bias, p):
        """Return what every cell lays out with the kernel, added up."""
        size = [self.transposed_extent(axis, extent, kernel, p) for axis, extent in enumerate(x.shape[2:])]
        walk = self.kernel_walk(size, kernel, p, x.shape[2:])
        y = self.products_scattered(self.grouped(x, p), self.weights(kernel, p), walk, prod(size), p)
        return self.biased(y.reshape(len(x), -1, *size), bias, p).astype(x.dtype)

    def transposed_extent(self, axis, size, kernel, p):
        """Return how many cells are laid out along an axis."""
        reach = p.dilation[axis] * (kernel.shape[2 + axis] - 1) + 1
        return (size - 1) * p.stride[axis] + reach - sum(p.padding[axis]) + p.output_padding[axis]

    def kernel_walk(self, size, kernel, p, count=None):
        """Return where the kernel looks; count: its places, where they are given."""
        p.window, p.rounding, p.count = kernel.shape[2:], "floor", count
        return self.walk(size, p)

    def extent(self, axis, size, p):
        """Return how many places a kernel has along an axis, or a window."""
        count = getattr(p, "count", None)
        return count[axis] if count is not None else super().extent(axis, size, p)

    def grouped(self, x, p):
        """Return (n, groups, channels of each, cells), in the type that sums are kept in."""
        shape = len(x), p.groups, x.shape[1] // p.groups, prod(x.shape[2:])
        return x.reshape(shape).astype(wide(x.dtype))

    def weights(self, kernel, p):
        """Return (groups, narrow channels of each, broad channels of each, cells of the window)."""
        shape = p.groups, kernel.shape[0] // p.groups, kernel.shape[1], prod(kernel.shape[2:])
        return kernel.reshape(shape).astype(wide(kernel.dtype))

    def biased(self, y, bias, p):
        """Add the bias, if there is one."""
        return y + bias[0].reshape(-1, *[1] * (y.ndim - 2)).astype(y.dtype) if bias else y

    def products_gathered(self, broad, weights, walk, p):
        """Return sums for the narrow array, (n, groups, channels, places)."""
        y = np.zeros((*broad.shape[:2], weights.shape[1], len(walk.index)), broad.dtype)
        for cell, (index, inside) in enumerate(zip(walk.index.T, walk.inside.T, strict=True)):
            y[..., inside] += weights[..., cell] @ broad[..., index[inside]]
        return y

    def products_scattered(self, narrow, weights, walk, size, p):
        """Return sums for the broad array, (n, groups, channels, size)."""
        y = np.zeros((*narrow.shape[:2], weights.shape[2], size), narrow.dtype)
        for cell, (index, inside) in enumerate(zip(walk.index.T, walk.inside.T, strict=True)):
            # No two places of the kernel put the same cell of it in one spot.
            y[..., index[inside]] += weights[..., cell].swapaxes(1, 2) @ narrow[..., inside]
        return y

    def products_weighed(self, narrow, broad, walk, p):
        """Return sums for the kernel, (groups, narrow channels, broad channels, cells of the window)."""
        shape = *narrow.shape[1:3], broad.shape[2], walk.index.shape[1]
        y = np.zeros(shape, narrow.dtype)
        for cell, (index, inside) in enumerate(zip(walk.index.T, walk.inside.T, strict=True)):
            y[..., cell] = (narrow[..., inside] @ broad[..., index[inside]].swapaxes(2, 3)).sum(0)
        return y

    def conv_grad(self, grad, x, kernel, *_bias, p):
        """Give each factor of a product the gradient of its sum times the other."""
        return self.factors(grad, grad, x, kernel, p)

    def conv_transpose_grad(self, grad, x, kernel, *_bias, p):
        """As for a convolution, with its arrays exchanged."""
        return self.factors(grad, x, grad, kernel, p)

    def factors(self, grad, narrow, broad, kernel, p):
        """Return the gradient of the input that p.output names; grad is narrow, or broad."""
        if p.output == "bias":
            return self.summed(self.grouped(grad, p), p).astype(grad.dtype)
        walk = self.kernel_walk(broad.shape[2:], kernel, p, narrow.shape[2:])
        cells = [self.grouped(array, p) for array in (narrow, broad)]
        if p.output == "kernel":
            y = self.products_weighed(*cells, walk, p)
        elif grad is broad:
            y = self.products_gathered(cells[1], self.weights(kernel, p), walk, p)
        else:
            y = self.products_scattered(cells[0], self.weights(kernel, p), walk, prod(broad.shape[2:]), p)
        like = kernel if p.output == "kernel" else narrow if grad is broad else broad
        return y.reshape(like.shape).astype(like.dtype)

    def summed(self, grad, p):
        """Return the gradient of the bias."""
        return grad.sum((0, 3)).reshape(-1)
