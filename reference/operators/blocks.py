"""Depth to space and space to depth: the channels of a cell become a block of cells, and back."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    FLOAT_DTYPES,
    MAX_PARAMETER,
    Array,
    check_choice,
    check_image,
    check_plane_size,
    parse_integer,
)
from reference.arithmetic.exact import Exact, selection_result
from reference.operators.pooling import ORDERED_DTYPES
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

ORDERS = ("dcr", "crd")


@operator
def depth_to_space(x: npt.ArrayLike, block: int, *, order: str = "dcr") -> Exact:
    """Move channels into blocks of cells: block ** axes channels of a cell become a block of as many cells.

    x: (n, c, *spatial) of any dtype, where block ** axes divides c. With C = c / block ** axes, output cell
    block · p + q of channel k, at position q of the block of cell p, is the channel

        dcr  q · C + k                depth-column-row
        crd  k · block ** axes + q    column-row-depth

    of cell p, where q is counted row by row. No value changes. Returns (n, C, *(block · spatial)). Raises ValueError if
    the block is below 1, or if the channels cannot be divided.
    Source: ONNX DepthToSpace-13, https://onnx.ai/onnx/operators/onnx__DepthToSpace.html; one and three axes: OpenVINO
    DepthToSpace-1
    """
    x, block = check_image(x, ORDERED_DTYPES), _check_parameters(block, order)
    return selection_result(_to_space(x, block, order), np.ones((), np.int64))


@operator
def space_to_depth(x: npt.ArrayLike, block: int, *, order: str = "dcr") -> Exact:
    """Move blocks of cells into channels: the inverse of depth_to_space with the same block and order.

    x: (n, c, *spatial) of any dtype, where the block divides every extent. No value changes. Returns
    (n, c · block ** axes, *(spatial / block)). Raises ValueError if the block is below 1, or if an extent cannot be
    divided.
    Source: ONNX SpaceToDepth-13, https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html, whose order is dcr; crd:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.PixelUnshuffle.html
    """
    x, block = check_image(x, ORDERED_DTYPES), _check_parameters(block, order)
    return selection_result(_to_depth(x, block, order), np.ones((), np.int64))


@operator
def depth_to_space_grad(grad: npt.ArrayLike, x: npt.ArrayLike, block: int, *, order: str = "dcr") -> Exact:
    """Move each gradient back to the channel that the cell has been copied from.

    grad: the output's shape, of the dtype of x: (n, c, *spatial), floating; x's values do not matter. Returns
    (n, c, *spatial). Raises ValueError if grad has not the output's shape, or for what depth_to_space refuses.
    Source: depth_to_space is a permutation, so its adjoint is its inverse.
    """
    x, block = check_image(x, FLOAT_DTYPES), _check_parameters(block, order)
    grad = check_gradient(grad, x, _space_shape(x.shape, block))
    return selection_result(_to_depth(grad, block, order), np.ones((), np.int64))


@operator
def space_to_depth_grad(grad: npt.ArrayLike, x: npt.ArrayLike, block: int, *, order: str = "dcr") -> Exact:
    """Move each gradient back to the cell that the channel has been copied from.

    grad: the output's shape, of the dtype of x: (n, c, *spatial), floating; x's values do not matter. Returns
    (n, c, *spatial). Raises ValueError if grad has not the output's shape, or for what space_to_depth refuses.
    Source: space_to_depth is a permutation, so its adjoint is its inverse.
    """
    x, block = check_image(x, FLOAT_DTYPES), _check_parameters(block, order)
    grad = check_gradient(grad, x, _depth_shape(x.shape, block))
    return selection_result(_to_space(grad, block, order), np.ones((), np.int64))


def _check_parameters(block: int, order: str) -> int:
    check_choice("order", order, ORDERS)
    return parse_integer("block", block, 1)


def _space_shape(shape: Sequence[int], block: int) -> tuple[int, ...]:
    """Return the shape of the output of depth_to_space."""
    batch, channels, *extents = shape
    cells = block ** len(extents)
    if channels % cells:
        raise ValueError(f"block {block} needs {cells} channels for each channel of the output: x has {channels}")
    output = [block * extent for extent in extents]
    check_plane_size(f"block {block}: output", output)
    return (batch, channels // cells, *output)


def _depth_shape(shape: Sequence[int], block: int) -> tuple[int, ...]:
    """Return the shape of the output of space_to_depth."""
    batch, channels, *extents = shape
    for axis, extent in enumerate(extents):
        if extent % block:
            raise ValueError(f"block {block} does not divide the extent {extent} of x on axis {axis}")
    output = channels * block ** len(extents)
    if output > MAX_PARAMETER:
        raise ValueError(f"block {block} makes {output} channels: at most {MAX_PARAMETER}")
    return (batch, output, *(extent // block for extent in extents))


def _to_space(x: Array, block: int, order: str) -> Array:
    shape, axes = _space_shape(x.shape, block), x.ndim - 2
    batch, channels = shape[:2]
    blocks = (block,) * axes
    parts = (*blocks, channels) if order == "dcr" else (channels, *blocks)
    # The axes of the channels of the output, and of the positions in the block, among those of x below.
    depth, first = (1 + axes, 1) if order == "dcr" else (1, 2)
    cells = [axis for number in range(axes) for axis in (2 + axes + number, first + number)]
    moved = x.reshape(batch, *parts, *x.shape[2:]).transpose(0, depth, *cells)
    return _copied(moved, shape)


def _to_depth(x: Array, block: int, order: str) -> Array:
    shape, axes = _depth_shape(x.shape, block), x.ndim - 2
    cells = [part for extent in shape[2:] for part in (extent, block)]
    positions, extents = range(3, 3 + 2 * axes, 2), range(2, 2 + 2 * axes, 2)
    depth = (*positions, 1) if order == "dcr" else (1, *positions)
    moved = x.reshape(*x.shape[:2], *cells).transpose(0, *depth, *extents)
    return _copied(moved, shape)


def _copied(moved: Array, shape: Sequence[int]) -> Array:
    """Return a new array of a shape with the cells in this order, never a view of the input."""
    copied: Array = moved.copy().reshape(shape)
    return copied
