"""Second set: bugs in padding and its gradient, and in operators that follow another one."""

import ml_dtypes
import numpy as np

from .padding_convolution import MODES
from .registry import Correct, second_bug

ONE_CELL_PAD = {"x": {"values": [[[-1]]]}, "pads": [[1, 0]]}


@second_bug(
    "pad",
    condition="the mode is reflect, there are three spatial axes, and the first is padded",
    depth=3,
    smallest={"x": {"values": [[[[[1]], [[2]]]]]}, "pads": [[1, 0], [0, 0], [0, 0]], "mode": "reflect"},
    near={"x": {"values": [[[[1], [2]]]]}, "pads": [[1, 0], [0, 0]]},
)
class ReflectedFront(Correct):
    """In volumes the first axis repeats its edge instead of reflecting."""

    def mode_index(self, positions, size, axis, p):
        edge = p.operator == "pad" and p.mode == "reflect" and axis == 0 and len(p.pads) == 3
        return MODES["edge"](positions, size) if edge else super().mode_index(positions, size, axis, p)


@second_bug(
    "pad",
    condition="a crop before an axis leaves a single cell",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[-1, 0]]},
    near={"x": {"values": [[[1, 2, 3]]]}},
)
class CroppedToOneCell(Correct):
    """If a crop leaves a single cell, it is the first cell of the axis."""

    def crop(self, axis, size, p):
        first, size_left = super().crop(axis, size, p)
        return (0 if size_left == 1 and p.operator == "pad" else first), size_left


@second_bug(
    "pad",
    condition="the dtype has 16 bits, and the value is not an integer",
    depth=2,
    smallest={"x": {"values": [[[1]]], "dtype": "float16"}, "pads": [[1, 0]], "value": 0.5},
    near={"value": 2},
)
class HalfValueTruncated(Correct):
    """The padding value of 16-bit planes is converted to an integer."""

    def pad(self, x, p):
        if x.dtype.kind in "fV" and x.dtype.itemsize == 2 and np.isfinite(p.value):
            p.value = int(p.value)
        return super().pad(x, p)


@second_bug(
    "pad",
    condition="the value is infinite",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "pads": [[1, 0]], "value": float("-inf")},
    near={"value": -1},
)
class InfiniteValueClipped(Correct):
    """An infinite padding value is clipped to the finite range."""

    def pad(self, x, p):
        if x.dtype.kind in "fV" and np.isinf(p.value):
            p.value = np.copysign(float(ml_dtypes.finfo(x.dtype).max), p.value)
        return super().pad(x, p)


@second_bug(
    "pad",
    condition="the mode is wrap, and the pad before an axis equals its extent",
    depth=3,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[2, 0]], "mode": "wrap"},
    near={"pads": [[1, 0]]},
)
class WrapOfTheWhole(Correct):
    """A pad as wide as the axis repeats the edge instead of wrapping."""

    def mode_index(self, positions, size, axis, p):
        whole = p.operator == "pad" and p.mode == "wrap" and p.pads[axis][0] == size
        return MODES["edge"](positions, size) if whole else super().mode_index(positions, size, axis, p)


@second_bug(
    "pad",
    condition="the mode is symmetric, and a padded axis has one cell",
    depth=2,
    smallest={"x": {"values": [[[1]]]}, "pads": [[1, 0]], "mode": "symmetric"},
    near={"x": {"values": [[[1, 2]]]}},
)
class MirrorOfOneCell(Correct):
    """The mirror image of a single cell is the padding value."""

    def mode_index(self, positions, size, axis, p):
        alone = p.operator == "pad" and p.mode == "symmetric" and size == 1
        return MODES["constant"](positions, size) if alone else super().mode_index(positions, size, axis, p)


@second_bug(
    "pad_grad",
    condition="the mode is reflect, and two axes are padded",
    depth=2,
    smallest={
        "x": {"values": [[[[1, 1], [1, 1]]]]}, "grad": {"values": "integers", "shape": [1, 1, 3, 3]},
        "pads": [[1, 0], [1, 0]], "mode": "reflect",
    },
    near={"mode": "edge"},
)  # fmt: skip
class ReflectedCornersLost(Correct):
    """The gradient of reflected corners is lost."""

    def pad_grad(self, grad, x, p):
        if p.mode == "reflect" and sum(max(pair) > 0 for pair in p.pads) > 1:
            sides = [self.is_padding(size, pair) for size, pair in zip(x.shape[2:], p.pads, strict=True)]
            grad = np.where(sum(np.ix_(*sides)) > 1, np.zeros((), grad.dtype), grad)
        return super().pad_grad(grad, x, p)

    def is_padding(self, size, pair):
        """Return for each position of a padded axis 1 if it is padding, else 0."""
        counts = max(pair[0], 0), size + min(pair[0], 0) + min(pair[1], 0), max(pair[1], 0)
        return np.repeat([1, 0, 1], counts)


@second_bug(
    "pad",
    condition="maximum pooling follows padding with a constant, and a value is below it",
    depth=3,
    smallest={**ONE_CELL_PAD, "then": [{"operator": "max_pool", "window": [2]}]},
    near={"x": {"values": [[[1]]]}},
)
class PadFusedIntoMaximum(Correct):
    """Padding is fused into the pooling that follows, so its cells are never the maximum."""

    def max_pool(self, x, p):
        if getattr(p.previous, "operator", "") != "pad" or x.dtype.kind not in "fV" or p.previous.mode != "constant":
            return super().max_pool(x, p)
        real = np.zeros(x.shape, bool)
        ends = zip(p.previous.pads, x.shape[2:], strict=True)
        real[(..., *(slice(max(before, 0), size - max(after, 0)) for (before, after), size in ends))] = True
        return super().max_pool(np.where(real, x, np.asarray(-np.inf, x.dtype)), p)


@second_bug(
    "max_pool",
    condition="average pooling follows maximum pooling, and their windows differ",
    depth=3,
    smallest={
        "x": {"values": [[[1, 2, 5]]]}, "window": [1], "then": [{"operator": "avg_pool", "window": [3]}],
    },
    near={"then": [{"operator": "max_pool", "window": [3]}]},
)  # fmt: skip
class SecondPoolIsAMaximum(Correct):
    """Two poolings in a row are fused into one maximum."""

    def avg_pool(self, x, p):
        fused = p.previous is not None and p.previous.operator == "max_pool"
        return super().max_pool(x, p) if fused else super().avg_pool(x, p)
