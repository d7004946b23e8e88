"""Bugs in selections: special values, limits of dtypes, ties, and indices."""

from math import prod

import ml_dtypes
import numpy as np

from .registry import Correct, bug


@bug(
    "max_pool",
    condition="the only NaN of a window is in its last cell",
    depth=3,
    smallest={"x": {"values": [[[1, float("nan")]]]}, "window": [2]},
    near={"x": {"values": [[[float("nan"), 1]]]}},
)
class NanLostInTheLastCell(Correct):
    """The last cell of a window is selected if it is greater than the others, which is false for NaN."""

    def winner(self, cells, choose, p):
        if p.operator != "max_pool" or cells.shape[-1] == 1:
            return super().winner(cells, choose, p)
        first = choose(cells[..., :-1], axis=-1)
        greater = cells[..., -1] > np.take_along_axis(cells, first[..., None], -1)[..., 0]
        return np.where(greater, cells.shape[-1] - 1, first)


@bug(
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
        if p.operator == "global_max_pool" and lanes and cells.dtype.kind in "fV":
            cells = cells.copy()
            remainder = cells[..., lanes:]
            remainder[np.isnan(remainder)] = -np.inf
        return super().winner(cells, choose, p)


@bug(
    "max_pool_with_indices",
    condition="indices are requested, and 0 follows -0 in a window whose maximum is 0",
    depth=3,
    smallest={"x": {"values": [[[-0.0, 0]]]}, "window": [2], "output": "indices"},
    near={"x": {"values": [[[0, -0.0]]]}},
)
class ZerosAlike(Correct):
    """The comparison treats -0 and 0 as equal, so the first of them is selected."""

    def winner(self, cells, choose, p):
        ignores_sign = p.operator == "max_pool_with_indices"
        return choose(cells, axis=-1) if ignores_sign else super().winner(cells, choose, p)


@bug(
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


@bug(
    "global_max_pool",
    condition="the dtype is unsigned, and the values span both halves of its range",
    depth=2,
    smallest={"x": {"values": [[[1, 128]]], "dtype": "uint8"}},
    near={"x": {"values": [[[1, 127]]], "dtype": "uint8"}},
)
class UnsignedAsSigned(Correct):
    """Unsigned integers are compared as signed integers."""

    def winner(self, cells, choose, p):
        if p.operator == "global_max_pool" and cells.dtype.kind == "u":
            cells = cells.view(f"i{cells.dtype.itemsize}")
        return super().winner(cells, choose, p)


@bug(
    "adaptive_max_pool",
    condition="the dtype has 64 bits, and two integers above 2^53 round to the same double",
    depth=3,
    smallest={"x": {"values": [[[2**53, 2**53 + 1]]], "dtype": "int64"}, "output_size": [1]},
    near={"x": {"values": [[[2**53 - 1, 2**53]]], "dtype": "int64"}},
)
class WholeNumbersAsDoubles(Correct):
    """Integers are compared as doubles."""

    def winner(self, cells, choose, p):
        if p.operator == "adaptive_max_pool" and cells.dtype.kind in "iu":
            cells = cells.astype(np.float64)
        return super().winner(cells, choose, p)


@bug(
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
        windows = self.windows(x.shape[2:], p)
        cells = self.gather(x, windows, -np.iinfo(x.dtype).max)
        return cells.max(3).reshape(*x.shape[:2], *windows.output)


@bug(
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


@bug(
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


@bug(
    "max_pool_with_indices",
    condition="indices are requested, and the largest value occurs twice in a window",
    depth=1,
    smallest={"x": {"values": [[[1, 1]]]}, "window": [2], "output": "indices"},
    near={"x": {"values": [[[1, 2]]]}},
)
class TiesLast(Correct):
    """The last of equal values is selected: the comparison is >= instead of >."""

    def winner(self, cells, choose, p):
        if p.operator != "max_pool_with_indices":
            return super().winner(cells, choose, p)
        return cells.shape[-1] - 1 - choose(cells[..., ::-1], axis=-1)


@bug(
    "max_pool_grad",
    condition="the window is dilated, and its largest value occurs twice",
    depth=2,
    smallest={"x": {"values": [[[1, 0, 1]]]}, "grad": {"values": [[[1]]]}, "window": [2], "dilation": [2]},
    near={"dilation": [1]},
)
class TiesLastWhereDilated(Correct):
    """Dilated windows are scanned backwards, so the gradient goes to the last of equal values."""

    def winner(self, cells, choose, p):
        if p.operator != "max_pool_grad" or set(p.dilation) == {1}:
            return super().winner(cells, choose, p)
        return cells.shape[-1] - 1 - choose(cells[..., ::-1], axis=-1)


@bug(
    "max_pool_with_indices",
    condition="indices are requested, and there is more than one channel",
    depth=1,
    smallest={"x": {"values": [[[1], [1]]]}, "window": [1], "output": "indices"},
    near={"x": {"values": [[[1]], [[1]]]}},
)
class IndicesOverChannels(Correct):
    """Indices are counted over all channels of an item."""

    def index_output(self, x, windows, index, p):
        indices = super().index_output(x, windows, index, p)
        return np.where(indices < 0, -1, indices + np.arange(x.shape[1])[:, None] * prod(x.shape[2:]))


@bug(
    "max_pool_with_indices",
    condition="indices are requested, and there is padding",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "window": [2], "padding": [[1, 0]], "output": "indices"},
    near={"padding": [[0, 1]]},
)
class IndicesInThePaddedPlane(Correct):
    """Indices refer to the padded plane."""

    def index_output(self, x, windows, index, p):
        indices = super().index_output(x, windows, index, p)
        at = np.unravel_index(np.maximum(indices, 0), x.shape[2:])
        moved = [position + before for position, (before, _) in zip(at, p.padding, strict=True)]
        size = [extent + sum(pair) for extent, pair in zip(x.shape[2:], p.padding, strict=True)]
        return np.where(indices < 0, -1, np.ravel_multi_index(moved, size))


@bug(
    "max_pool_with_indices",
    condition="indices are requested in two dimensions, height and width differ, and a maximum is below the first row",
    depth=2,
    smallest={"x": {"values": [[[[0], [1]]]]}, "window": [2, 1], "output": "indices"},
    near={"x": {"values": [[[[0, 1]]]]}, "window": [1, 2]},
)
class RowsOfTheHeight(Correct):
    """The index of a cell in a plane is row · height + column."""

    def index_output(self, x, windows, index, p):
        indices = super().index_output(x, windows, index, p)
        if x.ndim != 4 or not prod(x.shape[2:]):
            return indices
        height, width = x.shape[2:]
        return np.where(indices < 0, -1, indices // width * height + indices % width)


@bug(
    "max_pool_with_indices",
    condition="indices are requested, and a maximum is beyond the first 65,536 cells of its plane",
    depth=3,
    smallest={"x": {"values": "arange", "shape": [1, 1, 65537]}, "window": [65537], "output": "indices"},
    near={"x": {"values": "arange", "shape": [1, 1, 65536]}, "window": [65536]},
)
class IndicesOf16Bits(Correct):
    """Indices are stored in 16 bits."""

    def index_output(self, x, windows, index, p):
        indices = super().index_output(x, windows, index, p)
        return np.where(indices < 0, -1, indices & 0xFFFF)
