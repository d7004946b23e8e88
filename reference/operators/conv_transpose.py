"""Transposed convolution."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    FLOAT_DTYPES,
    Array,
    PaddingArgument,
    PerAxis,
    check_dtype,
    check_image,
    check_plane_size,
    integers_per_axis,
    parse_integer,
)
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.sums import exact_products
from reference.geometry.adjoints import input_gradient
from reference.geometry.windows import Windows, explicit_padding, is_same_padding
from reference.operators.convolution import CONVOLUTION_DTYPES, check_axes, check_bias
from reference.registry import operator


@operator
def conv_transpose(
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    output_padding: PerAxis = 0,
) -> Exact:
    """Sum of each cell's products with its kernel, laid where conv takes its window from, plus bias.

    The adjoint of conv, which takes the output here to the input here with the same parameters. x: (n, c, *spatial),
    no extent 0; kernel: (c, out / groups, *window), conv's own (there c are the output channels); bias: (out,); all
    of one dtype, floating or integer. Integers wrap. A product 0 · inf is NaN; nothing else gives a product.
    padding: number of cells removed from both ends of the output, or added if negative; "valid" is 0,
    "same_upper" and "same_lower" give spatial · stride. output_padding: cells added at the end of each axis, fewer
    than the stride or the dilation. Returns (n, out, *output), without padding words
    output = (spatial − 1) · stride + dilation · (window − 1) + 1 − before − after + output_padding.
    n counts the products, and the bias. Raises ValueError if shapes do not fit or the output is less than empty,
    TypeError for dtypes. Source: ONNX ConvTranspose-22, https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
    """
    x = check_image(x, CONVOLUTION_DTYPES)
    kernel, biases, groups = check_transposed_operands(x, kernel, bias, groups)
    windows = transposed_windows(x, kernel, stride, padding, dilation, output_padding)
    ones = np.ones(1, x.dtype)

    def multiply(cells: Array, weights: Array) -> Array:
        total = input_gradient(
            cells[: x.size].reshape(x.shape), weights[: kernel.size].reshape(kernel.shape), windows, groups
        )
        if biases:
            total += (weights[kernel.size :] * cells[x.size]).reshape(-1, *(1,) * len(windows.size))
        return total

    cells, weights = np.concatenate([x.ravel(), ones]), np.concatenate([kernel.ravel(), *biases])
    if x.dtype in FLOAT_DTYPES:
        return exact_products(cells, weights, multiply)
    terms = windows.coverage() * (kernel.shape[0] // groups) + len(biases)
    return selection_result(multiply(cells, weights), terms)


def check_transposed_operands(
    x: Array, kernel: npt.ArrayLike, bias: npt.ArrayLike | None, groups: int
) -> tuple[Array, list[Array], int]:
    """Return the kernel, a list of at most one bias, and the groups. Raise the errors of conv_transpose."""
    kernel = check_dtype("kernel", kernel, (x.dtype,))
    groups = parse_integer("groups", groups, 1)
    check_axes(x, kernel)
    if x.shape[1] % groups:
        raise ValueError(f"groups {groups} does not divide the {x.shape[1]} input channels")
    if kernel.shape[0] != x.shape[1]:
        raise ValueError(f"kernel takes {kernel.shape[0]} channels: x has {x.shape[1]}")
    return kernel, [] if bias is None else [check_bias(bias, kernel, kernel.shape[1] * groups)], groups


def transposed_windows(  # noqa: PLR0917  (the order of conv_transpose)
    x: Array, kernel: Array, stride: PerAxis, padding: PaddingArgument, dilation: PerAxis, output_padding: PerAxis
) -> Windows:
    """Return the windows that conv walks over the output of conv_transpose: as many as x has cells."""
    spatial, window, rank = x.shape[2:], kernel.shape[2:], x.ndim - 2
    if 0 in spatial:
        raise ValueError(f"x has shape {x.shape}: every spatial extent must be at least 1")
    stride, dilation = integers_per_axis("stride", stride, rank, 1), integers_per_axis("dilation", dilation, rank, 1)
    further = _parse_output_padding(output_padding, stride, dilation)
    if is_same_padding(padding):
        if any(further):
            raise ValueError(f"output_padding {output_padding!r} has no place beside padding {padding!r}")
        whole = [n * s for n, s in zip(spatial, stride, strict=True)]
        check_plane_size(f"stride {stride}: output", whole)
        return Windows.of(whole, window, stride, padding, dilation, called="kernel")
    pads = explicit_padding(padding, rank)
    whole = [(n - 1) * s + d * (w - 1) + 1 for n, s, d, w in zip(spatial, stride, dilation, window, strict=True)]
    for axis, (extent, ends, more) in enumerate(zip(whole, pads, further, strict=True)):
        if extent + more < sum(ends):
            raise ValueError(f"padding {ends} takes more than the output {extent + more} on axis {axis}")
    size = tuple(extent + more - sum(ends) for extent, ends, more in zip(whole, pads, further, strict=True))
    check_plane_size(f"stride {stride}, dilation {dilation}: output", size)
    walked = tuple((before, after - more) for (before, after), more in zip(pads, further, strict=True))
    return Windows(size, window, stride, walked, dilation, "floor")


def _parse_output_padding(value: PerAxis, stride: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    further = integers_per_axis("output_padding", value, len(stride), 0)
    for axis, (more, *limits) in enumerate(zip(further, stride, dilation, strict=True)):
        if more >= max(limits):
            raise ValueError(
                f"output_padding {more} on axis {axis} must be less than the stride {limits[0]} or dilation {limits[1]}"
            )
    return further
