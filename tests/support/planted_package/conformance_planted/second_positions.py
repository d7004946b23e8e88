"""Second set: bugs in gradients and indices of maxima, bins, samples, and unpooling."""

import numpy as np

from .registry import Correct, second_bug

NAN = float("nan")


def last_extremum(cells, choose):
    """Return the last extremum of each window."""
    return cells.shape[-1] - 1 - choose(cells[..., ::-1], axis=-1)


@second_bug(
    "max_pool_grad",
    condition="there are three spatial axes, and the largest value of a window occurs twice",
    depth=2,
    smallest={"x": {"values": [[[[[1, 1]]]]]}, "grad": {"values": [[[[[1]]]]]}, "window": [1, 1, 2]},
    near={"x": {"values": [[[[1, 1]]]]}, "grad": {"values": [[[[1]]]]}, "window": [1, 2]},
)
class VolumeTiesLast(Correct):
    """In volumes the gradient goes to the last of equal values."""

    def winner(self, cells, choose, p):
        last = p.operator == "max_pool_grad" and len(p.window) == 3
        return last_extremum(cells, choose) if last else super().winner(cells, choose, p)


@second_bug(
    "max_pool_grad",
    condition="the batch is above 1, and there is padding",
    depth=2,
    smallest={
        "x": {"values": [[[1]], [[1]]]}, "grad": {"values": [[[1]], [[2]]]}, "window": [2], "padding": [[1, 0]],
    },
    near={"window": [1], "padding": [[0, 0]]},
)  # fmt: skip
class PaddedImagesShareAGradient(Correct):
    """The code path for padding reads the gradient of the first image for every image."""

    def max_pool_grad(self, grad, x, p):
        shared = np.broadcast_to(grad[:1], grad.shape) if np.any(p.padding) else grad
        return super().max_pool_grad(shared, x, p)


@second_bug(
    "max_pool_with_indices",
    condition="indices are requested, there are three spatial axes, and there is dilation",
    depth=3,
    smallest={
        "x": {"values": [[[[[0, 0, 1]]]]]}, "window": [1, 1, 2], "dilation": [1, 1, 2], "output": "indices",
    },
    near={"dilation": [1, 1, 1]},
)  # fmt: skip
class DilatedVolumeIndices(Correct):
    """In dilated volumes the index is that of the first cell of the window."""

    def index_output(self, x, windows, index, p):
        if len(p.window) != 3 or max(p.dilation) == 1:
            return super().index_output(x, windows, index, p)
        first = windows.index[np.arange(len(windows.index)), np.argmax(windows.inside, 1)]
        return super().index_output(x, windows, np.broadcast_to(first, index.shape), p)


@second_bug(
    "max_pool_with_indices",
    condition="indices are requested, and a window has two NaN",
    depth=3,
    smallest={"x": {"values": [[[NAN, NAN]]]}, "window": [2], "output": "indices"},
    near={"x": {"values": [[[NAN, 1]]]}},
)
class LastOfTwoNans(Correct):
    """The index is that of the last NaN of a window."""

    def winner(self, cells, choose, p):
        chosen = super().winner(cells, choose, p)
        if p.operator != "max_pool_with_indices" or cells.dtype.kind not in "fV":
            return chosen
        is_nan = np.isnan(cells)
        return np.where(is_nan.any(-1), last_extremum(is_nan, np.argmax), chosen)


@second_bug(
    "max_unpool",
    condition="two values have the same index",
    depth=1,
    smallest={"x": {"values": [[[1, 2]]]}, "indices": {"values": [[[0, 0]]]}, "output_size": [1]},
    near={"indices": {"values": [[[0, 1]]]}, "output_size": [2]},
)
class DuplicatesAdded(Correct):
    """Values with the same index are added."""

    def max_unpool(self, x, indices, p):
        size = int(np.prod(p.output_size))
        planes = x.shape[0] * x.shape[1]
        targets = self.target_cells(indices.reshape(planes, -1), size, p)
        y = np.zeros((planes, size + 1), x.dtype)
        np.add.at(y, (np.arange(planes)[:, None], targets), x.reshape(targets.shape))
        return y[:, :size].reshape(*x.shape[:2], *p.output_size)


@second_bug(
    "max_unpool",
    condition="the indices are int32, and a plane has an odd number of values above 1",
    depth=2,
    smallest={
        "x": {"values": [[[1, 2, 3]]]}, "indices": {"values": [[[0, 1, 2]]], "dtype": "int32"}, "output_size": [3],
    },
    near={"indices": {"values": [[[0, 1, 2]]]}},
)  # fmt: skip
class NarrowIndicesInPairs(Correct):
    """Indices of 32 bits are read in pairs, and the last odd value is dropped."""

    def target_cells(self, rows, size, p):
        targets = super().target_cells(rows, size, p)
        if p.operator == "max_unpool" and rows.dtype == np.int32 and rows.shape[-1] > 1 and rows.shape[-1] % 2:
            targets[..., -1] = size
        return targets


@second_bug(
    "max_unpool",
    condition="the batch is above 1, and the number of cells of an output plane is odd",
    depth=2,
    smallest={
        "x": {"values": [[[1]], [[1]]]}, "indices": {"values": [[[0]], [[0]]]}, "output_size": [3],
    },
    near={"output_size": [2]},
)  # fmt: skip
class ImagesOfEvenPlanes(Correct):
    """Planes are assumed to have an even number of cells, so the values of later images are shifted."""

    def max_unpool(self, x, indices, p):
        y = super().max_unpool(x, indices, p)
        if y[0, 0].size % 2:
            rows = y.reshape(*y.shape[:2], -1)
            rows[1:] = np.roll(rows[1:], 1, axis=-1)
        return y


@second_bug(
    "global_max_pool",
    condition="a plane has two NaN, or another even number of them",
    depth=3,
    smallest={"x": {"values": [[[NAN, NAN]]]}},
    near={"x": {"values": [[[NAN, 1]]]}},
)
class TwoNansCancel(Correct):
    """Each NaN toggles whether the maximum is NaN."""

    def global_max_pool(self, x, p):
        if x.dtype.kind in "fV":
            is_nan = np.isnan(x)
            even = is_nan.sum(tuple(range(2, x.ndim)), keepdims=True) % 2 == 0
            x = np.where(is_nan & even, np.asarray(-np.inf, x.dtype), x)
        return super().global_max_pool(x, p)


@second_bug(
    "global_max_pool_grad",
    condition="the largest value of a plane occurs twice in an image after the first",
    depth=2,
    smallest={"x": {"values": [[[1, 1]], [[1, 1]]]}, "grad": {"values": [[[1]], [[1]]]}},
    near={"x": {"values": [[[1, 1]], [[1, 0]]]}},
)
class LaterImagesTakeTheLastTie(Correct):
    """In later images the gradient goes to the last of equal values."""

    def winner(self, cells, choose, p):
        chosen = super().winner(cells, choose, p)
        if p.operator == "global_max_pool_grad":
            chosen[1:] = last_extremum(cells[1:], choose)
        return chosen


@second_bug(
    "adaptive_max_pool",
    condition="there are more than 8 bins on an axis, they do not divide it, and a maximum is first in its bin",
    depth=3,
    smallest={"x": {"values": [[[*range(17, 0, -1)]]]}, "output_size": [9]},
    near={"output_size": [8]},
)
class NinthBin(Correct):
    """From the ninth bin on, a bin starts one cell late."""

    def bin_edges(self, size, count, p):
        starts, ends = super().bin_edges(size, count, p)
        if p.operator == "adaptive_max_pool":
            starts[8:] += (ends[8:] - starts[8:] > 1) & (size % count != 0)
        return starts, ends


@second_bug(
    "adaptive_max_pool_grad",
    condition="the output is larger than the input, so that bins share a cell",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "grad": {"values": [[[1, 1]]]}, "output_size": [2]},
    near={"grad": {"values": [[[1]]]}, "output_size": [1]},
)
class RepeatedCellsOverwrite(Correct):
    """A cell in several bins receives the gradient of the last bin only."""

    def adaptive_max_pool_grad(self, grad, x, p):
        p.overwrites = any(many > size for many, size in zip(p.output_size, x.shape[2:], strict=True))
        return super().adaptive_max_pool_grad(grad, x, p)

    def add(self, sums, index, values, p):
        if getattr(p, "overwrites", False):
            sums[index] = values
        else:
            super().add(sums, index, values, p)


@second_bug(
    "fractional_max_pool",
    condition="a sample is 0, and the ratio of an axis is not a whole number",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 3, 4]]]}, "samples": {"values": [[[0]]]}, "window": [1], "output_size": [3],
    },
    near={"samples": {"values": [[[0.1]]]}},
)  # fmt: skip
class SampleOfZero(Correct):
    """The sample 0 is replaced by 1/2, as if it were missing."""

    def sampled_positions(self, axis, size, sample, p):
        return super().sampled_positions(axis, size, sample if sample else 0.5, p)


@second_bug(
    "stochastic_pool",
    condition="a draw is 0, and the first cell of its window is 0",
    depth=3,
    smallest={"x": {"values": [[[0, 1]]]}, "draws": {"values": [[[0]]]}, "window": [2]},
    near={"draws": {"values": [[[0.5]]]}},
)
class DrawOfZero(Correct):
    """The draw 0 selects the first cell, even if it is 0."""

    def is_reached(self, running, share, draws):
        return super().is_reached(running, share, draws) | (draws == 0)


@second_bug(
    "stochastic_pool_probabilities",
    condition="a window has only zeros",
    depth=2,
    smallest={"x": {"values": [[[0]]]}, "window": [1]},
    near={"x": {"values": [[[1]]]}},
)
class WindowOfZeros(Correct):
    """The probabilities of a window of zeros are NaN."""

    def probabilities(self, cells, total):
        return cells / total
