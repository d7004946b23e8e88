"""Sampling at the points of a grid: each output cell interpolates the cells of x around its point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    FLOAT_DTYPES,
    Array,
    DType,
    check_choice,
    check_image,
    check_plane_size,
    integers_per_axis,
)
from reference.arithmetic.errorfree import to_float64
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.rounding import format_of
from reference.arithmetic.sums import exact_sums
from reference.geometry.grids import (
    MAX_SAMPLED_EXTENT,
    PADDING_MODES,
    SAMPLING_MODES,
    AxisTaps,
    GridAxis,
    TapMap,
    axis_taps,
    check_grid,
    combine_taps,
    nearest_taps,
    slope_kernel,
    value_kernel,
)
from reference.operators.pooling_grad import check_gradient
from reference.operators.resampling.tap_sums import ApplyMaps, tap_sums, weigh
from reference.registry import operator


@operator
def grid_sample(
    x: npt.ArrayLike,
    grid: npt.ArrayLike,
    output_size: int | Sequence[int],
    *,
    mode: str = "linear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Exact:
    """Interpolate x at the points of a grid.

    x: (n, c, *spatial), floating, extents from 1 to 65,536. grid: (n, *output_size, axes), floating and finite; the
    first number of a point is the coordinate on the last axis of x. −1 and 1 are the centres of the first and the last
    cell with align_corners, otherwise their outer edges. mode: nearest, linear, or cubic with the parameter −3/4.
    padding_mode: cells outside x are 0 (zeros), repeat the last cell (border), or mirror x (reflection), at the centre
    of the last cell with align_corners, otherwise at its edge. Returns (n, c, *output_size), in the dtype of x.
    A cell with weight 0 is not read. In the mode nearest a coordinate between two cells selects the even one. Where
    rounding may move a coordinate to another cell, the bound includes the values of both. Raises ValueError for bad
    parameters. Source: ONNX GridSample-22, https://onnx.ai/onnx/operators/onnx__GridSample.html
    """
    call = _Sampling.of(x, grid, output_size, mode, padding_mode, align_corners=align_corners)
    if mode == "nearest" and not call.has_doubtful_cells:
        copied = call.gather([to_float64(call.x)], [call.copied_cells])
        return selection_result(copied.astype(call.x.dtype), np.ones((), np.int64))
    taps = math.prod(one.cells.shape[2] for one in call.value_taps)
    return call.exact([call.x], [call.value_taps], call.gather, np.full(call.output, taps, np.int64))


@operator
def grid_sample_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    grid: npt.ArrayLike,
    output_size: int | Sequence[int],
    *,
    mode: str = "linear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> tuple[Exact, Exact]:
    """Return the gradients of grid_sample with respect to x and to the grid.

    grad: (n, c, *output_size), of the dtype of x. Other parameters as in grid_sample. Returns (n, c, *spatial) and
    (n, *output_size, axes), in the dtypes of x and of the grid. The derivative at a cell is the one on the side of
    larger coordinates; where rounding may move a coordinate to the other side, the bound includes both. In the mode
    nearest the gradient with respect to the grid is 0. Raises ValueError if grad has not the output's shape, or for
    what grid_sample rejects. Source: the derivative of ONNX GridSample-22,
    https://onnx.ai/onnx/operators/onnx__GridSample.html
    """
    call = _Sampling.of(x, grid, output_size, mode, padding_mode, align_corners=align_corners)
    grad = check_gradient(grad, call.x, call.output)
    return call.gradient_of_x(grad), call.gradient_of_grid(grad)


@dataclass(frozen=True, eq=False)
class _Sampling:
    """A checked call: x, the axes of x, the numbers of the grid (n, points, axes), and the shape of the output.

    unit: the unit roundoff of coordinates and weights that a framework computes; coarse: that of x, if it is larger.
    """

    x: Array
    axes: tuple[GridAxis, ...]
    numbers: Array
    grid: Array
    output: tuple[int, ...]
    mode: str
    unit: float
    coarse: float

    @classmethod
    def of(
        cls,
        x: npt.ArrayLike,
        grid: npt.ArrayLike,
        output_size: int | Sequence[int],
        mode: str,
        padding_mode: str,
        *,
        align_corners: bool,
    ) -> _Sampling:
        check_choice("mode", mode, SAMPLING_MODES)
        check_choice("padding_mode", padding_mode, PADDING_MODES)
        if not isinstance(align_corners, (bool, np.bool_)):
            raise TypeError(f"align_corners {align_corners!r} must be True or False")
        x = check_image(x, FLOAT_DTYPES)
        for axis, extent in enumerate(x.shape[2:]):
            if not 1 <= extent <= MAX_SAMPLED_EXTENT:
                raise ValueError(f"x has {extent} cells on axis {axis}: expected 1 to {MAX_SAMPLED_EXTENT}")
        size = integers_per_axis("output_size", output_size, x.ndim - 2, 1)
        check_plane_size("output_size", size)
        numbers = check_grid(grid, x, size)
        axes = tuple(GridAxis(extent, padding_mode, bool(align_corners)) for extent in x.shape[2:])
        unit = 2.0**-53 if x.dtype == np.float64 else 2.0**-24
        coarse = max(unit, format_of(x.dtype).unit_roundoff)
        return cls(x, axes, numbers, np.asarray(grid), (*x.shape[:2], *size), mode, unit, coarse)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.x.shape[2:]

    @cached_property
    def value_taps(self) -> list[AxisTaps]:
        """The cells that each point reads, and their weights."""
        along = zip(self.axes, np.moveaxis(self.numbers, -1, 0), strict=True)
        if self.mode == "nearest":
            return [nearest_taps(axis, numbers, self.unit) for axis, numbers in along]
        return [axis_taps(axis, numbers, value_kernel(self.mode), self.unit, self.coarse) for axis, numbers in along]

    @property
    def copied_cells(self) -> TapMap:
        """The cell of each point in the mode nearest, with the weight 1, or 0 for a cell outside x."""
        return self._map([(one.cells, one.numerators.astype(np.int64)) for one in self.value_taps])

    @property
    def has_doubtful_cells(self) -> bool:
        """Whether rounding may move some coordinate to another cell."""
        return any(one.errors.any() for one in self.value_taps)

    def slope_taps(self, axis: int) -> list[AxisTaps]:
        """Return the cells that each point reads, and the derivatives of their weights along one axis of the grid."""
        taps, scale = list(self.value_taps), self.axes[axis].scale
        kernel = slope_kernel(self.mode)
        slopes = axis_taps(self.axes[axis], self.numbers[..., axis], kernel, self.unit, self.coarse)
        taps[axis] = replace(
            slopes,
            numerators=slopes.numerators * scale.numerator,
            denominator=slopes.denominator * scale.denominator,
            errors=slopes.errors * float(scale),
        )
        return taps

    def gather(self, arrays: Sequence[Array], maps: Sequence[TapMap]) -> Array:
        """Return the sum of the cells of an image at each point, times their weights. Returns (n, c, *output_size)."""
        (image,), ((cells, weights),) = arrays, maps
        total = np.empty((*self.output[:2], self.numbers.shape[1]), np.result_type(image.dtype, weights.dtype))
        for item, plane in enumerate(_flat(image)):
            total[item] = weigh(plane[:, cells[item]], weights[item]).sum(axis=-1)
        return total.reshape(self.output)

    def scatter(self, arrays: Sequence[Array], maps: Sequence[TapMap]) -> Array:
        """Add each element of a gradient, times the weights, to the cells of its point. Returns (n, c, *spatial)."""
        (grad,), ((cells, weights),) = arrays, maps
        shares = np.result_type(grad.dtype, weights.dtype)
        total = np.zeros((*self.output[:2], math.prod(self.sizes)), shares)
        for item, plane in enumerate(_flat(grad)):
            added = weigh(plane[:, :, None], weights[item])
            np.add.at(total[item].T, cells[item].ravel(), added.reshape(len(plane), cells[item].size).T)
        return total.reshape(self.x.shape)

    def dot(self, arrays: Sequence[Array], maps: Sequence[TapMap]) -> Array:
        """Add the products of gradient, cells of an image and weights over channels. Returns the shape of the grid."""
        grad, image = map(_flat, arrays)
        total = np.empty((*self.numbers.shape[:2], len(maps)), np.result_type(image.dtype, maps[0][1].dtype))
        for component, (cells, weights) in enumerate(maps):
            for item in range(len(image)):
                products = grad[item][:, :, None] * image[item][:, cells[item]]
                total[item, :, component] = weigh(products, weights[item]).sum(axis=(0, -1))
        return total.reshape(self.grid.shape)

    def gradient_of_x(self, grad: Array) -> Exact:
        if self.mode == "nearest" and not self.has_doubtful_cells:
            return exact_sums(grad, lambda shares: self.scatter([shares], [self.copied_cells]))
        # A kernel with rounded coordinates may add to any near cell.
        near = combine_taps(self.sizes, [(one.near, (one.errors > 0).astype(np.int64)) for one in self.value_taps])
        terms = self.scatter([np.ones(grad.shape, np.int64)], [near])
        return self.exact([grad], [self.value_taps], self.scatter, terms)

    def gradient_of_grid(self, grad: Array) -> Exact:
        if self.mode == "nearest":
            return selection_result(np.zeros(self.grid.shape, self.grid.dtype), np.ones((), np.int64))
        taps = math.prod(one.cells.shape[2] for one in self.value_taps)
        # A term has one more factor for each axis than a term of a sum: the weights, x, grad and the scale.
        terms = np.full(self.grid.shape, taps * max(self.x.shape[1], 1) + len(self.axes), np.int64)
        components = [self.slope_taps(axis) for axis in reversed(range(len(self.axes)))]
        return self.exact([grad, self.x], components, self.dot, terms, self.grid.dtype)

    def exact(
        self,
        arrays: Sequence[Array],
        components: Sequence[Sequence[AxisTaps]],
        apply: ApplyMaps,
        terms: Array,
        dtype: DType | None = None,
    ) -> Exact:
        """Return apply(arrays) with the weights of each component, exact; see tap_sums()."""
        return tap_sums(arrays, components, apply, terms, dtype=dtype or self.x.dtype, unit=self.unit)

    def _map(self, maps: Sequence[TapMap]) -> TapMap:
        return combine_taps(self.sizes, maps)


def _flat(planes: Array) -> Array:
    """Return an array (n, c, *spatial) with the cells of each plane on one axis."""
    return planes.reshape(*planes.shape[:2], math.prod(planes.shape[2:]))
