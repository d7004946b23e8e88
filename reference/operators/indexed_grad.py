"""Gradients along indices: each output cell is a copy of at most one input cell."""

import math

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_image
from reference.arithmetic.exact import Exact, selection_result
from reference.arithmetic.ordering import with_canonical_nan
from reference.arithmetic.sums import exact_sums
from reference.operators.fractional_pooling import fractional_indices
from reference.operators.max_pool_indices import max_pool_with_indices, max_unpool, plane_indices
from reference.operators.padding import pad
from reference.operators.pooling_grad import check_gradient, normalise_nan_and_zero
from reference.registry import operator


def scatter_add(grad: Array, indices: Array, x: Array) -> Exact:
    """Add each gradient to the cell that its index names.

    grad: (n, c, *output); indices: integers, to be broadcast to that shape, the place in the plane of x, row-major,
    or −1 for no cell; x: (n, c, *spatial), only its shape counts. Returns (n, c, *spatial).
    """
    cells = math.prod(x.shape[2:])
    indices = np.broadcast_to(indices, grad.shape)
    kept = indices >= 0
    planes = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * (grad.ndim - 2))
    places = (planes * cells + indices)[kept]

    def add(shares: Array) -> Array:
        total = np.zeros(x.size, shares.dtype)
        np.add.at(total, places, shares[kept])
        return total.reshape(x.shape)

    return exact_sums(grad, add)


@operator
def max_pool_with_indices_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Give the gradient of each value to the cell that its index names; indices have no gradient.

    This equals max_pool_grad with ties "first", except for zeros of both signs: the index is that of the first +0.
    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating. Returns (n, c, *spatial).
    Raises ValueError if grad has not the output's shape, or for what max_pool_with_indices refuses.
    """
    x = check_image(x, FLOAT_DTYPES)
    _, selected_cells = max_pool_with_indices(
        with_canonical_nan(x), window, stride=stride, padding=padding, dilation=dilation, rounding=rounding
    )
    indices = selected_cells.value
    return scatter_add(check_gradient(grad, x, indices.shape), indices, x)


@operator
def max_unpool_grad(grad: npt.ArrayLike, x: npt.ArrayLike, indices: npt.ArrayLike, output_size: PerAxis) -> Exact:
    """Give each value the gradient of the cell that it was put into, and 0 if another was put there after it.

    grad: (n, c, *output_size), of the dtype of x: (n, c, *spatial), floating; indices: of x's shape. Returns
    (n, c, *spatial), a selection. An index −1 gives 0.
    Raises ValueError if grad has not the output's shape, or for what max_unpool refuses.
    Source: the adjoint of ONNX MaxUnpool-22; PyTorch gives to all values with one index, whichever stayed.
    """
    x = check_image(x, FLOAT_DTYPES)
    order = plane_indices(x) + 1
    owners = max_unpool(order, indices, output_size).value
    grad = check_gradient(grad, x, owners.shape)
    places = np.asarray(indices).astype(np.int64).reshape(*x.shape[:2], math.prod(x.shape[2:]))
    planes = (part.reshape(*x.shape[:2], math.prod(grad.shape[2:])) for part in (grad, owners))
    given, owner = (_gather_planes(plane, places).reshape(x.shape) for plane in planes)
    mine = owner == order
    return selection_result(np.where(mine, given, 0).astype(x.dtype), mine.astype(np.int64))


def _gather_planes(planes: Array, places: Array) -> Array:
    """Return each plane's elements (n, c, cells) at some places (n, c, k); at −1 a 0."""
    return np.where(places >= 0, np.take_along_axis(planes, np.maximum(places, 0), axis=-1), 0)


@operator
def pad_grad(
    grad: npt.ArrayLike, x: npt.ArrayLike, pads: PaddingArgument, *, mode: str = "constant", value: float = 0
) -> Exact:
    """Add to each cell the gradients of all its copies; those of the constant are lost, cropped cells get 0.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating; x's values do not matter, nor does
    `value`. The parameters are those of pad. Returns (n, c, *spatial). n: the copies.
    Raises ValueError if grad has not the output's shape, or for what pad refuses.
    Source: the adjoint of ONNX Pad-23, https://onnx.ai/onnx/operators/onnx__Pad.html
    """
    x = check_image(x, FLOAT_DTYPES)
    pad(x[:0], pads, mode=mode, value=value)
    plane = np.arange(math.prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
    indices = pad(plane, pads, mode=mode, value=-1 if mode == "constant" else 0).value
    return scatter_add(check_gradient(grad, x, (*x.shape[:2], *indices.shape[2:])), indices, x)


@operator
def fractional_max_pool_grad(
    grad: npt.ArrayLike, x: npt.ArrayLike, window: PerAxis, output_size: PerAxis, samples: npt.ArrayLike
) -> Exact:
    """Assign each window's gradient to the cell of its largest value, the first of equals, as max_pool_grad does.

    grad: (n, c, *output_size), of the dtype of x: (n, c, *spatial), floating; samples: those of the operator, which
    have no gradient. Returns (n, c, *spatial). n: the windows that give to the cell.
    Raises ValueError if grad has not the output's shape, or for what fractional_max_pool refuses.
    """
    x = check_image(x, FLOAT_DTYPES)
    indices = fractional_indices(normalise_nan_and_zero(x), window, output_size, samples)
    return scatter_add(check_gradient(grad, x, indices.shape), indices, x)
