"""Variants of a case of a convention that leave its answers unchanged.

A variant repeats the arrays of the case in the batch, in channels or along another spatial axis, puts them among
other numbers, lengthens an axis, widens the windows, or has another dtype. Each answer of the case is then the result
in known parts of the output. A surface that gives another answer in a variant has an answer with a condition.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance import CatalogueError
from conformance.cases.arrays import FLOATING_DTYPES, NUMPY_DTYPES, Array, ArraySpec, lowest_value
from conformance.cases.case import ARRAYS_KEY, FLAT_PADS_KEY, Answers, Case, Rejected
from conformance.cases.invalid import VIOLATIONS
from conformance.cases.invalid.disputed import DISPUTED_VIOLATIONS
from conformance.cases.invalid.parameters import violates
from conformance.cases.operators import CHANNEL_GEOMETRIES, OPERATORS, PARAMETERS, Arithmetic, Geometry
from conformance.exploration.declared_answers.conditions import Change
from conformance.judging.expected import Expected, compute_expected

Index = tuple[Any, ...]
"""The index of a part of an output."""
Arrays = Mapping[str, Array]
"""Arrays by the name of the input."""

BATCHES = (2, 3)
"""Numbers of copies in the batch."""
CHANNELS = (3, 4, 8, 16, 17)
"""Numbers of copies in the channels, or of groups of a convolution."""
SPREADS = (1, 3)
"""Extents of an added spatial axis, along which the numbers of the case repeat."""
EXTENTS = (3, 4, 8, 16, 17, 64, 65)
"""Extents of a lengthened axis and of widened windows, as far as the strides allow."""
DEPENDENT_CHANNELS = CHANNEL_GEOMETRIES | {Geometry.CHANNELS, Geometry.POINTS}
"""Geometries with results that depend on several channels, or on axes that are no channels."""
MAX_RANK = 3
DTYPE_OF_EVERY_RANK = "float32"
"""A dtype that surfaces support with every number of axes. Some have no maxima of volumes in float64."""
BATCH_AXIS, CHANNEL_AXIS, FIRST_SPATIAL_AXIS = range(3)
PLANE_CHANGES = {BATCH_AXIS: Change.IMAGES, CHANNEL_AXIS: Change.CHANNELS}
PLANE_INPUTS = frozenset({"x", "grad", "indices", "samples", "draws"})
"""Inputs with a batch and channels."""
IMAGE_INPUTS = PLANE_INPUTS | {"grid"}
"""Inputs with a batch."""
CHANNEL_INPUTS = frozenset({"kernel", "bias"})
"""Inputs whose first axis is the output channels."""
SPATIAL_INPUTS = frozenset({"x", "grad", "indices", "kernel"})
"""Inputs with spatial axes."""
NEUTRAL_PARAMETERS: Mapping[str, Any] = {
    "window": 1, "stride": 1, "padding": (0, 0), "dilation": 1, "pads": (0, 0), "output_padding": 0, "scale": 1,
    "roi_start": 0, "roi_end": 1
}  # fmt: skip
"""Values of parameters on an axis that the operator leaves unchanged."""
OUTPUT_SIZES = frozenset({"output_size", "size"})
"""Parameters whose value on such an axis is its extent."""
DTYPE_CONVENTION = re.compile(
    "float16|float32|integers|subnormal|overflow|underflow|dtype|mixed|accumulation|algorithm|odd-p"
)
"""Names of conventions about the range or the precision of a dtype. Their cases have no variants in other dtypes."""
CHANGED_BY_CELLS_BEFORE = frozenset({"only-in-the-first-cell", "nan-for-one-in-the-first-cell", "first"})
CHANGED_BY_CELLS_AFTER = frozenset({"after-the-last-nan"})
"""Answers about NaN that further numbers in the window change."""
WHOLE: Index = (...,)


@dataclass(frozen=True)
class Variant:
    """A changed case of a convention.

    name: the change, empty for the case itself. base: the case. case: the changed case.
    parts: the parts of the output that must give the answer. expected: the answers, in the dtype of the variant.
    change: what the change is of. changed_answers: answers that the change does not leave as they are.
    """

    name: str
    base: Case
    case: Case
    parts: tuple[Index, ...]
    expected: Expected
    change: Change = Change.NOTHING
    changed_answers: frozenset[str] = frozenset()

    @property
    def is_unchanged(self) -> bool:
        """Whether this is the case itself."""
        return not self.name

    @property
    def changes_dtype(self) -> bool:
        """Whether x has another dtype than in the case."""
        return self.base.dtype != self.case.dtype

    @property
    def may_lack_dtype(self) -> bool:
        """Whether a surface may not support the dtype of the variant, or not with its number of axes."""
        has_more_axes = self.change in {Change.AXES, Change.REPEATED_AXES}
        return self.changes_dtype or (has_more_axes and self.case.dtype != DTYPE_OF_EVERY_RANK)


def variants_of(case: Case) -> Iterator[Variant]:
    """Yield the case of a convention itself and its variants; none for sequences of operators and flat pads."""
    if not isinstance(case.expect, Answers) or case.then or case.via or FLAT_PADS_KEY in case.parameters:
        return
    maker = _VariantMaker(case, case.expect)
    yield Variant("", case, case, (WHOLE,), maker.expected)
    for variant in (
        *maker.copies(),
        *maker.planes_among_others(),
        *maker.higher_ranks(),
        *maker.longer_axes(),
        *maker.wider_windows(),
        *maker.other_dtypes(),
    ):
        if _has_same_rejections(variant.case, case.expect):
            yield variant


def _has_same_rejections(case: Case, answers: Answers) -> bool:
    known = {**VIOLATIONS, **DISPUTED_VIOLATIONS}
    rejections = [answer for answer in answers.named.values() if isinstance(answer, Rejected)]
    return all(violates(known[one.violation], case) for one in rejections)


class _VariantMaker:
    """Makes the variants of one case."""

    def __init__(self, case: Case, answers: Answers) -> None:
        self.case, self.answers = case, answers
        self.operator = OPERATORS[case.operator]
        self.expected = compute_expected(case)
        self.arrays: Arrays = self.expected.inputs
        self.rank = len(case.shape) - FIRST_SPATIAL_AXIS
        self.output = case.parameters.get("output")
        self.sums_batch = self.output in {"kernel", "bias"}
        self.has_independent_channels = self.operator.geometry not in DEPENDENT_CHANNELS and self.output != "grid"

    def _variant(self, change: Change, name: str, arrays: Arrays, *parts: Index, **changes: Any) -> Variant:
        """Return a variant with other arrays; changes: other fields of the case."""
        inputs = {key: _literal(array, self.case.inputs[key].dtype) for key, array in arrays.items()}
        return Variant(name, self.case, self._renamed(name, inputs=inputs, **changes), parts, self.expected, change)

    def _renamed(self, name: str, **changes: Any) -> Case:
        convention = str(self.case.convention_id).partition("/")[2]
        return replace(self.case, id=f"{self.case.id}/{name}", convention_name=convention, **changes)

    def _extent(self, axis: int) -> int | None:
        """Return the extent of all answers on an axis; None if it differs."""
        values = [target.exact.value for target in self.expected.answers.values() if target.exact is not None]
        extents = {value.shape[axis] for value in values}
        return extents.pop() if len(extents) == 1 else None

    def copies(self) -> Iterator[Variant]:
        """Yield the case repeated in the batch and in the channels, which are groups of a convolution."""
        if self.sums_batch or self.output == "indices":  # some surfaces count indices in the whole batch
            return
        groups = self.case.parameters.get("groups")
        for axis, counts in ((BATCH_AXIS, BATCHES), (CHANNEL_AXIS, CHANNELS)):
            extent = self._extent(axis)
            if extent is None or (axis == CHANNEL_AXIS and not self.has_independent_channels):
                continue
            for count in counts:
                tiled = {key: self._tile(key, array, axis, count) for key, array in self.arrays.items()}
                parts = [_part(axis, number * extent, extent) for number in range(count)]
                changed = {"groups": groups * count} if axis == CHANNEL_AXIS and groups else {}
                name = f"batch {count}" if axis == BATCH_AXIS else f"{'groups' if groups else 'channels'} {count}"
                parameters = {**self.case.parameters, **changed}
                yield self._variant(PLANE_CHANGES[axis], name, tiled, *parts, parameters=parameters)

    @staticmethod
    def _tile(name: str, array: Array, axis: int, count: int) -> Array:
        if name in (IMAGE_INPUTS if axis == BATCH_AXIS else PLANE_INPUTS):
            return np.concatenate([array] * count, axis)
        return np.concatenate([array] * count) if axis == CHANNEL_AXIS and name in CHANNEL_INPUTS else array

    def planes_among_others(self) -> Iterator[Variant]:
        """Yield the case as one channel or image of several, of which the others have ordinary numbers."""
        if self.operator.has_weights or set(self.arrays) - {"x", "grad"} or self.output == "indices":
            return
        for axis, label, counts in ((BATCH_AXIS, "image", (2, 3)), (CHANNEL_AXIS, "channel", (3, 8, 16, 17))):
            if self._extent(axis) != 1 or self.case.shape[axis] != 1:
                continue
            if axis == CHANNEL_AXIS and not self.has_independent_channels:
                continue
            for count in counts:
                for place in sorted({0, count // 2, count - 1}):
                    arrays = {key: _among_others(array, axis, place, count) for key, array in self.arrays.items()}
                    part = _part(axis, place, 1)
                    yield self._variant(PLANE_CHANGES[axis], f"{label} {place} of {count}", arrays, part)

    def higher_ranks(self) -> Iterator[Variant]:
        """Yield the case with one or two more spatial axes of extent 1, or along which its numbers repeat."""
        if {"samples", "draws", "grid"} & set(self.arrays) or self.operator.geometry is Geometry.POINTS:
            return
        one_only = self.sums_batch or self.output == "indices" or "indices" in self.arrays
        one_only = one_only or self.operator.geometry is Geometry.GLOBAL
        for added in range(1, MAX_RANK - self.rank + 1):
            for axis in sorted({FIRST_SPATIAL_AXIS, FIRST_SPATIAL_AXIS + self.rank}):
                for extent in (1,) if one_only else SPREADS:
                    yield self._with_axes(added, axis, extent)

    def _with_axes(self, added: int, axis: int, extent: int) -> Variant:
        arrays = dict(self.arrays)
        for key in SPATIAL_INPUTS & set(arrays):
            for _ in range(added):
                arrays[key] = np.repeat(np.expand_dims(arrays[key], axis), 1 if key == "kernel" else extent, axis)
        named = {
            name: self._lifted(answer, added, axis, extent) if isinstance(answer, Mapping) else answer
            for name, answer in self.answers.named.items()
        }
        parameters = self._lifted(self.case.parameters, added, axis, extent)
        part = WHOLE if self.output == "bias" else (*(slice(None),) * axis, *(extent - 1,) * added)
        where = "before" if axis == FIRST_SPATIAL_AXIS else "after"
        name = f"rank {self.rank + added}, axes of {extent} {where}"
        change = Change.AXES if extent == 1 else Change.REPEATED_AXES
        return self._variant(change, name, arrays, part, parameters=parameters, expect=Answers(named))

    @staticmethod
    def _lifted(parameters: Mapping[str, Any], added: int, axis: int, extent: int) -> dict[str, Any]:
        """Return parameters with values for the added axes."""
        lifted = dict(parameters)
        for key, value in parameters.items():
            if isinstance(value, tuple) and key in PARAMETERS and PARAMETERS[key].is_per_axis:
                new = (extent if key in OUTPUT_SIZES else NEUTRAL_PARAMETERS[key],) * added
                lifted[key] = (*new, *value) if axis == FIRST_SPATIAL_AXIS else (*value, *new)
        return lifted

    def longer_axes(self) -> Iterator[Variant]:
        """Yield the case with more windows before or after its own on the first or the last spatial axis."""
        if self.operator.geometry is not Geometry.WINDOWS or set(self.arrays) - {"x", "grad", "kernel", "bias"}:
            return
        fixed = isinstance(self.case.parameters.get("padding"), tuple) and "stride" in self.case.parameters
        if not fixed or self.sums_batch or self.output == "indices" or self.case.operator.startswith("conv_transpose"):
            return
        for axis in sorted({0, self.rank - 1}):
            for target in EXTENTS:
                yield from self._with_extent(axis, target)

    def _with_extent(self, axis: int, target: int) -> Iterator[Variant]:
        parameters, place = self.case.parameters, FIRST_SPATIAL_AXIS + axis
        stride, (before, after) = parameters["stride"][axis], parameters["padding"][axis]
        extent, answer_extent = self.case.shape[place], self._extent(place)
        windows = math.ceil((target - extent) / stride)
        if windows <= 0 or stride > target:
            return
        name = f"axis {axis} of {extent + windows * stride}"
        if before == 0:
            start = windows * stride if "grad" in self.arrays else windows
            arrays = self._with_windows(place, windows, stride, at_end=False)
            yield self._variant(Change.EXTENT, f"{name}, last windows", arrays, _part(place, start))
        if after == 0 and answer_extent is not None and self._is_covered(axis):
            arrays = self._with_windows(place, windows, stride, at_end=True)
            yield self._variant(Change.EXTENT, f"{name}, first windows", arrays, _part(place, 0, answer_extent))

    def _is_covered(self, axis: int) -> bool:
        """Whether the windows of a pooling have no remainder on an axis."""
        parameters = self.case.parameters
        if "window" not in parameters:
            return False
        span = (parameters["window"][axis] - 1) * parameters["dilation"][axis] + 1
        padded = self.case.shape[FIRST_SPATIAL_AXIS + axis] + parameters["padding"][axis][0]
        return bool(padded >= span and (padded - span) % parameters["stride"][axis] == 0)

    def _with_windows(self, place: int, windows: int, stride: int, *, at_end: bool) -> Arrays:
        """Return arrays with ordinary numbers for more windows, and gradients of zero."""
        arrays = dict(self.arrays)
        for key in {"x", "grad"} & set(arrays):
            shape = list(arrays[key].shape)
            shape[place] = windows * (stride if key == "x" else 1)
            more = np.zeros(shape, arrays[key].dtype)
            more = _ordinary_numbers(more, 0) if key == "x" else more
            arrays[key] = np.concatenate([arrays[key], more] if at_end else [more, arrays[key]], place)
        return arrays

    def wider_windows(self) -> Iterator[Variant]:
        """Yield maxima whose windows, or planes, have further cells that are never selected."""
        if self.operator.arithmetic is not Arithmetic.SELECTION or set(self.arrays) - {"x", "grad"}:
            return
        never = self._number_never_selected()
        if never is None or self.output == "indices" or "min" in self.case.operator or not all(self.case.shape):
            return
        window = self._last_window()
        if window and self._has_window_of_nan(window):  # further cells would be its only numbers
            return
        for target in EXTENTS if window else ():
            for at_end in (True, False) if target > window else ():
                yield self._with_window(window, target, never, at_end=at_end)

    def _last_window(self) -> int:
        """Return the extent on the last axis of windows that divide it, or of a plane; 0 for other windows."""
        extent, parameters = self.case.shape[-1], self.case.parameters
        if self.operator.geometry is Geometry.GLOBAL:
            return extent
        if self.operator.geometry is not Geometry.WINDOWS or "stride" not in parameters:
            return 0
        window: int = parameters["window"][-1]
        separate = window == parameters["stride"][-1] and parameters["padding"][-1] == (0, 0)
        return window if separate and parameters["dilation"][-1] == 1 and extent % window == 0 else 0

    def _has_window_of_nan(self, window: int) -> bool:
        blocks = self.arrays["x"].astype(float).reshape(-1, window)
        return bool(np.isnan(blocks).all(axis=1).any())

    def _number_never_selected(self) -> float | None:
        """Return a number that is no maximum beside a number of x; None if there is none."""
        numbers = self.arrays["x"].astype(float)
        numbers = numbers[~np.isnan(numbers)]
        lowest = float(numbers.min()) if numbers.size else math.nan
        if not math.isfinite(lowest):
            return None
        below = math.floor(lowest) - 1
        return below if below >= lowest_value(self.case.dtype) else None

    def _with_window(self, window: int, target: int, never: float, *, at_end: bool) -> Variant:
        x, more = self.arrays["x"], target - window
        count = x.shape[-1] // window
        blocks = x.reshape(*x.shape[:-1], count, window)
        side = (0, more) if at_end else (more, 0)
        wide = np.pad(blocks, [(0, 0)] * (blocks.ndim - 1) + [side], constant_values=never)
        parameters = dict(self.case.parameters)
        parameters |= {key: (*parameters[key][:-1], target) for key in ("window", "stride") if key in parameters}
        first = 0 if at_end else more
        cells = [number * target + first + cell for number in range(count) for cell in range(window)]
        part = (..., cells) if "grad" in self.arrays else WHOLE
        name = f"window of {target}, {'first' if at_end else 'last'} cells"
        arrays = {**self.arrays, "x": wide.reshape(*x.shape[:-1], -1)}
        variant = self._variant(Change.WINDOW, name, arrays, part, parameters=parameters)
        if not np.isnan(x.astype(float)).any():
            return variant
        return replace(variant, changed_answers=CHANGED_BY_CELLS_AFTER if at_end else CHANGED_BY_CELLS_BEFORE)

    def other_dtypes(self) -> Iterator[Variant]:
        """Yield the case with other floating dtypes that represent all its numbers."""
        if self.case.dtype not in FLOATING_DTYPES or DTYPE_CONVENTION.search(str(self.case.convention_id)):
            return
        if self.operator.geometry is Geometry.CHANNELS:  # the answers are rounded numbers, which differ by dtype
            return
        # NumPy arrays in the other byte order cannot have the dtype bfloat16.
        known = FLOATING_DTYPES - ({"bfloat16"} if ARRAYS_KEY in self.case.parameters else set())
        for dtype in sorted(known - {self.case.dtype}):
            variant = self._with_dtype(dtype)
            if variant:
                yield variant

    def _with_dtype(self, dtype: str) -> Variant | None:
        old = self.case.dtype
        inputs = {key: _cast(spec, old, dtype) for key, spec in self.case.inputs.items()}
        named = {
            key: _cast(answer, old, dtype) if isinstance(answer, ArraySpec) else answer
            for key, answer in self.answers.named.items()
        }
        if None in inputs.values() or None in named.values():
            return None
        case = self._renamed(dtype, inputs=inputs, expect=Answers(named))  # type: ignore[arg-type]
        try:
            return Variant(dtype, self.case, case, (WHOLE,), compute_expected(case), Change.DTYPE)
        except CatalogueError:  # the answers are equal in this dtype
            return None


def _cast(spec: ArraySpec, old: str, new: str) -> ArraySpec | None:
    """Return an array of the old dtype in the new one, with its own limits; None if it cannot represent a number."""
    if spec.dtype != old:
        return spec
    wide = spec.make().astype(np.float64)
    limits = {_largest_number(old): _largest_number(new), -_largest_number(old): -_largest_number(new)}
    numbers = np.array([limits.get(number, number) for number in wide.ravel().tolist()]).reshape(wide.shape)
    with np.errstate(over="ignore"):
        cast = numbers.astype(NUMPY_DTYPES[new]).astype(np.float64)
    return _literal(numbers, new) if bool(((cast == numbers) | np.isnan(numbers)).all()) else None


def _largest_number(dtype: str) -> float:
    """Return the largest finite number of a floating dtype."""
    highest = np.array(math.inf, NUMPY_DTYPES[dtype])
    return float(np.nextafter(highest, np.array(0, highest.dtype)))


def _literal(array: Array, dtype: str) -> ArraySpec:
    return ArraySpec("literal", array.shape, dtype, {"numbers": tuple(array.ravel().tolist())})


def _among_others(array: Array, axis: int, place: int, count: int) -> Array:
    """Return several arrays along an axis, all but one of them with ordinary numbers."""
    others = [_ordinary_numbers(array, number) for number in range(count)]
    return np.concatenate([*others[:place], array, *others[place + 1 :]], axis)


def _ordinary_numbers(array: Array, seed: int) -> Array:
    """Return an array of the same shape with whole numbers from 1 to 5."""
    numbers = (np.arange(array.size) * 7 + seed * 3) % 5 + 1
    return numbers.reshape(array.shape).astype(array.dtype)


def _part(axis: int, start: int, extent: int | None = None) -> Index:
    """Return the index of cells on an axis; extent: None for all from the start."""
    return (*(slice(None),) * axis, slice(start, None if extent is None else start + extent))
