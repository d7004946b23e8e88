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

MODES = ("nearest", "linear", "cubic", "lanczos3", "lanczos5", "area")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
HALF = Fraction(1, 2)

# Beyond this extent the position of a cell in float32 may be off by half a cell, so no bound would say anything.
MAX_RESAMPLED_EXTENT = 2**18

NEAREST_RULES: Mapping[str, Callable[[Fraction], int]] = MappingProxyType(
    {
        "floor": math.floor,
        "ceil": math.ceil,
        "round_prefer_floor": lambda coordinate: math.ceil(coordinate - HALF),
        "round_prefer_ceil": lambda coordinate: math.floor(coordinate + HALF),
    }
)
"""The cell that a coordinate selects, by the name of the rule in ONNX."""


@dataclass(frozen=True)
class ResampledAxis:
    """One axis of x, its extent after resizing, and the number of cells of x for each output cell.

    Source of the coordinates: ONNX Resize-19, attribute coordinate_transformation_mode,
    https://onnx.ai/onnx/operators/onnx__Resize.html
    """

    size: int
    output: int
    step: Fraction
    coordinates: str

    def coordinate(self, position: int) -> Fraction:
        """Return the coordinate of an output cell in x, where cell i has the coordinate i."""
        if self.coordinates == "asymmetric":
            return position * self.step
        if self.coordinates == "align_corners":
            return Fraction(position * (self.size - 1), self.output - 1) if self.output > 1 else Fraction(0)
        if self.coordinates == "pytorch_half_pixel" and self.output == 1:
            return Fraction(0)
        return (position + HALF) * self.step - HALF

    @cached_property
    def all_coordinates(self) -> tuple[Fraction, ...]:
        """The coordinate of each output cell."""
        return tuple(map(self.coordinate, range(self.output)))

    def has_inexact_steps_at(self, rule: str) -> bool:
        """Whether the cell changes at the coordinate of some output cell, and rounding may move that coordinate."""
        step = Fraction(self.size - 1, max(self.output - 1, 1)) if self.coordinates == "align_corners" else self.step
        if all(number & (number - 1) == 0 for number in step.as_integer_ratio()):
            return False  # neither the step nor its reciprocal is rounded
        shift = HALF if rule in {"round_prefer_floor", "round_prefer_ceil"} else 0
        is_zero = self.coordinates == "pytorch_half_pixel" and self.output == 1
        is_first_exact = is_zero or self.coordinates in {"asymmetric", "align_corners"}
        inexact = self.all_coordinates[1:] if is_first_exact else self.all_coordinates
        # Beyond the ends both cells of a step are the same one.
        return any(0 <= one <= self.size - 1 and (one - shift).denominator == 1 for one in inexact)

    def nearest(self, rule: str) -> Array:
        """Return the cell that each output cell copies, int64; coordinates beyond an end select the end."""
        select = NEAREST_RULES[rule]
        cells = [min(max(select(coordinate), 0), self.size - 1) for coordinate in self.all_coordinates]
        return np.array(cells, np.int64)


def resampled_axes(
    spatial: Sequence[int], size: int | Sequence[int] | None, scale: ScaleArgument | None, coordinates: str
) -> tuple[ResampledAxis, ...]:
    """Parse size or scale: one of the two, a number or a number for each axis.

    With a scale the output has ⌊extent · scale⌋ cells, and coordinates use the scale as given; a float stands for the
    decimal that it is printed as. With a size they use output / extent. Raises ValueError or TypeError.
    """
    check_choice("coordinates", coordinates, COORDINATES)
    if size is None and scale is None:
        raise TypeError("size None and scale None: exactly one of them must be given")
    if size is not None and scale is not None:
        raise ValueError(f"size {size!r} and scale {scale!r}: exactly one of them must be given")
    for axis, extent in enumerate(spatial):
        _check_extent(f"x has {extent} cells on axis {axis}", extent)
    if scale is None:
        output = integers_per_axis("size", size, len(spatial), 1)
        steps = [Fraction(n, m) for n, m in zip(spatial, output, strict=True)]
    else:
        entries = entries_per_axis("scale", scale, len(spatial))
        scales = [_parse_scale(entry, axis) for axis, entry in enumerate(entries)]
        output = tuple(math.floor(n * s) for n, s in zip(spatial, scales, strict=True))
        steps = [1 / s for s in scales]
    given, name = (size, "size") if scale is None else (scale, "scale")
    for axis, extent in enumerate(output):
        _check_extent(f"{name} {given!r} gives {extent} cells on axis {axis}", extent)
    check_plane_size("size", output)
    axes = zip(spatial, output, steps, strict=True)
    return tuple(ResampledAxis(n, m, step, coordinates) for n, m, step in axes)


def _check_extent(what: str, extent: int) -> None:
    if not 1 <= extent <= MAX_RESAMPLED_EXTENT:
        raise ValueError(f"{what}: expected 1 to {MAX_RESAMPLED_EXTENT}")


def _parse_scale(entry: object, axis: int) -> Fraction:
    if isinstance(entry, bool) or not isinstance(entry, (int, float, Fraction, np.integer, np.floating)):
        raise TypeError(f"scale {entry!r} on axis {axis} must be a number")
    if isinstance(entry, (float, np.floating)):
        if not math.isfinite(entry):
            raise ValueError(f"scale {entry!r} on axis {axis} must be finite")
        # The shortest decimal of a float is the number that its author wrote.
        number = Fraction(repr(float(entry)))
    else:
        number = Fraction(entry if isinstance(entry, Fraction) else int(entry))
    if number <= 0:
        raise ValueError(f"scale {entry!r} on axis {axis} must be positive")
    return number
