"""The geometry of sampling at the coordinates of a grid: the cells that each output cell reads, and their weights.

All numbers are exact: the coordinates of a grid are binary fractions, and so are the weights of linear and cubic
kernels. A coordinate is interpolated in the plane of x, which the padding mode continues beyond its ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reference.arguments import FLOAT_DTYPES, Array, check_dtype
from reference.geometry.axis_weights import GAMMA_SLACK, WEIGHT_ROUNDINGS
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import HALF

SAMPLING_MODES = ("nearest", "linear", "cubic")
PADDING_MODES = ("zeros", "border", "reflection")
# The index of a cell outside x, whose value is 0.
OUTSIDE = -1
# Maximum extent of an axis, and maximum coordinate in cells. Beyond 2**18 cells the coordinate in float32 may be off by
# half a cell, so no bound would say anything.
MAX_SAMPLED_EXTENT = 2**16
MAX_COORDINATE = 2**18
# Roundings of a coordinate: g + 1, its product with the extent, a difference and a quotient; for a reflection the
# distance from an end, the number of periods, their length, a difference and a sum; one to spare.
GRID_ROUNDINGS = 10
# The largest slope of the derivative of Keys's kernel with the parameter a = −3/4: at 0, where it is −2(a + 3).
CUBIC_CURVATURE = 4.5
# Horner's rule for the derivative 3ax² − 10ax + 8a, x <= 2, is off by at most γ(5) · Σ |coefficient| xᵏ (Higham, 5.1).
CUBIC_SLOPE_EVALUATION = 5 * 0.75 * (12 + 20 + 8)

# (cells, coefficients) of one axis, both (n, points, taps).
TapMap = tuple[Array, Array]


@dataclass(frozen=True)
class GridAxis:
    """One axis of x, and the rules for coordinates on it.

    Source: PyTorch grid_sample, https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html;
    ONNX GridSample-22, https://onnx.ai/onnx/operators/onnx__GridSample.html
    """

    size: int
    padding_mode: str
    align_corners: bool

    @property
    def scale(self) -> Fraction:
        """The number of cells for a difference of 1 between numbers of the grid."""
        return Fraction(self.size - self.align_corners, 2)

    def coordinate(self, number: Fraction) -> Fraction:
        """Return the coordinate of a number of the grid, where cell i has the coordinate i.

        −1 and 1 are the centres of the first and the last cell with align_corners, otherwise their outer edges.
        """
        return (number + 1) * self.scale - (0 if self.align_corners else HALF)

    def source(self, cells: Array) -> Array:
        """Return the cell of x that each cell of the continued plane repeats, or OUTSIDE; int64."""
        if self.padding_mode == "zeros":
            return np.where((cells >= 0) & (cells < self.size), cells, OUTSIDE)
        if self.padding_mode == "border":
            return np.clip(cells, 0, self.size - 1)
        # With align_corners the mirror is the centre of the last cell, otherwise its outer edge.
        period = max(2 * (self.size - self.align_corners), 1)
        cells = cells % period
        return np.where(cells < self.size, cells, period - (not self.align_corners) - cells)

    def inside(self, coordinate: Fraction, reach: int) -> Fraction:
        """Return a coordinate near x at which the same cells are read, if no cell of x is in reach."""
        if self.padding_mode == "reflection":
            return coordinate
        return min(max(coordinate, Fraction(-reach - 1)), Fraction(self.size + reach))

    def error(self, number: float, unit: float) -> float:
        """Return the largest error of a coordinate that a kernel computes with a unit roundoff; see docs/bounds.md.

        Raises ValueError for a number of the grid that is too large for the padding mode reflection.
        """
        largest = ((abs(number) + 1) * self.size + 1) / 2 + 1
        if largest <= MAX_COORDINATE:
            return GRID_ROUNDINGS * GAMMA_SLACK * unit * largest
        if self.padding_mode == "reflection":
            raise ValueError(f"grid has the number {number!r}: a coordinate of more than {MAX_COORDINATE} cells")
        return 0.0  # so far outside that no error moves it to a cell of x


@dataclass(frozen=True, eq=False)
class AxisTaps:
    """The cells of one axis that each grid point reads, with their weights; arrays (n, points, taps).

    cells: int64, OUTSIDE for none. numerators: Python's integers, weights times `denominator`. near, errors: cells that
    a kernel with rounded coordinates may read, which are more, and the largest error of their weights, float64.
    """

    size: int
    cells: Array
    numerators: Array
    denominator: int
    near: Array
    errors: Array

    @property
    def weights(self) -> Array:
        """The weights rounded to float64."""
        return (self.numerators / self.denominator).astype(np.float64)


@dataclass(frozen=True)
class TapKernel:
    """The weight of a cell at a signed distance from a coordinate, and the error of this weight.

    reach: the weight is 0 from this distance on. error(shift, unit): of a weight if the coordinate is off by at most
    shift. jump: a further error of the cells around one that the coordinate may pass.
    """

    weight: Callable[[Fraction], Fraction]
    reach: int
    error: Callable[[Array, float], Array]
    jump: float = 0.0

    def errors(self, distances: Array, shift: Array, unit: float, coarse: float) -> Array:
        """Return the error of the weights at some distances; the coordinates are off by at most shift.

        coarse: the unit roundoff of a 16-bit dtype in which coordinates may be computed, otherwise unit. It determines
        the cells that have an error, and the error is proportional to the unit roundoff.
        """
        far = shift * (coarse / unit) + 2.0**-30
        passes = np.abs(distances - np.round(distances)) <= far
        size = self.error(shift, unit) + np.where(passes, self.jump, 0.0)
        return np.where(np.abs(distances) <= self.reach + far, size * (1 + 2.0**-40), 0.0)


def value_kernel(mode: str) -> TapKernel:
    """Return the kernel of interpolation: a triangle, or Keys's kernel with the parameter −3/4."""
    kernel = InterpolationKernel.of(mode, -0.75, Fraction(1))
    slope, evaluation = float(kernel.slope), float(kernel.evaluation)

    def weight(distance: Fraction) -> Fraction:
        return kernel.weight(abs(distance)) if abs(distance) < kernel.reach else Fraction(0)

    roundings = (WEIGHT_ROUNDINGS + evaluation) * GAMMA_SLACK
    return TapKernel(weight, int(kernel.reach), lambda shift, unit: slope * shift + roundings * unit)


def slope_kernel(mode: str) -> TapKernel:
    """Return the derivative of value_kernel(mode) with respect to the coordinate; at a cell, the one on the right."""
    if mode == "linear":
        # The slope of a weight is −1, 0 or 1, and changes where the coordinate passes a cell.
        roundings = WEIGHT_ROUNDINGS * GAMMA_SLACK
        return TapKernel(
            lambda distance: Fraction(1 if distance < 0 else -1),
            1,
            lambda _, unit: np.array(roundings * unit),
            jump=2.0,
        )
    a = Fraction(-3, 4)

    def weight(distance: Fraction) -> Fraction:
        s, sign = abs(distance), 1 if distance > 0 else -1
        if s >= 2:  # noqa: PLR2004 - the reach of the kernel
            return Fraction(0)
        return sign * ((3 * (a + 2) * s - 2 * (a + 3)) * s if s <= 1 else a * ((3 * s - 10) * s + 8))

    roundings = (WEIGHT_ROUNDINGS + CUBIC_SLOPE_EVALUATION) * GAMMA_SLACK
    return TapKernel(weight, 2, lambda shift, unit: CUBIC_CURVATURE * shift + roundings * unit)


def axis_taps(axis: GridAxis, numbers: Array, kernel: TapKernel, unit: float, coarse: float) -> AxisTaps:
    """Return the cells and weights at the numbers of a grid on one axis, float64 (n, points).

    unit, coarse: see TapKernel.errors.
    """
    flat = numbers.ravel().tolist()
    shift = np.array([axis.error(number, unit) for number in flat])
    exact = [axis.inside(axis.coordinate(Fraction(number)), kernel.reach) for number in flat]
    return coordinate_taps(axis, exact, shift, kernel, points=numbers.shape, unit=unit, coarse=coarse)


def coordinate_taps(
    axis: GridAxis,
    coordinates: Sequence[Fraction],
    shift: Array,
    kernel: TapKernel,
    *,
    points: tuple[int, ...],
    unit: float,
    coarse: float,
) -> AxisTaps:
    """Return the cells and weights at coordinates that are off by at most shift; points: (n, points)."""
    offsets = range(1 - kernel.reach, kernel.reach + 1)
    floors = [math.floor(one) for one in coordinates]
    weights = [[kernel.weight(one - low - by) for by in offsets] for one, low in zip(coordinates, floors, strict=True)]
    denominator = math.lcm(*(weight.denominator for row in weights for weight in row))
    numerators = np.array([[int(weight * denominator) for weight in row] for row in weights], object)
    cells = _beside(floors, offsets)
    near = _beside(floors, range(-kernel.reach, kernel.reach + 2))
    remainders = np.array([float(one - low) for one, low in zip(coordinates, floors, strict=True)])[:, None]
    distances = remainders - np.arange(-kernel.reach, kernel.reach + 2)
    shape, near_shape = (*points, len(offsets)), (*points, len(offsets) + 2)
    return AxisTaps(
        axis.size,
        axis.source(cells).reshape(shape),
        numerators.reshape(shape),
        denominator,
        axis.source(near).reshape(near_shape),
        kernel.errors(distances, shift[:, None], unit, coarse).reshape(near_shape),
    )


def _beside(floors: Sequence[int], offsets: Iterable[int]) -> Array:
    """Return the cells at some offsets from each cell, int64 (points, offsets)."""
    return np.array(floors, np.int64)[:, None] + np.array(list(offsets), np.int64)


def nearest_taps(axis: GridAxis, numbers: Array, unit: float) -> AxisTaps:
    """Return the cell nearest to each number of a grid; of two cells at the same distance, the even one.

    numbers: float64 (n, points). Where rounding may move a coordinate to another cell, `near` has both cells and the
    errors are 1.
    """
    flat = numbers.ravel().tolist()
    shift = np.array([axis.error(number, unit) for number in flat])
    exact = [axis.inside(axis.coordinate(Fraction(number)), 1) for number in flat]
    floors, selected = [math.floor(one) for one in exact], np.array([round(one) for one in exact], np.int64)
    from_tie = np.array([float(one - low - HALF) for one, low in zip(exact, floors, strict=True)])
    errors = (np.abs(from_tie) <= shift + 2.0**-30).astype(np.float64)
    near = axis.source(_beside(floors, range(2)))
    cells, shape = axis.source(selected), (*numbers.shape, 2)
    ones = np.ones((*numbers.shape, 1), object)
    both = np.repeat(errors[:, None], 2, axis=1)
    return AxisTaps(axis.size, cells.reshape(*numbers.shape, 1), ones, 1, near.reshape(shape), both.reshape(shape))


def combine_taps(sizes: Sequence[int], maps: Sequence[TapMap]) -> TapMap:
    """Return the maps of all axes as one map of the flat plane, whose coefficients are products of theirs.

    Coefficients of cells outside x are 0; such a map then has the cell 0.
    """
    shape = maps[0][0].shape[:2]
    flat, product = np.zeros((*shape, 1), np.int64), np.ones((*shape, 1), maps[0][1].dtype)
    for size, (cells, coefficients) in zip(sizes, maps, strict=True):
        is_inside = (flat[..., None] != OUTSIDE) & (cells[:, :, None] != OUTSIDE)
        taps = flat.shape[2] * cells.shape[2]
        flat = np.where(is_inside, flat[..., None] * size + cells[:, :, None], OUTSIDE).reshape(*shape, taps)
        product = (product[..., None] * coefficients[:, :, None]).reshape(*shape, taps)
    is_read = flat != OUTSIDE
    return np.where(is_read, flat, 0), np.where(is_read, product, 0)


def check_grid(grid: object, x: Array, output: Sequence[int]) -> Array:
    """Return the numbers of a grid as float64 (n, points, axes), in the order of the axes of x.

    Raises ValueError for a grid of another shape than (n, *output, axes), and for numbers that are not finite.
    """
    array = check_dtype("grid", grid, FLOAT_DTYPES)  # type: ignore[arg-type]
    expected = (len(x), *output, x.ndim - 2)
    if array.shape != expected:
        raise ValueError(f"grid has shape {array.shape}: expected {expected}, (n, *output_size, axes)")
    wide = array.astype(np.float64)
    if not np.isfinite(wide).all():
        position = tuple(int(part) for part in np.argwhere(~np.isfinite(wide))[0])
        raise ValueError(f"grid has the number {float(wide[position])!r} at {position}: expected finite numbers")
    # The first number of a grid point is the coordinate on the last axis of x.
    return wide.reshape(len(x), math.prod(output), x.ndim - 2)[..., ::-1]
