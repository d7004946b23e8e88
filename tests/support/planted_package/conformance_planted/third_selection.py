"""Third set: bugs in maxima, minima, indices, unpooling and selections by samples."""

from math import prod

import numpy as np

from .registry import Correct, third_bug

NAN = float("nan")
VOLUME = [[[[[1, 2], [3, 4]]]]]


@third_bug(
    "max_pool",
    condition="neighbouring windows of the last axis share one cell, and it is the maximum of the later window",
    depth=3,
    smallest={"x": {"values": [[[0, 1, 9, 2, 3]]]}, "window": [3], "stride": [2]},
    near={"stride": [1]},
)
class SharedCellReadOnce(Correct):
    """A cell that belongs to two windows is read for the first of them only."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        shares = p.operator == "max_pool" and axis == len(p.window) - 1 and p.dilation[axis] == 1
        if shares and 1 < p.stride[axis] == p.window[axis] - 1:
            at[1:, 0] = at[1:, 1]
        return at


@third_bug(
    "max_pool",
    condition="all NaN of a window are in its second half",
    depth=2,
    smallest={"x": {"values": [[[1, NAN]]]}, "window": [2]},
    near={"x": {"values": [[[NAN, 1]]]}},
)
class NanInTheSecondHalf(Correct):
    """The second half of a window is reduced with fmax, which ignores NaN."""

    def winner(self, cells, choose, p):
        if p.operator == "max_pool" and cells.shape[-1] > 1 and cells.dtype.kind in "fV":
            second = np.arange(cells.shape[-1]) >= cells.shape[-1] // 2
            cells = np.where(np.isnan(cells) & second, np.asarray(-np.inf, cells.dtype), cells)
        return super().winner(cells, choose, p)


@third_bug(
    "max_pool",
    condition="there are several axes, and no two of all their paddings are equal",
    depth=3,
    smallest={"x": {"values": [[[[1, 2, 3], [4, 5, 6]]]]}, "window": [2, 4], "padding": [[0, 1], [2, 3]]},
    near={"padding": [[0, 1], [2, 2]]},
)
class PaddingsSortedByAxis(Correct):
    """If all paddings differ, those of the first axis are exchanged."""

    def max_pool(self, x, p):
        if len(p.padding) > 1 and len({pad for pair in p.padding for pad in pair}) == 2 * len(p.padding):
            p.padding = [p.padding[0][::-1], *p.padding[1:]]
        return super().max_pool(x, p)


@third_bug(
    "max_pool_with_indices",
    condition="indices are requested, and the batch is above 2",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]] * 3}, "window": [2], "output": "indices"},
    near={"x": {"values": [[[1, 2]]] * 2}},
)
class IndicesOfTheLastImage(Correct):
    """The indices of the last of several images count from the first one's end."""

    def index_output(self, x, windows, index, p):
        indices = super().index_output(x, windows, index, p)
        if len(x) > 2:
            indices[-1] = (indices[-1] + 1) % max(prod(x.shape[2:]), 1)
        return indices


@third_bug(
    "min_pool",
    condition="the dtype is int16, and the number of channels is even",
    depth=3,
    smallest={"x": {"values": [[[1], [2]]], "dtype": "int16"}, "window": [1]},
    near={"x": {"values": [[[1], [2], [3]]], "dtype": "int16"}},
)
class ShortChannelsSwapped(Correct):
    """16-bit channels are loaded in pairs, and the last pair is exchanged."""

    def min_pool(self, x, p):
        y = super().min_pool(x, p)
        if x.dtype == np.int16 and x.shape[1] and x.shape[1] % 2 == 0:
            y[:, -2:] = y[:, :-3:-1].copy()
        return y


@third_bug(
    "global_max_pool",
    condition="the number of cells of a plane is a multiple of 32, and its maximum is its last cell",
    depth=3,
    smallest={"x": {"values": [[[0] * 31 + [1]]]}},
    near={"x": {"values": [[[0] * 32 + [1]]]}},
)
class FullVectorsLoseACell(Correct):
    """Planes that fill the vectors of 32 cells are reduced without their last cell."""

    def winner(self, cells, choose, p):
        count = cells.shape[-1]
        shortened = p.operator == "global_max_pool" and count and count % 32 == 0
        return super().winner(cells[..., :-1] if shortened else cells, choose, p)


@third_bug(
    "max_pool_grad",
    condition="there are three spatial axes, the window has one cell on the first, and the stride is above 1 there",
    depth=3,
    smallest={
        "x": {"values": [[[[[1]], [[2]], [[3]]]]]}, "grad": {"values": [[[[[1]], [[1]]]]]},
        "window": [1, 1, 1], "stride": [2, 1, 1],
    },
    near={"x": {"values": [[[[1], [2], [3]]]]}, "grad": {"values": [[[[1], [1]]]]}, "window": [1, 1], "stride": [2, 1]},
)  # fmt: skip
class SlicesWithoutStride(Correct):
    """Volumes whose windows have one slice are processed slice by slice, without the stride."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        sliced = p.operator == "max_pool_grad" and len(p.window) == 3 and axis == 0 and p.window[0] == 1
        return at // p.stride[0] if sliced else at


@third_bug(
    "max_pool_with_indices_grad",
    condition="the dtype is float16, and the batch is odd and above 1",
    depth=3,
    smallest={
        "x": {"values": [[[1]]] * 3, "dtype": "float16"}, "grad": {"values": [[[1]]] * 3, "dtype": "float16"},
        "window": [1],
    },
    near={"x": {"values": [[[1]]] * 2, "dtype": "float16"}, "grad": {"values": [[[1]]] * 2, "dtype": "float16"}},
)  # fmt: skip
class HalfImagesInPairs(Correct):
    """The gradients of float16 images are computed in pairs; a last odd image receives none."""

    def max_pool_with_indices_grad(self, grad, x, p):
        y = super().max_pool_with_indices_grad(grad, x, p)
        if x.dtype == np.float16 and len(x) > 1 and len(x) % 2:
            y[-1] = 0
        return y


@third_bug(
    "adaptive_max_pool",
    condition="there are several spatial axes, and the last cell of a plane is its only NaN",
    depth=3,
    smallest={"x": {"values": [[[[1, NAN]]]]}, "output_size": [1, 1]},
    near={"x": {"values": [[[1, NAN]]]}, "output_size": [1]},
)
class NanInTheLastCorner(Correct):
    """The last cell of a plane is compared by an operator that ignores NaN."""

    def gather(self, x, windows, fill):
        if x.ndim > 3 and x.dtype.kind in "fV" and np.isneginf(np.asarray(fill, np.float64)):
            x = x.copy()
            last = x[(..., *[slice(-1, None)] * (x.ndim - 2))]
            last[np.isnan(last)] = -np.inf
        return super().gather(x, windows, fill)


@third_bug(
    "adaptive_max_pool_grad",
    condition="the output has the extent of the input on all axes, and there are several channels",
    depth=2,
    smallest={"x": {"values": [[[1], [2]]]}, "grad": {"values": [[[1], [2]]]}, "output_size": [1]},
    near={"x": {"values": [[[1, 1], [2, 2]]]}},
)
class IdentityInAnotherOrder(Correct):
    """If nothing is pooled, the gradient is copied with its channels in reverse order."""

    def adaptive_max_pool_grad(self, grad, x, p):
        return super().adaptive_max_pool_grad(grad[:, ::-1] if grad.shape == x.shape else grad, x, p)


@third_bug(
    "fractional_max_pool",
    condition="there are three spatial axes, and the samples of the last two differ",
    depth=3,
    smallest={
        "x": {"values": [[[[[1, 2, 3, 4]]]]]}, "samples": {"values": [[[0, 0, 0.5]]]},
        "window": [1, 1, 1], "output_size": [1, 1, 3],
    },
    near={"samples": {"values": [[[0, 0.5, 0.5]]]}},
)  # fmt: skip
class SampleOfTheSecondAxis(Correct):
    """In volumes the last axis uses the sample of the axis before it."""

    def fractional_max_pool(self, x, samples, p):
        return super().fractional_max_pool(x, samples[..., [0, 1, 1]] if x.ndim == 5 else samples, p)


@third_bug(
    "stochastic_pool",
    condition="a window of several cells has one cell that is not zero, and it is the last",
    depth=3,
    smallest={"x": {"values": [[[0, 1]]]}, "draws": {"values": [[[0.5]]]}, "window": [2]},
    near={"x": {"values": [[[1, 1]]]}},
)
class OnlyTheLastCell(Correct):
    """The search ends before the last cell, and returns the first cell instead."""

    def is_reached(self, running, share, draws):
        reached = super().is_reached(running, share, draws)
        if reached.shape[-1] > 1:
            reached[..., -1] = False
            reached[..., 0] |= ~reached.any(-1) & (running[..., -2] == 0)
            reached[..., -1] = True
        return reached


@third_bug(
    "max_unpool",
    condition="there are three spatial axes, and an index is -1",
    depth=2,
    smallest={
        "x": {"values": VOLUME}, "indices": {"values": [[[[[-1, 0], [1, 2]]]]]}, "output_size": [1, 2, 2],
    },
    near={"x": {"values": VOLUME[0]}, "indices": {"values": [[[[-1, 0], [1, 2]]]]}, "output_size": [2, 2]},
)  # fmt: skip
class NothingWrittenToTheLastCell(Correct):
    """In volumes the index -1 is the last cell."""

    def target_cells(self, rows, size, p):
        if p.operator == "max_unpool" and len(p.output_size) == 3:
            return np.where(rows < 0, size - 1, rows)
        return super().target_cells(rows, size, p)


@third_bug(
    "max_unpool_grad",
    condition="an image after the first has two values with the same index",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2]], [[1, 2]]]}, "indices": {"values": [[[0, 1]], [[0, 0]]]},
        "grad": {"values": [[[1, 2]], [[3, 4]]]}, "output_size": [2],
    },
    near={"indices": {"values": [[[0, 0]], [[0, 1]]]}},
)  # fmt: skip
class FirstOfDuplicates(Correct):
    """In images after the first, the first of several values with one index receives the gradient."""

    def max_unpool_grad(self, grad, x, indices, p):
        y = super().max_unpool_grad(grad, x, indices, p)
        axes = tuple(range(2, x.ndim))
        reverse = super().max_unpool_grad(grad, np.flip(x, axes), np.flip(indices, axes), p)
        return np.concatenate([y[:1], np.flip(reverse, axes)[1:]])
