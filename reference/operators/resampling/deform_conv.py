"""Deformable convolution: each cell of a window is moved by an offset, and x is interpolated at its new place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    FLOAT_DTYPES,
    Array,
    PaddingArgument,
    PerAxis,
    check_choice,
    check_image,
    parse_integer,
)
from reference.arithmetic.errorfree import to_float64, with_finite_only
from reference.arithmetic.exact import Exact
from reference.arithmetic.rounding import format_of
from reference.arithmetic.sums import as_scaled_integers, finite_signs
from reference.geometry.grids import AxisTaps, combine_taps
from reference.geometry.windows import Windows
from reference.operators.convolution import check_operands
from reference.operators.convolution_grad import bias_grad
from reference.operators.pooling_grad import check_gradient
from reference.operators.resampling.deformed_windows import (
    DEFORMED_PADDING_MODES,
    DeformedWindows,
    check_extents,
    check_mask,
    check_offset,
)
from reference.operators.resampling.tap_sums import tap_sums
from reference.registry import operator

# A term has the factors kernel and mask in addition to a cell and its weight.
FURTHER_FACTORS = 2


@operator
def deform_conv(
    x: npt.ArrayLike,
    offset: npt.ArrayLike,
    kernel: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    offset_groups: int = 1,
    padding_mode: str = "zeros",
) -> Exact:
    """Sum of products of the kernel with x interpolated at the moved cells of each window, plus bias.

    x: (n, c, *spatial), floating, extents from 1 to 65,536; kernel: (out, c / groups, *window); bias: (out,), of the
    dtype of x. offset: (n, offset_groups · cells · axes, *output), floating and finite: for each group of channels and
    each cell of the window, row-major, the number that is added to its coordinate on each axis of x. mask:
    (n, offset_groups · cells, *output), of the dtype of x: factors of the interpolated values, 1 if not given.
    Interpolation is linear. padding_mode: cells outside x are 0 (zeros), or points outside of [0, extent) have the
    value 0 and the last cell of an axis is repeated (inside). Returns (n, out, *output), in the dtype of x.
    A cell with weight 0 is not read. An interpolated value is a factor also if it is 0, so 0 · inf is NaN. Raises
    ValueError for bad parameters, TypeError for dtypes. Sources: ONNX DeformConv-22,
    https://onnx.ai/onnx/operators/onnx__DeformConv.html; for inside mxnet.nd.contrib.DeformableConvolution of MXNet
    1.9.1, and OpenVINO 2026.4.1 with bilinear_interpolation_pad=False.
    """
    call = _Deformed.of(x, offset, kernel, mask, bias, stride, padding, dilation, groups, offset_groups, padding_mode)
    return call.value()


@operator
def deform_conv_grad(  # noqa: PLR0917 - the inputs of the operator
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    offset: npt.ArrayLike,
    kernel: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    offset_groups: int = 1,
    padding_mode: str = "zeros",
) -> tuple[Exact, ...]:
    """Return the gradients of deform_conv with respect to x, offset, kernel, mask and bias.

    grad: (n, out, *output), of the dtype of x. Other parameters as in deform_conv. Returns arrays of the shapes and
    dtypes of x, offset, kernel, mask and bias; for a mask or a bias that is not given, the derivative with respect to
    ones or zeros. The derivative with respect to an offset is the one on the side of larger coordinates; where rounding
    may move a coordinate to the other side, the bound includes both. Raises ValueError if grad has not the output's
    shape, or for what deform_conv rejects. Source: the derivative of ONNX DeformConv-22,
    https://onnx.ai/onnx/operators/onnx__DeformConv.html
    """
    call = _Deformed.of(x, offset, kernel, mask, bias, stride, padding, dilation, groups, offset_groups, padding_mode)
    grad = check_gradient(grad, call.x, call.output)
    return (
        call.gradient_of_x(grad),
        call.gradient_of_offset(grad, np.asarray(offset)),
        call.gradient_of_kernel(grad),
        call.gradient_of_mask(grad),
        bias_grad(grad),
    )


@dataclass(frozen=True, eq=False)
class _Deformed:
    """A checked call: the operands, the points, and the shape of the output."""

    x: Array
    kernel: Array
    mask: Array
    biases: list[Array]
    groups: int
    points: DeformedWindows
    output: tuple[int, ...]

    @classmethod
    def of(  # noqa: PLR0917 - the parameters of the operator
        cls,
        x: npt.ArrayLike,
        offset: npt.ArrayLike,
        kernel: npt.ArrayLike,
        mask: npt.ArrayLike | None,
        bias: npt.ArrayLike | None,
        stride: PerAxis,
        padding: PaddingArgument,
        dilation: PerAxis,
        groups: int,
        offset_groups: int,
        padding_mode: str,
    ) -> _Deformed:
        check_choice("padding_mode", padding_mode, DEFORMED_PADDING_MODES)
        x = check_image(x, FLOAT_DTYPES)
        check_extents(x)
        kernel, biases, groups = check_operands(x, kernel, bias, groups)
        offset_groups = parse_integer("offset_groups", offset_groups, 1)
        if x.shape[1] % offset_groups:
            raise ValueError(f"offset_groups {offset_groups} does not divide the {x.shape[1]} input channels")
        windows = Windows.of(x.shape[2:], kernel.shape[2:], stride, padding, dilation, called="kernel")
        numbers = check_offset(offset, x, windows, offset_groups)
        unit = 2.0**-53 if x.dtype == np.float64 else 2.0**-24
        # Coordinates may be computed in the dtype of x, or rounded to that of the offset.
        coarse = max(unit, format_of(x.dtype).unit_roundoff)
        points = DeformedWindows(x.shape, windows, numbers, padding_mode, unit, coarse)
        output = (len(x), kernel.shape[0], *windows.output)
        return cls(x, kernel, check_mask(mask, x, windows, offset_groups), biases, groups, points, output)

    @property
    def taps(self) -> list[AxisTaps]:
        """The cells that each point reads, and their weights."""
        return self.points.value_taps

    @property
    def tap_count(self) -> int:
        """The number of cells that a point reads."""
        return 1 << len(self.points.windows.size)

    @property
    def channels_per_group(self) -> int:
        """The number of channels with the same offsets."""
        return int(self.x.shape[1]) // self.points.groups

    @property
    def outputs_per_group(self) -> int:
        """The number of output channels that read a channel of x."""
        return int(self.kernel.shape[0]) // self.groups

    def terms(self, shape: tuple[int, ...], number: int) -> Array:
        """Return the number of terms of each element of a result."""
        return np.full(shape, number * self.tap_count + FURTHER_FACTORS, np.int64)

    def multiply(self, kernel: Array, columns: Array) -> Array:
        """Multiply the kernel with numbers at the points of each window, (n, c, cells, windows)."""
        n, cells, windows = len(columns), self.points.cells, self.points.count
        per_group = self.kernel.shape[1] * cells
        matrix = kernel.reshape(self.groups, self.outputs_per_group, per_group)
        product: Array = np.matmul(matrix, columns.reshape(n, self.groups, per_group, windows))
        return product.reshape(self.output)

    def transposed(self, kernel: Array, grad: Array) -> Array:
        """Multiply the transposed kernel with the gradient of each window, to (n, c, cells, windows)."""
        n, cells, windows = len(grad), self.points.cells, self.points.count
        matrix = kernel.reshape(self.groups, self.outputs_per_group, self.kernel.shape[1] * cells)
        gradients = grad.reshape(n, self.groups, self.outputs_per_group, windows)
        product: Array = np.matmul(matrix.transpose(0, 2, 1), gradients)
        return product.reshape(n, self.x.shape[1], cells, windows)

    def correlated(self, grad: Array, columns: Array) -> Array:
        """Add the products of gradient and numbers at the points over images and windows, to the kernel's shape."""
        n, cells, windows = len(grad), self.points.cells, self.points.count
        gradients = grad.reshape(n, self.groups, self.outputs_per_group, windows)
        numbers = columns.reshape(n, self.groups, self.kernel.shape[1] * cells, windows)
        product: Array = np.matmul(gradients, numbers.transpose(0, 1, 3, 2)).sum(axis=0)
        return product.reshape(self.kernel.shape)

    def over_channels(self, columns: Array) -> Array:
        """Add numbers (n, c, cells, windows) over the channels of each offset group."""
        total: Array = self.points.by_group(columns).sum(axis=2)
        return total

    def value(self) -> Exact:
        """Return the result of the operator."""
        points = self.points

        def special() -> Array:
            columns = points.sample_signs(to_float64(self.x), self.taps)
            return self.multiply(_signs(self.kernel), points.masked(columns, _signs(self.mask)))

        terms = self.terms(self.output, self.kernel.shape[1] * points.cells) + len(self.biases)
        shape = (-1, *(1,) * len(points.windows.size))
        added = sum((to_float64(bias).reshape(shape) for bias in self.biases), np.zeros(self.output))
        return tap_sums(
            [self.x, self.kernel, self.mask],
            [self.taps],
            lambda arrays, maps: self.multiply(arrays[1], points.masked(points.sample(arrays[0], maps[0]), arrays[2])),
            terms, dtype=self.x.dtype, unit=points.unit, special=special, added=added,
        )  # fmt: skip

    def gradient_of_x(self, grad: Array) -> Exact:
        """Each cell collects the gradients of the points around it."""
        points = self.points

        def special() -> Array:
            numbers = points.masked(self.gradient_signs(grad), _signs(self.mask))
            cells, numerators = points.combined(self.taps)
            return points.scatter(numbers, (cells, np.sign(numerators.astype(np.float64))))

        # A kernel with rounded coordinates may add to any near cell.
        sizes = [one.size for one in self.taps]
        near = combine_taps(sizes, [(one.near, (one.errors > 0).astype(np.int64)) for one in self.taps])
        ones = np.full((*self.x.shape[:2], points.cells, points.count), self.outputs_per_group)
        terms = points.scatter(ones, near) + FURTHER_FACTORS
        return tap_sums(
            [grad, self.kernel, self.mask],
            [self.taps],
            lambda arrays, maps: points.scatter(
                points.masked(self.transposed(arrays[1], arrays[0]), arrays[2]), maps[0]
            ),
            terms, dtype=self.x.dtype, unit=points.unit, special=special,
        )  # fmt: skip

    def gradient_of_mask(self, grad: Array) -> Exact:
        """Each factor has the gradient of its point, times the interpolated value, added over channels."""
        points = self.points

        def special() -> Array:
            columns = points.sample_signs(to_float64(self.x), self.taps)
            return self.over_channels(self.gradient_signs(grad) * columns).reshape(self.mask.shape)

        def apply(arrays: Sequence[Array], maps: Sequence[tuple[Array, Array]]) -> Array:
            columns = points.sample(arrays[2], maps[0])
            return self.over_channels(self.transposed(arrays[1], arrays[0]) * columns).reshape(self.mask.shape)

        terms = self.terms(self.mask.shape, self.channels_per_group * self.outputs_per_group)
        return tap_sums(
            [grad, self.kernel, self.x],
            [self.taps],
            apply,
            terms,
            dtype=self.x.dtype,
            unit=points.unit,
            special=special,
        )

    def gradient_of_kernel(self, grad: Array) -> Exact:
        """Each weight has the gradients times the interpolated values, added over images and windows."""
        points = self.points

        def special() -> Array:
            columns = points.sample_signs(to_float64(self.x), self.taps)
            return self.correlated(_signs(grad), points.masked(columns, _signs(self.mask)))

        terms = self.terms(self.kernel.shape, len(self.x) * points.count)
        return tap_sums(
            [grad, self.x, self.mask],
            [self.taps],
            lambda arrays, maps: self.correlated(
                arrays[0], points.masked(points.sample(arrays[1], maps[0]), arrays[2])
            ),
            terms, dtype=self.x.dtype, unit=points.unit, special=special,
        )  # fmt: skip

    def gradient_of_offset(self, grad: Array, offset: Array) -> Exact:
        """Each offset has the gradient of its point, times the slope of the interpolation, added over channels."""
        points = self.points
        components = [points.slope_taps(axis) for axis in range(len(points.windows.size))]

        def together(parts: Sequence[Array]) -> Array:
            return np.stack([self.over_channels(part) for part in parts], axis=3).reshape(offset.shape)

        def special() -> Array:
            numbers = points.masked(self.gradient_signs(grad), _signs(self.mask))
            return together([numbers * points.sample_signs(to_float64(self.x), taps) for taps in components])

        def apply(arrays: Sequence[Array], maps: Sequence[tuple[Array, Array]]) -> Array:
            numbers = points.masked(self.transposed(arrays[1], arrays[0]), arrays[2])
            return together([numbers * points.sample(arrays[3], one) for one in maps])

        terms = self.terms(offset.shape, self.channels_per_group * self.outputs_per_group) + 1
        return tap_sums(
            [grad, self.kernel, self.mask, self.x],
            components, apply, terms, dtype=offset.dtype, unit=points.unit, special=special,
        )  # fmt: skip

    def gradient_signs(self, grad: Array) -> Array:
        """Return the signs of transposed(), or what is not finite in it."""
        signs = self.transposed(_signs(self.kernel), _signs(grad))
        integers = [as_scaled_integers(with_finite_only(to_float64(one))) for one in (self.kernel, grad)]
        return np.where(np.isfinite(signs), np.sign(self.transposed(*integers)).astype(np.float64), signs)


def _signs(array: Array) -> Array:
    return finite_signs(to_float64(array))
