"""Convolution, in the field's sense: the kernel is not turned round."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    Array,
    DType,
    PaddingArgument,
    PerAxis,
    check_dtype,
    check_image,
    parse_integer,
)
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.certainty import is_certainty_checked
from reference.arithmetic.errorfree import (
    FLOAT64_DIGITS,
    MAX_SAFE_EXPONENT,
    UNDERFLOW_ERROR,
    FloatPair,
    add_parts,
    all_finite,
    exact_sum,
    magnitude_exponent,
    split_into_slices,
    to_float64,
    with_finite_only,
    zero_array,
)
from reference.arithmetic.exact import Exact, UnroundedResult, as_if_exact, round_in_blocks, selection_result
from reference.arithmetic.rounding import Position, Positions
from reference.arithmetic.sums import MIN_EXPONENT, finite_signs, smallest_exponent
from reference.geometry.blocks import Block, split_into_blocks
from reference.geometry.columns import window_columns
from reference.geometry.windows import Windows, all_planes_index
from reference.registry import operator

CONVOLUTION_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES)

# Slices per factor. An uncertain element is recomputed, so the number affects only the speed.
MAX_CONVOLUTION_SLICES = 6

# Maximum number of uncertain elements of a block that are recomputed one by one; if there are more, all are recomputed
# in slices.
MAX_SCALAR_ELEMENTS = 100

# Bytes counted for one cell of a column and of the output, to choose the size of a block. A cell of a column has 8
# bytes but counts less, because products of matrices are faster with long rows.
COLUMN_BYTES_PER_CELL = 1
OUTPUT_BYTES_PER_CELL = 8


@operator
def conv(
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Exact:
    """Sum of products of each window with each kernel, plus bias.

    x: (n, c, *spatial); kernel: (out, c / groups, *window); bias: (out,); all of one dtype, floating or integer.
    Integers wrap. A product 0 · inf is NaN; padding takes no part in any product. Returns (n, out, *output).
    Raises ValueError if shapes do not fit or the kernel exceeds the padded input, TypeError for dtypes.
    Source: ONNX Conv-22, https://onnx.ai/onnx/operators/onnx__Conv.html
    """
    x = check_image(x, CONVOLUTION_DTYPES)
    kernel, biases, groups = check_operands(x, kernel, bias, groups)
    windows = Windows.of(x.shape[2:], kernel.shape[2:], stride, padding, dilation, called="kernel")
    terms = windows.counts(False) * kernel.shape[1] + len(biases)
    if x.dtype in FLOAT_DTYPES:
        return _convolve_floats([x, kernel, *biases], windows, groups, terms)
    return selection_result(_add_bias(correlate(x, kernel, windows, groups), biases), terms)


def check_operands(
    x: Array, kernel: npt.ArrayLike, bias: npt.ArrayLike | None, groups: int
) -> tuple[Array, list[Array], int]:
    """Return the kernel, a list of at most one bias, and the groups. Raise the errors of conv."""
    kernel = check_dtype("kernel", kernel, (x.dtype,))
    groups = parse_integer("groups", groups, 1)
    _check_kernel(x, kernel, groups)
    return kernel, [] if bias is None else [check_bias(bias, kernel, kernel.shape[0])], groups


def _check_kernel(x: Array, kernel: Array, groups: int) -> None:
    check_axes(x, kernel)
    for name, channels in (("input", x.shape[1]), ("output", kernel.shape[0])):
        if channels % groups:
            raise ValueError(f"groups {groups} does not divide the {channels} {name} channels")
    if kernel.shape[1] != x.shape[1] // groups:
        raise ValueError(f"kernel takes {kernel.shape[1]} channels: x has {x.shape[1]} in {groups} groups")


def check_axes(x: Array, kernel: Array) -> None:
    """Raise ValueError unless the kernel has the axes of x and a window."""
    if kernel.ndim != x.ndim:
        raise ValueError(f"kernel has {kernel.ndim} axes {kernel.shape}: x has {x.ndim} {x.shape}")
    if 0 in kernel.shape[2:]:
        raise ValueError(f"kernel has shape {kernel.shape}: its window must be at least 1 on every axis")


def check_bias(bias: npt.ArrayLike, kernel: Array, out: int) -> Array:
    """Return the bias as an array (out,) of the kernel's dtype; raise ValueError or TypeError for anything else."""
    bias = check_dtype("bias", bias, (kernel.dtype,))
    if bias.shape != (out,):
        raise ValueError(f"bias has shape {bias.shape}: expected ({out},), one per output channel")
    return bias


def _add_bias(total: Array, biases: Sequence[Array]) -> Array:
    """Add a list of at most one (out,) bias to (n, out, *output)."""
    return sum((bias.reshape(-1, *(1,) * (total.ndim - 2)) for bias in biases), total)


def correlate(x: Array, kernel: Array, windows: Windows, groups: int) -> Array:
    """Convolve without any care for rounding: for integers, and for floats where every order gives the same sum.

    x: (n, c, *spatial), kernel: (out, c / groups, *window), one dtype. Returns (n, out, *output) of that dtype.
    """
    n, out = x.shape[0], kernel.shape[0]
    x = x.reshape(n, groups, x.shape[1] // groups, *windows.size)
    kernel = kernel.reshape(groups, out // groups, *kernel.shape[1:])
    total = np.zeros((n, groups, out // groups, *windows.output), x.dtype)
    for offsets, inputs, outputs in windows.cells():
        patch, target = x[all_planes_index(inputs)], total[all_planes_index(outputs)]
        flat = patch.reshape(*patch.shape[:3], math.prod(patch.shape[3:]))
        product = np.matmul(kernel[all_planes_index(offsets)], flat)
        target += product.reshape(target.shape)
    return total.reshape(n, out, *windows.output)


@dataclass(frozen=True, eq=False)
class _FloatConvolution:
    """The operands of a floating convolution other than x, in float64.

    kernel: (groups, out / groups, c / groups, *window); bias: (out, 1, …), 0 without a bias; terms: the largest
    number of terms; dtype: that of x.
    """

    kernel: Array
    bias: Array
    terms: int
    dtype: DType

    @property
    def groups(self) -> int:
        return int(self.kernel.shape[0])

    @cached_property
    def finite(self) -> bool:
        """Whether all is finite here."""
        return all_finite(self.kernel) and all_finite(self.bias)

    @cached_property
    def finite_operands(self) -> _FloatConvolution:
        """A copy with 0 for every number that is not finite."""
        return (
            self
            if self.finite
            else replace(self, kernel=with_finite_only(self.kernel), bias=with_finite_only(self.bias))
        )

    @property
    def slice_width(self) -> int:
        """Digits of a slice: so few that any order of adding products of two slices is exact."""
        return (FLOAT64_DIGITS - self.terms.bit_length()) // 2

    @cached_property
    def kernel_slices(self) -> tuple[list[Array], float]:
        """Slices of the kernel, and a bound on what they leave."""
        return split_into_slices(self.kernel, self.slice_width, MAX_CONVOLUTION_SLICES)

    def multiply(self, kernel: Array, columns: Array, windows: Windows) -> Array:
        """Multiply (groups, out / groups, …) with columns, to (n, out, *output)."""
        matrix = kernel.reshape(*kernel.shape[:2], math.prod(kernel.shape[2:]))
        out = kernel.shape[0] * kernel.shape[1]
        product: Array = np.matmul(matrix, columns)
        return product.reshape(columns.shape[0], out, *windows.output)

    def convolve_block(self, x: Array, windows: Windows, terms: Array) -> UnroundedResult:
        """Convolve a block x: (n, c, *spatial)."""
        wide = to_float64(x)
        if not is_certainty_checked():
            return self._convolve_unchecked(wide, windows)
        special = None
        with np.errstate(all="ignore"):
            if not (self.finite and all_finite(wide)):
                kernel_signs = finite_signs(self.kernel).reshape(-1, *self.kernel.shape[2:])
                special = correlate(finite_signs(wide), kernel_signs, windows, self.groups) + finite_signs(self.bias)
                wide = with_finite_only(wide)
            finite = self.finite_operands
            return finite._convolve_float64(wide, windows, terms, special) or finite._convolve_slices(
                wide, windows, terms, special
            )

    def _convolve_unchecked(self, wide: Array, windows: Windows) -> UnroundedResult:
        if not (self.finite and all_finite(wide)):
            kernel = self.kernel.reshape(-1, *self.kernel.shape[2:])
            return as_if_exact(correlate(wide, kernel, windows, self.groups) + self.bias)
        total = self.multiply(self.kernel, window_columns(wide, windows, self.groups), windows)
        total += self.bias
        return as_if_exact(total)

    def _convolve_float64(
        self, wide: Array, windows: Windows, terms: Array, special: Array | None
    ) -> UnroundedResult | None:
        """Add in float64, where that is enough for most elements: products of two narrower numbers are exact there."""
        if self.dtype == np.float64:
            return None
        cells = window_columns(wide, windows, self.groups)
        total, sizes = self.multiply(self.kernel, cells, windows), self._absolute_sums(cells, windows, terms)
        total += self.bias
        # An addition is off by 2**-53 of the sum, and no term passes through more of them than there are terms.
        pair = FloatPair(total, zero_array(total.shape), sizes * (self.terms * 2.0**-53))

        def closer(where: Positions) -> FloatPair:
            if len(where[0]) > MAX_SCALAR_ELEMENTS:
                return self._convolve_pair(wide, windows).at(where)
            return pair.at(where)

        return UnroundedResult(pair, self._exact_window_sum(wide, windows), special, lambda: sizes, refine=closer)

    def _convolve_slices(self, wide: Array, windows: Windows, terms: Array, special: Array | None) -> UnroundedResult:
        def magnitude() -> Array:
            return self._absolute_sums(window_columns(wide, windows, self.groups), windows, terms)

        return UnroundedResult(
            self._convolve_pair(wide, windows), self._exact_window_sum(wide, windows), special, magnitude
        )

    def _absolute_sums(self, cells: Array, windows: Windows, terms: Array) -> Array:
        """Return S of windows laid side by side."""
        with np.errstate(over="ignore"):
            sizes = self.multiply(np.abs(self.kernel), np.abs(cells), windows)
            sizes += np.abs(self.bias)
            sizes *= ROUNDING_SLACK + terms * 2.0**-52
        return sizes

    def _convolve_pair(self, x: Array, windows: Windows) -> FloatPair:
        """Add exactly: cut both factors into slices short enough that any order of any multiplication is exact."""
        shape = (x.shape[0], self.bias.shape[0], *windows.output)
        exponent, kernel_exponent, biases = (magnitude_exponent(part) or 0 for part in (x, self.kernel, self.bias))
        if max(exponent, kernel_exponent, exponent + kernel_exponent, biases) > MAX_SAFE_EXPONENT:
            return add_parts([], shape, np.inf)
        slices, left = split_into_slices(x, self.slice_width, MAX_CONVOLUTION_SLICES)
        kernel_slices, kernel_left = self.kernel_slices
        cells = [window_columns(part, windows, self.groups) for part in slices]
        parts = [self.multiply(b, a, windows) for a in cells for b in kernel_slices]
        lost = left * 2.0**kernel_exponent + kernel_left * 2.0**exponent
        if smallest_exponent(x) + smallest_exponent(self.kernel) < MIN_EXPONENT:
            lost += len(parts) * UNDERFLOW_ERROR
        bias = [np.broadcast_to(self.bias, shape)] if self.bias.any() else []
        return add_parts([*parts, *bias], shape, self.terms * lost)

    def _exact_window_sum(self, x: Array, windows: Windows) -> Callable[[Position], Fraction]:
        """Return a function that adds up one window in rational arithmetic."""

        def exactly(position: Position) -> Fraction:
            n, out, *spatial = position
            cells, inputs = windows.inside(spatial)
            group, number = divmod(out, self.kernel.shape[1])
            channels = self.kernel.shape[2]
            planes, weights = x[n, group * channels : (group + 1) * channels], self.kernel[group, number]
            values, weights, bias = (
                planes[all_planes_index(inputs)],
                weights[all_planes_index(cells)],
                self.bias[out].item(),
            )
            if self.dtype != np.float64:
                return exact_sum([*(values * weights).ravel().tolist(), bias])
            pairs = zip(values.ravel().tolist(), weights.ravel().tolist(), strict=True)
            return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(bias))

        return exactly


def _convolve_floats(operands: Sequence[Array], windows: Windows, groups: int, terms: Array) -> Exact:
    """Convolve floats: x, kernel and perhaps a bias."""
    x, kernel, *biases = operands
    n, out = x.shape[0], kernel.shape[0]
    # + 0 turns −0 into +0: a zero sum is +0.
    bias = to_float64(biases[0]) + 0.0 if biases else np.zeros(out)
    sums = _FloatConvolution(
        to_float64(kernel).reshape(groups, out // groups, *kernel.shape[1:]),
        bias.reshape(out, *(1,) * len(windows.size)),
        int(terms.max(initial=1)),
        x.dtype,
    )
    # A cell costs its column, and what becomes of it.
    cost = COLUMN_BYTES_PER_CELL * x.shape[1] * math.prod(windows.window) + OUTPUT_BYTES_PER_CELL * (out + 1)

    def compute(block: Block) -> UnroundedResult:
        images, _, *spatial = block.inputs
        cells = (images, slice(None), *spatial)
        return sums.convolve_block(x[cells], cast(Windows, block.walk), terms[block.outputs[2:]])

    def cut_blocks() -> Iterator[Block]:
        for block in split_into_blocks((n, 1), windows, cost):
            images, _, *spatial = block.outputs
            yield replace(block, outputs=(images, slice(None), *spatial))

    return round_in_blocks((n, out, *windows.output), x.dtype, cut_blocks, compute, terms)
