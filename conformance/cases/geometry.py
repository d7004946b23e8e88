"""Windows, padding and output of a case, and their unusual properties. An invalid case has no such property."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from conformance.cases.arrays import FLOATING_DTYPES, Array, ArraySpec
from conformance.cases.case import Case
from conformance.cases.generators import SpecialValue
from conformance.cases.operators import OPERATORS, WINDOW_PARAMETERS, Geometry, PaddingWord, Rounding
from conformance.cases.selector_values import special_values_of
from conformance.cases.steps import case_step
from reference import OPERATORS as REFERENCE_OPERATORS, Windows

SPECIALS_TESTED_ALONE = (SpecialValue.NAN, SpecialValue.INF, SpecialValue.NEGATIVE_INF)
"""Special values for which a window that contains nothing else is searched."""
MAX_INSPECTED_ELEMENTS = 524_288
"""Maximum number of elements of an input for features that depend on its numbers; larger inputs have none of these."""
MIN_CROWDED_CELLS = 4096
"""Minimum number of window cells for `has_crowded_windows`. Some frameworks use another reduction from this size."""
CUBIC_CELLS = (-1, 2)
"""First and last cell that cubic interpolation reads, counted from the cell at or before the coordinate."""


T = TypeVar("T")


def remember_last_case(function: Callable[[Case], T]) -> Callable[[Case], T]:
    """Remember the result for the last case. A dozen features of a case need the same result, one after another."""
    last: tuple[Case, T] | None = None

    @wraps(function)
    def remembered(case: Case) -> T:
        nonlocal last
        found = last
        # Another thread may replace `last` at any time, but not `found`.
        if found is None or found[0] is not case:
            found = last = (case, function(case))
        return found[1]

    return remembered


def parameter_per_axis(case: Case, name: str) -> tuple[Any, ...]:
    """Return the value of a parameter on each spatial axis; an empty tuple if the case does not have it."""
    value = case.parameters.get(name)
    if name == "window" and value is None and "kernel" in case.inputs:
        value = case.inputs["kernel"].shape[2:]
    return tuple(value) if isinstance(value, tuple) else () if value is None else (value,) * len(case.shape[2:])


def padding_pairs(case: Case) -> Iterator[tuple[Any, Any]]:
    """Yield the padding before and after each axis; for `pad`, the pads. A word such as `same` is a pair of itself."""
    given = case.parameters.get("padding", case.parameters.get("pads", ()))
    for end in () if given == PaddingWord.VALID else given if isinstance(given, tuple) else (given,):
        yield end if isinstance(end, tuple) else (end, end)


def is_padded_unequally(case: Case) -> bool:
    """Whether the padding before and after some axis differs."""
    return any(before != after for before, after in padding_pairs(case))


@remember_last_case
def output_shape(case: Case) -> tuple[int, ...]:
    """Return the output shape; an empty tuple for an invalid case."""
    try:
        return tuple(case_step(case).output)
    except (ValueError, TypeError, KeyError, IndexError):
        return ()


def has_pooling_windows(case: Case) -> bool:
    """Whether the case has all parameters of a pooling window."""
    return all(name in case.parameters for name in WINDOW_PARAMETERS)


def _has_bins(case: Case) -> bool:
    return OPERATORS[case.operator].geometry is Geometry.BINS and "output_size" in case.parameters


@remember_last_case
def case_windows(case: Case) -> Windows | None:
    """Return the positions of the windows on x; None without windows, and for an invalid case.

    The windows of fold are on its output.
    """
    if case.operator in OPERATORS and OPERATORS[case.operator].geometry is Geometry.FROM_COLUMNS:
        return None
    window, stride, dilation = (parameter_per_axis(case, name) for name in ("window", "stride", "dilation"))
    if not (window and stride and dilation):
        return None
    padding, rounding = case.parameters.get("padding", 0), case.parameters.get("rounding", Rounding.FLOOR)
    try:
        return Windows.of(case.shape[2:], window, stride, padding, dilation, rounding)
    except (ValueError, TypeError):  # an invalid case, or a rounding that the reference does not have
        return None


@dataclass(frozen=True)
class WindowAxis:
    """Extent of x, window, stride and dilation along one axis, in cells."""

    extent: int
    window: int
    stride: int
    dilation: int

    @property
    def reach(self) -> int:
        """Extent of a window, including the gaps of the dilation."""
        return (self.window - 1) * self.dilation + 1


def window_axes(case: Case) -> list[WindowAxis]:
    """Return the window along each axis; empty without windows, and if one of the sizes is below 1."""
    ones = (1,) * len(case.shape[2:])
    sizes = (parameter_per_axis(case, "window"), parameter_per_axis(case, "stride"),
             parameter_per_axis(case, "dilation") or ones)  # fmt: skip
    if any(len(numbers) != len(ones) or any(number < 1 for number in numbers) for numbers in sizes):
        return []
    return [WindowAxis(*axis) for axis in zip(case.shape[2:], *sizes, strict=True)]


def has_disjoint_windows(case: Case) -> bool:
    """Whether windows, including the gaps of their dilation, do not overlap along some axis."""
    return any(axis.stride >= axis.reach for axis in window_axes(case))


def crops_more_than_the_kernel(case: Case) -> bool:
    """Whether a transposed convolution crops more cells before an axis than its dilated kernel adds to a cell.

    With a stride of 1 the operator is a convolution of a cropped input, and no axis counts.
    """
    befores = (before for before, _ in number_pairs(case)) if is_transposed(case) else ()
    return any(
        axis.stride > 1 and before >= axis.reach for axis, before in zip(window_axes(case), befores, strict=False)
    )


def keeps_an_extent(case: Case) -> bool:
    """Whether resampling has as many cells in the output as in x along some axis of several cells."""
    resamples = case.operator in OPERATORS and OPERATORS[case.operator].geometry is Geometry.RESAMPLING
    return resamples and any(1 < old == new for old, new in zip(case.shape[2:], output_shape(case)[2:], strict=False))


def has_far_point(case: Case) -> bool:
    """Whether `grid_sample` reads at a place that is farther beyond an end of an axis than the axis is long."""
    grid = case.inputs.get("grid")
    extents = np.array(case.shape[:1:-1])  # the last axis has the first coordinate
    if grid is None or not is_inspected(grid) or grid.shape[-1] != len(extents):
        return False
    points = grid.make().astype(np.float64)
    is_aligned = bool(case.parameters.get("align_corners"))
    lengths, start = (extents - 1, 0.0) if is_aligned else (extents, -0.5)
    places = (points[np.isfinite(points).all(-1)] + 1) / 2 * lengths + start
    first = last = places
    if case.parameters.get("mode") == "cubic":
        first, last = (np.floor(places) + cell for cell in CUBIC_CELLS)
    return bool(((start - first > lengths) | (last - start > 2 * lengths)).any())


def specials_alone_in_window(case: Case) -> frozenset[str]:
    """Return each special value that fills a pooling window or a bin: all cells of x in it have this value."""
    x = case.inputs["x"]
    specials = special_values_of(x).intersection(SPECIALS_TESTED_ALONE)
    if not (specials and is_inspected(x) and (has_pooling_windows(case) or _has_bins(case))):
        return frozenset()
    return frozenset(special for special in specials if _fills_some_window(float(special), x.make(), case))


def _fills_some_window(number: float, x: Array, case: Case) -> bool:
    is_number = np.isnan(x) if math.isnan(number) else x == number
    maxima = _pool("max_pool", (~is_number).astype(np.int8), case)
    # A maximum of 1 means that the window has another value; the lowest integer means that it has no cells of x.
    return maxima is not None and bool((maxima == 0).any())


def _pool(operator: str, x: Array, case: Case) -> Array | None:
    """Return the maximum or minimum of x in each window of a case; None for an invalid case."""
    names: tuple[str, ...] = WINDOW_PARAMETERS
    if _has_bins(case):
        operator, names = f"adaptive_{operator}", ("output_size",)
    try:
        pooled: Array = REFERENCE_OPERATORS[operator](x, **{name: case.parameters[name] for name in names}).value
    except (ValueError, TypeError):
        return None
    return pooled


def has_late_nan(case: Case, x: Array) -> bool:
    """Whether a pooling window contains a NaN that is not its first cell of x."""
    if not (has_pooling_windows(case) and x.dtype.name in FLOATING_DTYPES and np.isnan(x).any()):
        return False
    # Compare the position of the first cell of each window with that of its last NaN.
    positions = np.arange(x.size).reshape(x.shape)
    first, last_nan = _pool("min_pool", positions, case), _pool("max_pool", np.where(np.isnan(x), positions, -1), case)
    return first is not None and last_nan is not None and bool((last_nan > first).any())


def window_exceeds_input(case: Case) -> bool:
    """Whether the dilated window is larger than the unpadded input along some axis."""
    dilations = parameter_per_axis(case, "dilation") or (1,) * len(case.shape[2:])
    axes = zip(case.shape[2:], parameter_per_axis(case, "window"), dilations, strict=False)
    return any(distance * (cells - 1) + 1 > extent for extent, cells, distance in axes)


def has_window_of_padding(case: Case) -> bool:
    """Whether some window on x contains no cell of x."""
    windows = None if is_transposed(case) else case_windows(case)
    return windows is not None and bool((windows.counts(False) == 0).any())


def output_is_square(case: Case) -> bool:
    """Whether the extent of the last axis of the output equals its number of channels, and is more than 1."""
    output = output_shape(case)
    return len(output) > 1 and output[1] == output[-1] > 1


def has_crowded_windows(case: Case) -> bool:
    """Whether all windows together have at least MIN_CROWDED_CELLS cells. Without windows, count the cells of x."""
    cells = parameter_per_axis(case, "window")
    output = output_shape(case) if cells else case.shape
    return bool(output) and math.prod(output) * math.prod(cells) >= MIN_CROWDED_CELLS


def bins_differ_by_reciprocal(case: Case) -> bool:
    """Whether a bin of adaptive pooling changes if its edges are computed with the rounded reciprocal of the bins."""
    return any(_edges_differ_by_reciprocal(size, count) for size, count in _extents_and_bins(case))


def has_bin_of_whole_axis(case: Case) -> bool:
    """Whether a bin of adaptive pooling contains all cells of an axis: one bin, or one cell."""
    return any(size == 1 or count == 1 for size, count in _extents_and_bins(case))


def has_unequal_bins(case: Case) -> bool:
    """Whether bins of adaptive pooling differ in size or overlap: their number does not divide that of the cells."""
    return any(count > 0 and size % count for size, count in _extents_and_bins(case))


def _extents_and_bins(case: Case) -> Iterable[tuple[int, int]]:
    """Return the extent and the number of bins of each axis in adaptive pooling."""
    has_bins = case.operator in OPERATORS and OPERATORS[case.operator].geometry is Geometry.BINS
    return zip(case.shape[2:], parameter_per_axis(case, "output_size") if has_bins else (), strict=False)


def _edges_differ_by_reciprocal(size: int, count: int) -> bool:
    """Whether an edge of an adaptive pooling bin changes if it is computed as index * size * (1 / bins).

    The edges are computed in float32 and in float64, because frameworks use either.
    """
    if not 1 <= count <= MAX_INSPECTED_ELEMENTS:  # an invalid or a very large case
        return False
    edges = np.arange(count + 1) * size
    for reciprocal in (np.float32(1) / np.float32(count), np.float64(1 / count)):
        approximate = edges.astype(reciprocal.dtype) * reciprocal
        starts, ends = np.floor(approximate) != edges // count, np.ceil(approximate) != -(-edges // count)
        if starts[:-1].any() or ends[1:].any():
            return True
    return False


def is_padded(case: Case) -> bool:
    """Whether x is padded, by `padding` or `pads`."""
    return any(isinstance(end, str) or end > 0 for pair in padding_pairs(case) for end in pair)


def is_cropped(case: Case) -> bool:
    """Whether x is cropped, by negative `pads`."""
    return any(not isinstance(end, str) and end < 0 for pair in padding_pairs(case) for end in pair)


def has_partial_window(case: Case) -> bool:
    """Whether a window may extend past x: into padding, or past the end if the output size is rounded up."""
    windows = None if is_padded(case) else case_windows(case)
    return is_padded(case) or (windows is not None and any(windows.overhang))


def drops_last_window(case: Case) -> bool:
    """Whether rounding up leaves out a partial last window on some axis, since it would start behind all cells of x."""
    windows = case_windows(case)
    if windows is None or windows.rounding != Rounding.CEIL:
        return False
    axes = zip(windows.size, windows.pads, windows.padded, windows.extent, windows.stride, strict=True)
    return any(
        (padded - reach) % stride > 0 and ((padded - reach) // stride + 1) * stride >= before + size
        for size, (before, _), padded, reach, stride in axes
    )


def starts_window_in_padding_with_ceil(case: Case) -> bool:
    """Whether the output size is rounded up, and the last window on some axis starts after all cells of x."""
    windows = case_windows(case)
    if windows is None or windows.rounding != Rounding.CEIL:
        return False
    axes = zip(windows.output, windows.stride, windows.pads, windows.size, strict=True)
    return any((count - 1) * stride >= before + size for count, stride, (before, _), size in axes)


def has_remainder(case: Case) -> bool:
    """Whether cells remain after the last complete window; for a transposed convolution, output padding."""
    if is_transposed(case):
        return any(parameter_per_axis(case, "output_padding"))
    windows = case_windows(case)
    axes = zip(windows.padded, windows.extent, windows.stride, strict=True) if windows else ()
    return any((padded - reach) % stride for padded, reach, stride in axes)


def is_inspected(spec: ArraySpec) -> bool:
    """Whether an input is small enough for features that depend on its numbers."""
    return math.prod(spec.shape) <= MAX_INSPECTED_ELEMENTS


def padded_extents(case: Case) -> list[int]:
    """Return the extents of x with its padding. The padding of a transposed convolution crops the output instead."""
    pairs = [] if is_transposed(case) else number_pairs(case)
    padding = map(sum, pairs) if len(pairs) == len(case.shape[2:]) else [0] * len(case.shape[2:])
    return [extent + cells for extent, cells in zip(case.shape[2:], padding, strict=True)]


def terms_of_output(case: Case, output: tuple[int, ...]) -> int:
    """Return the number of terms that are added or compared for one element of the output, on average at least."""
    kernel = case.inputs["kernel"].shape[:2] if "kernel" in case.inputs else ()
    terms: int = max(math.prod(parameter_per_axis(case, "window")), 1) * max(kernel, default=1)
    return max(terms, math.prod(case.shape) // max(math.prod(output), 1))


def number_pairs(case: Case) -> list[tuple[int, int]]:
    """Return the padding before and after each axis; empty if it is a word."""
    pairs = list(padding_pairs(case))
    return [] if any(isinstance(end, str) for pair in pairs for end in pair) else pairs


def is_transposed(case: Case) -> bool:
    """Whether the operator is a transposed convolution or its gradient, whose windows are on the output."""
    return case.operator in OPERATORS and OPERATORS[case.operator].geometry is Geometry.TRANSPOSED
