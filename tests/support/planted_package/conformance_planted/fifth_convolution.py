"""Fifth set: bugs in padding, unpooling and convolution that were reported for frameworks. Each names the report."""

import numpy as np

from .geometry import flatten_planes
from .registry import Correct, fifth_bug

UNIT = {"values": [[[1]]]}


@fifth_bug(
    "pad",
    condition="the mode is wrap, and an axis is padded before it only",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[1, 0]], "mode": "wrap"},
    near={"pads": [[1, 1]]},
)
class WrapNeedsItsEnd(Correct):
    """An axis without a pad after it is not padded by wrapping (pytorch/pytorch#24504)."""

    def pad(self, x, p):
        if p.operator == "pad" and p.mode == "wrap":
            p.pads = [(0, 0) if pair[0] > 0 == pair[1] else pair for pair in p.pads]
        return super().pad(x, p)


@fifth_bug(
    "pad",
    condition="the mode is wrap, there are two spatial axes, and their pads differ",
    depth=2,
    smallest={"x": {"values": [[[[1, 2], [3, 4]]]]}, "pads": [[0, 0], [1, 0]], "mode": "wrap"},
    near={"pads": [[1, 0], [1, 0]]},
)
class WrapOfTheOtherAxis(Correct):
    """The pads of the two axes are exchanged (pytorch/pytorch#37844)."""

    def pad(self, x, p):
        if p.operator == "pad" and p.mode == "wrap" and x.ndim == 4:
            p.pads = p.pads[::-1]
        return super().pad(x, p)


@fifth_bug(
    "max_unpool",
    condition="an index beyond the plane is in the plane modulo 2^32",
    depth=3,
    smallest={"x": UNIT, "indices": {"values": [[[2**32]]], "dtype": "int64"}, "output_size": [1]},
    near={"indices": {"values": [[[0]]], "dtype": "int64"}},
    rejected="IndexBeyondOutput",
)
class IndicesNarrowedBeforeTheCheck(Correct):
    """Indices are narrowed to 32 bits before they are checked (pytorch/pytorch#197409)."""

    validates = True

    def check(self, operator, arrays, parameters):
        if operator == "max_unpool":
            narrow = arrays[1].astype(np.int64).astype(np.int32)
            if (narrow >= np.prod(parameters["output_size"])).any() or (arrays[1] < -1).any():
                raise ValueError("an index is beyond the output")

    def max_unpool(self, x, indices, p):
        narrow = indices.astype(np.int64).astype(np.int32) if p.operator == "max_unpool" else indices
        return super().max_unpool(x, narrow, p)


@fifth_bug(
    "max_unpool_grad",
    condition="two values of a plane have the same index",
    depth=2,
    smallest={
        "x": {"values": [[[1, 2]]]}, "indices": {"values": [[[0, 0]]]}, "grad": {"values": [[[1]]]}, "output_size": [1],
    },
    near={"indices": {"values": [[[0, 1]]]}, "grad": {"values": [[[1, 1]]]}, "output_size": [2]},
)  # fmt: skip
class GradientOfEveryDuplicate(Correct):
    """All values with the same index receive its gradient (pytorch/pytorch#80204)."""

    def max_unpool_grad(self, grad, x, indices, p):  # noqa: ARG002
        rows = indices.reshape(*x.shape[:2], -1)
        targets = np.where(rows < 0, grad[0, 0].size, rows)
        return np.take_along_axis(flatten_planes(grad, 0), targets, 2).reshape(x.shape).astype(x.dtype)


@fifth_bug(
    "conv_transpose",
    condition="there is output padding",
    depth=1,
    smallest={"x": UNIT, "kernel": UNIT, "stride": [2], "output_padding": [1]},
    near={"output_padding": [0]},
)
class OutputPaddingIgnored(Correct):
    """Output padding is ignored (apache/tvm#18601)."""

    def transposed_extent(self, axis, size, kernel, p):
        extent = super().transposed_extent(axis, size, kernel, p)
        return extent - p.output_padding[axis] if p.operator == "conv_transpose" else extent


@fifth_bug(
    "conv_transpose",
    condition="there are groups",
    depth=1,
    smallest={"x": {"values": [[[1], [1]]]}, "kernel": {"values": [[[1]], [[1]]]}, "groups": 2},
    near={"groups": 1},
)
class GroupsRejected(Correct):
    """Groups are rejected (apache/tvm#10223)."""

    def conv_transpose(self, x, kernel, *bias, p):
        if p.operator == "conv_transpose" and p.groups > 1:
            raise ValueError("groups are not supported")
        return super().conv_transpose(x, kernel, *bias, p=p)


@fifth_bug(
    "conv_grad",
    condition="the gradient of the kernel is requested, and it has several input and output channels",
    depth=2,
    smallest={
        "x": {"values": [[[1], [2]]]}, "kernel": {"values": [[[1], [1]], [[1], [1]]]},
        "grad": {"values": [[[1], [3]]]}, "output": "kernel",
    },
    near={"kernel": {"values": [[[1], [1]]]}, "grad": {"values": [[[1]]]}},
)  # fmt: skip
class FiltersInTheOrderOfChannels(Correct):
    """The gradient of several filters is written channel by channel (nntrainer/nntrainer#705)."""

    def conv_grad(self, grad, x, kernel, *bias, p):
        y = super().conv_grad(grad, x, kernel, *bias, p=p)
        return np.ascontiguousarray(y.swapaxes(0, 1)).reshape(y.shape) if p.output == "kernel" else y
