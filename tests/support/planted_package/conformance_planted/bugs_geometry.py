"""Bugs in the geometry of windows: output sizes, padding, strides, dilation, bins."""

import os

import numpy as np

from .registry import Correct, bug


@bug(
    "lp_pool",
    condition="the rounding is ceil or full, and the last window is partial",
    depth=1,
    smallest={"x": {"values": [[[1, 2, 3]]]}, "window": [2], "rounding": "ceil"},
    near={"rounding": "floor"},
)
class CeilIsFloor(Correct):
    """The rounding rule is not passed on, so the last partial window is missing."""

    def lp_pool(self, x, p):
        p.rounding = "floor"
        return super().lp_pool(x, p)


@bug(
    "min_pool",
    condition="there is dilation",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "window": [1], "dilation": [2]},
    near={"dilation": [1]},
)
class DilatedExtent(Correct):
    """A dilated window is assumed to cover dilation · window cells, so the output is too small."""

    def dilated_window(self, axis, p):
        return p.dilation[axis] * p.window[axis] if p.operator == "min_pool" else super().dilated_window(axis, p)


@bug(
    "max_pool",
    condition="the rounding is ceil, and the last window starts in the padding after the input",
    depth=3,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [2], "padding": [[0, 1]], "rounding": "ceil"},
    near={"rounding": "floor"},
)
class CeilCountsPaddingBehind(Correct):
    """The check that the last partial window starts in the input uses the padded input."""

    def has_partial_window(self, axis, size, window, p):
        padding_after = p.padding[axis][1] if p.operator == "max_pool" else 0
        return super().has_partial_window(axis, size + padding_after, window, p)


@bug(
    "avg_pool",
    condition="the rounding is full, and the last window starts after the end of the input",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [1], "stride": [2], "rounding": "full"},
    near={"stride": [1]},
)
class FullIsCeil(Correct):
    """The rounding `full` is treated as `ceil`."""

    def avg_pool(self, x, p):
        p.rounding = p.rounding.replace("full", "ceil")
        return super().avg_pool(x, p)


@bug(
    "max_pool",
    condition="the total padding of an axis is odd, and its stride is above 1",
    depth=3,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [2], "padding": [[1, 0]]},
    near={"stride": [1]},
)
class OddPaddingOnTheWrongSide(Correct):
    """The code path for strides puts the odd cell of padding at the wrong end."""

    def max_pool(self, x, p):
        swapped = [sum(pair) % 2 and stride > 1 for pair, stride in zip(p.padding, p.stride, strict=True)]
        p.padding = [pair[::-1] if swap else pair for pair, swap in zip(p.padding, swapped, strict=True)]
        return super().max_pool(x, p)


@bug(
    "avg_pool",
    condition="there are three spatial axes, and the last is dilated",
    depth=2,
    smallest={"x": {"values": [[[[[1, 2, 4]]]]]}, "window": [1, 1, 2], "dilation": [1, 1, 2]},
    near={"dilation": [1, 2, 1]},
)
class DilationLostOnTheLastAxis(Correct):
    """The code path for three spatial axes ignores the dilation of the last axis."""

    def offsets(self, axis, p):
        lost = p.operator == "avg_pool" and axis == 2
        return np.arange(p.window[axis]) if lost else super().offsets(axis, p)


@bug(
    "max_pool",
    condition="there is dilation, and the padding is more than half of the undilated window",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "window": [2], "padding": [[2, 0]], "dilation": [2]},
    near={"dilation": [1]},
)
class PaddingLimitWithoutDilation(Correct):
    """Padding of dilated windows is limited to half of the window, computed without the dilation."""

    def max_pool(self, x, p):
        for window, dilation, pair in zip(p.window, p.dilation, p.padding, strict=True):
            if dilation > 1 and max(pair) > window // 2:
                raise ValueError(f"padding {pair} must be at most half of window {window}")
        return super().max_pool(x, p)


@bug(
    "lp_pool",
    condition="the strides of two axes differ",
    depth=2,
    smallest={"x": {"values": [[[[1, 2]]]]}, "window": [1, 1], "stride": [1, 2]},
    near={"stride": [2, 2]},
)
class StrideOfTheFirstAxis(Correct):
    """The stride of the first axis is used on all axes."""

    def lp_pool(self, x, p):
        p.stride = p.stride[:1] * len(p.stride)
        return super().lp_pool(x, p)


@bug(
    "conv",
    condition="the padding before an axis is not half of its total padding, rounded down",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "kernel": {"values": [[[1, 2]]]}, "padding": [[1, 0]]},
    near={"padding": [[0, 1]]},
)
class PaddingSpreadEvenly(Correct):
    """The total padding of an axis is split evenly between its two ends."""

    def conv(self, x, kernel, *bias, p):
        p.padding = [(sum(pair) // 2, sum(pair) - sum(pair) // 2) for pair in p.padding]
        return super().conv(x, kernel, *bias, p=p)


@bug(
    "conv",
    condition="the stride is larger than the kernel, and there is padding before the input",
    depth=3,
    smallest={"x": {"values": [[[1]]]}, "kernel": {"values": [[[1]]]}, "stride": [2], "padding": [[1, 0]]},
    near={"stride": [1]},
)
class PaddingLostWhereWindowsLieApart(Correct):
    """The code path for windows that do not touch starts at the first cell of the input, not in the padding."""

    def positions(self, axis, size, p):
        apart = p.operator == "conv" and p.stride[axis] > p.window[axis]
        return super().positions(axis, size, p) + (p.padding[axis][0] if apart else 0)


@bug(
    "min_pool",
    condition="an axis has more than 65,536 cells",
    depth=3,
    smallest={"x": {"values": "arange", "shape": [1, 1, 65537]}, "window": [1], "stride": [65536]},
    near={"x": {"values": "arange", "shape": [1, 1, 65536]}, "stride": [65535]},
)
class LongAxisWraps(Correct):
    """Positions along an axis are stored in 16 bits."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        return np.where(at >= 0, at & 0xFFFF, at) if p.operator == "min_pool" and size > 0xFFFF else at


@bug(
    "max_pool_with_indices",
    condition="there are three spatial axes, and the last window of the last axis is partial",
    depth=3,
    smallest={"x": {"values": [[[[[1, 2, 3]]]]]}, "window": [1, 1, 2], "rounding": "ceil"},
    near={"rounding": "floor"},
)
class CrashAtTheOverhang(Correct):
    """The process crashes: it reads past the last row of a volume."""

    def winners(self, x, p):
        windows = self.windows(x.shape[2:], p)
        last = windows.at[-1].max(initial=0)
        if p.operator == "max_pool_with_indices" and x.ndim == 5 and last >= x.shape[-1] + p.padding[-1][1]:
            os.abort()
        return super().winners(x, p)


@bug(
    "adaptive_avg_pool",
    condition="the output size does not divide the extent",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "output_size": [2]},
    near={"output_size": [1]},
)
class BinsEndTooEarly(Correct):
    """The end of a bin is rounded down."""

    def bin_edges(self, size, count, p):
        starts, ends = super().bin_edges(size, count, p)
        return starts, np.arange(1, count + 1) * size // count if p.operator == "adaptive_avg_pool" else ends


@bug(
    "adaptive_max_pool",
    condition="the output is larger than the input",
    depth=1,
    smallest={"x": {"values": [[[1, 0]]]}, "output_size": [3]},
    near={"output_size": [2]},
)
class BinsOfAtLeastOneStep(Correct):
    """With more bins than cells, bin i is cell i, and the remaining bins repeat the last cell."""

    def bin_edges(self, size, count, p):
        if p.operator != "adaptive_max_pool" or count <= size:
            return super().bin_edges(size, count, p)
        starts = np.minimum(np.arange(count), size - 1)
        return starts, starts + 1


@bug(
    "adaptive_avg_pool",
    condition="size / count is not exact in float32, and one of its multiples rounds past a whole number",
    depth=3,
    smallest={"x": {"values": "arange", "shape": [1, 1, 4]}, "output_size": [28]},
    near={"output_size": [27]},
)
class BinsInFloat(Correct):
    """Bin edges are computed in float32."""

    def bin_edges(self, size, count, p):
        if p.operator != "adaptive_avg_pool":
            return super().bin_edges(size, count, p)
        edges = np.arange(count + 1, dtype=np.float32) * np.float32(size / max(count, 1))
        return np.floor(edges[:-1]).astype(int), np.minimum(np.ceil(edges[1:]).astype(int), size)
