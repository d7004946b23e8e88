"""Third set: bugs in padding, convolution and their gradients, and in an operator that follows another one."""

from math import gcd

import ml_dtypes
import numpy as np

from .padding_convolution import MODES
from .registry import Correct, third_bug
from .second_calls import Accepting

NAN = float("nan")
UNIT = {"values": [[[1]]]}


@third_bug(
    "pad",
    condition="the mode is reflect, one axis is cropped before, and a later axis is padded",
    depth=3,
    smallest={"x": {"values": [[[[1, 2], [3, 4]]]]}, "pads": [[-1, 0], [1, 0]], "mode": "reflect"},
    near={"pads": [[0, 0], [1, 0]]},
)
class ReflectionAfterACrop(Correct):
    """If an axis is cropped, the axes after it repeat their edges instead of reflecting."""

    def mode_index(self, positions, size, axis, p):
        cropped = p.operator == "pad" and p.mode == "reflect" and any(before < 0 for before, _ in p.pads[:axis])
        return MODES["edge"](positions, size) if cropped else super().mode_index(positions, size, axis, p)


@third_bug(
    "pad",
    condition="the value is NaN",
    depth=2,
    smallest={"x": UNIT, "pads": [[1, 0]], "value": NAN},
    near={"value": 1},
)
class NanIsNoValue(Correct):
    """The value NaN counts as missing, so the padding is 0."""

    def pad(self, x, p):
        p.value = 0 if p.mode == "constant" and p.value != p.value else p.value
        return super().pad(x, p)


@third_bug(
    "pad_grad",
    condition="the mode is symmetric, and the pad after an axis exceeds its extent",
    depth=2,
    smallest={"x": UNIT, "grad": {"values": [[[1, 1, 1]]]}, "pads": [[0, 2]], "mode": "symmetric"},
    near={"grad": {"values": [[[1, 1]]]}, "pads": [[0, 1]]},
)
class SecondMirrorImage(Correct):
    """The gradient of the second mirror image after an axis is lost."""

    def mode_index(self, positions, size, axis, p):
        source = super().mode_index(positions, size, axis, p)
        lost = p.operator == "pad_grad" and p.mode == "symmetric"
        return np.where(positions >= 2 * size, -1, source) if lost else source


@third_bug(
    "conv",
    condition="there is one spatial axis, each of several channels is a group, and the kernel has an even extent",
    depth=3,
    smallest={
        "x": {"values": [[[1, 0], [1, 0]]]}, "kernel": {"values": [[[1, 2]], [[1, 2]]]}, "groups": 2,
    },
    near={"x": {"values": [[[1, 0]]]}, "kernel": {"values": [[[1, 2]]]}, "groups": 1},
)  # fmt: skip
class EvenDepthwiseRows(Correct):
    """Depthwise kernels of one axis with an even extent are flipped."""

    def conv(self, x, kernel, *bias, p):
        flips = x.ndim == 3 and 1 < p.groups == x.shape[1] and kernel.shape[2] % 2 == 0
        return super().conv(x, kernel[..., ::-1] if flips else kernel, *bias, p=p)


@third_bug(
    "conv",
    condition="the kernel has one cell, there are groups, and a stride is above 1",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 3], [4, 5, 6]]]}, "kernel": {"values": [[[1]], [[1]]]}, "groups": 2, "stride": [2],
    },
    near={"stride": [1]},
)  # fmt: skip
class GroupedPointsWithoutStride(Correct):
    """Kernels of one cell in groups read adjacent cells."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        points = p.operator == "conv" and p.groups > 1 and set(p.window) == {1}
        return np.minimum(np.arange(len(at)), size - 1)[:, None] - p.padding[axis][0] if points else at


@third_bug(
    "conv",
    condition="the dtype is bfloat16, there is a bias, and there are more than 8 output channels",
    depth=3,
    smallest={
        "x": {"values": [[[1]]], "dtype": "bfloat16"}, "kernel": {"values": [[[1]]] * 9, "dtype": "bfloat16"},
        "bias": {"values": [1] * 9, "dtype": "bfloat16"},
    },
    near={"kernel": {"values": [[[1]]] * 8, "dtype": "bfloat16"}, "bias": {"values": [1] * 8, "dtype": "bfloat16"}},
)  # fmt: skip
class NinthBiasDropped(Correct):
    """In bfloat16 only the first 8 output channels receive a bias."""

    def add_bias(self, y, bias, p):
        if p.operator == "conv" and bias and bias[0].dtype == ml_dtypes.bfloat16:
            bias = [np.where(np.arange(len(bias[0])) < 8, bias[0], np.zeros((), bias[0].dtype))]
        return super().add_bias(y, bias, p)


@third_bug(
    "conv",
    condition="a window has only padding, and there is a bias",
    depth=3,
    smallest={"x": UNIT, "kernel": UNIT, "bias": {"values": [1]}, "padding": [[1, 0]]},
    near={"bias": {"values": [0]}},
)
class PaddingWithoutBias(Correct):
    """Windows of padding alone are skipped, so their output is 0 instead of the bias."""

    def conv(self, x, kernel, *bias, p):
        y = super().conv(x, kernel, *bias, p=p)
        empty = ~self.windows(x.shape[2:], p).inside.any(1).reshape(y.shape[2:])
        return np.where(empty, np.zeros((), y.dtype), y)


@third_bug(
    "conv_grad",
    condition="the gradient of x is requested, and stride and dilation of an axis have a common factor",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 3]]]}, "kernel": {"values": [[[1, 2]]]}, "grad": {"values": [[[1]]]},
        "stride": [2], "dilation": [2],
    },
    near={"stride": [3]},
)  # fmt: skip
class PhasesOfTheGradient(Correct):
    """If stride and dilation have a common factor, the gradient of x ignores the dilation."""

    def offsets(self, axis, p):
        shared = p.operator == "conv_grad" and p.output == "x" and gcd(p.stride[axis], p.dilation[axis]) > 1
        return np.arange(p.window[axis]) if shared else super().offsets(axis, p)


@third_bug(
    "conv_transpose",
    condition="there are output padding and a bias",
    depth=2,
    smallest={"x": UNIT, "kernel": UNIT, "bias": {"values": [1]}, "stride": [2], "output_padding": [1]},
    near={"bias": {"values": [0]}},
)
class OutputPaddingWithoutBias(Correct):
    """The additional output cells receive no bias."""

    def conv_transpose(self, x, kernel, *bias, p):
        y = super().conv_transpose(x, kernel, *bias, p=p)
        for axis, more in enumerate(p.output_padding if bias else ()):
            y[(..., slice(max(y.shape[2 + axis] - more, 0), None), *[slice(None)] * (y.ndim - 3 - axis))] = 0
        return y


@third_bug(
    "conv_transpose",
    condition="a plane has one cell, and there are groups",
    depth=2,
    smallest={"x": {"values": [[[1], [1]]]}, "kernel": {"values": [[[1]], [[2]]]}, "groups": 2},
    near={"x": {"values": [[[1, 1], [1, 1]]]}},
)
class PointsOfGroups(Correct):
    """A plane of one cell is multiplied with the kernels of the groups in reverse order."""

    def weights(self, kernel, p):
        weights = super().weights(kernel, p)
        point = p.operator == "conv_transpose" and set(p.count) == {1}
        return weights[::-1] if point else weights


@third_bug(
    "conv_transpose_grad",
    condition="the gradient of the kernel is requested, the dtype is float16, and the batch is even",
    depth=3,
    smallest={
        "x": {"values": [[[1]]] * 2, "dtype": "float16"}, "kernel": {"values": [[[1]]], "dtype": "float16"},
        "grad": {"values": [[[1]]] * 2, "dtype": "float16"}, "output": "kernel",
    },
    near={"x": {"values": [[[1]]], "dtype": "float16"}, "grad": {"values": [[[1]]], "dtype": "float16"}},
)  # fmt: skip
class EvenHalfBatches(Correct):
    """In float16 the gradient of the kernel misses the last image of an even batch."""

    def conv_transpose_grad(self, grad, x, kernel, *bias, p):
        if p.output == "kernel" and x.dtype == np.float16 and len(x) and len(x) % 2 == 0:
            x = np.concatenate([x[:-1], np.zeros_like(x[-1:])])
        return super().conv_transpose_grad(grad, x, kernel, *bias, p=p)


@third_bug(
    "max_pool",
    condition="maximum pooling follows maximum pooling, and the first has a stride above 1",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 3]]]}, "window": [1], "stride": [2], "then": [{"operator": "max_pool", "window": [1]}],
    },
    near={"then": [{"operator": "avg_pool", "window": [1]}]},
)  # fmt: skip
class SecondMaximumShifted(Correct):
    """Two maxima in a row are fused; the second reads its input in reverse order if the first has a stride."""

    def max_pool(self, x, p):
        previous = p.previous
        if previous is not None and previous.operator == "max_pool" and max(previous.stride) > 1:
            x = x[..., ::-1]
        return super().max_pool(x, p)


@third_bug(
    "avg_pool",
    condition="the divisor is 0",
    depth=1,
    rejected="DivisorIsZero",
    smallest={"x": UNIT, "window": [1], "divisor": 0},
    near={"divisor": 1},
)
class DivisorOfZero(Accepting):
    """A divisor of 0 is accepted as 1."""

    of, accepted = "avg_pool", "divisor"

    def avg_pool(self, x, p):
        p.divisor = p.divisor or 1
        return super().avg_pool(x, p)
