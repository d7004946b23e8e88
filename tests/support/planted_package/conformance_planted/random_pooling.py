"""Pooling weighted by softmax, and pooling with random samples, without a bug."""

# ruff: noqa: ARG002  (every method gets the parameters p, because a bug may depend on them)
from fractions import Fraction

import numpy as np

from .geometry import Geometry


class RandomPooling(Geometry):
    """Softmax, stochastic and fractional pooling. p: the parameters of the call."""

    def softmax_pool(self, x, p):
        """Return the average of each window, weighted by the softmax of its values."""
        windows, cells, weights = self.softmax_weights(x, p)
        return np.sum(cells * weights, axis=-1).astype(x.dtype).reshape(*x.shape[:2], *windows.output)

    def softmax_weights(self, x, p):
        """Return the windows, their cells in float64, and the softmax of each window. The weight of padding is 0."""
        windows = self.windows(x.shape[2:], p)
        inside = self.weighted_cells(windows, p)
        cells = self.gather(x, windows, 0).astype(np.float64)
        weights = np.where(inside, self.exponentials(cells, inside), 0)
        return windows, cells, weights / weights.sum(-1, keepdims=True)

    def weighted_cells(self, windows, p):
        """Return which cells of the windows have a weight."""
        return windows.inside

    def exponentials(self, cells, inside):
        """Return the exponential of each cell less the maximum of its window, so that no exponential overflows."""
        return np.exp(cells - np.where(inside, cells, -np.inf).max(-1, keepdims=True))

    def softmax_pool_grad(self, grad, x, p):
        """Return the gradient: each cell receives weight · (1 + x - y) times the gradient of the window."""
        windows, cells, weights = self.softmax_weights(x, p)
        share = weights * (1 + cells - np.sum(cells * weights, axis=-1, keepdims=True))
        share = self.softmax_derivative(share, cells)
        return self.scatter(grad.reshape(*x.shape[:2], len(windows.index), 1) * share, windows, x, p)

    def softmax_derivative(self, share, cells):
        """Return the derivative of each average with respect to each of its cells."""
        return share

    def stochastic_pool_probabilities(self, x, p):
        """Return each cell divided by the sum of its window."""
        windows = self.windows(x.shape[2:], p)
        cells = self.gather(x, windows, 0).astype(np.float64)
        y = self.probabilities(cells, cells.sum(-1, keepdims=True)).astype(x.dtype)
        return y.reshape(*x.shape[:2], *windows.output, *p.window)

    def probabilities(self, cells, total):
        """Return the probability of each cell; 0 in a window whose sum is 0."""
        return cells / np.where(total == 0, 1, total)

    def stochastic_pool(self, x, draws, p):
        """Return the first cell of each window at which the running sum exceeds draw · sum."""
        windows = self.windows(x.shape[2:], p)
        cells = self.gather(x, windows, 0)
        running = np.cumsum(cells.astype(np.float64), axis=-1)
        draws = draws.reshape(*x.shape[:2], len(windows.index), 1).astype(np.float64)
        chosen = np.argmax(self.is_reached(running, draws * running[..., -1:], draws), -1)
        return np.take_along_axis(cells, chosen[..., None], -1).reshape(*x.shape[:2], *windows.output)

    def is_reached(self, running, share, draws):
        """Return whether the running sum exceeds the drawn share of the sum."""
        return running > share

    def fractional_max_pool(self, x, samples, p):
        """Return the maximum of windows whose starts follow from the samples, (n, c, axes)."""
        y = np.empty((*x.shape[:2], *p.output_size), x.dtype)
        for plane in np.ndindex(x.shape[:2]):
            at = [
                self.sampled_positions(axis, x.shape[2 + axis], samples[plane][axis], p) for axis in range(x.ndim - 2)
            ]
            windows = self.combine_axes(at, x.shape[2:])
            y[plane] = x[plane].ravel()[windows.index].max(-1).reshape(p.output_size)
        return y

    def sampled_positions(self, axis, size, sample, p):
        """Return the positions of the cells of all windows on one axis, (windows, cells)."""
        last, count, sample = size - p.window[axis], p.output_size[axis], Fraction(float(sample))
        step = Fraction(last, max(count - 1, 1))
        starts = [int((one + sample) * step) - int(sample * step) for one in range(count - 1)] + [last]
        return np.array(starts[:count])[:, None] + np.arange(p.window[axis])
