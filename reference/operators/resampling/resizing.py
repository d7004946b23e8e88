"""Resizing: each output cell interpolates the cells of x around its coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, check_choice, check_image, number_of_dtype
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.ordering import with_canonical_nan
from reference.arithmetic.sums import exact_sums
from reference.arithmetic.weighted_sums import exact_weighted_sums
from reference.geometry.axis_weights import AxisWeights
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import (
    CROP,
    MODES,
    NEAREST_RULES,
    RegionArgument,
    ResampledAxis,
    ScaleArgument,
    extrapolated_cells,
    resampled_axes,
)
from reference.operators.pooling import ORDERED_DTYPES
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

# The modes that have no kernel that antialiasing could stretch, and no cells beyond an end.
MODES_WITHOUT_KERNEL = ("nearest", "area")
# The modes whose weights have the sum 1 for every coordinate.
UNIT_SUM_MODES = ("linear", "cubic")
# The parameters of Keys's kernel that frameworks use.
CUBIC_PARAMETERS = (-0.75, -0.5)


@operator
def resize(
    x: npt.ArrayLike,
    *,
    size: int | Sequence[int] | None = None,
    scale: ScaleArgument | None = None,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    nearest_rounding: str = "round_prefer_floor",
    cubic_a: float = -0.75,
    antialias: bool = False,
    exclude_outside: bool = False,
    roi_start: RegionArgument | None = None,
    roi_end: RegionArgument | None = None,
    extrapolation_value: float = 0,
) -> Exact:
    """Interpolate x at the coordinate of each output cell, axis by axis.

    x: (n, c, *spatial), no extent 0; "nearest" of any dtype, the other modes floating. size or scale: exactly one,
    a number or one for each spatial axis; a scale is taken as its shortest decimal, the output has ⌊extent · scale⌋
    cells, and coordinates use the scale itself; with a size they use output / extent. coordinates: see ResampledAxis.
    nearest_rounding: which cell a coordinate selects. cubic_a: −0.75 or −0.5, the parameter of Keys's kernel.
    antialias: multiply the reach of the kernel by the number of cells of x for each output cell, if it is more than 1.
    Coordinates and cells beyond an end take the value of the end; with exclude_outside they have the weight 0. Weights
    of both, of "lanczos3" and "lanczos5" are divided by their sum. "area" is the mean of the part of x that an output
    cell covers, with the coordinates half_pixel. Returns (n, c, *output). A cell with weight 0 is not read.
    roi_start, roi_end: the region of the coordinates tf_crop_and_resize, a number or one for each spatial axis, where 0
    and 1 are the first and the last cell, the default; the start may be larger than the end. An output cell whose
    coordinate is beyond an end has the extrapolation value, rounded to a floating dtype, exact in an integer dtype.
    With a scale, the output of this rule has ⌊extent · (end − start) · scale⌋ cells.
    The bound includes coordinates and weights that are computed in float32 (float64 for float64), see
    reference.geometry.axis_weights. Raises ValueError for bad parameters.
    Source: ONNX Resize-19, https://onnx.ai/onnx/operators/onnx__Resize.html
    """
    call = _Resizing.of(
        mode, coordinates, nearest_rounding, cubic_a, antialias=antialias, exclude_outside=exclude_outside
    )
    x = check_image(x, ORDERED_DTYPES if mode == "nearest" else FLOAT_DTYPES)
    axes = resampled_axes(x.shape[2:], size, scale, coordinates, roi_start=roi_start, roi_end=roi_end)
    constant = _extrapolation_value(extrapolation_value, coordinates, x)
    beyond = extrapolated_cells(axes) if coordinates == CROP else None
    if mode == "nearest":
        # NaN is made canonical in the input, which is often smaller than the result.
        value = _copied_cells(with_canonical_nan(x), axes, nearest_rounding)
        if beyond is None:
            return selection_result(value, np.ones((), np.int64), is_canonical=True)
        return selection_result(np.where(beyond, constant, value), np.ones((), np.int64))
    unit = _unit_roundoff(x)
    result = exact_weighted_sums(x, call.weights(axes, unit), transposed=False, unit=unit)
    return result if beyond is None else _with_constant(result, beyond, constant)


@operator
def resize_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    *,
    size: int | Sequence[int] | None = None,
    scale: ScaleArgument | None = None,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    nearest_rounding: str = "round_prefer_floor",
    cubic_a: float = -0.75,
    antialias: bool = False,
    exclude_outside: bool = False,
    roi_start: RegionArgument | None = None,
    roi_end: RegionArgument | None = None,
    extrapolation_value: float = 0,
) -> Exact:
    """Add the gradient of each output cell to the cells it reads, times their weights: the transpose of resize.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating; x's values do not matter. Parameters as in
    resize. Returns (n, c, *spatial). Raises ValueError if grad has not the output's shape, or for what resize refuses.
    Source: the adjoint of ONNX Resize-19, https://onnx.ai/onnx/operators/onnx__Resize.html
    """
    call = _Resizing.of(
        mode, coordinates, nearest_rounding, cubic_a, antialias=antialias, exclude_outside=exclude_outside
    )
    x = check_image(x, FLOAT_DTYPES)
    axes = resampled_axes(x.shape[2:], size, scale, coordinates, roi_start=roi_start, roi_end=roi_end)
    _extrapolation_value(extrapolation_value, coordinates, x)
    grad = check_gradient(grad, x, (*x.shape[:2], *(axis.output for axis in axes)))
    if mode == "nearest":
        index, beyond = _nearest_index(x.shape, axes, nearest_rounding), extrapolated_cells(axes)

        def add(shares: Array) -> Array:
            total = np.zeros(x.shape, shares.dtype)
            np.add.at(total, index, np.where(beyond, np.zeros((), shares.dtype), shares))
            return total

        return exact_sums(grad, add)
    unit = _unit_roundoff(x)
    return exact_weighted_sums(grad, call.weights(axes, unit), transposed=True, unit=unit)


@dataclass(frozen=True)
class _Resizing:
    """The checked parameters that select weights."""

    mode: str
    cubic_a: float
    antialias: bool
    exclude_outside: bool

    @classmethod
    def of(
        cls,
        mode: str,
        coordinates: str,
        nearest_rounding: str,
        cubic_a: float,
        *,
        antialias: bool,
        exclude_outside: bool,
    ) -> _Resizing:
        check_choice("mode", mode, MODES)
        check_choice("nearest_rounding", nearest_rounding, tuple(NEAREST_RULES))
        _check_cubic(cubic_a)
        flags = {"antialias": antialias, "exclude_outside": exclude_outside}
        for name, value in flags.items():
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{name} {value!r} must be True or False")
            if value and mode in MODES_WITHOUT_KERNEL:
                raise ValueError(f"{name} True: the mode {mode!r} has no such option")
        if mode == "area" and coordinates != "half_pixel":
            raise ValueError(f"coordinates {coordinates!r}: the mode 'area' has 'half_pixel' only")
        if antialias and coordinates == CROP:
            raise ValueError(f"antialias True: the scale of a region with the coordinates {CROP!r} is not defined")
        return cls(mode, cubic_a, bool(antialias), bool(exclude_outside))

    def weights(self, axes: Sequence[ResampledAxis], unit: float) -> list[AxisWeights]:
        """Return the weights of each axis. unit: the unit roundoff of coordinates and weights."""
        weights = [self._axis_weights(axis, unit) for axis in axes]
        if not extrapolated_cells(axes).any():
            return weights
        return [one.without(axis.is_extrapolated) for one, axis in zip(weights, axes, strict=True)]

    def _axis_weights(self, axis: ResampledAxis, unit: float) -> AxisWeights:
        kernel = InterpolationKernel.of(self.mode, self.cubic_a, axis.step)
        if self.mode in UNIT_SUM_MODES and not (self.antialias or self.exclude_outside):
            return AxisWeights.of(axis, kernel, is_clamped=self.mode == "linear", unit=unit)
        stretch = max(axis.step, Fraction(1)) if self.antialias else Fraction(1)
        return AxisWeights.normalized(axis, kernel, stretch=stretch, excludes_outside=self.exclude_outside, unit=unit)


def _check_cubic(cubic_a: float) -> None:
    if isinstance(cubic_a, (bool, np.bool_)) or not isinstance(cubic_a, (int, float, np.integer, np.floating)):
        raise TypeError(f"cubic_a {cubic_a!r} must be a number")
    if cubic_a not in CUBIC_PARAMETERS:
        raise ValueError(f"cubic_a {cubic_a!r} must be one of {', '.join(map(str, CUBIC_PARAMETERS))}")


def _extrapolation_value(value: float, coordinates: str, x: Array) -> Array:
    """Return the value as an array () of the dtype of x. Raises ValueError if the coordinates do not use it."""
    if type(value) is int and value == 0:
        return np.zeros((), x.dtype)
    constant = number_of_dtype("extrapolation_value", value, x.dtype)
    if coordinates != CROP and constant.astype(bool):
        raise ValueError(f"extrapolation_value {value!r}: the coordinates {coordinates!r} have no such value")
    return constant


def _with_constant(result: Exact, where: Array, constant: Array) -> Exact:
    """Return a result with a constant in some output cells; where: booleans (*output)."""
    fields: dict[str, Any] = {"value": constant, "high": constant.astype(np.float64), "low": 0.0, "magnitude": 0.0}
    parts: dict[str, Any] = {name: np.where(where, number, getattr(result, name)) for name, number in fields.items()}
    return replace(result, **parts)


def _unit_roundoff(x: Array) -> float:
    return 2.0**-53 if x.dtype == np.float64 else 2.0**-24


def _copied_cells(x: Array, axes: Sequence[ResampledAxis], rule: str) -> Array:
    """Return the cell of x that each output cell copies. The last axis is first, as its cells are copied one by one."""
    for number, axis in reversed([*enumerate(axes, 2)]):
        x = x.take(axis.nearest(rule), number)
    return x


def _nearest_index(shape: tuple[int, ...], axes: Sequence[ResampledAxis], rule: str) -> tuple[Array, ...]:
    """Return the index of the cell of x that each output cell copies."""
    return np.ix_(*map(np.arange, shape[:2]), *(axis.nearest(rule) for axis in axes))
