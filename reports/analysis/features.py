"""Conditions on a case that may explain a difference, as phrases that follow "cases with"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reports.analysis.deviation import unravel_index
from reports.results import CaseRecord, Json, RecordedArray

NON_SPATIAL_AXES = 2  # (n, c) come before the spatial axes
TRANSPOSED_OPERATOR = "conv_transpose"  # its windows are on the output, not on x
MAX_TESTED_ELEMENTS = 4096  # largest window, stride or dilation; results files record arrays up to this size
MAX_VALUE_LENGTH = 40  # characters; conditions on longer parameters are not readable
SIZE_CONDITIONS = ("more than one item in the batch", "more than one channel")
EQUALS_SIGN = " = "  # in conditions on exact values, which are less general than conditions such as "above 1"


def case_conditions(case: CaseRecord) -> Iterator[str]:
    """Yield the conditions that are true for a case."""
    for name, array in case.inputs.items():
        yield f"{name} in {array.dtype}"
        yield from (text.format(name) for text, holds in VALUE_CONDITIONS.items() if holds(array))
    if case.via:
        yield f"the composition {' → '.join(case.via)}"
    for name, value in case.parameters.items():
        if len(str(value)) <= MAX_VALUE_LENGTH:
            yield f"{name}{EQUALS_SIGN}{_value_text(value)}"
        yield from (
            text.format(name) for text, holds in PARAMETER_CONDITIONS.items() if holds(value, _flat_numbers(value))
        )
    if "x" in case.inputs:
        windows = [] if case.operator.startswith(TRANSPOSED_OPERATOR) else windows_per_axis(case)
        yield from _shape_conditions(case.inputs["x"].shape)
        yield from (text for text, holds in WINDOW_CONDITIONS.items() if windows and holds(case.inputs["x"], windows))


def _shape_conditions(shape: Sequence[int]) -> Iterator[str]:
    yield f"{max(len(shape) - NON_SPATIAL_AXES, 0)}-D input"
    yield from (text for text, size in zip(SIZE_CONDITIONS, shape, strict=False) if size > 1)
    if 0 in shape:
        yield "an empty x"


def _float_values(array: RecordedArray) -> list[float]:
    return [value for value in array.data or () if isinstance(value, float)]


VALUE_CONDITIONS: dict[str, Callable[[RecordedArray], bool]] = {
    "NaN in {}": lambda array: "nan" in (array.data or ()),
    "an infinity in {}": lambda array: not {"inf", "-inf"}.isdisjoint(array.data or ()),
    "a negative zero in {}": lambda array: any(not one and math.copysign(1, one) < 0 for one in _float_values(array)),
    "fractions in {}": lambda array: any(not one.is_integer() for one in _float_values(array)),
    "only negative values in {}": lambda array: (
        bool(array.data) and all(not isinstance(one, str) and one < 0 for one in array.data or ())
    ),
}
PARAMETER_CONDITIONS: dict[str, Callable[[Json, list[float]], bool]] = {
    "{} above 1": lambda _, numbers: max(numbers, default=0) > 1,
    "{} below 0": lambda _, numbers: min(numbers, default=0) < 0,
    "{} other than 0": lambda _, numbers: any(numbers),
    "different {} before and after": lambda value, _: any(len(set(pair)) > 1 for pair in _axis_pairs(value)),
    "different {} per axis": lambda value, _: isinstance(value, list) and len(set(map(str, value))) > 1,
}


def _axis_pairs(value: Json) -> list[list[float]]:
    return [_flat_numbers(one) for one in value if isinstance(one, list)] if isinstance(value, list) else []


def _flat_numbers(value: Json) -> list[float]:
    """Return the numbers in a parameter as a flat list; empty if there are no numbers."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, list):
        return [number for one in value for number in _flat_numbers(one)]
    return [value] if isinstance(value, int | float) else []


def _value_text(value: Json) -> str:
    return {True: "yes", False: "no", None: "none"}.get(value, "") if isinstance(value, bool | None) else str(value)


@dataclass(frozen=True)
class AxisWindows:
    """The windows along one axis. before, after: padding in cells; negative values crop."""

    extent: int
    window: int
    stride: int
    dilation: int
    before: int
    after: int
    rounding: str

    @property
    def dilated_window(self) -> int:
        """Extent of a window in cells, including the gaps of the dilation."""
        return (self.window - 1) * self.dilation + 1

    @property
    def first_window_room(self) -> int:
        """Number of cells that the first window can move; negative if it does not fit."""
        return self.before + self.extent + self.after - self.dilated_window

    @property
    def unreached_cells(self) -> int:
        """Number of padded cells after the last full window."""
        return max(self.first_window_room, 0) % self.stride

    @property
    def has_partial_window(self) -> bool:
        """Whether the rounding adds a partial window at the end."""
        start = self.first_window_room - self.unreached_cells + self.stride
        inside = start < self.before + self.extent + min(0, self.after)
        return self.unreached_cells > 0 and (self.rounding == "full" or (self.rounding == "ceil" and inside))

    def cells_with_predecessor(self, position: int) -> set[bool]:
        """Return, over the full windows with the input cell at `position`, whether they have an earlier input cell."""
        starts = ((position + self.before - cell * self.dilation, cell) for cell in range(self.window))
        cells = [cell for start, cell in starts if 0 <= start <= self.first_window_room and start % self.stride == 0]
        return {cell > 0 and position >= self.dilation for cell in cells}


def _has_late_nan(x: RecordedArray, axes: Sequence[AxisWindows]) -> bool:
    """Whether a window contains a NaN that is not its first input cell."""
    nan_indices = (
        unravel_index(position, x.shape)[NON_SPATIAL_AXES:]
        for position, value in enumerate(x.data or ())
        if value == "nan"
    )
    per_axis = (
        [axis.cells_with_predecessor(position) for axis, position in zip(axes, index, strict=True)]
        for index in nan_indices
    )
    return any(all(sets) and any(True in one for one in sets) for sets in per_axis)


WINDOW_CONDITIONS: dict[str, Callable[[RecordedArray, Sequence[AxisWindows]], bool]] = {
    "stride larger than the window": lambda _, axes: any(axis.stride > axis.window for axis in axes),
    "overlapping windows": lambda _, axes: any(axis.stride < axis.dilated_window for axis in axes),
    "a window larger than x": lambda _, axes: any(axis.dilated_window > axis.extent for axis in axes),
    "cells after the last full window": lambda _, axes: any(axis.unreached_cells for axis in axes),
    "a partial last window": lambda _, axes: any(axis.has_partial_window for axis in axes),
    "a NaN that is not the first cell of its window": _has_late_nan,
}


def windows_per_axis(case: CaseRecord) -> list[AxisWindows]:
    """Return the windows along each axis; empty if a case has no windows or its parameters are invalid."""
    parameters, kernel, shape = case.parameters, case.inputs.get("kernel"), case.inputs["x"].shape[NON_SPATIAL_AXES:]
    window = parameters.get("window", None if kernel is None else list(kernel.shape[NON_SPATIAL_AXES:]))
    sizes = [
        _positive_numbers(one, len(shape))
        for one in (window, parameters.get("stride"), parameters.get("dilation", [1] * len(shape)))
    ]
    if not all(sizes):
        return []
    axes = [(extent, sizes[0][at], sizes[1][at], sizes[2][at]) for at, extent in enumerate(shape)]
    ends, rounding = _padding_per_axis(parameters.get("padding"), axes), str(parameters.get("rounding", "floor"))
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
    """Return the padding before and after each axis, in cells; empty if the parameter is invalid."""
    if padding == "valid":
        return [(0, 0)] * len(axes)
    if padding in ("same_upper", "same_lower"):
        pairs = [_same_padding(*axis) for axis in axes]
        return pairs if padding == "same_upper" else [(after, before) for before, after in pairs]
    return [(one[0], one[1]) for one in map(_integers, _axis_pairs(padding)) if len(one) == 2]  # noqa: PLR2004  # before, after


def _integers(numbers: Sequence[float]) -> list[int]:
    return [one for one in numbers if isinstance(one, int)]


def _same_padding(extent: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding that gives ceil(extent / stride) windows; an odd cell goes to the end."""
    total = max(0, (-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent)
    return total // 2, total - total // 2
