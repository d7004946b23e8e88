"""Resizing: each output cell interpolates the cells of x around its coordinate."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, check_choice, check_image
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.sums import exact_sums
from reference.arithmetic.weighted_sums import exact_weighted_sums
from reference.geometry.resampling import (
    MODES,
    NEAREST_RULES,
    AxisWeights,
    InterpolationKernel,
    ResampledAxis,
    ScaleArgument,
    resampled_axes,
)
from reference.operators.pooling import ORDERED_DTYPES
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

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
) -> Exact:
    """Interpolate x at the coordinate of each output cell, axis by axis.

    x: (n, c, *spatial), no extent 0; "nearest" of any dtype, "linear" and "cubic" floating. size or scale: exactly one,
    a number or one for each spatial axis; a scale is taken as its shortest decimal, the output has ⌊extent · scale⌋
    cells, and coordinates use the scale itself; with a size they use output / extent. coordinates: see ResampledAxis.
    nearest_rounding: which cell a coordinate selects. cubic_a: −0.75 or −0.5, the parameter of Keys's kernel.
    Coordinates and cells beyond an end take the value of the end. There is no antialiasing. Returns (n, c, *output).
    A cell with weight 0 is not read. The bound includes coordinates and weights that are computed in float32 (float64
    for float64), see reference.geometry.resampling.weight_errors. Raises ValueError for bad parameters.
    Source: ONNX Resize-19, https://onnx.ai/onnx/operators/onnx__Resize.html
    """
    check_choice("mode", mode, MODES)
    check_choice("nearest_rounding", nearest_rounding, tuple(NEAREST_RULES))
    _check_cubic(cubic_a)
    x = check_image(x, ORDERED_DTYPES if mode == "nearest" else FLOAT_DTYPES)
    axes = resampled_axes(x.shape[2:], size, scale, coordinates)
    if mode == "nearest":
        return selection_result(x[_nearest_index(x.shape, axes, nearest_rounding)], np.ones((), np.int64))
    unit = _unit_roundoff(x)
    return exact_weighted_sums(x, _axis_weights(axes, mode, cubic_a, unit), transposed=False, unit=unit)


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
) -> Exact:
    """Add the gradient of each output cell to the cells it reads, times their weights: the transpose of resize.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating; x's values do not matter. Parameters as in
    resize. Returns (n, c, *spatial). Raises ValueError if grad has not the output's shape, or for what resize refuses.
    Source: the adjoint of ONNX Resize-19, https://onnx.ai/onnx/operators/onnx__Resize.html
    """
    check_choice("mode", mode, MODES)
    check_choice("nearest_rounding", nearest_rounding, tuple(NEAREST_RULES))
    _check_cubic(cubic_a)
    x = check_image(x, FLOAT_DTYPES)
    axes = resampled_axes(x.shape[2:], size, scale, coordinates)
    grad = check_gradient(grad, x, (*x.shape[:2], *(axis.output for axis in axes)))
    if mode == "nearest":
        index = _nearest_index(x.shape, axes, nearest_rounding)

        def add(shares: Array) -> Array:
            total = np.zeros(x.shape, shares.dtype)
            np.add.at(total, index, shares)
            return total

        return exact_sums(grad, add)
    unit = _unit_roundoff(x)
    return exact_weighted_sums(grad, _axis_weights(axes, mode, cubic_a, unit), transposed=True, unit=unit)


def _check_cubic(cubic_a: float) -> None:
    if isinstance(cubic_a, (bool, np.bool_)) or not isinstance(cubic_a, (int, float, np.integer, np.floating)):
        raise TypeError(f"cubic_a {cubic_a!r} must be a number")
    if cubic_a not in CUBIC_PARAMETERS:
        raise ValueError(f"cubic_a {cubic_a!r} must be one of {', '.join(map(str, CUBIC_PARAMETERS))}")


def _unit_roundoff(x: Array) -> float:
    return 2.0**-53 if x.dtype == np.float64 else 2.0**-24


def _nearest_index(shape: tuple[int, ...], axes: Sequence[ResampledAxis], rule: str) -> tuple[Array, ...]:
    """Return the index of the cell of x that each output cell copies."""
    return np.ix_(*map(np.arange, shape[:2]), *(axis.nearest(rule) for axis in axes))


def _axis_weights(axes: Sequence[ResampledAxis], mode: str, cubic_a: float, unit: float) -> list[AxisWeights]:
    kernel = InterpolationKernel.of(mode, cubic_a)
    return [AxisWeights.of(axis, kernel, is_clamped=mode == "linear", unit=unit) for axis in axes]
