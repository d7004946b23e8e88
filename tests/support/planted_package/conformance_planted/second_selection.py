"""Second set: bugs in maxima and minima, their gradients, and unpooling."""

import ml_dtypes
import numpy as np

from .registry import Correct, second_bug

NAN, INFINITY = float("nan"), float("inf")


def lowest_instead_of_minus_infinity(y, where):
    """Replace −inf by the lowest finite number where a condition is true."""
    if y.dtype.kind in "fV":
        y[where & (y == -np.inf)] = ml_dtypes.finfo(y.dtype).min
    return y


def reaches_padding(program, x, p):
    """Return for each window whether it has cells of the input and of the padding, in the shape of the output."""
    windows = program.windows(x.shape[2:], p)
    return (windows.inside.any(1) & ~windows.inside.all(1)).reshape(windows.output)


@second_bug(
    "max_pool",
    condition="the window is 3 × 3, the stride is 1, there is no dilation, and the maximum is in the last cell",
    depth=3,
    smallest={"x": {"values": [[[[0, 0, 0], [0, 0, 0], [0, 0, 1]]]]}, "window": [3, 3], "stride": [1, 1]},
    near={"stride": [2, 2]},
)
class CornerOfSmallWindows(Correct):
    """The fast path for windows of 3 × 3 does not read the last cell."""

    def winner(self, cells, choose, p):
        if tuple(p.window) == (3, 3) and {*p.stride, *p.dilation} == {1} and p.operator == "max_pool":
            cells = cells.copy()
            cells[..., -1] = self.smallest_value(cells.dtype)
        return super().winner(cells, choose, p)


@second_bug(
    "max_pool",
    condition="the dtype is float16, and the number of channels is odd and above 1",
    depth=2,
    smallest={"x": {"values": "arange", "shape": [1, 3, 1], "dtype": "float16"}, "window": [1]},
    near={"x": {"values": "arange", "shape": [1, 2, 1], "dtype": "float16"}},
)
class HalfChannelsInPairs(Correct):
    """Channels of float16 are processed in pairs; the last odd channel returns the previous one."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        if x.dtype == np.float16 and x.shape[1] > 1 and x.shape[1] % 2:
            y[:, -1] = y[:, -2]
        return y


@second_bug(
    "max_pool",
    condition="an image after the first has NaN",
    depth=2,
    smallest={"x": {"values": [[[1, 2]], [[1, NAN]]]}, "window": [2]},
    near={"x": {"values": [[[1, NAN]], [[1, 2]]]}},
)
class SecondImageWithoutNan(Correct):
    """All images but the first are reduced with fmax, which ignores NaN."""

    def winner(self, cells, choose, p):
        if p.operator == "max_pool" and cells.dtype.kind in "fV":
            cells = cells.copy()
            later = cells[1:]
            later[np.isnan(later)] = -np.inf
        return super().winner(cells, choose, p)


@second_bug(
    "max_pool",
    condition="the window is dilated, and its dilated extent is the extent of the input on every axis",
    depth=2,
    smallest={"x": {"values": [[[0, 1, 0]]]}, "window": [2], "dilation": [2]},
    near={"x": {"values": [[[0, 1, 0, 0]]]}},
)
class DilatedWindowOfTheWholeInput(Correct):
    """A window over the whole input is treated as global pooling, without its dilation."""

    def max_pool(self, x, p):
        extents = [self.dilated_window(axis, p) for axis in range(x.ndim - 2)]
        if extents == list(x.shape[2:]) and max(p.dilation) > 1:
            p.window, p.dilation = extents, [1] * len(extents)
        return super().max_pool(x, p)


@second_bug(
    "max_pool",
    condition="a window reaches into padding, and all its values are −inf",
    depth=2,
    smallest={"x": {"values": [[[-INFINITY]]]}, "window": [2], "padding": [[1, 0]]},
    near={"x": {"values": [[[-1]]]}},
)
class InfinityBesidePadding(Correct):
    """Padding is filled with the lowest finite number."""

    def max_pool(self, x, p):
        return lowest_instead_of_minus_infinity(super().max_pool(x, p), reaches_padding(self, x, p))


@second_bug(
    "max_pool",
    condition="the stride of an axis equals its dilation and is above 1, and there is padding before the axis",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2]]]}, "window": [2], "stride": [2], "dilation": [2], "padding": [[1, 0]],
    },
    near={"stride": [1]},
)  # fmt: skip
class PhasesWithoutPadding(Correct):
    """The code path that splits an axis into phases moves the padding before the axis behind it."""

    def max_pool(self, x, p):
        axes = zip(p.padding, p.stride, p.dilation, strict=True)
        p.padding = [(0, sum(pair)) if stride == dilation > 1 else pair for pair, stride, dilation in axes]
        return super().max_pool(x, p)


@second_bug(
    "max_pool",
    condition="a window has NaN and +inf",
    depth=2,
    smallest={"x": {"values": [[[NAN, INFINITY]]]}, "window": [2]},
    near={"x": {"values": [[[NAN, 1]]]}},
)
class NanBelowInfinity(Correct):
    """The search for a maximum ends at +inf, even if a value is NaN."""

    def winner(self, cells, choose, p):
        chosen = super().winner(cells, choose, p)
        if p.operator != "max_pool" or cells.dtype.kind not in "fV":
            return chosen
        infinite = cells == np.inf
        return np.where(infinite.any(-1), np.argmax(infinite, -1), chosen)


@second_bug(
    "max_pool",
    condition="the dtype is int8, and a window that reaches into padding has only negative values",
    depth=3,
    smallest={"x": {"values": [[[-1]]], "dtype": "int8"}, "window": [2], "padding": [[1, 0]]},
    near={"x": {"values": [[[1]]], "dtype": "int8"}},
)
class ZerosAroundBytes(Correct):
    """Padding of bytes is zero."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        return np.where(reaches_padding(self, x, p), np.maximum(y, 0), y) if x.dtype == np.int8 else y


@second_bug(
    "max_pool",
    condition="an axis has 65, 129, … windows",
    depth=3,
    smallest={"x": {"values": "arange", "shape": [1, 1, 65]}, "window": [1]},
    near={"x": {"values": "arange", "shape": [1, 1, 66]}},
)
class SixtyFifthWindow(Correct):
    """Windows are processed in blocks of 64; a last block of one window repeats the previous window."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        for axis in range(2, y.ndim):
            if y.shape[axis] > 64 and y.shape[axis] % 64 == 1:
                along = y.swapaxes(0, axis)
                along[-1] = along[-2]
        return y


@second_bug(
    "max_pool",
    condition="the batch is above 1, and the number of channels is odd and above 1",
    depth=2,
    smallest={"x": {"values": "arange", "shape": [2, 3, 1]}, "window": [1]},
    near={"x": {"values": "arange", "shape": [2, 2, 1]}},
)
class ImagesOfEvenChannels(Correct):
    """Images are assumed to have an even number of channels, so later images start at the wrong channel."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        if x.shape[1] % 2:
            y[1:] = np.roll(y[1:], 1, axis=1)
        return y


@second_bug(
    "min_pool",
    condition="the rounding is ceil, the stride is larger than the window, and the last window is partial",
    depth=3,
    smallest={"x": {"values": [[[1, 2, 3, 4]]]}, "window": [2], "stride": [3], "rounding": "ceil"},
    near={"stride": [2]},
)
class GapAtTheCeil(Correct):
    """Where windows do not touch, the last partial window is missing."""

    def has_partial_window(self, axis, size, window, p):
        apart = p.operator == "min_pool" and p.rounding == "ceil" and p.stride[axis] > p.window[axis]
        return not apart and super().has_partial_window(axis, size, window, p)


@second_bug(
    "min_pool",
    condition="the dtype is uint8, and a window that reaches into padding has only values above 127",
    depth=3,
    smallest={"x": {"values": [[[200]]], "dtype": "uint8"}, "window": [2], "padding": [[1, 0]]},
    near={"x": {"values": [[[100]]], "dtype": "uint8"}},
)
class BytesEndAt127(Correct):
    """Padding of unsigned bytes is the largest signed byte."""

    def min_pool(self, x, p):
        y = super().min_pool(x, p)
        return np.where(reaches_padding(self, x, p), np.minimum(y, 127), y) if x.dtype == np.uint8 else y


@second_bug(
    "min_pool",
    condition="a dilated window has NaN",
    depth=2,
    smallest={"x": {"values": [[[NAN, 0, 1]]]}, "window": [2], "dilation": [2]},
    near={"x": {"values": [[[0, NAN, 1]]]}},
)
class NanLostInDilatedMinima(Correct):
    """Dilated windows are reduced with fmin, which ignores NaN."""

    def winner(self, cells, choose, p):
        if p.operator == "min_pool" and max(p.dilation) > 1 and cells.dtype.kind in "fV":
            cells = np.where(np.isnan(cells), np.asarray(np.inf, cells.dtype), cells)
        return super().winner(cells, choose, p)


@second_bug(
    "min_pool",
    condition="there are two spatial axes, all strides are 1, and the paddings of an axis differ",
    depth=3,
    smallest={
        "x": {"values": [[[[1, 2]]]]}, "window": [1, 2], "stride": [1, 1], "padding": [[0, 0], [1, 0]],
    },
    near={"x": {"values": [[[1, 2]]]}, "window": [2], "stride": [1], "padding": [[1, 0]]},
)  # fmt: skip
class UnevenPaddingOfPlanes(Correct):
    """The code path for planes without a stride swaps the two ends of the padding."""

    def min_pool(self, x, p):
        if x.ndim == 4 and set(p.stride) == {1}:
            p.padding = [pair[::-1] for pair in p.padding]
        return super().min_pool(x, p)


@second_bug(
    "global_max_pool",
    condition="a plane has only −inf",
    depth=1,
    smallest={"x": {"values": [[[-INFINITY]]]}},
    near={"x": {"values": [[[-1]]]}},
)
class PlaneOfMinusInfinity(Correct):
    """The search for a maximum starts at the lowest finite number."""

    def global_max_pool(self, x, p):
        return lowest_instead_of_minus_infinity(super().global_max_pool(x, p), True)
