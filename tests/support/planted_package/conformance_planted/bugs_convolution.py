"""Bugs in convolution, transposed convolution and their gradients."""

import os
import time
from dataclasses import replace

import numpy as np

from .registry import Correct, bug

HANG_SECONDS = 3600
"""Duration of a hang in seconds, longer than any time limit."""
UNIT = {"values": [[[1]]]}


@bug(
    "conv",
    condition="there are groups, and there is dilation",
    depth=2,
    smallest={
        "x": {"values": [[[0, 0, 1], [0, 0, 0]]]}, "kernel": {"values": [[[1, 1]], [[1, 1]]]},
        "groups": 2, "dilation": [2],
    },
    near={"kernel": {"values": [[[1, 1], [1, 1]]]}, "groups": 1},
)  # fmt: skip
class DilationLostInGroups(Correct):
    """The code path for groups reads adjacent cells and ignores the dilation."""

    def offsets(self, axis, p):
        lost = p.operator == "conv" and p.groups > 1
        return np.arange(p.window[axis]) if lost else super().offsets(axis, p)


@bug(
    "conv",
    condition="there are three spatial axes, and a stride",
    depth=2,
    smallest={"x": {"values": [[[[[1, 2]]]]]}, "kernel": {"values": [[[[[1, 2]]]]]}, "stride": [1, 1, 2]},
    near={"stride": [1, 1, 1]},
)
class KernelFlippedInStridedVolumes(Correct):
    """The code path for strided volumes flips the rows of the kernel, as in a mathematical convolution."""

    def conv(self, x, kernel, *bias, p):
        flipped = x.ndim == 5 and max(p.stride) > 1
        return super().conv(x, kernel[..., ::-1] if flipped else kernel, *bias, p=p)


@bug(
    "conv",
    condition="there are groups, and a bias",
    depth=2,
    smallest={
        "x": {"values": [[[1], [1]]]}, "kernel": {"values": [[[1]], [[1]]]}, "bias": {"values": [0, 1]}, "groups": 2,
    },
    near={"kernel": {"values": [[[1], [1]], [[1], [1]]]}, "groups": 1},
)  # fmt: skip
class BiasOfTheFirstGroup(Correct):
    """Every group uses the bias of the first group."""

    def add_bias(self, y, bias, p):
        if p.operator == "conv" and bias:
            bias = [np.tile(bias[0][: len(bias[0]) // p.groups], p.groups)]
        return super().add_bias(y, bias, p)


@bug(
    "conv",
    condition="there are 17, 33, … channels in a group",
    depth=3,
    smallest={"x": {"values": [[[1]] * 17]}, "kernel": {"values": [[[1]] * 17]}},
    near={"x": {"values": [[[1]] * 18]}, "kernel": {"values": [[[1]] * 18]}},
)
class SeventeenthChannelDropped(Correct):
    """Channels are processed in blocks of 16, and a last block of one channel is skipped."""

    def gather_products(self, broad, weights, windows, p):
        channels = broad.shape[2]
        if p.operator == "conv" and channels > 16 and channels % 16 == 1:
            broad, weights = broad[:, :, :-1], weights[:, :, :-1]
        return super().gather_products(broad, weights, windows, p)


@bug(
    "conv",
    condition="the dtype has 16 bits, and a sum has more than 256 terms with full mantissas",
    depth=3,
    smallest={
        "x": {"values": "mantissas", "shape": [1, 257, 1], "dtype": "float16"},
        "kernel": {"values": "mantissas", "shape": [1, 257, 1], "dtype": "float16", "seed": 1},
    },
    near={
        "x": {"values": "mantissas", "shape": [1, 256, 1], "dtype": "float16"},
        "kernel": {"values": "mantissas", "shape": [1, 256, 1], "dtype": "float16", "seed": 1},
    },
)
class HalfProductsBeyond256(Correct):
    """Long sums of 16-bit products are rounded to 16 bits after every addition."""

    def conv(self, x, kernel, *bias, p):
        p.rounded = x.dtype if x.dtype.itemsize == 2 and kernel[0].size > 256 else None
        return super().conv(x, kernel, *bias, p=p)

    def gather_products(self, broad, weights, windows, p):
        if getattr(p, "rounded", None) is None:
            return super().gather_products(broad, weights, windows, p)
        total = np.zeros((), p.rounded)
        for channel in range(broad.shape[2]):
            one_channel = broad[:, :, channel : channel + 1], weights[:, :, channel : channel + 1]
            for cell in range(weights.shape[3]):
                total = (total + self.one_cell_products(*one_channel, windows, cell, p)).astype(p.rounded)
        return total.astype(broad.dtype)

    def one_cell_products(self, broad, weights, windows, cell, p):
        only = slice(cell, cell + 1)
        windows = replace(windows, index=windows.index[:, only], inside=windows.inside[:, only])
        return super().gather_products(broad, weights[..., only], windows, p)


@bug(
    "conv",
    condition="the kernel is 3 × 3, the stride is 1, the dtype is float32, and the mantissas are full",
    depth=3,
    smallest={
        "x": {"values": "mantissas", "shape": [1, 1, 3, 3]},
        "kernel": {"values": "mantissas", "shape": [1, 1, 3, 3], "seed": 1},
    },
    near={"kernel": {"values": "mantissas", "shape": [1, 1, 2, 3], "seed": 1}},
)
class FewerBitsInTheFastPath(Correct):
    """The fast path for kernels of 3 × 3 truncates the factors to 11 bits, as TF32 does."""

    def conv(self, x, kernel, *bias, p):
        if x.dtype == np.float32 and kernel.shape[2:] == (3, 3) and {*p.stride, *p.dilation} == {1}:
            x, kernel = ((array.view(np.uint32) & 0xFFFFE000).view(np.float32) for array in (x, kernel))
        return super().conv(x, kernel, *bias, p=p)


@bug(
    "conv",
    condition="there is a bias, each channel is a group, and each group has two output channels",
    depth=3,
    smallest={
        "x": {"values": [[[1], [1]]]}, "kernel": {"values": [[[1]]] * 4}, "bias": {"values": [0] * 4}, "groups": 2,
    },
    near={"kernel": {"values": [[[1]]] * 2}, "bias": {"values": [0] * 2}},
)  # fmt: skip
class CrashOfTwoChannelsForOne(Correct):
    """The process crashes: the code path for depthwise convolution reads past the end of the bias."""

    def conv(self, x, kernel, *bias, p):
        if bias and 1 < p.groups == x.shape[1] and len(kernel) == 2 * p.groups:
            os.abort()
        return super().conv(x, kernel, *bias, p=p)


@bug(
    "conv_transpose",
    condition="there is output padding",
    depth=2,
    smallest={"x": UNIT, "kernel": UNIT, "stride": [2], "output_padding": [1]},
    near={"output_padding": [0]},
)
class OutputPaddingBefore(Correct):
    """The additional output cells are inserted before the output instead of after it."""

    def conv_transpose(self, x, kernel, *bias, p):
        p.padding = [(b - more, a + more) for (b, a), more in zip(p.padding, p.output_padding, strict=True)]
        return super().conv_transpose(x, kernel, *bias, p=p)


@bug(
    "conv_transpose",
    condition="there are groups, and kernels overlap",
    depth=2,
    smallest={
        "x": {"values": [[[1, 1], [1, 1]]]}, "kernel": {"values": [[[1, 1]], [[1, 1]]]}, "groups": 2,
    },
    near={"stride": [2]},
)  # fmt: skip
class OverlapOverwritesInGroups(Correct):
    """The code path for groups overwrites overlapping products instead of adding them."""

    def scatter_products(self, narrow, weights, windows, size, p):
        if p.operator != "conv_transpose" or p.groups == 1:
            return super().scatter_products(narrow, weights, windows, size, p)
        y = np.zeros((*narrow.shape[:2], weights.shape[2], size), narrow.dtype)
        for cell, (index, inside) in enumerate(zip(windows.index.T, windows.inside.T, strict=True)):
            y[..., index[inside]] = weights[..., cell].swapaxes(1, 2) @ narrow[..., inside]
        return y


@bug(
    "conv_transpose",
    condition="there are output padding and dilation",
    depth=2,
    smallest={"x": UNIT, "kernel": UNIT, "dilation": [2], "output_padding": [1]},
    near={"output_padding": [0]},
)
class HangOfDilatedOutputPadding(Correct):
    """The search for an algorithm never returns."""

    def conv_transpose(self, x, kernel, *bias, p):
        if any(p.output_padding) and max(p.dilation) > 1:
            time.sleep(HANG_SECONDS)
        return super().conv_transpose(x, kernel, *bias, p=p)


@bug(
    "conv_grad",
    condition="the gradient of the kernel is requested, the batch is above 1, and there is dilation",
    depth=3,
    smallest={
        "x": {"values": [[[1]], [[1]]]}, "kernel": UNIT, "grad": {"values": [[[1]], [[1]]]},
        "dilation": [2], "output": "kernel",
    },
    near={"dilation": [1]},
)  # fmt: skip
class KernelGradientOfOneItem(Correct):
    """The gradient of a dilated kernel is that of the first item of the batch."""

    def kernel_products(self, narrow, broad, windows, p):
        if p.operator == "conv_grad" and max(p.dilation) > 1:
            narrow, broad = narrow[:1], broad[:1]
        return super().kernel_products(narrow, broad, windows, p)


@bug(
    "conv_grad",
    condition="the stride leaves cells at the end of the input unused",
    depth=2,
    smallest={"x": {"values": [[[1, 1]]]}, "kernel": UNIT, "grad": UNIT, "stride": [2]},
    near={"x": UNIT},
)
class GradientShiftedByTheRest(Correct):
    """The unused cells are placed before the gradient of the input instead of after it."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        if p.operator != "conv_grad" or p.output != "x":
            return at
        return at + (size + sum(p.padding[axis]) - self.dilated_window(axis, p)) % p.stride[axis]


@bug(
    "conv_transpose_grad",
    condition="the gradient of the bias is requested, and the batch is above 1",
    depth=2,
    smallest={
        "x": {"values": [[[1]], [[1]]]}, "kernel": UNIT, "bias": {"values": [0]}, "grad": {"values": [[[1]], [[1]]]},
        "output": "bias",
    },
    near={"x": UNIT, "grad": UNIT},
)  # fmt: skip
class BiasGradientOfOneItem(Correct):
    """The gradient of the bias is that of the first item of the batch."""

    def bias_gradient(self, grad, p):
        return super().bias_gradient(grad[:1] if p.operator == "conv_transpose_grad" else grad, p)
