"""What may be the cause of a difference: plain conditions on a case, in words that go on after "cases with"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reports.analysis.deviation import unravel
from reports.results.arrays import Array
from reports.results.fields import Json
from reports.results.records import Case

IMAGE_AXES = 2  # (n, c) stand before the spatial axes
TRANSPOSED = "conv_transpose"  # its windows lie on the output
LARGEST = 4096  # window, stride or dilation: as many cells as a results file keeps of an array
LONGEST_VALUE = 40  # characters; longer parameters tell nobody anything
SIZES = ("more than one item in the batch", "more than one channel")
EXACT = " = "  # between a parameter and its value: such a trait says less than one of a kind


def traits(case: Case) -> Iterator[str]:
    """Yield what holds for a case."""
    for name, array in case.inputs.items():
        yield f"{name} in {array.dtype}"
        yield from (words.format(name) for words, holds in VALUES.items() if holds(array))
    if case.via:
        yield f"the composition {' → '.join(case.via)}"
    for name, value in case.parameters.items():
        if len(str(value)) <= LONGEST_VALUE:
            yield f"{name}{EXACT}{_written(value)}"
        yield from (words.format(name) for words, holds in KINDS.items() if holds(value, _numbers(value)))
    if "x" in case.inputs:
        walked = [] if case.operator.startswith(TRANSPOSED) else walks(case)
        yield from _of_shape(case.inputs["x"].shape)
        yield from (words for words, holds in WALKS.items() if walked and holds(case.inputs["x"], walked))


def _of_shape(shape: Sequence[int]) -> Iterator[str]:
    yield f"{max(len(shape) - IMAGE_AXES, 0)}-D input"
    yield from (words for words, size in zip(SIZES, shape, strict=False) if size > 1)
    if 0 in shape:
        yield "an empty x"


def _floats(array: Array) -> list[float]:
    return [value for value in array.data or () if isinstance(value, float)]


VALUES: dict[str, Callable[[Array], bool]] = {
    "NaN in {}": lambda array: "nan" in (array.data or ()),
    "an infinity in {}": lambda array: not {"inf", "-inf"}.isdisjoint(array.data or ()),
    "a negative zero in {}": lambda array: any(not one and math.copysign(1, one) < 0 for one in _floats(array)),
    "fractions in {}": lambda array: any(not one.is_integer() for one in _floats(array)),
    "nothing but negative values in {}": lambda array: (
        bool(array.data) and all(not isinstance(one, str) and one < 0 for one in array.data or ())
    ),
}
KINDS: dict[str, Callable[[Json, list[float]], bool]] = {
    "{} above 1": lambda _, numbers: max(numbers, default=0) > 1,
    "{} below 0": lambda _, numbers: min(numbers, default=0) < 0,
    "{} other than 0": lambda _, numbers: any(numbers),
    "{} not the same before and after": lambda value, _: any(len(set(pair)) > 1 for pair in _pairs(value)),
    "{} not the same on all axes": lambda value, _: isinstance(value, list) and len(set(map(str, value))) > 1,
}


def _pairs(value: Json) -> list[list[float]]:
    return [_numbers(one) for one in value if isinstance(one, list)] if isinstance(value, list) else []


def _numbers(value: Json) -> list[float]:
    """Return the numbers in a parameter, one after the other; none where it is something else."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, int | float) else []


def _written(value: Json) -> str:
    return {True: "yes", False: "no", None: "none"}.get(value, "") if isinstance(value, bool | None) else str(value)


@dataclass(frozen=True)
class Walk:
    """How windows go along one axis."""

    extent: int
    window: int
    stride: int
    dilation: int
    before: int
    after: int
    rounding: str

    @property
    def reach(self) -> int:
        """Cells from the first of a window to its last, those included."""
        return (self.window - 1) * self.dilation + 1

    @property
    def room(self) -> int:
        """How far the first window can go; negative where it does not fit."""
        return self.before + self.extent + self.after - self.reach

    @property
    def rest(self) -> int:
        """Padded cells that no whole window reaches."""
        return max(self.room, 0) % self.stride

    @property
    def partial(self) -> bool:
        """Whether the rounding adds a last window that is not whole."""
        start = self.room - self.rest + self.stride
        inside = start < self.before + self.extent + min(0, self.after)
        return self.rest > 0 and (self.rounding == "full" or (self.rounding == "ceil" and inside))

    def precedes(self, position: int) -> set[bool]:
        """Tell of each whole window that holds a cell of the input whether it holds another one before that."""
        starts = ((position + self.before - cell * self.dilation, cell) for cell in range(self.window))
        held = [cell for start, cell in starts if 0 <= start <= self.room and start % self.stride == 0]
        return {cell > 0 and position >= self.dilation for cell in held}


def _late(x: Array, walks: Sequence[Walk]) -> bool:
    """Whether a NaN is not the first cell of the input in some window."""
    nans = (unravel(position, x.shape)[IMAGE_AXES:] for position, value in enumerate(x.data or ()) if value == "nan")
    told = ([walk.precedes(index) for walk, index in zip(walks, place, strict=True)] for place in nans)
    return any(all(axes) and any(True in axis for axis in axes) for axes in told)


WALKS: dict[str, Callable[[Array, Sequence[Walk]], bool]] = {
    "stride above the window": lambda _, walks: any(walk.stride > walk.window for walk in walks),
    "overlapping windows": lambda _, walks: any(walk.stride < walk.reach for walk in walks),
    "a window that reaches past x": lambda _, walks: any(walk.reach > walk.extent for walk in walks),
    "cells after the last whole window": lambda _, walks: any(walk.rest for walk in walks),
    "a last window that is not whole": lambda _, walks: any(walk.partial for walk in walks),
    "a NaN that is not the first of its window": _late,
}


def walks(case: Case) -> list[Walk]:
    """Return the walk along each axis; none where a case has no windows or its parameters have no meaning."""
    given, kernel, shape = case.parameters, case.inputs.get("kernel"), case.inputs["x"].shape[IMAGE_AXES:]
    window = given.get("window", None if kernel is None else list(kernel.shape[IMAGE_AXES:]))
    sizes = [
        _positive(one, len(shape)) for one in (window, given.get("stride"), given.get("dilation", [1] * len(shape)))
    ]
    if not all(sizes):
        return []
    axes = [(extent, sizes[0][at], sizes[1][at], sizes[2][at]) for at, extent in enumerate(shape)]
    ends, rounding = _ends(given.get("padding"), axes), str(given.get("rounding", "floor"))
    return [Walk(*axis, *end, rounding) for axis, end in zip(axes, ends, strict=True)] if len(ends) == len(axes) else []


def _positive(value: Json, axes: int) -> list[int]:
    numbers = [one for one in value if isinstance(one, int) and 0 < one <= LARGEST] if isinstance(value, list) else []
    return numbers if len(numbers) == axes else []


def _ends(padding: Json, axes: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Return the cells before and after each axis; none where the parameter has no meaning."""
    if padding == "valid":
        return [(0, 0)] * len(axes)
    if padding in ("same_upper", "same_lower"):
        pairs = [_same(*axis) for axis in axes]
        return pairs if padding == "same_upper" else [(after, before) for before, after in pairs]
    return [(one[0], one[1]) for one in map(_whole, _pairs(padding)) if len(one) == 2]  # noqa: PLR2004  # before, after


def _whole(numbers: Sequence[float]) -> list[int]:
    return [one for one in numbers if isinstance(one, int)]


def _same(extent: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding with which there are extent / stride windows, the odd cell after."""
    total = max(0, (-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent)
    return total // 2, total - total // 2
