"""Unfold and fold: each window becomes a column of channels (im2col), and columns are added to windows (col2im)."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    MAX_PARAMETER,
    Array,
    PaddingArgument,
    PerAxis,
    check_choice,
    check_image,
    integers_per_axis,
)
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.sums import exact_sums
from reference.geometry.windows import Windows, all_planes_index
from reference.operators.blocks import ORDERS
from reference.operators.pooling import ORDERED_DTYPES
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

SUMMED_DTYPES = FLOAT_DTYPES + INTEGER_DTYPES


@operator
def unfold(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    order: str = "crd",
) -> Exact:
    """Copy the cells of each window to the channels of one cell (im2col). Padding is 0.

    x: (n, c, *spatial) of any dtype. With k cells in a window, the cell q of the window, counted row by row, in channel
    i of x is copied to the channel

        crd  i · k + q    all cells of the first channel, then of the second one
        dcr  q · c + i    the first cell of every channel, then the second one

    Returns (n, c · k, *output), see Windows. Raises ValueError if the window exceeds the padded input.
    Sources: crd: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Unfold.html, whose output has one axis for all
    windows; dcr: https://www.tensorflow.org/api_docs/python/tf/image/extract_patches
    """
    x, order = check_image(x, ORDERED_DTYPES), check_choice("order", order, ORDERS)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation)
    return selection_result(_to_columns(x, windows, order), np.ones((), np.int64))


@operator
def unfold_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    order: str = "crd",
) -> Exact:
    """Add the gradients of all copies of each cell; those of padding are lost.

    grad: (n, c · k, *output), of the dtype of x: (n, c, *spatial), floating; x's values do not matter. Returns
    (n, c, *spatial). n: the copies. Raises ValueError if grad has not the output's shape, or for what unfold refuses.
    Source: the adjoint of unfold, which is fold
    """
    x, order = check_image(x, FLOAT_DTYPES), check_choice("order", order, ORDERS)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation)
    grad = check_gradient(grad, x, _column_shape(x.shape, windows))
    return exact_sums(grad, lambda columns: _add_columns(columns, windows, order))


@operator
def fold(
    x: npt.ArrayLike,
    output_size: PerAxis,
    window: PerAxis,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    order: str = "crd",
) -> Exact:
    """Add the channels of each cell to the cells of a window (col2im). Windows that overlap are added.

    x: (n, c · k, *windows), floating or integers, with k cells in a window: the columns that unfold makes of an input
    (n, c, *output_size) with the same parameters, see unfold for the orders. Cells of padding are lost, and cells of no
    window are 0. Integers wrap. Returns (n, c, *output_size). n: the windows that contain the cell. Raises ValueError
    if the cells of a window do not divide the channels, if the spatial extents of x are not the numbers of windows, or
    if the window exceeds the padded output.
    Sources: crd: ONNX Col2Im-18, https://onnx.ai/onnx/operators/onnx__Col2Im.html, whose input has one axis for all
    windows; https://docs.pytorch.org/docs/2.13/generated/torch.nn.Fold.html
    """
    x, order = check_image(x, SUMMED_DTYPES), check_choice("order", order, ORDERS)
    windows = _output_windows(x, output_size, window, stride, padding, dilation)
    if x.dtype in FLOAT_DTYPES:
        return exact_sums(x, lambda columns: _add_columns(columns, windows, order))
    with np.errstate(over="ignore"):
        return selection_result(_add_columns(x, windows, order), windows.coverage())


@operator
def fold_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    output_size: PerAxis,
    window: PerAxis,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    order: str = "crd",
) -> Exact:
    """Copy the gradient of each cell to the channels that were added to it; channels added to padding get 0.

    grad: (n, c, *output_size), of the dtype of x: (n, c · k, *windows), floating; x's values do not matter. Returns
    (n, c · k, *windows). Raises ValueError if grad has not the output's shape, or for what fold refuses.
    Source: the adjoint of fold, which is unfold
    """
    x, order = check_image(x, FLOAT_DTYPES), check_choice("order", order, ORDERS)
    windows = _output_windows(x, output_size, window, stride, padding, dilation)
    grad = check_gradient(grad, x, (x.shape[0], x.shape[1] // math.prod(windows.window), *windows.size))
    return selection_result(_to_columns(grad, windows, order), np.ones((), np.int64))


def _output_windows(  # noqa: PLR0917  (the order of the operator)
    x: Array, output_size: PerAxis, window: PerAxis, stride: PerAxis, padding: PaddingArgument, dilation: PerAxis
) -> Windows:
    """Return the windows of the output of fold. Raises ValueError if x is not their columns."""
    size = integers_per_axis("output_size", output_size, x.ndim - 2, 0)
    windows = Windows.of(size, window, stride, padding, dilation)
    cells = math.prod(windows.window)
    if x.shape[1] % cells:
        raise ValueError(f"window {windows.window} has {cells} cells, which do not divide the channels {x.shape[1]}")
    if x.shape[2:] != windows.output:
        raise ValueError(f"x has extents {x.shape[2:]}: output_size {size} has {windows.output} windows")
    return windows


def _column_shape(shape: Sequence[int], windows: Windows) -> tuple[int, ...]:
    """Return the shape of the output of unfold."""
    channels = shape[1] * math.prod(windows.window)
    if channels > MAX_PARAMETER:
        raise ValueError(f"window {windows.window} makes {channels} channels: at most {MAX_PARAMETER}")
    return (shape[0], channels, *windows.output)


def _to_columns(x: Array, windows: Windows, order: str) -> Array:
    """Return (n, c · k, *windows), the cells of each window as channels."""
    shape = _column_shape(x.shape, windows)
    columns = np.zeros(shape, x.dtype)
    cells = _by_cell(columns, x.shape[1], windows, order)
    for offset, inputs, outputs in windows.cells():
        cells[all_planes_index((*offset, *outputs))] = x[all_planes_index(inputs)]
    return columns


def _add_columns(columns: Array, windows: Windows, order: str) -> Array:
    """Return (n, c, *size), the channels of each cell added to the cells of its window."""
    channels = columns.shape[1] // math.prod(windows.window)
    total = np.zeros((columns.shape[0], channels, *windows.size), columns.dtype)
    cells = _by_cell(columns, channels, windows, order)
    for offset, inputs, outputs in windows.cells():
        total[all_planes_index(inputs)] += cells[all_planes_index((*offset, *outputs))]
    return total


def _by_cell(columns: Array, channels: int, windows: Windows, order: str) -> Array:
    """Return columns as a view (n, c, *window, *windows)."""
    batch, axes = columns.shape[0], len(windows.window)
    parts = (*windows.window, channels) if order == "dcr" else (channels, *windows.window)
    view = columns.reshape(batch, *parts, *windows.output)
    return np.moveaxis(view, 1 + axes, 1) if order == "dcr" else view
