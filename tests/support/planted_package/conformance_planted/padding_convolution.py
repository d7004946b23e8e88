"""Padding, unpooling and convolution without a bug, and their gradients."""

# ruff: noqa: ARG002  (every method gets the parameters p, because a bug may depend on them)
from math import prod
from types import SimpleNamespace

import numpy as np

from .geometry import Geometry, accumulation_dtype, flatten_planes

MODES = {
    "constant": lambda a, n: np.where((a >= 0) & (a < n), a, -1),
    "edge": lambda a, n: np.clip(a, 0, n - 1),
    "reflect": lambda a, n: n - 1 - np.abs(n - 1 - a % max(2 * n - 2, 1)),
    "symmetric": lambda a, n: np.minimum(a % (2 * n), 2 * n - 1 - a % (2 * n)),
    "wrap": lambda a, n: a % n,
}
"""For each mode, the source cell (of n) for the position a; -1 for the padding value."""


class PaddingOperators(Geometry):
    """Padding, unpooling and their gradients. p: the parameters of the call."""

    def pad(self, x, p):
        """Return the padded x. Negative pads crop x before it is padded."""
        windows = self.padded_plane(x.shape[2:], p)
        return self.gather(x, windows, p.value).reshape(*x.shape[:2], *windows.output)

    def pad_grad(self, grad, x, p):
        """Return the gradient: each cell receives the sum of the gradients of its copies."""
        windows = self.padded_plane(x.shape[2:], p)
        return self.scatter(
            grad.astype(accumulation_dtype(x.dtype)).reshape(*x.shape[:2], len(windows.index), 1), windows, x, p
        )

    def padded_plane(self, size, p):
        """Return windows of one cell that look up the source of each cell of the padded plane."""
        return self.combine_axes([self.source_cells(axis, extent, p) for axis, extent in enumerate(size)], size)

    def source_cells(self, axis, size, p):
        """Return the source cell of each position on a padded axis, (positions, 1); -1 for the padding value."""
        before, after = p.pads[axis]
        first, size_left = self.crop(axis, size, p)
        source = self.mode_index(np.arange(-max(before, 0), size_left + max(after, 0)), size_left, axis, p)
        return np.where(source < 0, -1, source + first)[:, None]

    def crop(self, axis, size, p):
        """Return the first cell of a cropped axis, and its size."""
        before, after = p.pads[axis]
        return max(-before, 0), size + min(before, 0) + min(after, 0)

    def mode_index(self, positions, size, axis, p):
        """Return the source cell of each position, relative to a cropped axis of this size."""
        return MODES[p.mode](positions, size)

    def max_unpool(self, x, indices, p):
        """Return a plane with each value at its index. Values with index -1 are dropped; the last duplicate wins."""
        size = prod(p.output_size)
        rows = indices.reshape(*x.shape[:2], -1)
        y = np.zeros((*x.shape[:2], size + 1), x.dtype)
        np.put_along_axis(y, self.target_cells(rows, size, p), x.reshape(rows.shape), 2)
        return y[:, :, :size].reshape(*x.shape[:2], *p.output_size)

    def target_cells(self, rows, size, p):
        """Return the target of each value. The cell after the last one of the plane is discarded."""
        return np.where(rows < 0, size, rows)

    def max_unpool_grad(self, grad, x, indices, p):
        """Return the gradient: a value receives the gradient of its target if no later value has the same target."""
        rows = indices.reshape(*x.shape[:2], -1)
        order = np.broadcast_to(np.arange(rows.shape[2]), rows.shape)
        # Unpooling the positions of the values shows which value each target contains.
        last = self.max_unpool(order, rows, SimpleNamespace(operator=p.operator, output_size=[grad[0, 0].size]))
        targets = np.where(rows < 0, grad[0, 0].size, rows)
        is_last = np.take_along_axis(flatten_planes(last, -1), targets, 2) == order
        gradient = np.take_along_axis(flatten_planes(grad, 0), targets, 2)
        return np.where(is_last, gradient, 0).reshape(x.shape).astype(x.dtype)


class Convolution(Geometry):
    """Convolution, its transpose and their gradients. p: the parameters of the call.

    All of them are sums of products of three arrays. `narrow` has one cell per kernel position: the output of a
    convolution, or the input of a transposed one. `broad` is the array over which the kernel slides. The kernel is
    (narrow channels, broad channels / groups, *window).
    """

    def conv(self, x, kernel, *bias, p):
        """Return the convolution of x."""
        windows = self.kernel_windows(x.shape[2:], kernel, p)
        y = self.gather_products(self.grouped(x, p), self.weights(kernel, p), windows, p)
        return self.add_bias(y.reshape(len(x), -1, *windows.output), bias, p).astype(x.dtype)

    def conv_transpose(self, x, kernel, *bias, p):
        """Return the transposed convolution of x."""
        size = [self.transposed_extent(axis, extent, kernel, p) for axis, extent in enumerate(x.shape[2:])]
        windows = self.kernel_windows(size, kernel, p, x.shape[2:])
        y = self.scatter_products(self.grouped(x, p), self.weights(kernel, p), windows, prod(size), p)
        return self.add_bias(y.reshape(len(x), -1, *size), bias, p).astype(x.dtype)

    def transposed_extent(self, axis, size, kernel, p):
        """Return the output size of a transposed convolution on an axis."""
        reach = p.dilation[axis] * (kernel.shape[2 + axis] - 1) + 1
        return (size - 1) * p.stride[axis] + reach - sum(p.padding[axis]) + p.output_padding[axis]

    def kernel_windows(self, size, kernel, p, count=None):
        """Return the windows of the kernel; count: number of kernel positions per axis, if it is given."""
        p.window, p.rounding, p.count = kernel.shape[2:], "floor", count
        return self.windows(size, p)

    def position_count(self, axis, size, p):
        """Return the number of positions of the kernel, or of the window, on an axis."""
        count = getattr(p, "count", None)
        return count[axis] if count is not None else super().position_count(axis, size, p)

    def grouped(self, x, p):
        """Return x as (n, groups, channels per group, cells), in the accumulation dtype."""
        shape = len(x), p.groups, x.shape[1] // p.groups, prod(x.shape[2:])
        return x.reshape(shape).astype(accumulation_dtype(x.dtype))

    def weights(self, kernel, p):
        """Return the kernel as (groups, narrow channels per group, broad channels per group, cells of the window)."""
        shape = p.groups, kernel.shape[0] // p.groups, kernel.shape[1], prod(kernel.shape[2:])
        return kernel.reshape(shape).astype(accumulation_dtype(kernel.dtype))

    def add_bias(self, y, bias, p):
        """Add the bias, if there is one."""
        return y + bias[0].reshape(-1, *[1] * (y.ndim - 2)).astype(y.dtype) if bias else y

    def gather_products(self, broad, weights, windows, p):
        """Return sums for the narrow array, (n, groups, channels, kernel positions)."""
        y = np.zeros((*broad.shape[:2], weights.shape[1], len(windows.index)), broad.dtype)
        for cell, (index, inside) in enumerate(zip(windows.index.T, windows.inside.T, strict=True)):
            y[..., inside] += weights[..., cell] @ broad[..., index[inside]]
        return y

    def scatter_products(self, narrow, weights, windows, size, p):
        """Return sums for the broad array, (n, groups, channels, size)."""
        y = np.zeros((*narrow.shape[:2], weights.shape[2], size), narrow.dtype)
        for cell, (index, inside) in enumerate(zip(windows.index.T, windows.inside.T, strict=True)):
            # One kernel cell has a different index at each kernel position, so += counts every product.
            y[..., index[inside]] += weights[..., cell].swapaxes(1, 2) @ narrow[..., inside]
        return y

    def kernel_products(self, narrow, broad, windows, p):
        """Return sums for the kernel, (groups, narrow channels, broad channels, cells of the window)."""
        shape = *narrow.shape[1:3], broad.shape[2], windows.index.shape[1]
        y = np.zeros(shape, narrow.dtype)
        for cell, (index, inside) in enumerate(zip(windows.index.T, windows.inside.T, strict=True)):
            y[..., cell] = (narrow[..., inside] @ broad[..., index[inside]].swapaxes(2, 3)).sum(0)
        return y

    def conv_grad(self, grad, x, kernel, *_bias, p):
        """Return the gradient: that of the sum times the other factor of each product."""
        return self.input_gradient(grad, grad, x, kernel, p)

    def conv_transpose_grad(self, grad, x, kernel, *_bias, p):
        """Return the gradient, as for a convolution with narrow and broad array exchanged."""
        return self.input_gradient(grad, x, grad, kernel, p)

    def input_gradient(self, grad, narrow, broad, kernel, p):
        """Return the gradient of the input p.output; grad: either narrow or broad."""
        if p.output == "bias":
            return self.bias_gradient(self.grouped(grad, p), p).astype(grad.dtype)
        windows = self.kernel_windows(broad.shape[2:], kernel, p, narrow.shape[2:])
        cells = [self.grouped(array, p) for array in (narrow, broad)]
        if p.output == "kernel":
            y = self.kernel_products(*cells, windows, p)
        elif grad is broad:
            y = self.gather_products(cells[1], self.weights(kernel, p), windows, p)
        else:
            y = self.scatter_products(cells[0], self.weights(kernel, p), windows, prod(broad.shape[2:]), p)
        like = kernel if p.output == "kernel" else narrow if grad is broad else broad
        return y.reshape(like.shape).astype(like.dtype)

    def bias_gradient(self, grad, p):
        """Return the gradient of the bias."""
        return grad.sum((0, 3)).reshape(-1)
