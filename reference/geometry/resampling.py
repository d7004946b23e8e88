"""The geometry of resizing: the coordinate of each output cell in x, and the cells and weights around it.

All numbers are exact: coordinates are fractions, and the weights of an axis are whole numbers over one denominator.
"""

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

MODES = ("nearest", "linear", "cubic")
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


@dataclass(frozen=True)
class InterpolationKernel:
    """A piecewise polynomial that gives a cell at distance s of a coordinate the weight of that cell.

    reach: the kernel is 0 from this distance on. slope: the largest absolute value of its derivative.
    evaluation: the error of its evaluation, in unit roundoffs; see weight_errors.
    """

    weight: Callable[[Fraction], Fraction]
    reach: int
    slope: Fraction
    evaluation: Fraction

    @classmethod
    def of(cls, mode: str, cubic_a: float) -> InterpolationKernel:
        """Return the kernel of a mode: a triangle, or the cubic convolution of Keys with the parameter a.

        Source: R. G. Keys, "Cubic convolution interpolation for digital image processing", IEEE Transactions on
        Acoustics, Speech, and Signal Processing 29 (1981), equation 15.
        """
        if mode == "linear":
            return cls(lambda distance: 1 - distance, 1, Fraction(1), Fraction(0))
        a = Fraction(repr(float(cubic_a)))

        def keys(s: Fraction) -> Fraction:
            if s <= 1:
                return ((a + 2) * s - (a + 3)) * s * s + 1
            return a * (((s - 5) * s + 8) * s - 4)

        # On [0, 1] the derivative is least at (a + 3) / (3(a + 2)); on [1, 2] it lies between a and -a / 3.
        slope = max((a + 3) ** 2 / (3 * (a + 2)), abs(a))
        # Horner's rule for a cubic polynomial is off by at most γ(7) · Σ |coefficient| sᵏ, s <= 2 (Higham, 5.1).
        magnitude = max(abs(a) * (8 + 20 + 16 + 4), abs(a + 2) + abs(a + 3) + 1)
        return cls(keys, 2, slope, 7 * magnitude)


@dataclass(frozen=True, eq=False)
class AxisWeights:
    """The cells that each output cell of one axis reads, with their weights; arrays (output, taps).

    cells: int64. numerators: Python's integers, weights times `denominator`. near, errors: cells that a kernel may
    read, which are more, and the largest error of their weights, float64; see weight_errors.
    """

    size: int
    cells: Array
    numerators: Array
    denominator: int
    near: Array
    errors: Array

    @classmethod
    def of(cls, axis: ResampledAxis, kernel: InterpolationKernel, *, is_clamped: bool, unit: float) -> AxisWeights:
        """Return the weights of an axis.

        is_clamped: whether coordinates beyond an end are moved to the end; otherwise the cells beyond an end repeat
        its value. Both are the same for the linear kernel. unit: unit roundoff of kernels of frameworks.
        """
        last = axis.size - 1
        exact = [min(max(one, Fraction(0)), Fraction(last)) if is_clamped else one for one in axis.all_coordinates]
        offsets = range(1 - kernel.reach, kernel.reach + 1)
        cells = np.array([[math.floor(one) + offset for offset in offsets] for one in exact], np.int64)
        weights = [
            [_weight(kernel, abs(one - cell)) for cell in row] for one, row in zip(exact, cells.tolist(), strict=True)
        ]
        denominator = math.lcm(*(weight.denominator for row in weights for weight in row))
        numerators = np.array([[int(weight * denominator) for weight in row] for row in weights], object)
        near = np.concatenate([cells[:, :1] - 1, cells, cells[:, -1:] + 1], axis=1)
        errors = weight_errors(axis, kernel, np.array([float(one) for one in exact]), near, unit)
        return cls(axis.size, np.clip(cells, 0, last), numerators, denominator, np.clip(near, 0, last), errors)

    @property
    def weights(self) -> Array:
        """The weights, float64, rounded once."""
        return (self.numerators / self.denominator).astype(np.float64)


def _weight(kernel: InterpolationKernel, distance: Fraction) -> Fraction:
    return kernel.weight(distance) if distance < kernel.reach else Fraction(0)


# Roundings of a coordinate: the scale, its reciprocal, a product, a sum and a difference; one to spare.
COORDINATE_ROUNDINGS = 6
# Roundings of a weight: the distance to a cell, 1 minus it, the sum of the weights, a division by it, and a conversion
# to the dtype of x; one to spare.
WEIGHT_ROUNDINGS = 6
# γ(12) is at most this many times 12u for the coarsest type, whose unit roundoff is 2**-8.
GAMMA_SLACK = 1.05


def weight_errors(
    axis: ResampledAxis, kernel: InterpolationKernel, coordinates: Array, near: Array, unit: float
) -> Array:
    """Return the largest error of the weight of each near cell if a kernel computes coordinates and weights rounded.

    1. The coordinate of output cell o is (o + 1/2)r − 1/2, or or, or 1/2 less or more than these. Every intermediate
       result is at most M = (o + 1)r + 1, and there are at most COORDINATE_ROUNDINGS roundings, each with a relative
       error of at most the unit roundoff u. So the coordinate is off by at most ε = γ(6) · M. For align_corners r is
       (size − 1) / (output − 1). Moving a coordinate beyond an end to the end does not increase its error.
    2. The kernel k is continuous, and its slope is at most L. So the weight of a cell changes by at most Lε. It
       changes only if the distance of the cell is less than the reach of the kernel plus ε. As ε < 1/2, these are
       cells of `near`: one more on each side than those with a weight.
    3. At most WEIGHT_ROUNDINGS further roundings of numbers of at most 1 change a weight by at most γ(6), and the
       polynomial of a cubic kernel by `evaluation` unit roundoffs.

    So the error is at most L · γ(12) · M + evaluation · u, as L, M >= 1. float64, rounded up.
    """
    step = Fraction(axis.size - 1, max(axis.output - 1, 1)) if axis.coordinates == "align_corners" else axis.step
    extent = np.arange(1, axis.output + 1) * float(step) + 1
    roundings = (COORDINATE_ROUNDINGS + WEIGHT_ROUNDINGS) * GAMMA_SLACK * unit
    shift = extent * roundings
    error = (float(kernel.slope) * shift + float(kernel.evaluation) * GAMMA_SLACK * unit) * (1 + 2.0**-40)
    reached = np.abs(near - coordinates[:, None]) < kernel.reach + shift[:, None] + 2.0**-30
    return np.where(reached, error[:, None], 0.0)
