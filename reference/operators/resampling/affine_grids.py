"""Grids of points: the cells of an output, moved by an affine matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, check_image, check_plane_size, integers_per_axis
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import UNDERFLOW_ERROR, FloatPair, all_finite, to_float64, with_finite_only
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.rounding import Position
from reference.arithmetic.sums import INTEGER_SHIFT_BITS, as_scaled_integers, finite_signs
from reference.geometry.grids import MAX_SAMPLED_EXTENT
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

MATRIX_AXES = (2, 3)
"""Numbers of axes of a grid."""

# Roundings of a coordinate that a framework computes, as errors of a number of size 1; see docs/bounds.md.
COORDINATE_ROUNDOFFS = 8

# Roundings of a float64 sum in addition to its additions: a coordinate, a product, and one more.
FURTHER_FLOAT64_ROUNDINGS = 3


@operator
def affine_grid(x: npt.ArrayLike, grid_size: int | Sequence[int], *, align_corners: bool = False) -> Exact:
    """Multiply the coordinates of the cells of a grid by a matrix.

    x: (n, axes, axes + 1), floating: a matrix for each image, with 2 or 3 axes. Its first row gives the coordinate on
    the last axis of the grid, and its first column is multiplied by it; the last column is added. −1 and 1 are the
    centres of the first and the last cell with align_corners, otherwise their outer edges; the one cell of an axis of
    extent 1 has the coordinate 0. Returns (n, *grid_size, axes), in the dtype of x. Raises ValueError for bad
    parameters. Sources: ONNX AffineGrid-20, https://onnx.ai/onnx/operators/onnx__AffineGrid.html; PyTorch affine_grid,
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.affine_grid.html
    """
    call = _Matrices.of(x, grid_size, align_corners=align_corners)
    wide, terms = to_float64(call.x), len(call.axes) + 1

    def exactly(position: Position) -> Fraction:
        item, *cell, row = (int(part) for part in position)
        columns = zip(reversed(call.axes), reversed(cell), wide[item, row, :-1].tolist(), strict=True)
        moved = (coordinates[index] * Fraction(number) for coordinates, index, number in columns)
        return sum(moved, Fraction(float(wide[item, row, -1])))

    def multiply(matrices: Array, coordinates: Array) -> Array:
        points: Array = np.matmul(coordinates, matrices.transpose(0, 2, 1)).reshape(call.output)
        return points

    with np.errstate(all="ignore"):
        special = None if all_finite(wide) else multiply(finite_signs(wide), np.sign(call.coordinates))
        finite = with_finite_only(wide)
        magnitude = multiply(np.abs(finite), np.abs(call.coordinates)) * ROUNDING_SLACK
        extra = COORDINATE_ROUNDOFFS * np.abs(finite[:, :, :-1]).sum(axis=-1) * ROUNDING_SLACK
        pair = _pair(multiply(finite, call.coordinates), magnitude, terms)
    return round_result(
        pair, call.x.dtype, exactly, special=special, terms=np.full(call.output, terms, np.int64),
        magnitude=magnitude, extra=np.broadcast_to(call.per_image(extra), call.output),
    )  # fmt: skip


@operator
def affine_grid_grad(
    grad: npt.ArrayLike, x: npt.ArrayLike, grid_size: int | Sequence[int], *, align_corners: bool = False
) -> Exact:
    """Return the gradient of affine_grid: the products of gradient and coordinates, added over the cells.

    grad: (n, *grid_size, axes), of the dtype of x. Other parameters as in affine_grid. Returns (n, axes, axes + 1), in
    the dtype of x. Raises ValueError if grad has not the output's shape, or for what affine_grid rejects.
    Source: the derivative of ONNX AffineGrid-20, https://onnx.ai/onnx/operators/onnx__AffineGrid.html
    """
    call = _Matrices.of(x, grid_size, align_corners=align_corners)
    wide = to_float64(check_gradient(grad, call.x, call.output))

    def multiply(gradients: Array, coordinates: Array) -> Array:
        total: Array = np.matmul(_points(gradients).transpose(0, 2, 1), coordinates)
        return total

    @cache
    def integers(item: int, row: int) -> Array:
        return as_scaled_integers(finite[item, ..., row])

    def exactly(position: Position) -> Fraction:
        item, row, column = (int(part) for part in position)
        scaled = integers(item, row)
        if column == len(call.axes):
            return Fraction(int(scaled.sum()), 1 << INTEGER_SHIFT_BITS)
        axis = len(call.axes) - 1 - column
        sums = np.moveaxis(scaled, axis, 0).reshape(scaled.shape[axis], -1).sum(axis=1).tolist()
        shares = (coordinate * number for coordinate, number in zip(call.axes[axis], sums, strict=True))
        return sum(shares, Fraction(0)) / (1 << INTEGER_SHIFT_BITS)

    with np.errstate(all="ignore"):
        special = None if all_finite(wide) else multiply(finite_signs(wide), np.sign(call.coordinates))
        finite = with_finite_only(wide)
        terms = math.prod(call.output[1:-1])
        slack = ROUNDING_SLACK + terms * 2.0**-52
        magnitude = multiply(np.abs(finite), np.abs(call.coordinates)) * slack
        is_moved = np.append(np.ones(len(call.axes)), 0.0)
        extra = COORDINATE_ROUNDOFFS * _points(np.abs(finite)).sum(axis=1)[:, :, None] * is_moved * slack
        pair = _pair(multiply(finite, call.coordinates), magnitude, terms)
    return round_result(
        pair, call.x.dtype, exactly, special=special, terms=np.full(call.x.shape, terms, np.int64),
        magnitude=magnitude, extra=extra,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Matrices:
    """A checked call: x, the coordinates of the cells on each axis of the grid, and the shape of the grid."""

    x: Array
    axes: tuple[list[Fraction], ...]
    output: tuple[int, ...]

    @classmethod
    def of(cls, x: npt.ArrayLike, grid_size: int | Sequence[int], *, align_corners: bool) -> _Matrices:
        if not isinstance(align_corners, (bool, np.bool_)):
            raise TypeError(f"align_corners {align_corners!r} must be True or False")
        x = check_image(x, FLOAT_DTYPES)
        axes = x.shape[1]
        if x.shape[1:] not in {(one, one + 1) for one in MATRIX_AXES}:
            raise ValueError(f"x has shape {x.shape}: expected (n, 2, 3) or (n, 3, 4)")
        size = integers_per_axis("grid_size", grid_size, axes, 1)
        if max(size) > MAX_SAMPLED_EXTENT:
            raise ValueError(f"grid_size {size} must be at most {MAX_SAMPLED_EXTENT} on each axis")
        check_plane_size("grid_size", size)
        return cls(x, tuple(_cell_coordinates(one, bool(align_corners)) for one in size), (len(x), *size, axes))

    @cached_property
    def coordinates(self) -> Array:
        """The coordinates of each cell, that on the last axis first, and a 1: float64 (cells, axes + 1)."""
        planes = np.meshgrid(*(np.array([float(one) for one in axis]) for axis in self.axes), indexing="ij")
        return np.stack([*(plane.ravel() for plane in reversed(planes)), np.ones(planes[0].size)], axis=-1)

    def per_image(self, rows: Array) -> Array:
        """Return numbers of the rows of each matrix (n, axes) with an axis for each axis of the grid."""
        return rows.reshape(len(rows), *(1,) * len(self.axes), rows.shape[1])


def _cell_coordinates(extent: int, align_corners: bool) -> list[Fraction]:
    """Return the coordinates of the cells of an axis."""
    if align_corners:
        return [Fraction(2 * cell - (extent - 1), max(extent - 1, 1)) for cell in range(extent)]
    return [Fraction(2 * cell + 1 - extent, extent) for cell in range(extent)]


def _points(gradients: Array) -> Array:
    """Return an array (n, *grid_size, axes) with all cells on one axis."""
    return gradients.reshape(len(gradients), math.prod(gradients.shape[1:-1]), gradients.shape[-1])


def _pair(total: Array, magnitude: Array, terms: int) -> FloatPair:
    """Return a sum of products in float64 with its error. A sum that overflows is unknown: its error overflows too."""
    error = magnitude * ((terms + FURTHER_FLOAT64_ROUNDINGS) * 2.0**-53) + terms * UNDERFLOW_ERROR
    is_known = np.isfinite(error)
    return FloatPair(np.where(is_known, total, 0.0), np.zeros(total.shape), np.where(is_known, error, np.inf))
