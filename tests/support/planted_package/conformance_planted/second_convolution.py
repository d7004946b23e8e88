"""Second set: bugs in convolution, transposed convolution and their gradients."""

import numpy as np

from .registry import Correct, second_bug

UNIT = {"values": [[[1]]]}


@second_bug(
    "conv",
    condition="there are three spatial axes, and each channel is a group",
    depth=3,
    smallest={
        "x": {"values": [[[[[1]]], [[[1]]]]]}, "kernel": {"values": [[[[[1]]]], [[[[2]]]]]}, "groups": 2,
    },
    near={"x": {"values": [[[[1]], [[1]]]]}, "kernel": {"values": [[[[1]]], [[[2]]]]}},
)  # fmt: skip
class DepthwiseVolumesReversed(Correct):
    """Depthwise convolution of volumes reads the kernels in reverse order."""

    def conv(self, x, kernel, *bias, p):
        reversed_order = x.ndim == 5 and 1 < p.groups == x.shape[1]
        return super().conv(x, kernel[::-1] if reversed_order else kernel, *bias, p=p)


@second_bug(
    "conv",
    condition="an axis has one cell, and the kernel has more",
    depth=2,
    smallest={"x": UNIT, "kernel": {"values": [[[1, 2]]]}, "padding": [[1, 0]]},
    near={"x": {"values": [[[1, 1]]]}},
)
class AxisOfOneCell(Correct):
    """On an axis of one cell the kernel is flipped."""

    def conv(self, x, kernel, *bias, p):
        flipped = tuple(axis for axis in range(2, x.ndim) if x.shape[axis] == 1)
        return super().conv(x, np.flip(kernel, flipped), *bias, p=p)


@second_bug(
    "conv",
    condition="the kernel is dilated, and its dilated extent is the extent of the input on every axis",
    depth=2,
    smallest={"x": {"values": [[[0, 1, 0]]]}, "kernel": {"values": [[[1, 1]]]}, "dilation": [2]},
    near={"x": {"values": [[[0, 1, 0, 0]]]}, "kernel": {"values": [[[0, 1]]]}},
)
class DilatedToTheInput(Correct):
    """A kernel over the whole input is computed as a matrix product, without its dilation."""

    def conv(self, x, kernel, *bias, p):
        extents = [distance * (size - 1) + 1 for distance, size in zip(p.dilation, kernel.shape[2:], strict=True)]
        p.undilated = extents == list(x.shape[2:])
        return super().conv(x, kernel, *bias, p=p)

    def offsets(self, axis, p):
        return np.arange(p.window[axis]) if getattr(p, "undilated", False) else super().offsets(axis, p)


@second_bug(
    "conv",
    condition="the dtype is float16, and a group has an odd number of channels above 1",
    depth=2,
    smallest={
        "x": {"values": [[[1]] * 3], "dtype": "float16"}, "kernel": {"values": [[[1]] * 3], "dtype": "float16"},
    },
    near={"x": {"values": [[[1]] * 2], "dtype": "float16"}, "kernel": {"values": [[[1]] * 2], "dtype": "float16"}},
)  # fmt: skip
class HalfProductsInPairs(Correct):
    """Products of float16 are added in pairs, and the last odd channel is dropped."""

    def conv(self, x, kernel, *bias, p):
        if x.dtype == np.float16 and kernel.shape[1] > 1 and kernel.shape[1] % 2:
            kernel = kernel.copy()
            kernel[:, -1] = 0
        return super().conv(x, kernel, *bias, p=p)


@second_bug(
    "conv",
    condition="the batch is above 1, and there are groups",
    depth=2,
    smallest={
        "x": {"values": [[[1], [2]], [[1], [2]]]}, "kernel": {"values": [[[1]], [[1]]]}, "groups": 2,
    },
    near={"kernel": {"values": [[[1], [1]], [[1], [1]]]}, "groups": 1},
)  # fmt: skip
class GroupsOfLaterImages(Correct):
    """The output channels of later images are reversed if there are groups."""

    def conv(self, x, kernel, *bias, p):
        y = super().conv(x, kernel, *bias, p=p)
        if p.groups > 1:
            y[1:] = y[1:, ::-1]
        return y


@second_bug(
    "conv",
    condition="the kernel has one cell, and the strides of two axes differ",
    depth=3,
    smallest={"x": {"values": [[[[1, 2]]]]}, "kernel": {"values": [[[[1]]]]}, "stride": [1, 2]},
    near={"stride": [1, 1]},
)
class PointsWithOneStride(Correct):
    """The code path for kernels of one cell uses the stride of the first axis on all axes."""

    def conv(self, x, kernel, *bias, p):
        if kernel[0, 0].size == 1:
            p.stride = [p.stride[0]] * len(p.stride)
        return super().conv(x, kernel, *bias, p=p)


@second_bug(
    "conv",
    condition="the kernel has one cell, and there is padding",
    depth=2,
    smallest={"x": UNIT, "kernel": UNIT, "padding": [[1, 0]]},
    near={"kernel": {"values": [[[1, 1]]]}},
)
class PointsWithoutPadding(Correct):
    """The code path for kernels of one cell ignores the padding."""

    def conv(self, x, kernel, *bias, p):
        if kernel[0, 0].size == 1:
            p.padding = [(0, 0)] * len(p.padding)
        return super().conv(x, kernel, *bias, p=p)


@second_bug(
    "conv",
    condition="the stride of an axis equals its dilation and is above 1, and the kernel has several cells there",
    depth=3,
    smallest={
        "x": {"values": [[[0, 1, 0]]]}, "kernel": {"values": [[[1, 1]]]}, "stride": [2], "dilation": [2],
    },
    near={"stride": [1]},
)  # fmt: skip
class PhasesUndilated(Correct):
    """The code path that splits an axis into phases ignores the dilation."""

    def offsets(self, axis, p):
        phases = p.operator == "conv" and p.stride[axis] == p.dilation[axis]
        return np.arange(p.window[axis]) if phases else super().offsets(axis, p)


@second_bug(
    "conv",
    condition="the kernel is 3 × 3, the stride is 1, and the width of the output is odd and above 1",
    depth=3,
    smallest={
        "x": {"values": "integers", "shape": [1, 1, 3, 5]}, "kernel": {"values": "integers", "shape": [1, 1, 3, 3]},
    },
    near={"x": {"values": "integers", "shape": [1, 1, 3, 4]}},
)  # fmt: skip
class OddTiles(Correct):
    """The fast path for 3 × 3 kernels computes tiles of two columns; a last odd column stays zero."""

    def conv(self, x, kernel, *bias, p):
        y = super().conv(x, kernel, *bias, p=p)
        if kernel.shape[2:] == (3, 3) and {*p.stride, *p.dilation} == {1} and y.shape[-1] > 1 and y.shape[-1] % 2:
            y[..., -1] = 0
        return y


@second_bug(
    "conv",
    condition="a kernel cell is zero, and its factor is infinite or NaN",
    depth=3,
    smallest={"x": {"values": [[[float("inf")]]]}, "kernel": {"values": [[[0]]]}},
    near={"kernel": UNIT},
)
class ZeroWeightsSkipped(Correct):
    """Kernel cells that are zero are skipped, even for factors that are not finite."""

    def gather_products(self, broad, weights, windows, p):
        if p.operator != "conv" or np.isfinite(broad).all():
            return super().gather_products(broad, weights, windows, p)
        y = np.zeros((*broad.shape[:2], weights.shape[1], len(windows.index)), broad.dtype)
        for cell, (index, inside) in enumerate(zip(windows.index.T, windows.inside.T, strict=True)):
            factors = weights[:, :, :, None, cell] if weights.ndim == 4 else weights
            products = factors * broad[:, :, None][..., index[inside]]
            y[..., inside] += np.where(factors == 0, 0, products).sum(3)
        return y


@second_bug(
    "conv_transpose",
    condition="the stride of an axis is larger than the kernel, and there is a bias",
    depth=2,
    smallest={
        "x": {"values": [[[1, 1]]]}, "kernel": UNIT, "bias": {"values": [1]}, "stride": [2],
    },
    near={"stride": [1]},
)  # fmt: skip
class GapsWithoutBias(Correct):
    """The bias is added only to output cells that the kernel reaches."""

    def conv_transpose(self, x, kernel, *bias, p):
        y = super().conv_transpose(x, kernel, *bias, p=p)
        if not bias:
            return y
        ones = super().conv_transpose(np.ones(x.shape, np.float32), np.ones(kernel.shape, np.float32), p=p)
        return np.where(ones == 0, np.zeros((), y.dtype), y)


@second_bug(
    "conv_transpose",
    condition="there are three spatial axes, and there are groups",
    depth=2,
    smallest={
        "x": {"values": [[[[[1]]], [[[1]]]]]}, "kernel": {"values": [[[[[1]]]], [[[[2]]]]]}, "groups": 2,
    },
    near={"groups": 1},
)  # fmt: skip
class VolumeGroupsReversed(Correct):
    """Transposed convolution of volumes with groups reads the kernels in reverse order."""

    def conv_transpose(self, x, kernel, *bias, p):
        reversed_order = x.ndim == 5 and p.groups > 1
        return super().conv_transpose(x, kernel[::-1] if reversed_order else kernel, *bias, p=p)


@second_bug(
    "conv_transpose",
    condition="the paddings of an axis differ",
    depth=2,
    smallest={"x": UNIT, "kernel": {"values": [[[1, 2]]]}, "padding": [[1, 0]]},
    near={"padding": [[0, 0]]},
)
class UnevenCrop(Correct):
    """The output is cropped by the padding of the other end."""

    def conv_transpose(self, x, kernel, *bias, p):
        p.padding = [pair[::-1] for pair in p.padding]
        return super().conv_transpose(x, kernel, *bias, p=p)


@second_bug(
    "conv_grad",
    condition="the gradient of the kernel is requested, and the stride of an axis is larger than the kernel",
    depth=2,
    smallest={
        "x": {"values": [[[1, 2]]]}, "kernel": {"values": [[[1, 1]]]}, "grad": UNIT, "stride": [3],
        "output": "kernel",
    },
    near={"stride": [2]},
)  # fmt: skip
class FarKernelGradientFlipped(Correct):
    """Where windows do not touch, the gradient of the kernel is flipped."""

    def kernel_products(self, narrow, broad, windows, p):
        y = super().kernel_products(narrow, broad, windows, p)
        apart = p.operator == "conv_grad" and any(s > w for s, w in zip(p.stride, p.window, strict=True))
        return y[..., ::-1] if apart else y


@second_bug(
    "conv_grad",
    condition="the gradient of the kernel is requested, the batch is above 1, and there are groups",
    depth=3,
    smallest={
        "x": {"values": [[[1], [1]], [[1], [1]]]}, "kernel": {"values": [[[1]], [[1]]]},
        "grad": {"values": [[[1], [1]], [[1], [1]]]}, "groups": 2, "output": "kernel",
    },
    near={"kernel": {"values": [[[1], [1]], [[1], [1]]]}, "groups": 1},
)  # fmt: skip
class GroupedKernelGradientOfOneImage(Correct):
    """The gradient of a kernel in groups is that of the first image."""

    def kernel_products(self, narrow, broad, windows, p):
        if p.operator == "conv_grad" and p.groups > 1:
            narrow, broad = narrow[:1], broad[:1]
        return super().kernel_products(narrow, broad, windows, p)


@second_bug(
    "conv_transpose_grad",
    condition="the gradient of the kernel is requested, and there is padding before an axis",
    depth=2,
    smallest={
        "x": UNIT, "kernel": {"values": [[[1, 1]]]}, "grad": UNIT, "padding": [[1, 0]], "output": "kernel",
    },
    near={"padding": [[0, 0]], "grad": {"values": [[[1, 1]]]}},
)  # fmt: skip
class KernelGradientWithoutPadding(Correct):
    """The gradient of the kernel ignores the padding."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        ignored = p.operator == "conv_transpose_grad" and p.output == "kernel"
        return at + p.padding[axis][0] if ignored else at
