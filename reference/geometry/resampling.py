"""The geometry of resizing: the coordinate of each output cell in x, an exact fraction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from reference.arguments import Array, check_choice, check_plane_size, entries_per_axis, integers_per_axis

ScaleArgument = int | float | Fraction | Sequence[int | float | Fraction]
RegionArgument = ScaleArgument

MODES = ("nearest", "linear", "cubic", "lanczos3", "lanczos5", "area")
HALF = Fraction(1, 2)
CROP = "tf_crop_and_resize"

REGION_DEFAULTS: Mapping[str, int] = MappingProxyType({"roi_start": 0, "roi_end": 1})
"""The region of a crop, in units of the distance from the first to the last cell of x: all of x."""

# Beyond this extent the position of a cell in float32 may be off by half a cell, so no bound would say anything.
MAX_RESAMPLED_EXTENT = 2**18
# γ(6) for float32: the error of a coordinate in units of the largest number on the way, see docs/bounds.md.
FLOAT32_COORDINATE_ERROR = Fraction(6, 2**24 - 6)

NEAREST_RULES: Mapping[str, Callable[[Array, int], Array]] = MappingProxyType(
    {
        "floor": lambda numerators, denominator: numerators // denominator,
        "ceil": lambda numerators, denominator: -(-numerators // denominator),
        "round_prefer_floor": lambda numerators, denominator: -((denominator // 2 - numerators) // denominator),
        "round_prefer_ceil": lambda numerators, denominator: (numerators + denominator // 2) // denominator,
    }
)
"""The cell that a coordinate selects, by the name of the rule in ONNX; the denominator is even."""

# Whole numbers up to this one are exact in float64 and far from the ends of int64.
MAX_NUMERATOR = 2**52


@dataclass(frozen=True)
class ResampledAxis:
    """One axis of x, its extent after resizing, and the number of cells of x for each output cell.

    start, end: the region of a crop, tf_crop_and_resize, in units of the distance from the first to the last cell.
    Source of the coordinates: ONNX Resize-19, attribute coordinate_transformation_mode,
    https://onnx.ai/onnx/operators/onnx__Resize.html
    """

    size: int
    output: int
    step: Fraction
    coordinates: str
    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)

    def coordinate(self, position: int) -> Fraction:
        """Return the coordinate of an output cell in x, where cell i has the coordinate i."""
        return COORDINATE_RULES[self.coordinates](self, position)

    @cached_property
    def all_coordinates(self) -> tuple[Fraction, ...]:
        """The coordinate of each output cell."""
        return tuple(Fraction(numerator, self.denominator) for numerator in self._numerators)

    @cached_property
    def denominator(self) -> int:
        """An even common denominator of the coordinates of all output cells."""
        return 2 * math.lcm(*(one.denominator for one in self._first_coordinates))

    @cached_property
    def _first_coordinates(self) -> tuple[Fraction, Fraction]:
        """The coordinates of the first two output cells, which determine all others."""
        return self.coordinate(0), self.coordinate(1)

    @cached_property
    def _numerators(self) -> Sequence[int]:
        """The coordinate of each output cell in units of 1 / denominator; all rules are linear in the position."""
        first, second = (int(one * self.denominator) for one in self._first_coordinates)
        distance = second - first
        return range(first, first + self.output * distance, distance) if distance else (first,) * self.output

    @cached_property
    def is_extrapolated(self) -> Array:
        """Whether each output cell has a coordinate beyond an end and no cell of x, booleans; only in a crop."""
        if self.coordinates != CROP:
            return np.zeros(self.output, bool)
        return (self.numerators < 0) | (self.numerators > (self.size - 1) * self.denominator)

    @cached_property
    def numerators(self) -> Array:
        """The coordinate of each output cell in units of 1 / denominator, int64, or Python's integers if larger."""
        largest = max(abs(self._numerators[0]), abs(self._numerators[-1]), self.size * self.denominator)
        if largest > MAX_NUMERATOR:
            return np.array(self._numerators, object)
        first, last = self._numerators[0], self._numerators[-1]
        return first + np.arange(self.output) * ((last - first) // max(self.output - 1, 1))

    @property
    def read_numerators(self) -> Array:
        """The numerators, but 0 for the output cells that read no cell of x."""
        return np.where(self.is_extrapolated, 0, self.numerators)

    @property
    def corner_step(self) -> Fraction:
        """The distance of neighbouring output cells if the outer ones are at the centres of the outer cells of x."""
        return Fraction(self.size - 1, max(self.output - 1, 1))

    def has_inexact_steps_at(self, rule: str) -> bool:
        """Whether rounding in float32 may move the coordinate of some output cell to another cell of x."""
        shift = self.denominator // 2 if rule in {"round_prefer_floor", "round_prefer_ceil"} else 0
        near = math.floor(FLOAT32_COORDINATE_ERROR * self._largest_number * self.denominator)
        # Beyond the ends both cells of a step are the same one.
        inside = (one for one in self._inexact_numerators if -near <= one <= (self.size - 1) * self.denominator + near)
        return any((one - shift + near) % self.denominator <= 2 * near for one in inside)

    @property
    def _largest_number(self) -> Fraction:
        """An upper limit of the numbers from which a coordinate is computed: M in docs/bounds.md."""
        if self.coordinates == CROP:
            ends = abs(self.start) + abs(self.end)
            return abs(self.start) * (self.size - 1) + self.output * ends * self.corner_step + 1
        return self.output * self.step + 1 + (self.size if self.coordinates == "half_pixel_symmetric" else 0)

    @property
    def has_inexact_ends(self) -> bool:
        """Whether an output cell of a crop is at an end of x, and rounding may move its coordinate beyond the end."""
        ends = (0, (self.size - 1) * self.denominator)
        return self.coordinates == CROP and any(end in self._inexact_numerators for end in ends)

    @property
    def _inexact_numerators(self) -> Sequence[int]:
        """The coordinates that rounding may move, in units of 1 / denominator."""
        if self.coordinates == CROP:
            has_exact_start = self.size == 1 or _is_power_of_two(self.start.denominator)
            is_exact = all(map(_is_power_of_two, (self.end.denominator, max(self.output - 1, 1)))) or self.size == 1
            return self._numerators[self.output if is_exact else 1 :] if has_exact_start else self._numerators
        step = self.corner_step if self.coordinates == "align_corners" else self.step
        if all(map(_is_power_of_two, step.as_integer_ratio())):
            return ()  # neither the step nor its reciprocal is rounded
        is_zero = self.coordinates == "pytorch_half_pixel" and self.output == 1
        is_first_exact = is_zero or self.coordinates in {"asymmetric", "align_corners"}
        return self._numerators[1:] if is_first_exact else self._numerators

    def nearest(self, rule: str) -> Array:
        """Return the cell that each output cell copies, int64; coordinates beyond an end select the end."""
        cells = NEAREST_RULES[rule](self.numerators, self.denominator)
        return np.minimum(np.maximum(cells, 0), self.size - 1).astype(np.int64)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _half_pixel(axis: ResampledAxis, position: int) -> Fraction:
    """Return (position + 1/2) · step − 1/2."""
    numerator, denominator = axis.step.as_integer_ratio()
    return Fraction((2 * position + 1) * numerator - denominator, 2 * denominator)


def _symmetric(axis: ResampledAxis, position: int) -> Fraction:
    """Return the coordinate if the centres of x and of the output, which may be rounded down, are the same point."""
    return (axis.size - axis.output * axis.step) / 2 + _half_pixel(axis, position)


def _crop(axis: ResampledAxis, position: int) -> Fraction:
    if axis.output == 1:
        return (axis.start + axis.end) / 2 * (axis.size - 1)
    return axis.start * (axis.size - 1) + position * (axis.end - axis.start) * axis.corner_step


COORDINATE_RULES: Mapping[str, Callable[[ResampledAxis, int], Fraction]] = MappingProxyType(
    {
        "half_pixel": _half_pixel,
        "half_pixel_symmetric": _symmetric,
        "pytorch_half_pixel": lambda axis, o: _half_pixel(axis, o) if axis.output > 1 else Fraction(0),
        "asymmetric": lambda axis, o: o * axis.step,
        "align_corners": lambda axis, o: o * axis.corner_step,
        "tf_half_pixel_for_nn": lambda axis, o: (o + HALF) * axis.step,
        CROP: _crop,
    }
)
"""The coordinate of an output cell, by the name of the rule in ONNX. tf_half_pixel_for_nn: up to Resize-11."""
COORDINATES = (*COORDINATE_RULES,)


def extrapolated_cells(axes: Sequence[ResampledAxis]) -> Array:
    """Return whether each output cell is beyond an end of some axis and reads no cell of x, booleans (*output)."""
    total = np.zeros([axis.output for axis in axes], bool)
    if all(axis.coordinates != CROP for axis in axes):
        return total
    for number, axis in enumerate(axes):
        total |= np.moveaxis(axis.is_extrapolated.reshape(-1, *(1,) * (len(axes) - 1)), 0, number)
    return total


def resampled_axes(
    spatial: Sequence[int],
    size: int | Sequence[int] | None,
    scale: ScaleArgument | None,
    coordinates: str,
    *,
    roi_start: RegionArgument | None = None,
    roi_end: RegionArgument | None = None,
) -> tuple[ResampledAxis, ...]:
    """Parse size or scale: one of the two, a number or a number for each axis; and the region of a crop.

    With a scale the output has ⌊extent · scale⌋ cells, and coordinates use the scale as given; a float means the
    decimal that it is printed as. With a size they use output / extent. In a crop the output has
    ⌊extent · (end − start) · scale⌋ cells, and coordinates use the region and the sizes only.
    Raises ValueError or TypeError.
    """
    check_choice("coordinates", coordinates, COORDINATES)
    if size is None and scale is None:
        raise TypeError("size None and scale None: exactly one of them must be given")
    if size is not None and scale is not None:
        raise ValueError(f"size {size!r} and scale {scale!r}: exactly one of them must be given")
    for axis, extent in enumerate(spatial):
        _check_extent(f"x has {extent} cells on axis {axis}", extent)
    starts, ends = _parse_region(len(spatial), coordinates, roi_start, roi_end)
    if scale is None:
        output = integers_per_axis("size", size, len(spatial), 1)
        steps = [Fraction(n, m) for n, m in zip(spatial, output, strict=True)]
    else:
        entries = entries_per_axis("scale", scale, len(spatial))
        scales = [_parse_scale(entry, axis) for axis, entry in enumerate(entries)]
        lengths: Sequence[int | Fraction] = spatial
        if coordinates == CROP:
            lengths = [n * (end - start) for n, start, end in zip(spatial, starts, ends, strict=True)]
        output = tuple(math.floor(length * s) for length, s in zip(lengths, scales, strict=True))
        steps = [1 / s for s in scales]
    given, name = (size, "size") if scale is None else (scale, "scale")
    for axis, extent in enumerate(output):
        _check_extent(f"{name} {given!r} gives {extent} cells on axis {axis}", extent)
    check_plane_size("size", output)
    ends_and_steps = zip(spatial, output, steps, starts, ends, strict=True)
    axes = [ResampledAxis(n, m, step, coordinates, start, end) for n, m, step, start, end in ends_and_steps]
    # Equal axes are one object, whose coordinates are computed once.
    return tuple(axes[axes.index(axis)] for axis in axes)


def _parse_region(
    rank: int, coordinates: str, roi_start: RegionArgument | None, roi_end: RegionArgument | None
) -> tuple[list[Fraction], list[Fraction]]:
    """Return the ends of the region on each axis, 0 and 1 if they are not given."""
    given = {"roi_start": roi_start, "roi_end": roi_end}
    if roi_start is None and roi_end is None:
        return [Fraction(0)] * rank, [Fraction(1)] * rank
    for name, value in given.items():
        if value is not None and coordinates != CROP:
            raise ValueError(f"{name} {value!r}: the coordinates {coordinates!r} have no region")
    values = {name: default if given[name] is None else given[name] for name, default in REGION_DEFAULTS.items()}
    entries = {name: entries_per_axis(name, value, rank) for name, value in values.items()}
    starts, ends = ([_parse_number(name, one, at) for at, one in enumerate(entries[name])] for name in entries)
    return starts, ends


def _check_extent(what: str, extent: int) -> None:
    if not 1 <= extent <= MAX_RESAMPLED_EXTENT:
        raise ValueError(f"{what}: expected 1 to {MAX_RESAMPLED_EXTENT}")


def _parse_scale(entry: object, axis: int) -> Fraction:
    number = _parse_number("scale", entry, axis)
    if number <= 0:
        raise ValueError(f"scale {entry!r} on axis {axis} must be positive")
    return number


def _parse_number(name: str, entry: object, axis: int) -> Fraction:
    if isinstance(entry, bool) or not isinstance(entry, (int, float, Fraction, np.integer, np.floating)):
        raise TypeError(f"{name} {entry!r} on axis {axis} must be a number")
    if isinstance(entry, (float, np.floating)):
        if not math.isfinite(entry):
            raise ValueError(f"{name} {entry!r} on axis {axis} must be finite")
        # The shortest decimal of a float is the number that its author wrote.
        return Fraction(repr(float(entry)))
    return Fraction(entry if isinstance(entry, Fraction) else int(entry))
