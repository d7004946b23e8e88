"""What may be the cause of a difference: plain conditions on a case, in words that go on after "cases with"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reports.analysis.deviation import unravel_index
from reports.results.arrays import RecordedArray
from reports.results.fields import Json
from reports.results.records import CaseRecord

NON_SPATIAL_AXES = 2  # (n, c) stand before the spatial axes
TRANSPOSED_OPERATOR = "conv_transpose"  # its windows lie on the output
MAX_TESTED_ELEMENTS = 4096  # window, stride or dilation: as many cells as a results file keeps of an array
MAX_VALUE_LENGTH = 40  # characters; longer parameters tell nobody anything
SIZE_CONDITIONS = ("more than one item in the batch", "more than one channel")
EQUALS_SIGN = " = "  # between a parameter and its value: such a trait says less than one of a kind


def case_conditions(case: CaseRecord) -> Iterator[str]:
    """Yield what holds for a case."""
    for name, array in case.inputs.items():
        yield f"{name} in {array.dtype}"
        yield from (words.format(name) for words, holds in VALUE_CONDITIONS.items() if holds(array))
    if case.via:
        yield f"the composition {' → '.join(case.via)}"
    for name, value in case.parameters.items():
        if len(str(value)) <= MAX_VALUE_LENGTH:
            yield f"{name}{EQUALS_SIGN}{_value_text(value)}"
        yield from (
            words.format(name) for words, holds in PARAMETER_CONDITIONS.items() if holds(value, _flat_numbers(value))
        )
    if "x" in case.inputs:
        walked = [] if case.operator.startswith(TRANSPOSED_OPERATOR) else windows_per_axis(case)
        yield from _shape_conditions(case.inputs["x"].shape)
        yield from (words for words, holds in WINDOW_CONDITIONS.items() if walked and holds(case.inputs["x"], walked))


def _shape_conditions(shape: Sequence[int]) -> Iterator[str]:
    yield f"{max(len(shape) - NON_SPATIAL_AXES, 0)}-D input"
    yield from (words for words, size in zip(SIZE_CONDITIONS, shape, strict=False) if size > 1)
    if 0 in shape:
        yield "an empty x"


def _float_values(array: RecordedArray) -> list[float]:
    return [value for value in array.data or () if isinstance(value, float)]


VALUE_CONDITIONS: dict[str, Callable[[RecordedArray], bool]] = {
    "NaN in {}": lambda array: "nan" in (array.data or ()),
    "an infinity in {}": lambda array: not {"inf", "-inf"}.isdisjoint(array.data or ()),
    "a negative zero in {}": lambda array: any(not one and math.copysign(1, one) < 0 for one in _float_values(array)),
    "fractions in {}": lambda array: any(not one.is_integer() for one in _float_values(array)),
    "nothing but negative values in {}": lambda array: (
        bool(array.data) and all(not isinstance(one, str) and one < 0 for one in array.data or ())
    ),
}
PARAMETER_CONDITIONS: dict[str, Callable[[Json, list[float]], bool]] = {
    "{} above 1": lambda _, numbers: max(numbers, default=0) > 1,
    "{} below 0": lambda _, numbers: min(numbers, default=0) < 0,
    "{} other than 0": lambda _, numbers: any(numbers),
    "{} not the same before and after": lambda value, _: any(len(set(pair)) > 1 for pair in _axis_pairs(value)),
    "{} not the same on all axes": lambda value, _: isinstance(value, list) and len(set(map(str, value))) > 1,
}


def _axis_pairs(value: Json) -> list[list[float]]:
    return [_flat_numbers(one) for one in value if isinstance(one, list)] if isinstance(value, list) else []


def _flat_numbers(value: Json) -> list[float]:
    """Return the numbers in a parameter, one after the other; none where it is something else."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, list):
        return [number for one in value for number in _flat_numbers(one)]
    return [value] if isinstance(value, int | float) else []


def _value_text(value: Json) -> str:
    return {True: "yes", False: "no", None: "none"}.get(value, "") if isinstance(value, bool | None) else str(value)


@dataclass(frozen=True)
class AxisWindows:
    """How windows go along one axis."""

    extent: int
    window: int
    stride: int
    dilation: int
    before: int
    after: int
    rounding: str

    @property
    def dilated_window(self) -> int:
        """Cells from the first of a window to its last, those included."""
        return (self.window - 1) * self.dilation + 1

    @property
    def first_window_room(self) -> int:
        """How far the first window can go; negative where it does not fit."""
        return self.before + self.extent + self.after - self.dilated_window

    @property
    def unreached_cells(self) -> int:
        """Padded cells that no whole window reaches."""
        return max(self.first_window_room, 0) % self.stride

    @property
    def has_partial_window(self) -> bool:
        """Whether the rounding adds a last window that is not whole."""
        start = self.first_window_room - self.unreached_cells + self.stride
        inside = start < self.before + self.extent + min(0, self.after)
        return self.unreached_cells > 0 and (self.rounding == "full" or (self.rounding == "ceil" and inside))

    def cells_with_predecessor(self, position: int) -> set[bool]:
        """Tell of each whole window that holds a cell of the input whether it holds another one before that."""
        starts = ((position + self.before - cell * self.dilation, cell) for cell in range(self.window))
        held = [cell for start, cell in starts if 0 <= start <= self.first_window_room and start % self.stride == 0]
        return {cell > 0 and position >= self.dilation for cell in held}


def _has_late_nan(x: RecordedArray, walks: Sequence[AxisWindows]) -> bool:
    """Whether a NaN is not the first cell of the input in some window."""
    nans = (
        unravel_index(position, x.shape)[NON_SPATIAL_AXES:]
        for position, value in enumerate(x.data or ())
        if value == "nan"
    )
    told = ([walk.cells_with_predecessor(index) for walk, index in zip(walks, place, strict=True)] for place in nans)
    return any(all(axes) and any(True in axis for axis in axes) for axes in told)


WINDOW_CONDITIONS: dict[str, Callable[[RecordedArray, Sequence[AxisWindows]], bool]] = {
    "stride above the window": lambda _, walks: any(walk.stride > walk.window for walk in walks),
    "overlapping windows": lambda _, walks: any(walk.stride < walk.dilated_window for walk in walks),
    "a window that reaches past x": lambda _, walks: any(walk.dilated_window > walk.extent for walk in walks),
    "cells after the last whole window": lambda _, walks: any(walk.unreached_cells for walk in walks),
    "a last window that is not whole": lambda _, walks: any(walk.has_partial_window for walk in walks),
    "a NaN that is not the first of its window": _has_late_nan,
}


def windows_per_axis(case: CaseRecord) -> list[AxisWindows]:
    """Return the walk along each axis; none where a case has no windows or its parameters have no meaning."""
    given, kernel, shape = case.parameters, case.inputs.get("kernel"), case.inputs["x"].shape[NON_SPATIAL_AXES:]
    window = given.get("window", None if kernel is None else list(kernel.shape[NON_SPATIAL_AXES:]))
    sizes = [
        _positive_numbers(one, len(shape))
        for one in (window, given.get("stride"), given.get("dilation", [1] * len(shape)))
    ]
    if not all(sizes):
        return []
    axes = [(extent, sizes[0][at], sizes[1][at], sizes[2][at]) for at, extent in enumerate(shape)]
    ends, rounding = _padding_per_axis(given.get("padding"), axes), str(given.get("rounding", "floor"))
    return (
        [AxisWindows(*axis, *end, rounding) for axis, end in zip(axes, ends, strict=True)]
        if len(ends) == len(axes)
        else []
    )


def _positive_numbers(value: Json, axes: int) -> list[int]:
    numbers = (
        [one for one in value if isinstance(one, int) and 0 < one <= MAX_TESTED_ELEMENTS]
        if isinstance(value, list)
        else []
    )
    return numbers if len(numbers) == axes else []


def _padding_per_axis(padding: Json, axes: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Return the cells before and after each axis; none where the parameter has no meaning."""
    if padding == "valid":
        return [(0, 0)] * len(axes)
    if padding in ("same_upper", "same_lower"):
        pairs = [_same_padding(*axis) for axis in axes]
        return pairs if padding == "same_upper" else [(after, before) for before, after in pairs]
    return [(one[0], one[1]) for one in map(_are_whole, _axis_pairs(padding)) if len(one) == 2]  # noqa: PLR2004  # before, after


def _are_whole(numbers: Sequence[float]) -> list[int]:
    return [one for one in numbers if isinstance(one, int)]


def _same_padding(extent: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding with which there are extent / stride windows, the odd cell after."""
    total = max(0, (-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent)
    return total // 2, total - total // 2
