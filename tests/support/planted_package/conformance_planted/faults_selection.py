"""Faults in what is chosen: special values, the ends of dtypes, ties, and how indices are told."""

from math import prod

import ml_dtypes
import numpy as np

from .record import Correct, fault


@fault(
    "max_pool",
    condition="the only NaN of a window is in its last cell",
    depth=3,
    smallest={"x": {"values": [[[1, float("nan")]]]}, "window": [2]},
    near={"x": {"values": [[[float("nan"), 1]]]}},
)
class NanLostInTheLastCell(Correct):
    """The last cell of a window is selected if it is greater than the others, which is false for NaN."""

    def winner(self, cells, choose, p):
        if p.verb != "max_pool" or cells.shape[-1] == 1:
            return super().winner(cells, choose, p)
        first = choose(cells[..., :-1], axis=-1)
        greater = cells[..., -1] > np.take_along_axis(cells, first[..., None], -1)[..., 0]
        return np.where(greater, cells.shape[-1] - 1, first)


@fault(
    "global_max_pool",
    condition="a plane has more than 8 cells, and its NaN is in the remainder after groups of 8",
    depth=3,
    smallest={"x": {"values": [[[0, 0, 0, 0, 0, 0, 0, 0, float("nan")]]]}},
    near={"x": {"values": [[[0, 0, 0, 0, 0, 0, 0, float("nan"), 0]]]}},
)
class NanLostBehindTheLanes(Correct):
    """The remainder after groups of 8 cells is reduced with fmax, which ignores NaN."""

    def winner(self, cells, choose, p):
        lanes = cells.shape[-1] // 8 * 8
        if p.verb == "global_max_pool" and lanes and cells.dtype.kind in "fV":
            cells = cells.copy()
            rest = cells[..., lanes:]
            rest[np.isnan(rest)] = -np.inf
        return super().winner(cells, choose, p)


@fault(
    "max_pool_with_indices",
    condition="indices are requested, and 0 follows -0 in a window whose maximum is 0",
    depth=3,
    smallest={"x": {"values": [[[-0.0, 0]]]}, "window": [2], "output": "indices"},
    near={"x": {"values": [[[0, -0.0]]]}},
)
class ZerosAlike(Correct):
    """The comparison treats -0 and 0 as equal, so the first of them is selected."""

    def winner(self, cells, choose, p):
        alike = p.verb == "max_pool_with_indices"
        return choose(cells, axis=-1) if alike else super().winner(cells, choose, p)


@fault(
    "min_pool",
    condition="the smallest value is subnormal",
    depth=3,
    smallest={"x": {"values": [[[1e-40]]]}, "window": [1]},
    near={"x": {"values": [[[1e-30]]]}},
)
class SubnormalsFlushed(Correct):
    """The minimum is computed through an addition with subnormal numbers flushed to zero."""

    def min_pool(self, x, p):
        y = super().min_pool(x, p)
        if x.dtype.kind in "fV":
            y[np.abs(y) < ml_dtypes.finfo(x.dtype).smallest_normal] = 0
        return y


@fault(
    "global_max_pool",
    condition="the dtype is unsigned, and the values span both halves of its range",
    depth=2,
    smallest={"x": {"values": [[[1, 128]]], "dtype": "uint8"}},
    near={"x": {"values": [[[1, 127]]], "dtype": "uint8"}},
)
class UnsignedAsSigned(Correct):
    """Unsigned integers are compared as signed integers."""

    def winner(self, cells, choose, p):
        if p.verb == "global_max_pool" and cells.dtype.kind == "u":
            cells = cells.view(f"i{cells.dtype.itemsize}")
        return super().winner(cells, choose, p)


@fault(
    "adaptive_max_pool",
    condition="the dtype has 64 bits, and two integers above 2^53 round to the same double",
    depth=3,
    smallest={"x": {"values": [[[2**53, 2**53 + 1]]], "dtype": "int64"}, "output_size": [1]},
    near={"x": {"values": [[[2**53 - 1, 2**53]]], "dtype": "int64"}},
)
class WholeNumbersAsDoubles(Correct):
    """Integers are compared as doubles."""

    def winner(self, cells, choose, p):
        if p.verb == "adaptive_max_pool" and cells.dtype.kind in "iu":
            cells = cells.astype(np.float64)
        return super().winner(cells, choose, p)


@fault(
    "max_pool",
    condition="the dtype is a signed integer type, and a window has only padding and the smallest number",
    depth=3,
    smallest={"x": {"values": [[[-128]]], "dtype": "int8"}, "window": [2], "padding": [[0, 1]]},
    near={"x": {"values": [[[-127]]], "dtype": "int8"}},
)
class PaddingAboveTheLeast(Correct):
    """Padding is filled with the negated largest number, which is one above the smallest number."""

    def max_pool(self, x, p):
        if x.dtype.kind != "i":
            return super().max_pool(x, p)
        walk = self.walk(x.shape[2:], p)
        cells = self.gathered(x, walk, -np.iinfo(x.dtype).max)
        return cells.max(3).reshape(*x.shape[:2], *walk.output)


@fault(
    "min_pool",
    condition="the dtype is bool",
    depth=1,
    smallest={"x": {"values": [[[1]]], "dtype": "bool"}, "window": [1]},
    near={"x": {"values": [[[1]]], "dtype": "uint8"}},
)
class BoolComesBackAsBytes(Correct):
    """A bool input is processed as bytes, and the output is not converted back."""

    def min_pool(self, x, p):
        y = super().min_pool(x, p)
        return y.view(np.uint8) if x.dtype == bool else y


@fault(
    "max_pool",
    condition="there are 17, 33, … channels",
    depth=3,
    smallest={"x": {"values": "arange", "shape": [1, 17, 1]}, "window": [1]},
    near={"x": {"values": "arange", "shape": [1, 18, 1]}},
)
class ChannelAloneInItsBlock(Correct):
    """Channels are processed in blocks of 16; a last block of one channel returns the previous channel."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        if x.shape[1] > 16 and x.shape[1] % 16 == 1:
            y[:, -1] = y[:, -2]
        return y


@fault(
    "max_pool_with_indices",
    condition="indices are requested, and the largest value occurs twice in a window",
    depth=1,
    smallest={"x": {"values": [[[1, 1]]]}, "window": [2], "output": "indices"},
    near={"x": {"values": [[[1, 2]]]}},
)
class TiesLast(Correct):
    """The last of equal values is selected: the comparison is >= instead of >."""

    def winner(self, cells, choose, p):
        if p.verb != "max_pool_with_indices":
            return super().winner(cells, choose, p)
        return cells.shape[-1] - 1 - choose(cells[..., ::-1], axis=-1)


@fault(
    "max_pool_grad",
    condition="the window is dilated, and its largest value occurs twice",
    depth=2,
    smallest={"x": {"values": [[[1, 0, 1]]]}, "grad": {"values": [[[1]]]}, "window": [2], "dilation": [2]},
    near={"dilation": [1]},
)
class TiesLastWhereDilated(Correct):
    """Dilated windows are scanned backwards, so the gradient goes to the last of equal values."""

    def winner(self, cells, choose, p):
        if p.verb != "max_pool_grad" or set(p.dilation) == {1}:
            return super().winner(cells, choose, p)
        return cells.shape[-1] - 1 - choose(cells[..., ::-1], axis=-1)


@fault(
    "max_pool_with_indices",
    condition="indices are requested, and there is more than one channel",
    depth=1,
    smallest={"x": {"values": [[[1], [1]]]}, "window": [1], "output": "indices"},
    near={"x": {"values": [[[1]], [[1]]]}},
)
class IndicesOverChannels(Correct):
    """Indices are counted over all channels of an item."""

    def numbered(self, x, walk, index, p):
        told = super().numbered(x, walk, index, p)
        return np.where(told < 0, -1, told + np.arange(x.shape[1])[:, None] * prod(x.shape[2:]))


@fault(
    "max_pool_with_indices",
    condition="indices are requested, and there is padding",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "window": [2], "padding": [[1, 0]], "output": "indices"},
    near={"padding": [[0, 1]]},
)
class IndicesInThePaddedPlane(Correct):
    """Indices refer to the padded plane."""

    def numbered(self, x, walk, index, p):
        told = super().numbered(x, walk, index, p)
        at = np.unravel_index(np.maximum(told, 0), x.shape[2:])
        moved = [place + before for place, (before, _) in zip(at, p.padding, strict=True)]
        size = [extent + sum(pair) for extent, pair in zip(x.shape[2:], p.padding, strict=True)]
        return np.where(told < 0, -1, np.ravel_multi_index(moved, size))


@fault(
    "max_pool_with_indices",
    condition="indices are requested in two dimensions, height and width differ, and a maximum is below the first row",
    depth=2,
    smallest={"x": {"values": [[[[0], [1]]]]}, "window": [2, 1], "output": "indices"},
    near={"x": {"values": [[[[0, 1]]]]}, "window": [1, 2]},
)
class RowsOfTheHeight(Correct):
    """The index of a cell in a plane is row · height + column."""

    def numbered(self, x, walk, index, p):
        told = super().numbered(x, walk, index, p)
        if x.ndim != 4 or not prod(x.shape[2:]):
            return told
        height, width = x.shape[2:]
        return np.where(told < 0, -1, told // width * height + told % width)


@fault(
    "max_pool_with_indices",
    condition="indices are requested, and a maximum is beyond the first 65,536 cells of its plane",
    depth=3,
    smallest={"x": {"values": "arange", "shape": [1, 1, 65537]}, "window": [65537], "output": "indices"},
    near={"x": {"values": "arange", "shape": [1, 1, 65536]}, "window": [65536]},
)
class IndicesOf16Bits(Correct):
    """Indices are stored in 16 bits."""

    def numbered(self, x, walk, index, p):
        told = super().numbered(x, walk, index, p)
        return np.where(told < 0, -1, told & 0xFFFF)
