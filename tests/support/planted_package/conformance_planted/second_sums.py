"""Second set: bugs in averages, norms and weighted averages."""

import ml_dtypes
import numpy as np

from .registry import Correct, second_bug


@second_bug(
    "avg_pool",
    condition="the dtype is float16, and the sum of a window exceeds the largest float16",
    depth=3,
    smallest={"x": {"values": [[[60000, 60000]]], "dtype": "float16"}, "window": [2]},
    near={"x": {"values": [[[30000, 30000]]], "dtype": "float16"}},
)
class HalfSumOverflows(Correct):
    """Sums of float16 overflow, although the average does not."""

    def total(self, cells, p):
        total = super().total(cells, p)
        overflows = (np.abs(total) > 65504) & (cells.dtype == np.float16) & (p.operator == "avg_pool")
        return np.where(overflows, np.copysign(np.float32(np.inf), total), total)


@second_bug(
    "avg_pool",
    condition="the dtype is int32, and the sum of a window leaves its range",
    depth=3,
    smallest={"x": {"values": [[[2**31 - 1, 1]]], "dtype": "int32"}, "window": [2]},
    near={"x": {"values": [[[2**31 - 2, 1]]], "dtype": "int32"}},
)
class WholeSumSaturates(Correct):
    """Sums of 32-bit integers saturate instead of wrapping around."""

    def total(self, cells, p):
        if p.operator != "avg_pool" or cells.dtype != np.int32:
            return super().total(cells, p)
        return np.clip(np.sum(cells, axis=-1, dtype=np.int64), -(2**31), 2**31 - 1).astype(np.int32)


@second_bug(
    "avg_pool",
    condition="the padding before an axis equals its extent",
    depth=2,
    smallest={"x": {"values": [[[2]]]}, "window": [2], "stride": [1], "padding": [[1, 1]]},
    near={"x": {"values": [[[2, 2]]]}},
)
class PaddingBelowTheExtent(Correct):
    """Padding before an axis is limited to one cell less than the input has; the rest is added after it."""

    def avg_pool(self, x, p):
        axes = zip(p.padding, x.shape[2:], strict=True)
        p.padding = [(b - 1, a + 1) if b == size else (b, a) for (b, a), size in axes]
        return super().avg_pool(x, p)


@second_bug(
    "avg_pool",
    condition="the window is 3 × 3, stride and padding are 1, and padding is not counted",
    depth=3,
    smallest={
        "x": {"values": [[[[9]]]]}, "window": [3, 3], "stride": [1, 1], "padding": [[1, 1], [1, 1]],
    },
    near={"count_include_pad": True},
)  # fmt: skip
class BorderOfSmallAverages(Correct):
    """The fast path for 3 × 3 averages of the same size always divides by 9."""

    def divisor(self, x, windows, p):
        divisor = super().divisor(x, windows, p)
        same = p.operator == "avg_pool" and (*p.window, *p.stride) == (3, 3, 1, 1) and p.divisor is None
        same = same and {cells for pair in p.padding for cells in pair} == {1} and not p.count_include_pad
        return np.full_like(divisor, 9) if same else divisor


@second_bug(
    "avg_pool",
    condition="there are three spatial axes, padding is counted, and the last window is partial",
    depth=3,
    smallest={
        "x": {"values": [[[[[2, 2, 2]]]]]}, "window": [1, 1, 2], "rounding": "ceil", "count_include_pad": True,
    },
    near={"x": {"values": [[[[2, 2, 2]]]]}, "window": [1, 2]},
)  # fmt: skip
class OverhangOfCountedVolumes(Correct):
    """In volumes with counted padding every window is divided by its full number of cells."""

    def counted_cells(self, axis, at, size, p):
        whole = p.operator == "avg_pool" and len(p.window) == 3
        return np.full(*at.shape) if whole else super().counted_cells(axis, at, size, p)


@second_bug(
    "avg_pool",
    condition="there are three spatial axes, and the number of channels is odd and above 1",
    depth=2,
    smallest={"x": {"values": "arange", "shape": [1, 3, 1, 1, 1]}, "window": [1, 1, 1]},
    near={"x": {"values": "arange", "shape": [1, 2, 1, 1, 1]}},
)
class OddChannelsOfVolumes(Correct):
    """In volumes channels are processed in pairs; the last odd channel returns the first one."""

    def avg_pool(self, x, p):
        y = super().avg_pool(x, p)
        if x.ndim == 5 and x.shape[1] % 2:
            y[:, -1] = y[:, 0]
        return y


@second_bug(
    "avg_pool_grad",
    condition="the stride of an axis is larger than its window, and there is padding before it",
    depth=2,
    smallest={
        "x": {"values": [[[1, 1]]]}, "grad": {"values": [[[2]]]}, "window": [2], "stride": [3], "padding": [[1, 0]],
    },
    near={"stride": [2]},
)  # fmt: skip
class GapGradientShifted(Correct):
    """Where windows do not touch, the gradient of an average ignores the padding before an axis."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        apart = p.operator == "avg_pool_grad" and p.stride[axis] > p.window[axis]
        return at + p.padding[axis][0] if apart else at


@second_bug(
    "lp_pool",
    condition="p is odd and above 1, and a value is negative",
    depth=2,
    smallest={"x": {"values": [[[-1]]]}, "window": [1], "p": 3},
    near={"p": 2},
)
class OddPowerOfNegatives(Correct):
    """An odd power is taken without the absolute value."""

    def norm(self, cells, p):
        if p.operator != "lp_pool" or p.p % 2 != 1 or p.p == 1:
            return super().norm(cells, p)
        return np.sum(cells.astype(np.float64) ** p.p, axis=-1) ** (1 / p.p)


@second_bug(
    "lp_pool",
    condition="the dtype is float16, and a power exceeds the largest float16",
    depth=3,
    smallest={"x": {"values": [[[300]]], "dtype": "float16"}, "window": [1]},
    near={"x": {"values": [[[200]]], "dtype": "float16"}},
)
class HalfPowerOverflows(Correct):
    """Powers of float16 overflow, although the norm does not."""

    def norm(self, cells, p):
        norm = super().norm(cells, p)
        power = np.abs(cells.astype(np.float64)).max(-1) ** p.p
        return np.where((power > 65504) & (cells.dtype == np.float16) & (p.operator == "lp_pool"), np.inf, norm)


@second_bug(
    "lp_pool_grad",
    condition="a window has only zeros",
    depth=2,
    smallest={"x": {"values": [[[0]]]}, "grad": {"values": [[[1]]]}, "window": [1]},
    near={"x": {"values": [[[1]]]}},
)
class SlopeOfZeros(Correct):
    """The gradient of a norm of 0 is NaN."""

    def norm_derivative(self, cells, norm, p):
        share = super().norm_derivative(cells, norm, p)
        return np.where(np.any(cells != 0, axis=-1, keepdims=True), share, np.nan)


@second_bug(
    "softmax_pool",
    condition="a value exceeds the logarithm of the largest float32",
    depth=3,
    smallest={"x": {"values": [[[100]]]}, "window": [1]},
    near={"x": {"values": [[[10]]]}},
)
class ExponentOverflows(Correct):
    """Exponentials are computed in float32 without subtracting the maximum."""

    def exponentials(self, cells, inside):
        return np.where(cells > 88.73, np.inf, super().exponentials(cells, inside))


@second_bug(
    "softmax_pool",
    condition="two axes are padded",
    depth=2,
    smallest={"x": {"values": [[[[1]]]]}, "window": [2, 2], "padding": [[1, 0], [1, 0]]},
    near={"window": [1, 2], "padding": [[0, 0], [1, 0]]},
)
class PaddedCornersHaveAWeight(Correct):
    """With padding on two axes, padded cells count as zeros."""

    def weighted_cells(self, windows, p):
        inside = super().weighted_cells(windows, p)
        return np.ones_like(inside) if sum(map(any, p.padding)) > 1 else inside


@second_bug(
    "softmax_pool_grad",
    condition="a window has several cells, and all its values are equal",
    depth=2,
    smallest={"x": {"values": [[[1, 1]]]}, "grad": {"values": [[[1]]]}, "window": [2]},
    near={"x": {"values": [[[1, 2]]]}},
)
class SlopeOfEqualValues(Correct):
    """A window of equal values has no gradient."""

    def softmax_derivative(self, share, cells):
        equal = np.ptp(cells, axis=-1, keepdims=True) == 0
        return np.where(equal & (cells.shape[-1] > 1), 0, share)


@second_bug(
    "global_avg_pool",
    condition="the dtype is bfloat16, and the number of channels is odd and above 1",
    depth=2,
    smallest={"x": {"values": "arange", "shape": [1, 3, 1], "dtype": "bfloat16"}},
    near={"x": {"values": "arange", "shape": [1, 2, 1], "dtype": "bfloat16"}},
)
class BrainChannelsInPairs(Correct):
    """Channels of bfloat16 are processed in pairs; the last odd channel returns the previous one."""

    def global_avg_pool(self, x, p):
        y = super().global_avg_pool(x, p)
        if x.dtype == ml_dtypes.bfloat16 and x.shape[1] > 1 and x.shape[1] % 2:
            y[:, -1] = y[:, -2]
        return y


@second_bug(
    "adaptive_avg_pool",
    condition="the output has the extent of the input on one axis, but not on all",
    depth=2,
    smallest={"x": {"values": [[[[1, 2], [3, 4]]]]}, "output_size": [1, 2]},
    near={"output_size": [1, 1]},
)
class AxisThatIsNotDivided(Correct):
    """An axis that is not divided is read one cell too late."""

    def adaptive_avg_pool(self, x, p):
        y = super().adaptive_avg_pool(x, p)
        same = [axis for axis in range(2, x.ndim) if x.shape[axis] == y.shape[axis] > 1]
        return np.roll(y, 1, axis=same[0]) if same and x.shape != y.shape else y


@second_bug(
    "adaptive_avg_pool_grad",
    condition="one axis has a single bin, and another has several",
    depth=2,
    smallest={"x": {"values": [[[[1, 1], [1, 1]]]]}, "grad": {"values": [[[[2, 2]]]]}, "output_size": [1, 2]},
    near={"grad": {"values": [[[[2]]]]}, "output_size": [1, 1]},
)
class OneBinOnOneAxis(Correct):
    """With a single bin on an axis, the gradient is not divided."""

    def divisor(self, x, windows, p):
        divisor = super().divisor(x, windows, p)
        mixed = p.operator == "adaptive_avg_pool_grad" and min(windows.output) == 1 < max(windows.output)
        return np.ones_like(divisor) if mixed else divisor
