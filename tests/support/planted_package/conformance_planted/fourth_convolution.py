"""Fourth set: bugs in padding and convolution that were reported for frameworks. Each description names the report."""

# ruff: noqa: ARG002  (methods get the axis and the parameters p like those that they replace)
import numpy as np

from .padding_convolution import MODES
from .registry import Correct, fourth_bug

UNIT = {"values": [[[1]]]}
TWO_CHANNELS = {"values": [[[1], [1]]]}


@fourth_bug(
    "pad",
    condition="the mode is reflect, the first axis is padded before, and the last is not padded and has several cells",
    depth=3,
    smallest={"x": {"values": [[[[1, 2], [3, 4]]]]}, "pads": [[1, 0], [0, 0]], "mode": "reflect"},
    near={"mode": "edge"},
)
class ReflectedRowsReversed(Correct):
    """Rows that are reflected before the first axis are reversed (microsoft/onnxruntime#6442)."""

    def pad(self, x, p):
        y = super().pad(x, p)
        before = p.pads[0][0]
        if p.operator == "pad" and p.mode == "reflect" and x.ndim > 3 and before > 0 and not any(p.pads[-1]):
            y[:, :, :before] = y[:, :, :before, ..., ::-1].copy()
        return y


@fourth_bug(
    "pad",
    condition="the mode is wrap, and a pad exceeds the extent",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[3, 0]], "mode": "wrap"},
    near={"pads": [[2, 0]]},
)
class WrappedOnce(Correct):
    """Padding that wraps more than once repeats the last cell of the first copy (microsoft/onnxruntime#32725)."""

    def mode_index(self, positions, size, axis, p):
        wraps = p.operator == "pad" and p.mode == "wrap"
        return MODES[p.mode](np.clip(positions, -size, 2 * size - 1) if wraps else positions, size)


@fourth_bug(
    "conv",
    condition="there are two spatial axes, each of several channels is a group, the dtype is float32, the batch is "
    "above 1, and the output has one row",
    depth=3,
    smallest={
        "x": {"values": [[[[1]], [[1]]], [[[2]], [[2]]]]}, "kernel": {"values": [[[[1]]], [[[1]]]]}, "groups": 2,
    },
    near={"x": {"values": [[[[1]], [[1]]]]}},
)  # fmt: skip
class ImagesOfOneRow(Correct):
    """Depthwise kernels as high as the image return the first image for all (pytorch/pytorch#188335)."""

    def conv(self, x, kernel, *bias, p):
        y = super().conv(x, kernel, *bias, p=p)
        rows = x.ndim == 4 and 1 < p.groups == x.shape[1] and x.dtype == np.float32 and y.shape[2] == 1
        return np.broadcast_to(y[:1], y.shape).copy() if rows else y


@fourth_bug(
    "conv",
    condition="the arrays are passed in another memory order, and the kernel has several cells",
    depth=2,
    smallest={
        "x": {"values": [[[1, 2]]]}, "kernel": {"values": [[[1, 2]]]}, "arrays": "strided",
    },
    near={"arrays": "read_only"},
)  # fmt: skip
class StridedKernelReadAsDense(Correct):
    """The kernel is read as if its memory were contiguous (pytorch/pytorch#192212)."""

    def conv(self, x, kernel, *bias, p):
        if p.operator == "conv" and not kernel.flags.c_contiguous:
            memory = np.ravel(kernel if kernel.base is None else kernel.base, "K").view(kernel.dtype)
            kernel = np.resize(memory, kernel.shape)
        return super().conv(x, kernel, *bias, p=p)


@fourth_bug(
    "conv_transpose",
    condition="there is dilation, and the kernel has not exactly two cells on this axis",
    depth=2,
    smallest={"x": UNIT, "kernel": {"values": [[[1, 2, 3]]]}, "dilation": [2]},
    near={"kernel": {"values": [[[1, 2]]]}},
)
class DilationAddedToTheKernel(Correct):
    """The extent of a dilated kernel is kernel + dilation - 1 (microsoft/onnxruntime#2518)."""

    def transposed_extent(self, axis, size, kernel, p):
        cells, dilation = kernel.shape[2 + axis], p.dilation[axis]
        extent = super().transposed_extent(axis, size, kernel, p)
        wrong = extent - (dilation * (cells - 1) + 1) + cells + dilation - 1
        return max(wrong, 1) if p.operator == "conv_transpose" else extent


@fourth_bug(
    "conv_transpose",
    condition="there is output padding, and a stride above 1, on one axis",
    depth=2,
    smallest={"x": UNIT, "kernel": UNIT, "stride": [2], "output_padding": [1]},
    near={"output_padding": [0]},
)
class OutputPaddingTimesStride(Correct):
    """Output padding is added to the input, so the output is too large (apple/coreai-torch#57)."""

    def transposed_extent(self, axis, size, kernel, p):
        more = p.output_padding[axis] * (p.stride[axis] - 1) if p.operator == "conv_transpose" else 0
        return super().transposed_extent(axis, size, kernel, p) + more


@fourth_bug(
    "conv_transpose",
    condition="stride and dilation of an axis are above 1, and the kernel and the input have several cells there",
    depth=3,
    smallest={"x": {"values": [[[1, 2]]]}, "kernel": {"values": [[[1, 2]]]}, "stride": [2], "dilation": [3]},
    near={"dilation": [1]},
)
class StrideLostWithDilation(Correct):
    """Dilated kernels are placed without the stride (apache/mxnet#11203)."""

    def positions(self, axis, size, p):
        at = super().positions(axis, size, p)
        if p.operator != "conv_transpose" or p.dilation[axis] == 1 or p.window[axis] == 1:
            return at
        return np.arange(len(at))[:, None] - p.padding[axis][0] + self.offsets(axis, p)


@fourth_bug(
    "conv_grad",
    condition="the gradient of the kernel is requested, each channel is a group, the number of channels is a multiple "
    "of 8, the first axis has a stride above 1 and padding",
    depth=3,
    smallest={
        "x": {"values": [[[1, 1]] * 8]}, "kernel": {"values": [[[1]]] * 8}, "grad": {"values": [[[1, 1]] * 8]},
        "groups": 8, "stride": [2], "padding": [[1, 0]], "output": "kernel",
    },
    near={"grad": {"values": [[[1]] * 8]}, "padding": [[0, 0]]},
)  # fmt: skip
class LastRowOfDepthwiseBlocks(Correct):
    """In blocks of 8 depthwise channels the last row adds nothing to the kernel (pytorch/pytorch#50042)."""

    def conv_grad(self, grad, x, kernel, *bias, p):
        depthwise = p.groups == x.shape[1] and kernel.shape[0] == x.shape[1] and x.shape[1] % 8 == 0
        if p.output == "kernel" and depthwise and p.stride[0] > 1 and any(p.padding[0]):
            grad = grad.copy()
            grad[:, :, -1] = 0
        return super().conv_grad(grad, x, kernel, *bias, p=p)


@fourth_bug(
    "conv_grad",
    condition="the gradient of x is requested, the last axis has a stride above 1 and less than 17 cells, and a group "
    "has more than 16 input channels",
    depth=3,
    smallest={
        "x": {"values": [[[1]] * 17]}, "kernel": {"values": [[[1]] * 17]}, "grad": {"values": [[[1]]]}, "stride": [2],
    },
    near={"stride": [1]},
)  # fmt: skip
class NarrowStridedGradient(Correct):
    """Channels from the 17th on have no gradient in the last column of narrow images (fujitsu/oneDNN#43)."""

    def conv_grad(self, grad, x, kernel, *bias, p):
        y = super().conv_grad(grad, x, kernel, *bias, p=p)
        if p.output == "x" and p.stride[-1] > 1 and x.shape[-1] < 17 and kernel.shape[1] > 16:
            y[:, 16:, ..., -1] = 0
        return y


@fourth_bug(
    "conv_grad",
    condition="the gradient of the kernel is requested, and the batch has 65,536 images or more",
    depth=2,
    smallest={
        "x": {"values": "integers", "low": 1, "high": 1, "shape": [65_537, 1, 1]}, "kernel": UNIT,
        "grad": {"values": "integers", "low": 1, "high": 1, "shape": [65_537, 1, 1]}, "output": "kernel",
    },
    near={"x": UNIT, "grad": UNIT},
)  # fmt: skip
class BatchOfSixteenBits(Correct):
    """The number of images is stored in 16 bits for the gradient of the kernel (pytorch/pytorch#96225)."""

    def conv_grad(self, grad, x, kernel, *bias, p):
        if p.output == "kernel" and len(x) >= 2**16:
            x, grad = x[: len(x) % 2**16], grad[: len(x) % 2**16]
        return super().conv_grad(grad, x, kernel, *bias, p=p)
