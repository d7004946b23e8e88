"""Fourth set: bugs in pooling that were reported for frameworks. Each description names the report."""

import ml_dtypes
import numpy as np

from .registry import Correct, fourth_bug

NAN = float("nan")
TWO_ROWS = {"values": [[[[1, 2], [3, 4]]]]}


@fourth_bug(
    "max_pool",
    condition="there is dilation, and padding before the same axis",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [2], "dilation": [2], "padding": [[1, 0]]},
    near={"padding": [[0, 1]]},
)
class ClippedStartOfDilatedWindows(Correct):
    """A dilated window that starts in the padding counts steps from the first cell (microsoft/onnxruntime#29637)."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        if p.operator != "max_pool" or p.dilation[axis] == 1:
            return at
        clipped = np.maximum(at[:, :1], 0) + self.offsets(axis, p)
        return np.where(clipped > at[:, -1:], -1, clipped)


@fourth_bug(
    "avg_pool",
    condition="padding is counted, and there is padding after an axis",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "window": [2], "padding": [[0, 1]], "count_include_pad": True},
    near={"padding": [[1, 0]]},
)
class EndPaddingNotCounted(Correct):
    """Only the padding before an axis is counted (microsoft/onnxruntime#24681)."""

    def counted_cells(self, axis, at, size, p):
        return (at < size).sum(1) if p.operator == "avg_pool" else super().counted_cells(axis, at, size, p)


@fourth_bug(
    "avg_pool",
    condition="there are two spatial axes, padding is counted, and the pad after the first axis is not the one before "
    "the second",
    depth=3,
    smallest={
        "x": TWO_ROWS, "window": [2, 2], "stride": [1, 1], "padding": [[0, 1], [0, 1]], "count_include_pad": True,
    },
    near={"padding": [[0, 1], [1, 0]]},
)  # fmt: skip
class PadOfAnotherAxis(Correct):
    """The end of the padding of the first axis is the start of the second one's (microsoft/onnxruntime#27375)."""

    def counted_cells(self, axis, at, size, p):
        if p.operator != "avg_pool" or len(p.padding) != 2 or axis == 1:
            return super().counted_cells(axis, at, size, p)
        return np.maximum((at < size + p.padding[1][0]).sum(1), 1)


@fourth_bug(
    "avg_pool",
    condition="padding is not counted, and a last partial window reaches past the input",
    depth=2,
    smallest={"x": {"values": [[[1, 2, 3]]]}, "window": [2], "stride": [2], "rounding": "ceil"},
    near={"x": {"values": [[[1, 2, 3, 4]]]}},
)
class PartialWindowsDividedByAll(Correct):
    """A partial last window is divided by all cells of the window (pytorch/pytorch#100987)."""

    def divisor(self, x, windows, p):
        divisor = super().divisor(x, windows, p)
        if p.operator != "avg_pool" or p.divisor is not None or p.count_include_pad:
            return divisor
        partial = np.zeros((), bool)
        for at, size, pair in zip(windows.at, x.shape[2:], p.padding, strict=True):
            partial = partial[..., None] | (at.max(1, initial=0) >= size + pair[1])
        return np.where(partial.ravel(), windows.index.shape[1], divisor)


@fourth_bug(
    "avg_pool",
    condition="the dtype is int64, and the window has several cells",
    depth=2,
    smallest={"x": {"values": [[[2, 2]]], "dtype": "int64"}, "window": [2]},
    near={"x": {"values": [[[2, 2]]], "dtype": "int32"}},
)
class ReciprocalOfIntegers(Correct):
    """Sums of int64 are multiplied by the reciprocal of the window, which is the integer 0 (pytorch/pytorch#143738)."""

    def divide(self, total, divisor, dtype, p):
        whole = super().divide(total, divisor, dtype, p)
        return np.where(divisor > 1, 0, whole) if p.operator == "avg_pool" and dtype == np.int64 else whole


@fourth_bug(
    "avg_pool",
    condition="the dtype is int32, the number of channels is not a multiple of 4, and a window has several cells",
    depth=3,
    smallest={"x": {"values": [[[2, 4]]], "dtype": "int32"}, "window": [2]},
    near={"x": {"values": [[[2, 4]] * 4], "dtype": "int32"}},
)
class LastChannelsAreMasked(Correct):
    """Channels are loaded in blocks of 4; the last cell of a window is lost in the rest (uxlfoundation/oneDNN#468).

    The report is about int8, for which the suite has no averages.
    """

    def total(self, cells, p):
        rest = cells.shape[1] % 4
        if p.operator != "avg_pool" or cells.dtype != np.int32 or not rest or cells.shape[-1] == 1:
            return super().total(cells, p)
        masked = cells.copy()
        masked[:, -rest:, :, -1] = 0
        return super().total(masked, p)


@fourth_bug(
    "max_pool",
    condition="the dtype is float64, the number of channels is odd, and a window of the last has NaN and a number",
    depth=3,
    smallest={"x": {"values": [[[NAN, 1]]], "dtype": "float64"}, "window": [2]},
    near={"x": {"values": [[[NAN, 1]]], "dtype": "float32"}},
)
class LastChannelForgetsNan(Correct):
    """Channels of float64 are compared in pairs; a last odd channel loses NaN (tensorflow/tensorflow#125965)."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        if p.operator == "max_pool" and x.dtype == np.float64 and x.shape[1] % 2:
            windows = self.windows(x.shape[2:], p)
            cells = np.where(windows.inside, self.gather(x[:, -1:], windows, -np.inf), -np.inf)
            known = np.where(np.isnan(cells), -np.inf, cells).max(-1)
            numbers = (~np.isnan(cells) & windows.inside).any(-1)
            last = y[:, -1:].reshape(known.shape)
            y[:, -1:] = np.where(np.isnan(last) & numbers, known, last).reshape(y[:, -1:].shape)
        return y


@fourth_bug(
    "max_pool",
    condition="there are more than 32 channels, and their number is not a multiple of 32",
    depth=2,
    smallest={"x": {"values": [[[0]] * 32 + [[1]]]}, "window": [1]},
    near={"x": {"values": [[[0]] * 31 + [[1]]]}},
)
class TilesOfThirtyTwoChannels(Correct):
    """Channels after the last full tile of 32 return the first ones of the tile (tenstorrent/tt-metal#15731)."""

    def max_pool(self, x, p):
        rest = x.shape[1] % 32 if p.operator == "max_pool" and x.shape[1] > 32 else 0
        if rest:
            x = np.concatenate([x[:, :-rest], x[:, -32 - rest : -32]], axis=1)
        return super().max_pool(x, p)


@fourth_bug(
    "max_pool",
    condition="the dtype is bfloat16, the window is 3 × 3, and all strides and paddings are 1",
    depth=3,
    smallest={
        "x": {"values": [[[[1]]]], "dtype": "bfloat16"}, "window": [3, 3], "stride": [1, 1],
        "padding": [[1, 1], [1, 1]],
    },
    near={"stride": [2, 2]},
)  # fmt: skip
class LastCellOfThreeByThree(Correct):
    """The last cell of a maximum of 3 × 3 is infinite in bfloat16 (tenstorrent/tt-metal#14260)."""

    def max_pool(self, x, p):
        y = super().max_pool(x, p)
        sizes = (*p.window,), (*p.stride,), {end for pair in p.padding for end in pair}
        if p.operator == "max_pool" and x.dtype == ml_dtypes.bfloat16 and sizes == ((3, 3), (1, 1), {1}):
            y[..., -1:, -1:] = np.inf
        return y


@fourth_bug(
    "max_pool_grad",
    condition="there are several axes, and their dilations differ",
    depth=2,
    smallest={
        "x": {"values": [[[[2, 1, 3]]]]}, "grad": {"values": [[[[1]]]]}, "window": [1, 2], "dilation": [1, 2],
    },
    near={"x": {"values": [[[[2], [1], [3]]]]}, "window": [2, 1], "dilation": [2, 2]},
)  # fmt: skip
class DilationOfTheFirstAxis(Correct):
    """The gradient uses the dilation of the first axis on all axes (tracel-ai/burn#4466)."""

    def offsets(self, axis, p):
        dilation = p.dilation[0 if p.operator == "max_pool_grad" else axis]
        return np.arange(p.window[axis]) * dilation
