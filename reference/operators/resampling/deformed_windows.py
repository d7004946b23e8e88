"""Windows whose cells are moved by offsets: the cells of x that each moved point reads, and their weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from reference.arguments import FLOAT_DTYPES, Array, check_dtype
from reference.arithmetic.errorfree import with_finite_only
from reference.arithmetic.sums import as_scaled_integers, finite_signs
from reference.geometry.axis_weights import GAMMA_SLACK
from reference.geometry.grids import (
    MAX_COORDINATE,
    MAX_SAMPLED_EXTENT,
    OUTSIDE,
    AxisTaps,
    GridAxis,
    TapKernel,
    TapMap,
    combine_taps,
    coordinate_taps,
    slope_kernel,
    value_kernel,
)
from reference.geometry.windows import Windows
from reference.operators.resampling.tap_sums import weigh

DEFORMED_PADDING_MODES = ("zeros", "inside")
# Roundings of a coordinate: the sum of position and offset; its quotient, difference, sum and product if it is computed
# through the numbers of a grid; one to spare.
OFFSET_ROUNDINGS = 6
LINEAR = "linear"


@dataclass(frozen=True)
class DeformedAxis(GridAxis):
    """One axis of x, on which points are given by their coordinates in cells.

    padding_mode: zeros, or inside: points outside of [0, size) read no cell, and the last cell is repeated.
    """

    def source(self, cells: Array) -> Array:
        """Return the cell of x at each cell of the continued plane, or OUTSIDE; int64."""
        if self.padding_mode == "inside":
            cells = np.where(cells == self.size, self.size - 1, cells)
        return np.where((cells >= 0) & (cells < self.size), cells, OUTSIDE)

    def inside(self, coordinate: Fraction, reach: int) -> Fraction:
        """Return a coordinate near x at which the same cells are read, or none."""
        if self.padding_mode == "inside" and not 0 <= coordinate < self.size:
            return Fraction(-reach - 1)
        return super().inside(coordinate, reach) if self.padding_mode == "zeros" else coordinate

    def shift(self, position: int, offset: float, unit: float, coarse: float) -> float:
        """Return the largest error of the sum of a position and an offset; see docs/bounds.md.

        Raises ValueError for a point near x whose coordinate is the sum of too large numbers.
        """
        largest = abs(position) + abs(offset) + self.size
        error = OFFSET_ROUNDINGS * GAMMA_SLACK * largest
        if not -2 - error * coarse < position + offset < self.size + 1 + error * coarse:
            return 0.0  # so far outside that no error moves it to a cell of x
        if largest > MAX_COORDINATE:
            raise ValueError(f"offset has the number {offset!r}: the sum with {position} needs more than 18 bits")
        return error * unit

    def taps(self, positions: Sequence[int], offsets: Array, kernel: TapKernel, unit: float, coarse: float) -> AxisTaps:
        """Return the cells and weights of points, offsets: (n, points); positions: those of the points of an image."""
        pairs = list(zip(itertools.cycle(positions), offsets.ravel().tolist(), strict=False))
        shift = np.array([self.shift(position, offset, unit, coarse) for position, offset in pairs])
        exact = [position + Fraction(offset) for position, offset in pairs]
        near_x = [self.inside(one, kernel.reach) for one in exact]
        taps = coordinate_taps(self, near_x, shift, kernel, points=offsets.shape, unit=unit, coarse=coarse)
        return self._with_doubtful_ends(taps, exact, coarse) if self.padding_mode == "inside" else taps

    def _with_doubtful_ends(self, taps: AxisTaps, exact: Sequence[Fraction], coarse: float) -> AxisTaps:
        """Return the taps with the error 1 where a coordinate below the end may be rounded to it."""
        least = Fraction(self.size) * (1 - Fraction(coarse))
        doubtful = np.array([least <= one < self.size for one in exact]).reshape(taps.errors.shape[:2])
        return replace(taps, errors=np.maximum(taps.errors, doubtful[..., None].astype(np.float64)))


@dataclass(frozen=True, eq=False)
class DeformedWindows:
    """The points of all windows of x (n, c, *spatial), in the order: image, offset group, cell of the window, window.

    offsets: float64 (n, offset_groups, cells, axes, windows).
    """

    shape: tuple[int, ...]
    windows: Windows
    offsets: Array
    padding_mode: str
    unit: float
    coarse: float

    @property
    def groups(self) -> int:
        """The number of groups of channels with their own offsets."""
        return int(self.offsets.shape[1])

    @property
    def cells(self) -> int:
        """The number of cells of a window."""
        return math.prod(self.windows.window)

    @property
    def count(self) -> int:
        """The number of windows in a plane."""
        return math.prod(self.windows.output)

    @cached_property
    def value_taps(self) -> list[AxisTaps]:
        """The cells that each point reads, and their weights."""
        return [self._taps(axis, value_kernel(LINEAR)) for axis in range(len(self.windows.size))]

    def slope_taps(self, axis: int) -> list[AxisTaps]:
        """Return the same cells with the derivatives of their weights along one axis."""
        taps = list(self.value_taps)
        taps[axis] = self._taps(axis, slope_kernel(LINEAR))
        return taps

    def _taps(self, axis: int, kernel: TapKernel) -> AxisTaps:
        w = self.windows
        starts = np.arange(w.output[axis]) * w.stride[axis] - w.pads[axis][0]
        along = np.arange(w.window[axis])[:, None] * w.dilation[axis] + starts
        shape = [1] * (2 * len(w.size))
        shape[axis], shape[len(w.size) + axis] = along.shape
        positions = np.broadcast_to(along.reshape(shape), (*w.window, *w.output)).ravel().tolist()
        numbers = self.offsets[:, :, :, axis].reshape(len(self.offsets), self.groups * self.cells * self.count)
        deformed = DeformedAxis(w.size[axis], self.padding_mode, False)
        return deformed.taps(positions, numbers, kernel, self.unit, self.coarse)

    def combined(self, taps: Sequence[AxisTaps]) -> TapMap:
        """Return the cells of the flat plane and the exact weights, as Python's integers over one denominator."""
        return combine_taps([one.size for one in taps], [(one.cells, one.numerators) for one in taps])

    def by_group(self, array: Array) -> Array:
        """Return (n, c, …) as (n, offset_groups, c / offset_groups, …)."""
        return array.reshape(len(array), self.groups, array.shape[1] // self.groups, *array.shape[2:])

    def _by_point(self, array: Array) -> Array:
        """Return (n, points, taps) as (n, offset_groups, points, taps)."""
        return array.reshape(len(array), self.groups, self.cells * self.count, array.shape[2])

    def sample(self, image: Array, tap_map: TapMap) -> Array:
        """Return the sums of cells times weights at the points of every channel, (n, c, cells, windows)."""
        planes = self.by_group(image.reshape(*self.shape[:2], math.prod(self.shape[2:])))
        cells, weights = map(self._by_point, tap_map)
        total = np.empty((*planes.shape[:3], self.cells * self.count), np.result_type(image.dtype, weights.dtype))
        for at in np.ndindex(total.shape[:2]):
            total[at] = weigh(planes[at][:, cells[at]], weights[at]).sum(axis=-1)
        return total.reshape(*self.shape[:2], self.cells, self.count)

    def scatter(self, columns: Array, tap_map: TapMap) -> Array:
        """Add the numbers at the points (n, c, cells, windows), times weights, to the cells of an image."""
        numbers = self.by_group(columns.reshape(*self.shape[:2], self.cells * self.count))
        cells, weights = map(self._by_point, tap_map)
        total = np.zeros((*numbers.shape[:3], math.prod(self.shape[2:])), np.result_type(columns.dtype, weights.dtype))
        for at in np.ndindex(total.shape[:2]):
            shares = weigh(numbers[at][:, :, None], weights[at])
            np.add.at(total[at].T, cells[at].ravel(), shares.reshape(len(shares), -1).T)
        return total.reshape(self.shape)

    def masked(self, columns: Array, mask: Array) -> Array:
        """Multiply numbers at points (n, c, cells, windows) with the mask (n, offset_groups · cells, *output)."""
        factors = mask.reshape(len(mask), self.groups, 1, self.cells, self.count)
        product: Array = self.by_group(columns) * factors
        return product.reshape(columns.shape)

    def sample_signs(self, image: Array, taps: Sequence[AxisTaps]) -> Array:
        """Return the signs of sample(), or what is not finite in it; image: float64."""
        cells, numerators = self.combined(taps)
        signs = self.sample(finite_signs(image), (cells, np.sign(numerators.astype(np.float64))))
        exact = self.sample(as_scaled_integers(with_finite_only(image)), (cells, numerators))
        return np.where(np.isfinite(signs), np.sign(exact).astype(np.float64), signs)


def check_extents(x: Array) -> None:
    """Raise ValueError for an axis of x without cells or with too many."""
    for axis, extent in enumerate(x.shape[2:]):
        if not 1 <= extent <= MAX_SAMPLED_EXTENT:
            raise ValueError(f"x has {extent} cells on axis {axis}: expected 1 to {MAX_SAMPLED_EXTENT}")


def check_offset(offset: object, x: Array, windows: Windows, groups: int) -> Array:
    """Return the numbers as float64 (n, groups, cells, axes, windows).

    Raises ValueError for another shape than (n, groups · cells · axes, *output), and for numbers that are not finite.
    """
    array = check_dtype("offset", offset, FLOAT_DTYPES)  # type: ignore[arg-type]
    cells, axes = math.prod(windows.window), len(windows.size)
    expected = (len(x), groups * cells * axes, *windows.output)
    if array.shape != expected:
        raise ValueError(f"offset has shape {array.shape}: expected {expected}, (n, offset_groups · cells · axes, …)")
    wide = array.astype(np.float64)
    if not np.isfinite(wide).all():
        position = tuple(int(part) for part in np.argwhere(~np.isfinite(wide))[0])
        raise ValueError(f"offset has the number {float(wide[position])!r} at {position}: expected finite numbers")
    return wide.reshape(len(x), groups, cells, axes, math.prod(windows.output))


def check_mask(mask: object, x: Array, windows: Windows, groups: int) -> Array:
    """Return the mask in the dtype of x, or ones if there is none. Raises ValueError for another shape."""
    expected = (len(x), groups * math.prod(windows.window), *windows.output)
    if mask is None:
        return np.ones(expected, x.dtype)
    array = check_dtype("mask", mask, (x.dtype,))  # type: ignore[arg-type]
    if array.shape != expected:
        raise ValueError(f"mask has shape {array.shape}: expected {expected}, (n, offset_groups · cells, …)")
    return array
