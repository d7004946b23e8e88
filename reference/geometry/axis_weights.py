"""The weights of resizing: the cells that each output cell of an axis reads, and the errors of rounded weights.

Weights are exact: whole numbers over denominators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from reference.arguments import Array
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import CROP, ResampledAxis


@dataclass(frozen=True, eq=False)
class AxisWeights:
    """The cells that each output cell of one axis reads, with their weights; arrays (output, taps).

    cells: int64. numerators: weights times denominators, Python's integers. denominators: (1, 1), (output, 1) or
    (output, taps), Python's integers. near, errors: cells that a kernel may read, which are more, and the largest
    error of their weights, float64; see weight_errors. terms: the number of terms of each output cell, int64; the
    other cells of a row have the weight 0.
    """

    size: int
    cells: Array
    numerators: Array
    denominators: Array
    near: Array
    errors: Array
    terms: Array

    @classmethod
    def of(cls, axis: ResampledAxis, kernel: InterpolationKernel, *, is_clamped: bool, unit: float) -> AxisWeights:
        """Return the weights of an axis, whose sum is 1 without further work.

        is_clamped: whether coordinates beyond an end are moved to the end; otherwise the cells beyond an end repeat
        its value. Both are the same for the linear kernel. unit: unit roundoff of kernels of frameworks.
        """
        last, coordinates = axis.size - 1, axis.read_numerators
        if is_clamped:
            coordinates = np.clip(coordinates, 0, last * axis.denominator)
        cells = _cells_within(coordinates, axis.denominator, kernel.reach)
        values = _kernel_values(kernel, coordinates, axis.denominator, cells, Fraction(1))
        numerators, denominator = _common_denominator(values)
        near = _with_neighbours(cells)
        errors = weight_errors(axis, kernel, _as_floats(coordinates, axis.denominator), near, unit)
        read, all_read = np.clip(cells, 0, last), np.clip(near, 0, last)
        denominators = np.array([[denominator]], object)
        return cls(axis.size, read, numerators, denominators, all_read, errors, np.full(*cells.shape))

    @classmethod
    def normalized(
        cls,
        axis: ResampledAxis,
        kernel: InterpolationKernel,
        *,
        stretch: Fraction,
        excludes_outside: bool,
        unit: float,
    ) -> AxisWeights:
        """Return the weights of an axis, divided by their sum.

        stretch: the number of cells that is the unit of distances, at least 1. excludes_outside: whether cells beyond
        an end have the weight 0; otherwise they repeat the value of the end. Raises ValueError if the rounding of
        coordinates may change the sum of the weights by a half.
        """
        cells = _cells_within(axis.read_numerators, axis.denominator, kernel.reach * stretch)
        values = _kernel_values(kernel, axis.read_numerators, axis.denominator, cells, stretch)
        near = _with_neighbours(cells)
        outside = (near < 0) | (near >= axis.size)
        if excludes_outside:
            values[outside[:, 1:-1]] = Fraction(0)
        errors = normalized_weight_errors(axis, kernel, near, values, stretch=stretch, unit=unit)
        if excludes_outside:
            errors[outside] = 0.0
        numerators, denominators = _divided_by_sums(_common_denominator(values)[0])
        read, all_read = np.clip(cells, 0, axis.size - 1), np.clip(near, 0, axis.size - 1)
        return cls(axis.size, read, numerators, denominators, all_read, errors, np.full(*cells.shape))

    def without(self, is_left_out: Array) -> AxisWeights:
        """Return the weights with 0 for some output cells, which read no cell of x."""
        kept = ~is_left_out[:, None]
        return replace(self, numerators=self.numerators * kept, errors=self.errors * kept)

    def transposed(self) -> AxisWeights:
        """Return the weights with which each cell adds the output cells that read it."""
        rows, numerators, divisors = _by_cell(self.size, self.cells, self.numerators, self.denominators)
        near, errors, _ = _by_cell(self.size, self.near, self.errors, self.denominators)
        terms = np.bincount(self.cells.ravel(), minlength=self.size)
        transposed = AxisWeights(len(self.cells), rows, numerators, divisors, near, errors, terms)
        return transposed.with_short_denominator()

    def with_short_denominator(self) -> AxisWeights:
        """Return the same weights over one denominator, if it is at most MAX_SHORT_DENOMINATOR."""
        common = 1
        for one in set(self.denominators.flat):
            common = math.lcm(common, one)
            if common > MAX_SHORT_DENOMINATOR:
                return self
        numerators = self.numerators * (common // self.denominators)
        return replace(self, numerators=numerators, denominators=np.array([[common]], object))

    @cached_property
    def weights(self) -> Array:
        """The weights, float64, rounded once."""
        return (self.numerators / self.denominators).astype(np.float64)

    @cached_property
    def weight_remainders(self) -> Array:
        """The exact weights minus `weights`, float64, rounded once."""
        ratios = [weight.as_integer_ratio() for weight in self.weights.ravel().tolist()]
        parts = (np.array(part, object).reshape(self.cells.shape) for part in zip(*ratios, strict=True))
        rounded, unit = parts
        remainders: Array = (self.numerators * unit - rounded * self.denominators) / (self.denominators * unit)
        return remainders.astype(np.float64)

    def weights_of(self, row: int) -> dict[int, Fraction]:
        """Return the weights with which an output cell reads each cell, without those that are 0."""
        denominators = np.broadcast_to(self.denominators, self.numerators.shape)[row].tolist()
        total: dict[int, Fraction] = {}
        for cell, numerator, denominator in zip(
            self.cells[row].tolist(), self.numerators[row].tolist(), denominators, strict=True
        ):
            total[cell] = total.get(cell, Fraction(0)) + Fraction(numerator, denominator)
        return {cell: weight for cell, weight in total.items() if weight}


MAX_SHORT_DENOMINATOR = 2**52
"""The largest denominator by which float64 sums are divided."""


def _by_cell(size: int, cells: Array, values: Array, divisors: Array) -> tuple[Array, Array, Array]:
    """Return for each cell the rows that read it, their values and the divisors of these rows.

    cells, values: (rows, taps). divisors: (rows, 1) or (1, 1). Returns arrays (size, most rows of a cell). Unused
    elements have the value 0 and the divisor 1. Values of one row and cell are added, but positive and negative ones
    separately: infinities need the signs.
    """
    keys = (cells * len(cells) + np.arange(len(cells))[:, None]) * 2 + (values < 0).astype(np.int64)
    different, index = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(different), values.dtype)
    np.add.at(sums, index.ravel(), values.ravel())
    cell, row = np.divmod(different // 2, len(cells))
    counts = np.bincount(cell, minlength=size)
    place = cell, np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (size, int(counts.max()))
    by_cell = np.zeros(shape, np.int64), np.zeros(shape, values.dtype), np.ones(shape, divisors.dtype)
    for target, source in zip(by_cell, (row, sums, np.broadcast_to(divisors[:, 0], len(cells))[row]), strict=True):
        target[place] = source
    return by_cell


def _cells_within(coordinates: Array, denominator: int, reach: Fraction) -> Array:
    """Return the cells whose distance to each coordinate is less than the reach, and at most one more, int64.

    coordinates: whole numbers, in units of 1 / denominator.
    """
    scaled = coordinates.astype(object) * reach.denominator - reach.numerator * denominator
    first = (scaled // (denominator * reach.denominator) + 1).astype(np.int64)
    cells: Array = first[:, None] + np.arange(math.ceil(2 * reach))
    return cells


def _with_neighbours(cells: Array) -> Array:
    return np.concatenate([cells[:, :1] - 1, cells, cells[:, -1:] + 1], axis=1)


def _kernel_values(
    kernel: InterpolationKernel, coordinates: Array, denominator: int, cells: Array, stretch: Fraction
) -> Array:
    """Return the kernel at each cell, fractions. It is computed once for each distance, of which there are few."""
    distances = np.abs(coordinates[:, None] - cells.astype(coordinates.dtype) * denominator)
    different, index = np.unique(distances, return_inverse=True)
    unit = denominator * stretch
    values = [_weight(kernel, Fraction(distance) / unit) for distance in different.tolist()]
    by_cell: Array = np.array(values, object)[index.reshape(distances.shape)]
    return by_cell


def _common_denominator(weights: Array) -> tuple[Array, int]:
    """Return fractions as whole numbers over one denominator."""
    denominator = math.lcm(*{weight.denominator for weight in weights.flat})
    numerators = [[one.numerator * (denominator // one.denominator) for one in row] for row in weights.tolist()]
    return np.array(numerators, object), denominator


def _divided_by_sums(numerators: Array) -> tuple[Array, Array]:
    """Return rows of whole numbers, and their sums as denominators, in lowest terms.

    One denominator for all rows would have the digits of all sums.
    """
    sums = numerators.sum(axis=1)
    divisors = np.array([math.gcd(*row, total) for row, total in zip(numerators.tolist(), sums, strict=True)], object)
    denominators = (sums // divisors)[:, None]
    is_same = (denominators == denominators[:1]).all()
    return numerators // divisors[:, None], denominators[:1] if is_same else denominators


def _as_floats(numerators: Array, denominator: int) -> Array:
    """Return quotients, float64, rounded once."""
    return (numerators / denominator).astype(np.float64)


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
    roundings = (COORDINATE_ROUNDINGS + WEIGHT_ROUNDINGS) * GAMMA_SLACK * unit
    shift = _largest_intermediate(axis) * roundings
    error = (float(kernel.slope) * shift + float(kernel.evaluation) * GAMMA_SLACK * unit) * (1 + 2.0**-40)
    reached = np.abs(near - coordinates[:, None]) < float(kernel.reach) + shift[:, None] + 2.0**-30
    return np.where(reached, error[:, None], 0.0)


def _largest_intermediate(axis: ResampledAxis) -> Array:
    """Return the largest number from which the coordinate of each output cell is computed, float64.

    The coordinate of half_pixel_symmetric has a further term, (size − output · r) / 2, with at most 5 roundings of
    numbers of at most size / 2. That of tf_crop_and_resize has two rounded ends of the region in place of r.
    """
    cells = np.arange(1, axis.output + 1)
    if axis.coordinates == CROP:
        ends = (abs(axis.start) + abs(axis.end)) * axis.corner_step
        return cells * float(ends) + (float(abs(axis.start)) * (axis.size - 1) + 1)
    step = axis.corner_step if axis.coordinates == "align_corners" else axis.step
    extent: Array = cells * float(step) + (axis.size + 1 if axis.coordinates == "half_pixel_symmetric" else 1)
    return extent


# Roundings of a weight after the kernel: a quotient by the sum, and a conversion to the dtype of x; one to spare.
QUOTIENT_ROUNDINGS = 3


def normalized_weight_errors(
    axis: ResampledAxis, kernel: InterpolationKernel, near: Array, values: Array, *, stretch: Fraction, unit: float
) -> Array:
    """Return the largest error of each near cell's weight, if weights are divided by their sum and all is rounded.

    values: the kernel at the cells of `near` but the outer two, before the division; 0 for cells that are not read.

    1. The coordinate is off by at most ε = γ(6) · M, as in weight_errors. A distance is divided by the stretch σ with
       at most 6 roundings, so it is off by at most ε / σ + γ(6) · reach.
    2. So the kernel is off by at most δ = L · γ(12) · (M / σ + reach) + evaluation · u, which includes γ(6) for further
       roundings of numbers of at most 1, because L · reach >= 1.
    3. The sum K of at most T kernels is off by at most Δ = Tδ + γ(T) · (Σ|k| + Tδ).
    4. The quotient k / K is off by at most (δ + |k/K| · Δ + γ(3) · (|k| + δ)) / (K − Δ).
    """
    gamma = GAMMA_SLACK * unit
    roundings = (COORDINATE_ROUNDINGS + WEIGHT_ROUNDINGS) * gamma
    shift = (_largest_intermediate(axis) / float(stretch) + float(kernel.reach)) * roundings
    error = (float(kernel.slope) * shift + float(kernel.evaluation) * gamma)[:, None]
    sizes = np.abs(values.astype(np.float64))
    total, taps = values.sum(axis=1).astype(np.float64)[:, None], near.shape[1]
    change = taps * error + taps * gamma * (sizes.sum(axis=1, keepdims=True) + taps * error)
    if taps * unit > MAX_SUM_ROUNDING or not (change < total / 2).all():
        raise ValueError(f"{axis.size} to {axis.output} cells: rounded coordinates do not determine the weights")
    sizes = np.pad(sizes, ((0, 0), (1, 1)))
    quotient = error + sizes / total * change + QUOTIENT_ROUNDINGS * gamma * (sizes + error)
    errors = quotient / (total - change) * (1 + 2.0**-40)
    coordinates = _as_floats(axis.read_numerators, axis.denominator)
    limit = (float(kernel.reach) + shift) * float(stretch) * (1 + 2.0**-40) + 2.0**-30
    return np.where(np.abs(near - coordinates[:, None]) < limit[:, None], errors, 0.0)


# γ(m) is at most GAMMA_SLACK times mu if mu is at most this number.
MAX_SUM_ROUNDING = 0.04
