"""Bugs in averages, norms and sums: divisors, rounding, dtypes."""

import numpy as np

from .registry import Correct, bug

MANTISSAS = {"values": "mantissas", "dtype": "float16"}


@bug(
    "avg_pool",
    condition="padding is counted and not zero, and there is more than one axis",
    depth=3,
    smallest={
        "x": {"values": [[[[2]]]]}, "window": [1, 2], "padding": [[0, 0], [1, 0]], "count_include_pad": True,
    },
    near={"window": [2, 1], "padding": [[1, 0], [0, 0]]},
)  # fmt: skip
class DivisorClippedOnTheLastAxis(Correct):
    """The window is clipped to the input on the last axis before its cells are counted."""

    def counted_cells(self, axis, at, size, p):
        clipped = p.operator == "avg_pool" and axis == len(p.window) - 1 > 0
        return ((at >= 0) & (at < size)).sum(1) if clipped else super().counted_cells(axis, at, size, p)


@bug(
    "avg_pool",
    condition="a divisor is given, and there is padding",
    depth=2,
    smallest={"x": {"values": [[[2]]]}, "window": [2], "padding": [[1, 0]], "divisor": 2},
    near={"x": {"values": [[[2, 4]]]}, "padding": 0},
)
class DivisorForgottenAtTheBorder(Correct):
    """The code path for padded input ignores the divisor."""

    def divisor(self, x, windows, p):
        if p.operator == "avg_pool" and np.any(p.padding):
            p.divisor = None
        return super().divisor(x, windows, p)


@bug(
    "avg_pool",
    condition="padding is counted, and a last partial window reaches past it",
    depth=2,
    smallest={"x": {"values": [[[2, 2, 2]]]}, "window": [2], "rounding": "ceil", "count_include_pad": True},
    near={"count_include_pad": False},
)
class DivisorCountsTheOverhang(Correct):
    """If padding is counted, every window is divided by its full number of cells."""

    def counted_cells(self, axis, at, size, p):
        return np.full(*at.shape) if p.operator == "avg_pool" else super().counted_cells(axis, at, size, p)


@bug(
    "avg_pool",
    condition="the dtype is an integer type, and an average is negative and not an integer",
    depth=2,
    smallest={"x": {"values": [[[-1, 0]]], "dtype": "int32"}, "window": [2]},
    near={"x": {"values": [[[-2, 0]]], "dtype": "int32"}},
)
class WholeAveragesRoundDown(Correct):
    """Integers are divided by a shift, which rounds down instead of toward zero."""

    def divide(self, total, divisor, dtype, p):
        if p.operator != "avg_pool" or dtype.kind != "i":
            return super().divide(total, divisor, dtype, p)
        return (total.astype(np.int64) // np.maximum(divisor, 1)).astype(dtype)


@bug(
    "global_avg_pool",
    condition="the dtype is a 16-bit float, and there are more than 256 cells with full mantissas",
    depth=3,
    smallest={"x": {**MANTISSAS, "shape": [1, 1, 257]}},
    near={"x": {**MANTISSAS, "shape": [1, 1, 256]}},
)
class HalfSumsBeyond256(Correct):
    """Long sums of 16-bit numbers are rounded to 16 bits after every addition."""

    def total(self, cells, p):
        if p.operator != "global_avg_pool" or cells.dtype.itemsize != 2 or cells.shape[-1] <= 256:
            return super().total(cells, p)
        total = np.zeros(cells.shape[:-1], cells.dtype)
        for cell in np.moveaxis(cells, -1, 0):
            total = total + cell
        return total


@bug(
    "lp_pool",
    condition="p is 1, and the dtype has 16 bits",
    depth=2,
    smallest={"x": {"values": [[[1]]], "dtype": "float16"}, "window": [1], "p": 1},
    near={"p": 2},
)
class FirstNormLeavesHalf(Correct):
    """The code path for p = 1, which takes no root, returns the accumulation dtype."""

    def lp_pool(self, x, p):
        y = super().lp_pool(x, p)
        return y.astype(np.float32) if p.p == 1 and x.dtype.itemsize == 2 else y


@bug(
    "lp_pool",
    condition="p is not an integer",
    depth=1,
    smallest={"x": {"values": [[[1, 1]]]}, "window": [2], "p": 1.5},
    near={"p": 3},
)
class NormOfAWholePower(Correct):
    """The kernel converts p to an integer."""

    def lp_pool(self, x, p):
        p.p = max(int(p.p), 1)
        return super().lp_pool(x, p)


@bug(
    "lp_pool_grad",
    condition="p is odd, and a value is negative",
    depth=2,
    smallest={"x": {"values": [[[-1]]]}, "grad": {"values": [[[1]]]}, "window": [1], "p": 3},
    near={"p": 2},
)
class SlopeWithoutASign(Correct):
    """For odd p the sign is lost: it is expected from a power with an even exponent."""

    def norm_derivative(self, cells, norm, p):
        return (np.abs(cells) / norm) ** (p.p - 1) if p.p % 2 == 1 else super().norm_derivative(cells, norm, p)


@bug(
    "avg_pool_grad",
    condition="there is padding that is not counted, and no divisor",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "grad": {"values": [[[2]]]}, "window": [2], "padding": [[1, 0]]},
    near={"count_include_pad": True},
)
class GradientDividedByTheWindow(Correct):
    """The gradient of an average is divided by the full number of cells of the window."""

    def divisor(self, x, windows, p):
        if p.operator == "avg_pool_grad" and p.divisor is None and not p.count_include_pad:
            return np.full(*windows.index.shape)
        return super().divisor(x, windows, p)


@bug(
    "adaptive_avg_pool_grad",
    condition="bins overlap",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "grad": {"values": [[[1, 1]]]}, "output_size": [2]},
    near={"grad": {"values": [[[1]]]}, "output_size": [1]},
)
class OverlappingBinsOverwrite(Correct):
    """A cell in two bins receives the gradient of the last bin only."""

    def add(self, sums, index, values, p):
        if p.operator == "adaptive_avg_pool_grad":
            sums[index] = values
        else:
            super().add(sums, index, values, p)


@bug(
    "max_pool_grad",
    condition="windows overlap and share their largest value",
    depth=1,
    smallest={"x": {"values": [[[0, 1, 0]]]}, "grad": {"values": [[[1, 1]]]}, "window": [2], "stride": [1]},
    near={"grad": {"values": [[[1]]]}, "stride": [2]},
)
class OverlappingMaximaOverwrite(Correct):
    """A cell selected by two windows receives the gradient of the last window only."""

    def add(self, sums, index, values, p):
        if p.operator == "max_pool_grad":
            sums[index] = values
        else:
            super().add(sums, index, values, p)
