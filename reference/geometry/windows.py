"""The geometry of one window walk: which input cells belong to which output element."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np

from reference.arguments import (
    Array,
    PaddingArgument,
    PadPairs,
    PerAxis,
    check_choice,
    check_plane_size,
    integers_per_axis,
    pairs_per_axis,
    parse_integer,
)

SliceTuple: TypeAlias = tuple[slice, ...]
WindowCell: TypeAlias = tuple[tuple[int, ...], SliceTuple, SliceTuple]

ROUNDING_MODES = ("floor", "ceil", "full")
PADDING_WORDS = ("valid", "same_upper", "same_lower")


class WindowWalk(ABC):
    """Which input cells belong to which output element: the product of one such relation per spatial axis.

    size: spatial extents of the input. A subclass describes one axis; the rest is derived.
    """

    size: tuple[int, ...]

    @property
    @abstractmethod
    def output(self) -> tuple[int, ...]:
        """Number of windows per axis."""

    @property
    @abstractmethod
    def is_identity(self) -> bool:
        """Whether each window is the input cell of the same position."""

    @abstractmethod
    def axis(self, axis: int) -> WindowWalk:
        """Return the walk along one axis alone; the walk over all axes is the product of these."""

    @abstractmethod
    def _cells(self, axis: int) -> list[tuple[int, slice, slice]]: ...

    @abstractmethod
    def _inside(self, axis: int, o: int) -> tuple[slice, slice]: ...

    @abstractmethod
    def _counts(self, axis: int, include_padding: bool) -> Array: ...

    def cells(self) -> Iterator[WindowCell]:
        """Yield (k, inputs, outputs) for each window cell k, in row-major order.

        `outputs` selects the windows whose cell k is a real input cell, `inputs` those cells, in the same shape.
        A window cell that is real in no window is not yielded; one that no single step reaches comes in parts.
        """
        for combination in itertools.product(*(self._cells(axis) for axis in range(len(self.size)))):
            offsets, inputs, outputs = zip(*combination, strict=True) if combination else ((), (), ())
            yield offsets, inputs, outputs

    def inside(self, position: Sequence[int]) -> tuple[SliceTuple, SliceTuple]:
        """Return the real cells of the window at `position`: slices of the window, and slices of the input."""
        found = [self._inside(axis, int(o)) for axis, o in enumerate(position)]
        return tuple(cells for cells, _ in found), tuple(inputs for _, inputs in found)

    def counts(self, include_padding: bool) -> Array:
        """Count the real cells of each window, or its cells within the padded input: int64, shape `output`."""
        along = [self._counts(axis, include_padding) for axis in range(len(self.size))]
        return np.asarray(reduce(np.multiply.outer, along))

    def coverage(self) -> Array:
        """Count the windows that each input cell belongs to: int64, shape `size`."""
        along = []
        for axis, size in enumerate(self.size):
            covered = np.zeros(size, np.int64)
            for _, inputs, _ in self._cells(axis):
                covered[inputs] += 1
            along.append(covered)
        return np.asarray(reduce(np.multiply.outer, along))


@dataclass(frozen=True)
class Windows(WindowWalk):
    """Every window of one walk over a padded input; one number or pair per spatial axis in each field.

    Window o contains the cells o * stride + k * dilation - before for k in 0 .. window - 1. Only those inside the
    input are real; those outside it are padding up to `padded`, and past that they count nowhere. Negative pads
    crop, and all crops come before all pads: cropped cells are not real, and belong to no padding either.
    Source: ONNX MaxPool-22, https://onnx.ai/onnx/operators/onnx__MaxPool.html
    """

    size: tuple[int, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    pads: PadPairs
    dilation: tuple[int, ...]
    rounding: str

    @classmethod
    def of(  # noqa: PLR0917  (the order of every framework)
        cls,
        size: Sequence[int],
        window: PerAxis,
        stride: PerAxis | None = None,
        padding: PaddingArgument = 0,
        dilation: PerAxis = 1,
        rounding: str = "floor",
        *,
        called: str = "window",
    ) -> Windows:
        """Parse the parameters as users write them.

        size: spatial extents. stride: default is the window. padding: a scalar, a number or a pair (before, after)
        per axis, negative to crop, "valid" (none), "same_upper" or "same_lower" (ceil(size / stride) windows for every
        the rounding; the odd cell goes after or before). rounding: "floor", "ceil" or "full".
        called: the parameter that the window comes from, for errors.
        Raises ValueError or TypeError, naming parameter, value and limit.
        """
        size = tuple(parse_integer("size", extent, 0) for extent in size)
        rank = len(size)
        window = integers_per_axis(called, window, rank, 1)
        stride = window if stride is None else integers_per_axis("stride", stride, rank, 1)
        dilation = integers_per_axis("dilation", dilation, rank, 1)
        rounding = check_choice("rounding", rounding, ROUNDING_MODES)
        if is_same_padding(padding):
            rounding = "floor"
            pads = _same_padding(size, window, stride, dilation, upper=padding == "same_upper")
        else:
            pads = explicit_padding(padding, rank)
        windows = cls(size, window, stride, pads, dilation, rounding)
        windows._check(called)
        return windows

    def _check(self, called: str) -> None:
        for axis, (size, pads) in enumerate(zip(self.size, self.pads, strict=True)):
            if sum(min(end, 0) for end in pads) + size < 0:
                raise ValueError(f"padding {pads} crops more than the input {size} on axis {axis}")
        for axis, (window, extent, padded) in enumerate(zip(self.window, self.extent, self.padded, strict=True)):
            dilated = "" if extent == window else f" (dilated to {extent})"
            if extent > padded:
                raise ValueError(f"{called} {window}{dilated} exceeds the padded input {padded} on axis {axis}")
        check_plane_size(f"padding {self.pads}: output", self.output)

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """Extents of the padded input."""
        return tuple(size + before + after for size, (before, after) in zip(self.size, self.pads, strict=True))

    @cached_property
    def extent(self) -> tuple[int, ...]:
        """Cells from the first to the last cell of a window, both counted."""
        return tuple(d * (w - 1) + 1 for w, d in zip(self.window, self.dilation, strict=True))

    @cached_property
    def output(self) -> tuple[int, ...]:
        """Number of windows per axis.

        floor: whole windows only. ceil: one more where cells are left, unless it starts at or beyond before-pad +
        input. full: one more where cells are left. So floor <= ceil <= full, always.
        """
        return tuple(self._output_size(axis) for axis in range(len(self.size)))

    def _output_size(self, axis: int) -> int:
        whole, left = divmod(self.padded[axis] - self.extent[axis], self.stride[axis])
        start = (whole + 1) * self.stride[axis]
        inside = start < self.pads[axis][0] + self.real(axis)[1]
        one_more = left > 0 and (self.rounding == "full" or (self.rounding == "ceil" and inside))
        return whole + 1 + one_more

    def real(self, axis: int) -> tuple[int, int]:
        """Return the first input cell that is not cropped, and the one past the last."""
        before, after = self.pads[axis]
        return max(0, -before), self.size[axis] + min(0, after)

    @cached_property
    def overhang(self) -> tuple[int, ...]:
        """Cells per axis by which the last window reaches past the padded input; 0 if it does not."""
        ends = ((o - 1) * s + e for o, s, e in zip(self.output, self.stride, self.extent, strict=True))
        return tuple(max(end - padded, 0) for end, padded in zip(ends, self.padded, strict=True))

    @property
    def is_identity(self) -> bool:
        """Whether each window is the input cell of the same position."""
        return {*self.window, *self.stride} <= {1} and all(pads == (0, 0) for pads in self.pads)

    def axis(self, axis: int) -> Windows:
        """Return the walk along one axis alone; the walk over all axes is the product of these."""
        return Windows(
            (self.size[axis],),
            (self.window[axis],),
            (self.stride[axis],),
            (self.pads[axis],),
            (self.dilation[axis],),
            self.rounding,
        )

    def _cells(self, axis: int) -> list[tuple[int, slice, slice]]:
        output, stride, dilation = self.output[axis], self.stride[axis], self.dilation[axis]
        before, (begin, end) = self.pads[axis][0], self.real(axis)
        found = []
        # The first k that reaches the input from the last window, to the last k that reaches it from the first.
        first = max(0, ceil_div(before + begin - (output - 1) * stride, dilation))
        last = min(self.window[axis] - 1, (before + end - 1) // dilation)
        for k in range(first, last + 1):
            shift = k * dilation - before
            low = max(0, ceil_div(begin - shift, stride))
            high = min(output, (end - 1 - shift) // stride + 1)
            if low < high:
                start = low * stride + shift
                inputs = slice(start, start + (high - low - 1) * stride + 1, stride)
                found.append((k, inputs, slice(low, high)))
        return found

    def _inside(self, axis: int, o: int) -> tuple[slice, slice]:
        dilation, origin = self.dilation[axis], o * self.stride[axis] - self.pads[axis][0]
        begin, end = self.real(axis)
        low = max(0, ceil_div(begin - origin, dilation))
        high = max(low, min(self.window[axis], ceil_div(end - origin, dilation)))
        start = origin + low * dilation
        return slice(low, high), slice(start, start + (high - low) * dilation, dilation)

    def _counts(self, axis: int, include_padding: bool) -> Array:
        low, high = (0, self.padded[axis])
        if not include_padding:
            low, high = (self.pads[axis][0] + end for end in self.real(axis))
        starts = np.arange(self.output[axis], dtype=np.int64) * self.stride[axis]
        first = np.maximum(0, -((starts - low) // self.dilation[axis]))
        last = np.minimum(self.window[axis], -((starts - high) // self.dilation[axis]))
        counts: Array = np.maximum(0, last - first)
        return counts


def all_planes_index(spatial: tuple[slice | int, ...]) -> tuple[Any, ...]:
    """Return the index that takes spatial slices or positions, and every batch and channel before them."""
    return (..., *spatial)


def ceil_div(a: int, b: int) -> int:
    """Quotient of a and b > 0, rounded up."""
    return -(-a // b)


def is_same_padding(padding: PaddingArgument) -> bool:
    """Return whether padding is the word "same_upper" or "same_lower"; raise ValueError for an unknown word."""
    return isinstance(padding, str) and check_choice("padding", padding, PADDING_WORDS) != "valid"


def explicit_padding(padding: PaddingArgument, rank: int) -> PadPairs:
    """Return one (before, after) per spatial axis for padding that is not "same_…"; negative numbers crop."""
    return pairs_per_axis("padding", 0 if isinstance(padding, str) else padding, rank, None)


def _same_padding(
    size: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], *, upper: bool
) -> PadPairs:
    pads = []
    for s, w, step, d in zip(size, window, stride, dilation, strict=True):
        total = max((ceil_div(s, step) - 1) * step + d * (w - 1) + 1 - s, 0)
        half = total // 2
        pads.append((half, total - half) if upper else (total - half, half))
    return tuple(pads)
