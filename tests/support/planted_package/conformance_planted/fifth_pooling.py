"""Fifth set: bugs in pooling that were reported for frameworks. Each description names the report."""

from math import prod

import numpy as np

from .registry import Correct, fifth_bug

TWO_ROWS = {"values": [[[[1, 2], [3, 4]]]]}


@fifth_bug(
    "max_pool",
    condition="the rounding is ceil, and a partial window starts behind the input",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [1], "stride": [3], "rounding": "ceil"},
    near={"x": {"values": [[[1]]]}},
)
class WindowBehindTheInput(Correct):
    """Windows that start behind the input are not left out (pytorch/pytorch#45357)."""

    def has_partial_window(self, axis, size, window, p):
        return super().has_partial_window(axis, size, window, p) or (p.operator == "max_pool" and p.rounding == "ceil")


@fifth_bug(
    "max_pool",
    condition="there are two spatial axes, and their strides differ",
    depth=2,
    smallest={"x": TWO_ROWS, "window": [1, 1], "stride": [1, 2]},
    near={"stride": [2, 2]},
)
class StridesExchanged(Correct):
    """The strides of the two axes are exchanged (Samsung/ONE#2727)."""

    def max_pool(self, x, p):
        if p.operator == "max_pool" and x.ndim == 4:
            p.stride = p.stride[::-1]
        return super().max_pool(x, p)


@fifth_bug(
    "max_pool",
    condition="there are two spatial axes, the window is 3 × 3, the strides are 2, nothing is padded, and the last "
    "window of a row ends with the row",
    depth=3,
    smallest={"x": {"values": [[[[0, 0, 1], [0, 0, 0], [0, 0, 0]]]]}, "window": [3, 3], "stride": [2, 2]},
    near={"x": {"values": [[[[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]]]}},
)
class LastColumnOfThreeByThree(Correct):
    """The last window of a row is read without the last column (PaddlePaddle/Anakin#210)."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        sizes = (*getattr(p, "window", ()),), (*getattr(p, "stride", ()),)
        if p.operator == "max_pool" and axis == 1 and sizes == ((3, 3), (2, 2)) and not np.any(p.padding):
            at = np.where(at == size - 1, -1, at)
        return at


@fifth_bug(
    "max_pool",
    condition="there are several cells of output in a plane",
    depth=1,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [1]},
    near={"x": {"values": [[[1]]]}},
)
class FirstCellOnly(Correct):
    """Only the first cell of each plane is computed, and the others are 0 (webonnx/wonnx#75)."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        if p.operator == "max_pool":
            rows = y.reshape(*y.shape[:2], -1)
            rows[..., 1:] = 0
        return y


@fifth_bug(
    "max_pool",
    condition="there is dilation, and the window has no more than 25 cells",
    depth=2,
    smallest={"x": {"values": [[[1, 2, 3]]]}, "window": [2], "dilation": [2]},
    near={"dilation": [1]},
)
class DilationOfSmallWindowsIgnored(Correct):
    """The dilation of windows of up to 25 cells is ignored in their reading (pytorch/pytorch#100531)."""

    def offsets(self, axis, p):
        small = p.operator == "max_pool" and prod(p.window) <= 25
        return np.arange(p.window[axis]) if small else super().offsets(axis, p)


@fifth_bug(
    "max_pool_with_indices",
    condition="indices are requested, and there are three spatial axes",
    depth=2,
    smallest={"x": {"values": [[[[[1]]]]]}, "window": [1, 1, 1], "output": "indices"},
    near={"x": {"values": [[[[1]]]]}, "window": [1, 1]},
)
class UpperBytesOfIndices(Correct):
    """The upper four bytes of indices of volumes are not written (pytorch/pytorch#1197)."""

    def index_output(self, x, windows, index, p):
        y = super().index_output(x, windows, index, p)
        return y + 2**32 if p.operator == "max_pool_with_indices" and x.ndim == 5 else y


@fifth_bug(
    "max_pool_grad",
    condition="all values of a window are NaN or minus infinity",
    depth=3,
    smallest={"x": {"values": [[[float("-inf")]]]}, "grad": {"values": [[[1]]]}, "window": [1]},
    near={"x": {"values": [[[1]]]}},
)
class WindowWithoutANumber(Correct):
    """A window without a value above minus infinity has no index, and no gradient (pytorch/pytorch#1465)."""

    def max_pool_grad(self, grad, x, p):
        if p.operator == "max_pool_grad":
            windows = self.windows(x.shape[2:], p)
            cells = self.gather(x, windows, -np.inf)
            known = (cells > -np.inf).any(-1)
            grad = np.where(known.reshape(grad.shape), grad, 0).astype(grad.dtype)
        return super().max_pool_grad(grad, x, p)


@fifth_bug(
    "avg_pool",
    condition="padding is counted, and a last window reaches past all padding",
    depth=2,
    smallest={
        "x": {"values": [[[1, 2, 3]]]}, "window": [2], "stride": [2], "rounding": "ceil", "count_include_pad": True,
    },
    near={"count_include_pad": False},
)  # fmt: skip
class PartialWindowsCountedWhole(Correct):
    """A window that reaches past the padding is divided by all its cells (microsoft/onnxruntime#16203)."""

    def counted_cells(self, axis, at, size, p):
        return np.full(len(at), at.shape[1]) if p.operator == "avg_pool" else super().counted_cells(axis, at, size, p)


@fifth_bug(
    "avg_pool",
    condition="there is a divisor other than the number of cells, and the only window is the whole input without "
    "padding",
    depth=2,
    smallest={"x": {"values": [[[2, 4]]]}, "window": [2], "stride": [2], "divisor": 1},
    near={"x": {"values": [[[2, 4, 6]]]}},
)
class DivisorOfTheWholeInput(Correct):
    """A window that is the whole input is averaged without the divisor (tenstorrent/tt-torch#1247)."""

    def divisor(self, x, windows, p):
        divisor = super().divisor(x, windows, p)
        whole = p.operator == "avg_pool" and (*p.window,) == (*p.stride,) == x.shape[2:] and not np.any(p.padding)
        return np.full(len(divisor), prod(p.window)) if whole else divisor


@fifth_bug(
    "avg_pool",
    condition="there is a divisor, and padding is not counted",
    depth=2,
    smallest={"x": {"values": [[[2]]]}, "window": [1], "divisor": 2, "count_include_pad": False},
    near={"count_include_pad": True},
)
class DivisorNeedsCountedPadding(Correct):
    """The divisor is used only if padding is counted (pytorch/executorch#18616)."""

    def divisor(self, x, windows, p):
        if p.operator == "avg_pool" and p.divisor is not None and not p.count_include_pad:
            return windows.inside.sum(1)
        return super().divisor(x, windows, p)


@fifth_bug(
    "avg_pool",
    condition="the rounding is ceil, no cells are left over, and the padding of the axis differs before and after",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 3]]]}, "window": [2], "stride": [2], "padding": [[0, 1]], "rounding": "ceil",
    },
    near={"rounding": "floor"},
)  # fmt: skip
class WindowMoreThanNeeded(Correct):
    """With uneven padding, ceil adds a window where none is partial (openvinotoolkit/openvino#33369)."""

    def position_count(self, axis, size, p):
        count = super().position_count(axis, size, p)
        if p.operator != "avg_pool" or p.rounding != "ceil" or p.padding[axis][0] == p.padding[axis][1]:
            return count
        return count + ((size + sum(p.padding[axis]) - self.dilated_window(axis, p)) % p.stride[axis] == 0)


@fifth_bug(
    "lp_pool",
    condition="p is odd, and a value is negative",
    depth=2,
    smallest={"x": {"values": [[[-1]]]}, "window": [1], "p": 1},
    near={"x": {"values": [[[1]]]}},
)
class PowersWithTheirSign(Correct):
    """Powers are computed without the absolute value (FluxML/NNlib.jl#639)."""

    def norm(self, cells, p):
        if p.operator != "lp_pool":
            return super().norm(cells, p)
        return np.sum(cells.astype(np.float64) ** p.p, axis=-1) ** (1 / p.p)


@fifth_bug(
    "lp_pool",
    condition="the padding of an axis differs before and after",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "window": [2], "padding": [[0, 1]]},
    near={"x": {"values": [[[1, 1]]]}, "padding": [[0, 0]]},
)
class UnevenPaddingIsLowest(Correct):
    """Uneven padding is filled with the lowest number, as for maxima (ROCm/AMDMIGraphX#3316)."""

    def gather(self, x, windows, fill):
        uneven = getattr(self, "uneven", False)
        return super().gather(x, windows, -np.inf if uneven else fill)

    def lp_pool(self, x, p):
        self.uneven = p.operator == "lp_pool" and any(before != after for before, after in p.padding)
        return super().lp_pool(x, p)


@fifth_bug(
    "adaptive_max_pool",
    condition="the bins of an axis differ in size or distance",
    depth=1,
    smallest={"x": {"values": [[[1, 2, 3, 4, 5]]]}, "output_size": [3]},
    near={"output_size": [5]},
)
class OneSizeOfBins(Correct):
    """All bins have the size and the stride of ordinary windows (pytorch/pytorch#190064)."""

    def bin_edges(self, size, count, p):
        if p.operator != "adaptive_max_pool" or count > size:
            return super().bin_edges(size, count, p)
        stride = size // count
        starts = np.arange(count) * stride
        return starts, starts + size - (count - 1) * stride


@fifth_bug(
    "adaptive_avg_pool",
    condition="an output size above 1 divides a larger extent",
    depth=2,
    smallest={"x": {"values": [[[1, 2, 3, 4]]]}, "output_size": [2]},
    near={"output_size": [1]},
)
class BinsOfEveryNthCell(Correct):
    """The cells of a bin are those at a distance of the number of bins (riccardomusmeci/mlx-image#16)."""

    def bins(self, size, count, p):
        if p.operator != "adaptive_avg_pool" or size % count:
            return super().bins(size, count, p)
        return np.arange(size).reshape(size // count, count).T
