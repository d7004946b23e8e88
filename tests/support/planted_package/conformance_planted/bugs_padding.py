"""Bugs in padding and unpooling."""

from functools import reduce

import numpy as np

from .registry import Correct, bug


@bug(
    "pad",
    condition="the mode is reflect, and a pad is at least the extent",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[2, 0]], "mode": "reflect"},
    near={"pads": [[1, 0]]},
)
class ReflectedOnce(Correct):
    """Padding beyond one reflection repeats the last reflected cell."""

    def mode_index(self, positions, size, axis, p):
        if p.operator == "pad" and p.mode == "reflect":
            positions = np.clip(positions, 1 - size, 2 * size - 2)
        return super().mode_index(positions, size, axis, p)


@bug(
    "pad",
    condition="the mode is reflect, and a pad is at least the extent minus one",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[1, 0]], "mode": "reflect"},
    near={"x": {"values": [[[1, 2, 3]]]}},
)
class ReflectLimitTooLow(Correct):
    """The limit on reflected pads is one too low: a pad must be less than the extent minus one."""

    def pad(self, x, p):
        for extent, pair in zip(x.shape[2:], p.pads, strict=True):
            if p.mode == "reflect" and max(pair) >= max(extent - 1, 1):
                raise ValueError(f"pads {pair} must be less than {extent - 1}")
        return super().pad(x, p)


@bug(
    "pad",
    condition="the mode is wrap, and the pads of an axis differ",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[1, 0]], "mode": "wrap"},
    near={"pads": [[1, 1]]},
)
class WrappedByTheOtherEnd(Correct):
    """The offset of the cells before an axis is computed from the pad after it."""

    def mode_index(self, positions, size, axis, p):
        before, after = p.pads[axis]
        if p.operator == "pad" and p.mode == "wrap":
            positions = np.where(positions < 0, positions + before - after, positions)
        return super().mode_index(positions, size, axis, p)


@bug(
    "pad",
    condition="the mode is edge, and two axes are padded",
    depth=2,
    smallest={"x": {"values": [[[[1]]]]}, "pads": [[1, 0], [1, 0]], "mode": "edge"},
    near={"pads": [[1, 0], [0, 0]]},
)
class EmptyCorners(Correct):
    """Edge values are copied from the input one axis at a time, so the corners stay empty."""

    def pad(self, x, p):
        y = super().pad(x, p)
        sizes = zip(x.shape[2:], p.pads, strict=True)
        positions = [np.arange(-max(b, 0), n + min(b, 0) + min(a, 0) + max(a, 0)) for n, (b, a) in sizes]
        cropped = [n + min(b, 0) + min(a, 0) for n, (b, a) in zip(x.shape[2:], p.pads, strict=True)]
        outside = [((at < 0) | (at >= n)).astype(int) for at, n in zip(positions, cropped, strict=True)]
        if p.mode == "edge":
            y[..., reduce(np.add.outer, outside) > 1] = 0
        return y


@bug(
    "pad",
    condition="the pad before an axis is negative (a crop), and the pad after it is positive",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[-1, 1]]},
    near={"pads": [[-1, 0]]},
)
class CroppedAtTheOtherEnd(Correct):
    """An axis that is cropped at one end and padded at the other is cropped at the padded end."""

    def crop(self, axis, size, p):
        first, size_left = super().crop(axis, size, p)
        return (0 if p.operator == "pad" and p.pads[axis][1] > 0 else first), size_left


@bug(
    "pad",
    condition="the dtype is an integer type, and the value is not 0",
    depth=2,
    smallest={"x": {"values": [[[1]]], "dtype": "int32"}, "pads": [[1, 0]], "value": 1},
    near={"x": {"values": [[[1]]], "dtype": "float32"}},
)
class WholePaddingIsZero(Correct):
    """The padding value is applied to floating-point dtypes only."""

    def pad(self, x, p):
        p.value = 0 if x.dtype.kind in "iu" else p.value
        return super().pad(x, p)


@bug(
    "pad_grad",
    condition="the mode is edge",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "grad": {"values": [[[1, 1]]]}, "pads": [[1, 0]], "mode": "edge"},
    near={"mode": "constant"},
)
class GradientOfTheLastCopy(Correct):
    """An edge cell receives the gradient of its last copy only."""

    def add(self, sums, index, values, p):
        if p.operator == "pad_grad" and p.mode == "edge":
            sums[index] = values
        else:
            super().add(sums, index, values, p)


@bug(
    "max_unpool",
    condition="an index is -1",
    depth=1,
    smallest={"x": {"values": [[[1]]]}, "indices": {"values": [[[-1]]]}, "output_size": [1]},
    near={"indices": {"values": [[[0]]]}},
)
class MinusOneIsTheLast(Correct):
    """The index -1, which marks an empty window, is used as a Python index and selects the last cell."""

    def target_cells(self, rows, size, p):
        return (
            np.where(rows < 0, rows + size, rows) if p.operator == "max_unpool" else super().target_cells(rows, size, p)
        )


@bug(
    "max_unpool",
    condition="there are three spatial axes, and the output height and width are above 1",
    depth=2,
    smallest={"x": {"values": [[[[[1]]]]]}, "indices": {"values": [[[[[1]]]]]}, "output_size": [1, 2, 2]},
    near={"output_size": [2, 2, 1]},
)
class VolumesLieOnTheirSide(Correct):
    """The indices of a volume are read with height and width swapped."""

    def max_unpool(self, x, indices, p):
        if p.operator != "max_unpool" or x.ndim != 5:
            return super().max_unpool(x, indices, p)
        depth, height, width = p.output_size
        p.output_size = depth, width, height
        return super().max_unpool(x, indices, p).swapaxes(3, 4)


@bug(
    "max_unpool_grad",
    condition="an index is -1",
    depth=1,
    smallest={
        "x": {"values": [[[1]]]}, "indices": {"values": [[[-1]]]}, "grad": {"values": [[[1]]]}, "output_size": [1],
    },
    near={"indices": {"values": [[[0]]]}},
)  # fmt: skip
class GradientFromTheLastCell(Correct):
    """A value with index -1 receives the gradient of the last cell."""

    def max_unpool_grad(self, grad, x, indices, p):
        y = super().max_unpool_grad(grad, x, indices, p)
        return np.where(indices < 0, grad.reshape(*grad.shape[:2], *[-1] + [1] * (x.ndim - 3))[:, :, -1:], y)
