"""Faults in convolution, its transpose and their gradients."""

import os
import time
from dataclasses import replace

import numpy as np

from .record import Correct, fault

LONG = 3600
"""Seconds that a program hangs."""
ONE = {"values": [[[1]]]}


@fault(
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
        lost = p.verb == "conv" and p.groups > 1
        return np.arange(p.window[axis]) if lost else super().offsets(axis, p)


@fault(
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


@fault(
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

    def biased(self, y, bias, p):
        if p.verb == "conv" and bias:
            bias = [np.tile(bias[0][: len(bias[0]) // p.groups], p.groups)]
        return super().biased(y, bias, p)


@fault(
    "conv",
    condition="there are 17, 33, … channels in a group",
    depth=3,
    smallest={"x": {"values": [[[1]] * 17]}, "kernel": {"values": [[[1]] * 17]}},
    near={"x": {"values": [[[1]] * 18]}, "kernel": {"values": [[[1]] * 18]}},
)
class SeventeenthChannelDropped(Correct):
    """Channels are processed in blocks of 16, and a last block of one channel is skipped."""

    def products_gathered(self, broad, weights, walk, p):
        channels = broad.shape[2]
        if p.verb == "conv" and channels > 16 and channels % 16 == 1:
            broad, weights = broad[:, :, :-1], weights[:, :, :-1]
        return super().products_gathered(broad, weights, walk, p)


@fault(
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

    def products_gathered(self, broad, weights, walk, p):
        if getattr(p, "rounded", None) is None:
            return super().products_gathered(broad, weights, walk, p)
        total = np.zeros((), p.rounded)
        for channel in range(broad.shape[2]):
            of_one = broad[:, :, channel : channel + 1], weights[:, :, channel : channel + 1]
            for cell in range(weights.shape[3]):
                total = (total + self.of_one_cell(*of_one, walk, cell, p)).astype(p.rounded)
        return total.astype(broad.dtype)

    def of_one_cell(self, broad, weights, walk, cell, p):
        only = slice(cell, cell + 1)
        walk = replace(walk, index=walk.index[:, only], inside=walk.inside[:, only])
        return super().products_gathered(broad, weights[..., only], walk, p)


@fault(
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


@fault(
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


@fault(
    "conv_transpose",
    condition="there is output padding",
    depth=2,
    smallest={"x": ONE, "kernel": ONE, "stride": [2], "output_padding": [1]},
    near={"output_padding": [0]},
)
class OutputPaddingBefore(Correct):
    """The additional output cells are inserted before the output instead of after it."""

    def conv_transpose(self, x, kernel, *bias, p):
        p.padding = [(b - more, a + more) for (b, a), more in zip(p.padding, p.output_padding, strict=True)]
        return super().conv_transpose(x, kernel, *bias, p=p)


@fault(
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

    def products_scattered(self, narrow, weights, walk, size, p):
        if p.verb != "conv_transpose" or p.groups == 1:
            return super().products_scattered(narrow, weights, walk, size, p)
        y = np.zeros((*narrow.shape[:2], weights.shape[2], size), narrow.dtype)
        for cell, (index, inside) in enumerate(zip(walk.index.T, walk.inside.T, strict=True)):
            y[..., index[inside]] = weights[..., cell].swapaxes(1, 2) @ narrow[..., inside]
        return y


@fault(
    "conv_transpose",
    condition="there are output padding and dilation",
    depth=2,
    smallest={"x": ONE, "kernel": ONE, "dilation": [2], "output_padding": [1]},
    near={"output_padding": [0]},
)
class HangOfDilatedOutputPadding(Correct):
    """The search for an algorithm never returns."""

    def conv_transpose(self, x, kernel, *bias, p):
        if any(p.output_padding) and max(p.dilation) > 1:
            time.sleep(LONG)
        return super().conv_transpose(x, kernel, *bias, p=p)


@fault(
    "conv_grad",
    condition="the gradient of the kernel is requested, the batch is above 1, and there is dilation",
    depth=3,
    smallest={
        "x": {"values": [[[1]], [[1]]]}, "kernel": ONE, "grad": {"values": [[[1]], [[1]]]},
        "dilation": [2], "output": "kernel",
    },
    near={"dilation": [1]},
)  # fmt: skip
class KernelGradientOfOneItem(Correct):
    """The gradient of a dilated kernel is that of the first item of the batch."""

    def products_weighed(self, narrow, broad, walk, p):
        if p.verb == "conv_grad" and max(p.dilation) > 1:
            narrow, broad = narrow[:1], broad[:1]
        return super().products_weighed(narrow, broad, walk, p)


@fault(
    "conv_grad",
    condition="the stride leaves cells at the end of the input unused",
    depth=2,
    smallest={"x": {"values": [[[1, 1]]]}, "kernel": ONE, "grad": ONE, "stride": [2]},
    near={"x": ONE},
)
class GradientShiftedByTheRest(Correct):
    """The unused cells are placed before the gradient of the input instead of after it."""

    def reach(self, axis, size, p):
        at = super().reach(axis, size, p)
        if p.verb != "conv_grad" or p.output != "x":
            return at
        return at + (size + sum(p.padding[axis]) - self.covered(axis, p)) % p.stride[axis]


@fault(
    "conv_transpose_grad",
    condition="the gradient of the bias is requested, and the batch is above 1",
    depth=2,
    smallest={
        "x": {"values": [[[1]], [[1]]]}, "kernel": ONE, "bias": {"values": [0]}, "grad": {"values": [[[1]], [[1]]]},
        "output": "bias",
    },
    near={"x": ONE, "grad": ONE},
)  # fmt: skip
class BiasGradientOfOneItem(Correct):
    """The gradient of the bias is that of the first item of the batch."""

    def summed(self, grad, p):
        return super().summed(grad[:1] if p.verb == "conv_transpose_grad" else grad, p)
