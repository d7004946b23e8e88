"""Second set: calls that must be rejected but are accepted. These surfaces check their arguments with the reference."""

from typing import ClassVar

import numpy as np

from .registry import Correct, second_bug

ONE = {"values": [[[1]]]}
TWO_CHANNELS = {"values": [[[1], [1]]]}


class Accepting(Correct):
    """Rejects invalid arguments, but for one kind that a subclass accepts.

    accepted: text of the error of the reference that is ignored. of: operator that ignores it.
    """

    validates = True
    accepted: ClassVar[str] = ""
    of: ClassVar[str] = ""

    def check(self, operator, arrays, parameters):
        """Raise the error of the reference for an invalid call."""
        import reference  # noqa: PLC0415 - only these surfaces need it

        # The reference accepts one byte order only, and returns all outputs.
        arrays = [one.astype(one.dtype.newbyteorder("=")) for one in arrays]
        given = {name: value for name, value in parameters.items() if name != "output"}
        try:
            getattr(reference, operator)(*arrays, **given)
        except ValueError as error:
            if operator != self.of or self.accepted not in str(error):
                raise


@second_bug(
    "max_pool",
    condition="the window exceeds the padded input",
    depth=1,
    rejected="WindowExceedsPaddedInput",
    smallest={"x": ONE, "window": [2]},
    near={"window": [1]},
)
class WindowBeyondTheInput(Accepting):
    """A window that does not fit is accepted; the output is empty."""

    of, accepted = "max_pool", "exceeds the padded input"


@second_bug(
    "max_pool",
    condition="a dilation is 0",
    depth=1,
    rejected="DilationIsZero",
    smallest={"x": ONE, "window": [1], "dilation": [0]},
    near={"dilation": [1]},
)
class DilationOfZero(Accepting):
    """A dilation of 0 is accepted; every cell of the window is its first one."""

    of, accepted = "max_pool", "dilation 0 on axis"


@second_bug(
    "avg_pool",
    condition="a stride is 0",
    depth=1,
    rejected="StrideIsZero",
    smallest={"x": ONE, "window": [1], "stride": [0]},
    near={"stride": [1]},
)
class StrideOfZero(Accepting):
    """A stride of 0 is accepted as 1."""

    of, accepted = "avg_pool", "stride 0 on axis"

    def avg_pool(self, x, p):
        p.stride = [max(stride, 1) for stride in p.stride]
        return super().avg_pool(x, p)


@second_bug(
    "max_unpool",
    condition="an index is at least the number of cells of the output",
    depth=1,
    rejected="IndexBeyondOutput",
    smallest={"x": ONE, "indices": {"values": [[[1]]]}, "output_size": [1]},
    near={"indices": {"values": [[[0]]]}},
)
class IndexBeyondThePlane(Accepting):
    """An index beyond the plane is accepted, modulo the size of the plane."""

    of, accepted = "max_unpool", "and less than"

    def target_cells(self, rows, size, p):
        return super().target_cells(np.where(rows < 0, -1, rows % size), size, p)


@second_bug(
    "pad",
    condition="more cells are cropped than an axis has",
    depth=1,
    rejected="CropExceedsInput",
    smallest={"x": ONE, "pads": [[-2, 0]]},
    near={"pads": [[-1, 0]]},
)
class CropBeyondTheExtent(Accepting):
    """A crop of more cells than there are is accepted."""

    of, accepted = "pad", "crop more than the input"

    def mode_index(self, positions, size, axis, p):
        return super().mode_index(positions, max(size, 1), axis, p)


@second_bug(
    "conv",
    condition="the kernel has another number of input channels than the input",
    depth=1,
    rejected="KernelChannelsMismatch",
    smallest={"x": TWO_CHANNELS, "kernel": ONE},
    near={"kernel": TWO_CHANNELS},
)
class ChannelsBroadcast(Accepting):
    """A kernel with another number of channels is accepted; its channels are repeated."""

    of, accepted = "conv", "kernel takes"

    def conv(self, x, kernel, *bias, p):
        channels = max(x.shape[1] // max(p.groups, 1), 1)
        return super().conv(x, np.resize(kernel, (len(kernel), channels, *kernel.shape[2:])), *bias, p=p)


@second_bug(
    "conv",
    condition="the groups do not divide the output channels",
    depth=2,
    rejected="GroupsDoNotDivideOutputs",
    smallest={"x": TWO_CHANNELS, "kernel": {"values": [[[1]]] * 3}, "groups": 2},
    near={"kernel": {"values": [[[1]]] * 2}},
)
class RemainderOfGroups(Accepting):
    """Output channels that remain after the groups are accepted and dropped."""

    of, accepted = "conv", "output channels"

    def conv(self, x, kernel, *bias, p):
        used = len(kernel) // p.groups * p.groups
        return super().conv(x, kernel[:used], *(one[:used] for one in bias), p=p)


@second_bug(
    "conv",
    condition="the bias has another length than there are output channels",
    depth=2,
    rejected="BiasLengthMismatch",
    smallest={"x": ONE, "kernel": {"values": [[[1]], [[1]]]}, "bias": {"values": [1]}},
    near={"bias": {"values": [1, 1]}},
)
class BiasBroadcast(Accepting):
    """A bias of another length is accepted; it is repeated."""

    of, accepted = "conv", "bias has shape"

    def add_bias(self, y, bias, p):
        return super().add_bias(y, [np.resize(one, y.shape[1]) for one in bias], p)


@second_bug(
    "conv_transpose",
    condition="the padding exceeds the output",
    depth=2,
    rejected="PaddingExceedsOutput",
    smallest={"x": ONE, "kernel": ONE, "padding": [[1, 1]]},
    near={"padding": [[0, 0]]},
)
class PaddingBeyondTheOutput(Accepting):
    """Padding that exceeds the output is accepted; the output is empty."""

    of, accepted = "conv_transpose", "takes more than the output"

    def conv_transpose(self, x, kernel, *bias, p):
        size = [self.transposed_extent(axis, extent, kernel, p) for axis, extent in enumerate(x.shape[2:])]
        if min(size) > 0:
            return super().conv_transpose(x, kernel, *bias, p=p)
        return np.zeros((len(x), kernel.shape[1] * p.groups, *(max(extent, 0) for extent in size)), x.dtype)


@second_bug(
    "adaptive_avg_pool",
    condition="an output size is negative",
    depth=1,
    rejected="NegativeOutputSize",
    smallest={"x": ONE, "output_size": [-1]},
    near={"output_size": [1]},
)
class NegativeOutputSize(Accepting):
    """A negative output size is accepted without its sign."""

    of, accepted = "adaptive_avg_pool", "must be at least 1"

    def adaptive_avg_pool(self, x, p):
        p.output_size = [max(abs(size), 1) for size in p.output_size]
        return super().adaptive_avg_pool(x, p)
