"""Features of the numbers in the inputs of a case: special values, magnitudes, and what a window contains.

The numbers of large inputs are not inspected, see `geometry.is_inspected`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import ml_dtypes
import numpy as np

from conformance.cases import geometry
from conformance.cases.arrays import NUMPY_DTYPES, Array, ArraySpec
from conformance.cases.case import Case
from conformance.cases.geometry import parameter_per_axis
from conformance.cases.operators import OPERATORS, Geometry
from reference import Windows

MAX_WINDOW_CELLS = 300_000
"""Maximum number of cells of all windows together for features of windows; cases with more have none of these."""
MAGNITUDES = {88: "88", 127: "127", 2**15: "2^15", 2**24: "2^24", 2**53: "2^53"}
"""Magnitudes above which a dtype or a function loses numbers: exponentials, 8 and 16 bits, and mantissas."""

MAX_FLAT_DIFFERENCE = 64
"""Largest difference of two numbers that are not steep."""
MAX_EXACT_FLOAT32 = 2**24
"""float32 represents all whole numbers up to this magnitude."""


def is_negative(numbers: Array) -> bool:
    """Whether all numbers are negative."""
    with np.errstate(invalid="ignore"):  # comparing a bfloat16 NaN raises a warning
        return bool((numbers < 0).all())


def exceeds_int32(spec: ArraySpec) -> bool:
    """Whether an array of integers has a number that int32 does not represent."""
    if np.dtype(NUMPY_DTYPES[spec.dtype]).kind not in "iu" or not geometry.is_inspected(spec):
        return False
    numbers, limits = spec.make(), np.iinfo(np.int32)
    return bool(numbers.size) and not limits.min <= int(numbers.min()) <= int(numbers.max()) <= limits.max


def exceeds_float32(spec: ArraySpec) -> bool:
    """Whether an array of integers has a number that float32 does not represent."""
    if np.dtype(NUMPY_DTYPES[spec.dtype]).kind not in "iu" or not geometry.is_inspected(spec):
        return False
    numbers = spec.make()
    large = numbers[(numbers > MAX_EXACT_FLOAT32) | (numbers < -MAX_EXACT_FLOAT32)]
    return any(int(np.float32(number)) != number for number in np.unique(large).tolist())


def has_steep_numbers(spec: ArraySpec) -> bool:
    """Whether two finite numbers of an array differ by more than 64, so that exp of the difference is below 1.7e-28."""
    if not geometry.is_inspected(spec):
        return False
    numbers = spec.make().astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    return bool(finite.size) and bool(finite.max() - finite.min() > MAX_FLAT_DIFFERENCE)


def _planes(numbers: Array) -> Array:
    """Return the numbers of each plane (n, c) as a row."""
    return numbers.reshape(math.prod(numbers.shape[:2]), -1) if numbers.size else numbers.reshape(0, 0)


def _has_equal_numbers(numbers: Array) -> bool:
    """Whether a number occurs twice in a plane. Two NaN are not equal."""
    rows = np.sort(_planes(numbers), axis=1)
    return bool((rows[:, 1:] == rows[:, :-1]).any())


def _has_several_nans(numbers: Array) -> bool:
    return bool((np.isnan(_planes(numbers)).sum(1) > 1).any())


VALUE_FEATURES: Mapping[str, Callable[[Array], bool]] = MappingProxyType(
    {
        "NaN in {}": lambda numbers: bool(np.isnan(numbers).any()),
        "an infinity in {}": lambda numbers: bool(np.isinf(numbers).any()),
        "minus infinity in {}": lambda numbers: bool(np.isneginf(numbers).any()),
        "a negative zero in {}": lambda numbers: bool(np.signbit(numbers[numbers == 0]).any()),
        "fractions in {}": lambda numbers: bool((numbers != np.trunc(numbers))[np.isfinite(numbers)].any()),
        "only negative values in {}": lambda numbers: bool(numbers.size) and is_negative(numbers),
        "a negative value in {}": lambda numbers: bool((numbers < 0).any()),
        "a zero in {}": lambda numbers: bool((numbers == 0).any()),
        "equal values in a plane of {}": _has_equal_numbers,
        "several NaN in a plane of {}": _has_several_nans,
        "NaN in {} after its first image": lambda numbers: bool(np.isnan(numbers[1:]).any()),
    }
)
"""Checks on the numbers of an input in float64; {} is the name of the input."""


def number_features(case: Case, arrays: Mapping[str, Array]) -> Iterator[str]:
    """Yield the features of the numbers of a case. arrays: the inputs that are small enough to be inspected."""
    for name, array in arrays.items():
        numbers = array.astype(np.float64)
        yield from (phrase.format(name) for phrase, is_true in VALUE_FEATURES.items() if is_true(numbers))
        sizes = np.abs(numbers[np.isfinite(numbers)])
        largest = float(sizes.max(initial=0))
        yield from (f"a number above {text} in {name}" for limit, text in MAGNITUDES.items() if largest > limit)
    if "x" in arrays:
        yield from _window_features(case, arrays["x"])


def _row_counts(is_true: Array) -> Array:
    """Count the true cells of the last axis. For short rows, a product is several times as fast as a sum."""
    with np.errstate(invalid="ignore"):  # on some processors, a product of ones and zeros sets the flag of NaN
        counts: Array = is_true.astype(np.float32) @ np.ones(is_true.shape[-1], np.float32)
    return counts.astype(np.int64)


@dataclass(frozen=True)
class WindowCells:
    """The cells of all windows.

    cells: in float64, (n, c, windows, cells). inside: False for padding, (windows, cells). are_bins: whether these are
    the bins of adaptive pooling. They have no padding, but `inside` is False where a bin is smaller than another.
    """

    cells: Array
    inside: Array
    are_bins: bool = False

    def where(self, is_true: Array) -> Array:
        """Return for each window how many of its input cells satisfy a check, (n, c, windows)."""
        return _row_counts(is_true & self.inside)

    @cached_property
    def sizes(self) -> Array:
        """Number of input cells of each window."""
        return _row_counts(self.inside)

    def filled(self, number: float) -> Array:
        """Return the cells, with a number for padding."""
        return np.where(self.inside, self.cells, number)


def _window_features(case: Case, x: Array) -> Iterator[str]:
    if geometry.has_late_nan(case, x):
        yield "a NaN that is not the first cell of its window"
    windows = window_cells(case, x)
    if windows is not None and windows.cells.size:
        yield from (phrase for phrase, is_true in WINDOW_FEATURES.items() if is_true(windows))
        if _leaves_range(windows, case):
            yield "the sum of a window beyond the range of the dtype"


def window_cells(case: Case, x: Array) -> WindowCells | None:
    """Return the cells of all windows; None without windows, or if there are too many cells.

    A global pool has one window, the plane. The windows of adaptive pooling are its bins.
    """
    numbers = x.astype(np.float64)
    if 0 in x.shape:
        return None
    shape = OPERATORS[case.operator].geometry if case.operator in OPERATORS else None
    if shape is Geometry.BINS:
        return _bin_cells(case, numbers)
    if shape is Geometry.GLOBAL:
        cells = numbers.reshape(*x.shape[:2], 1, -1)
        return WindowCells(cells, np.ones(cells.shape[2:], bool))
    windows = geometry.case_windows(case)
    if windows is None or geometry.is_transposed(case):
        return None
    if math.prod(windows.output) * math.prod(windows.window) * math.prod(x.shape[:2]) > MAX_WINDOW_CELLS:
        return None
    return _gathered(numbers, [_positions(windows, axis) for axis in range(len(windows.size))])


def _bin_cells(case: Case, numbers: Array) -> WindowCells | None:
    """Return the cells of all bins; None if there are too many, or no output size."""
    sizes = parameter_per_axis(case, "output_size")
    extents = numbers.shape[2:]
    if len(sizes) != len(extents) or not all(isinstance(size, int) and 0 < size <= MAX_WINDOW_CELLS for size in sizes):
        return None
    bounds = []
    for extent, size in zip(extents, sizes, strict=True):
        numbered = np.arange(size)
        bounds.append((numbered * extent // size, -(-(numbered + 1) * extent // size)))
    largest = [int((ends - starts).max()) for starts, ends in bounds]
    if math.prod(sizes) * math.prod(largest) * math.prod(numbers.shape[:2]) > MAX_WINDOW_CELLS:
        return None
    positions = []
    for extent, (starts, ends), most in zip(extents, bounds, largest, strict=True):
        cells = starts[:, None] + np.arange(most)
        positions.append(np.where(cells < ends[:, None], cells, extent))
    return replace(_gathered(numbers, positions), are_bins=True)


def _positions(windows: Windows, axis: int) -> Array:
    """Return the positions of the cells of all windows on one axis, (windows, cells)."""
    starts = np.arange(windows.output[axis]) * windows.stride[axis] - windows.pads[axis][0]
    positions: Array = starts[:, None] + np.arange(windows.window[axis]) * windows.dilation[axis]
    return positions


def _gathered(numbers: Array, positions: list[Array]) -> WindowCells:
    rank = len(positions)
    index, inside = np.zeros((), np.int64), np.ones((), bool)
    for axis, (cells, extent) in enumerate(zip(positions, numbers.shape[2:], strict=True)):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = cells.shape
        along = cells.reshape(shape)
        index = index * extent + np.clip(along, 0, extent - 1)
        inside = inside & (along >= 0) & (along < extent)
    count = math.prod(len(along) for along in positions)
    planes = numbers.reshape(*numbers.shape[:2], -1)
    return WindowCells(planes[:, :, index.reshape(count, -1)], inside.reshape(count, -1))


def _extremum_occurs_twice(windows: WindowCells, extremum: Callable[[Array], Array], padding: float) -> bool:
    cells = windows.filled(padding)
    return bool((windows.where(cells == extremum(cells)[..., None]) > 1).any())


def _are_all(windows: WindowCells, is_true: Array) -> bool:
    """Whether all input cells of some window satisfy a check."""
    return bool(((windows.where(is_true) == windows.sizes) & (windows.sizes > 0)).any())


def _has_window_of_equal_values(windows: WindowCells) -> bool:
    equal = windows.filled(-np.inf).max(-1) == windows.filled(np.inf).min(-1)
    return bool((equal & (windows.sizes > 1)).any())


def _has_late_nans(windows: WindowCells) -> bool:
    """Whether a window of several cells has NaN in its second half, and none in its first half."""
    nans = np.isnan(windows.cells) & windows.inside
    half = nans.shape[-1] // 2
    return bool(half and (nans[..., half:].any(-1) & ~nans[..., :half].any(-1)).any())


def _has_zeros_of_both_signs(windows: WindowCells) -> bool:
    zeros, negative = windows.cells == 0, np.signbit(windows.cells)
    return bool(((windows.where(zeros & negative) > 0) & (windows.where(zeros & ~negative) > 0)).any())


WINDOW_FEATURES: Mapping[str, Callable[[WindowCells], bool]] = MappingProxyType(
    {
        "a window whose largest value occurs twice": lambda windows: _extremum_occurs_twice(
            windows, lambda cells: cells.max(-1), -np.inf
        ),
        "a window whose smallest value occurs twice": lambda windows: _extremum_occurs_twice(
            windows, lambda cells: cells.min(-1), np.inf
        ),
        "a window of equal values": _has_window_of_equal_values,
        "a window of zeros only": lambda windows: _are_all(windows, windows.cells == 0),
        "a window of negative values only": lambda windows: _are_all(windows, windows.cells < 0),
        "a window with a zero": lambda windows: bool(windows.where(windows.cells == 0).any()),
        "a window with zeros of both signs": _has_zeros_of_both_signs,
        "a window that starts with a zero": lambda windows: bool((windows.cells[..., 0] == 0).any()),
        "a window with NaN and an infinity": lambda windows: bool(
            ((windows.where(np.isnan(windows.cells)) > 0) & (windows.where(np.isinf(windows.cells)) > 0)).any()
        ),
        "a window with both infinities": lambda windows: bool(
            ((windows.where(np.isposinf(windows.cells)) > 0) & (windows.where(np.isneginf(windows.cells)) > 0)).any()
        ),
        "a window whose last cell alone is not zero": lambda windows: bool(
            ((windows.where(windows.cells != 0) == 1) & (windows.cells[..., -1] != 0) & windows.inside[..., -1]).any()
        ),
        "a window with NaN in its second half only": _has_late_nans,
        "several NaN in a window": lambda windows: bool((windows.where(np.isnan(windows.cells)) > 1).any()),
        "a window with NaN in its last cell only": lambda windows: bool(
            ((windows.where(np.isnan(windows.cells)) == 1) & np.isnan(windows.cells[..., -1])).any()
        ),
    }
)
"""Checks on the cells of all windows."""


def _leaves_range(windows: WindowCells, case: Case) -> bool:
    """Whether the sum of the finite cells of a window exceeds the largest number of the dtype."""
    dtype = NUMPY_DTYPES[case.dtype]
    if dtype.kind == "b":
        return False
    limits = ml_dtypes.finfo(dtype) if dtype.kind in "fV" else np.iinfo(dtype)  # type: ignore[no-untyped-call]
    cells = windows.filled(0)
    with np.errstate(over="ignore"):  # sums of float64 become infinite, which exceeds the largest number
        sums = np.where(np.isfinite(cells), cells, 0).sum(-1)
    return bool((sums > float(limits.max)).any() or (sums < float(limits.min)).any())
