"""Third set: bugs in averages, norms, softmax pooling, and their gradients."""

import ml_dtypes
import numpy as np

from .registry import Correct, third_bug

INFINITY = float("inf")


@third_bug(
    "avg_pool",
    condition="padding is counted, windows tile the input, and the padding before an axis exceeds the one after it",
    depth=3,
    smallest={
        "x": {"values": [[[1]]]}, "window": [4], "stride": [4], "padding": [[2, 1]], "count_include_pad": True,
    },
    near={"padding": [[1, 2]]},
)  # fmt: skip
class TilesWithoutTheirEnd(Correct):
    """Windows that tile the input are divided without the padding after it."""

    def counted_cells(self, axis, at, size, p):
        tiles = p.operator == "avg_pool" and [*p.stride] == [*p.window]
        if tiles and p.padding[axis][0] > p.padding[axis][1]:
            return (at < size).sum(1)
        return super().counted_cells(axis, at, size, p)


@third_bug(
    "avg_pool",
    condition="the dtype is int32, and a window has more than 63 cells",
    depth=3,
    smallest={"x": {"values": [[[1] * 63 + [0]]], "dtype": "int32"}, "window": [64]},
    near={"x": {"values": [[[1] * 63]], "dtype": "int32"}, "window": [63]},
)
class DivisorOfSixBits(Correct):
    """The divisor of 32-bit integers is limited to 63."""

    def divisor(self, x, windows, p):
        divisor = super().divisor(x, windows, p)
        return np.minimum(divisor, 63) if p.operator == "avg_pool" and x.dtype == np.int32 else divisor


@third_bug(
    "avg_pool",
    condition="a window has both infinities",
    depth=2,
    smallest={"x": {"values": [[[INFINITY, -INFINITY]]]}, "window": [2]},
    near={"x": {"values": [[[INFINITY, 0]]]}},
)
class InfinitiesDoNotCancel(Correct):
    """The average of both infinities is positive infinity instead of NaN."""

    def total(self, cells, p):
        total = super().total(cells, p)
        if p.operator != "avg_pool" or cells.dtype.kind not in "fV":
            return total
        both = np.isposinf(cells).any(-1) & np.isneginf(cells).any(-1) & ~np.isnan(cells).any(-1)
        return np.where(both, np.asarray(np.inf, total.dtype), total)


@third_bug(
    "avg_pool_grad",
    condition="a divisor is given, and the last window is partial",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 3]]]}, "grad": {"values": [[[1, 1]]]}, "window": [2], "stride": [2],
        "rounding": "ceil", "divisor": 2,
    },
    near={"x": {"values": [[[1, 2, 3, 4]]]}},
)  # fmt: skip
class PartialWindowsOfADivisor(Correct):
    """With a divisor, the gradient of a partial window is dropped."""

    def divisor(self, x, windows, p):
        divisor = super().divisor(x, windows, p)
        if p.operator != "avg_pool_grad" or p.divisor is None:
            return divisor
        partial = np.zeros((), bool)
        for at, size, pair in zip(windows.at, x.shape[2:], p.padding, strict=True):
            partial = partial[..., None] | (at.max(1, initial=0) >= size + pair[1])
        return np.where(partial.ravel(), np.inf, divisor)


@third_bug(
    "lp_pool",
    condition="p is 2, there is dilation, and the last cell of a window is not zero",
    depth=2,
    smallest={"x": {"values": [[[1, 2, 3]]]}, "window": [2], "dilation": [2], "p": 2},
    near={"p": 3},
)
class DilatedNormsOfOneCellLess(Correct):
    """The code path for p = 2 ignores the last cell of dilated windows."""

    def norm(self, cells, p):
        shortened = p.operator == "lp_pool" and p.p == 2 and max(p.dilation) > 1 and cells.shape[-1] > 1
        return super().norm(cells[..., :-1] if shortened else cells, p)


@third_bug(
    "lp_pool_grad",
    condition="p is 1, and a value is negative",
    depth=2,
    smallest={"x": {"values": [[[-1]]]}, "grad": {"values": [[[1]]]}, "window": [1], "p": 1},
    near={"p": 2},
)
class SignLostForOne(Correct):
    """The code path for p = 1 returns the gradient without the sign."""

    def norm_derivative(self, cells, norm, p):
        share = super().norm_derivative(cells, norm, p)
        return np.abs(share) if p.p == 1 else share


@third_bug(
    "softmax_pool",
    condition="the dtype is bfloat16, and the largest value of a window of several cells is its last",
    depth=3,
    smallest={"x": {"values": [[[0, 4]]], "dtype": "bfloat16"}, "window": [2]},
    near={"x": {"values": [[[4, 0]]], "dtype": "bfloat16"}},
)
class LargestWeightLast(Correct):
    """In bfloat16 the last cell has half its weight if it is the largest."""

    def softmax_pool(self, x, p):
        p.halved = x.dtype == ml_dtypes.bfloat16
        return super().softmax_pool(x, p)

    def softmax_weights(self, x, p):
        windows, cells, weights = super().softmax_weights(x, p)
        if getattr(p, "halved", False) and cells.shape[-1] > 1:
            last = np.where(windows.inside, cells, -np.inf).argmax(-1) == cells.shape[-1] - 1
            weights = weights.copy()
            weights[..., -1] *= np.where(last, 0.5, 1)
        return windows, cells, weights


@third_bug(
    "softmax_pool_grad",
    condition="the batch is above 1, and there is padding",
    depth=2,
    smallest={
        "x": {"values": [[[1, 2]], [[4, 1]]]}, "grad": {"values": [[[1]], [[1]]]}, "window": [3], "padding": [[0, 1]],
    },
    near={"x": {"values": [[[1, 2, 0]], [[4, 1, 0]]]}, "padding": [[0, 0]]},
)  # fmt: skip
class WeightsOfTheFirstImage(Correct):
    """With padding, the weights of the last image are those of the first."""

    def softmax_weights(self, x, p):
        windows, cells, weights = super().softmax_weights(x, p)
        if p.operator == "softmax_pool_grad" and len(x) > 1 and np.any(p.padding):
            weights = np.concatenate([weights[:-1], weights[:1]])
        return windows, cells, weights


@third_bug(
    "global_avg_pool",
    condition="there are two spatial axes, the first has one cell, and the second has an even number of cells",
    depth=3,
    smallest={"x": {"values": [[[[1, 2]]]]}},
    near={"x": {"values": [[[[1], [2]]]]}},
)
class RowsInPairs(Correct):
    """Planes of a single row are added in pairs of cells, from the second cell on."""

    def total(self, cells, p):
        return super().total(cells[..., 1:] if getattr(p, "row", False) else cells, p)

    def global_avg_pool(self, x, p):
        p.row = x.ndim == 4 and x.shape[2] == 1 and x.shape[3] and x.shape[3] % 2 == 0
        return super().global_avg_pool(x, p)


@third_bug(
    "adaptive_avg_pool",
    condition="there are three spatial axes, and the bins of the second overlap",
    depth=3,
    smallest={"x": {"values": [[[[[1], [2], [4]]]]]}, "output_size": [1, 2, 1]},
    near={"x": {"values": [[[[[1, 2, 4]]]]]}, "output_size": [1, 1, 2]},
)
class MiddleBinsTouch(Correct):
    """In volumes a bin of the second axis ends where the next one starts."""

    def adaptive_avg_pool(self, x, p):
        p.axis = None
        return super().adaptive_avg_pool(x, p)

    def positions(self, axis, size, p):
        p.axis = axis
        return super().positions(axis, size, p)

    def bin_edges(self, size, count, p):
        starts, ends = super().bin_edges(size, count, p)
        touches = p.operator == "adaptive_avg_pool" and p.axis == 1 and len(p.output_size) == 3
        if touches and count < size:
            ends = np.append(starts[1:], ends[-1:])
        return starts, ends


@third_bug(
    "adaptive_avg_pool_grad",
    condition="an axis has more than 4 bins, and the number of planes is odd and above 1",
    depth=3,
    smallest={
        "x": {"values": [[[1]] * 3]}, "grad": {"values": [[[1] * 5] * 3]}, "output_size": [5],
    },
    near={"x": {"values": [[[1]] * 2]}, "grad": {"values": [[[1] * 5] * 2]}},
)  # fmt: skip
class OddPlanesOfManyBins(Correct):
    """With more than 4 bins planes are processed in pairs; a last odd plane receives no gradient."""

    def adaptive_avg_pool_grad(self, grad, x, p):
        y = super().adaptive_avg_pool_grad(grad, x, p)
        planes = x.shape[0] * x.shape[1]
        if max(p.output_size) > 4 and planes > 1 and planes % 2:
            y[-1, -1] = 0
        return y
