"""Gradients of global and adaptive pooling: windows of the whole extent, and bins."""

from collections.abc import Sequence

import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, check_image
from reference.arithmetic.exact import Exact
from reference.arithmetic.ordering import DtypeOrder
from reference.geometry.bins import Bins
from reference.operators.pooling_grad import average_grad, selection_grad
from reference.registry import operator


@operator
def global_max_pool_grad(grad: npt.ArrayLike, x: npt.ArrayLike, *, ties: str = "first") -> Exact:
    """Assign each plane's gradient to the cell of its largest value; ties as in max_pool_grad.

    grad: (n, c, 1, …, 1), of the dtype of x: (n, c, *spatial), floating. Returns (n, c, *spatial).
    Raises ValueError if grad has not the output's shape.
    """
    return adaptive_max_pool_grad(grad, x, 1, ties=ties)


@operator
def global_avg_pool_grad(grad: npt.ArrayLike, x: npt.ArrayLike) -> Exact:
    """Give every cell of a plane the plane's gradient, divided by their number.

    grad: (n, c, 1, …, 1), of the dtype of x: (n, c, *spatial), floating. Returns (n, c, *spatial).
    Raises ValueError if grad has not the output's shape.
    """
    return adaptive_avg_pool_grad(grad, x, 1)


@operator
def adaptive_max_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    output_size: int | Sequence[int | None] | None,
    *,
    ties: str = "first",
) -> Exact:
    """Assign each bin's gradient to the cell of its largest value; ties and sums as in max_pool_grad.

    grad: (n, c, *output_size), of the dtype of x: (n, c, *spatial), floating. Returns (n, c, *spatial).
    Raises ValueError if grad has not the output's shape. Source: PyTorch AdaptiveMaxPool2d,
    https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool2d.html
    """
    x = check_image(x, FLOAT_DTYPES)
    bins = Bins.of(x.shape[2:], output_size)
    return selection_grad(grad, x, bins, DtypeOrder(x.dtype, descending=False), ties)


@operator
def adaptive_avg_pool_grad(
    grad: npt.ArrayLike, x: npt.ArrayLike, output_size: int | Sequence[int | None] | None
) -> Exact:
    """Give every cell of a bin the bin's gradient, divided by the number of its cells; sums as in avg_pool_grad.

    grad: (n, c, *output_size), of the dtype of x: (n, c, *spatial), floating. Returns (n, c, *spatial).
    Raises ValueError if grad has not the output's shape. Source: PyTorch AdaptiveAvgPool2d,
    https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html
    """
    x = check_image(x, FLOAT_DTYPES)
    bins = Bins.of(x.shape[2:], output_size)
    return average_grad(grad, x, bins, bins.counts(False))
