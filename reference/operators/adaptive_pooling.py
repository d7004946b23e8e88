"""Adaptive and global pooling: the size of the output is given, the windows follow."""

from collections.abc import Sequence

import numpy.typing as npt

from reference.arguments import check_image
from reference.arithmetic.exact import Exact
from reference.arithmetic.ordering import DtypeOrder
from reference.geometry.bins import Bins
from reference.operators.pooling import AVERAGED_DTYPES, ORDERED_DTYPES, average_windows, select_windows
from reference.registry import operator


@operator
def adaptive_max_pool(x: npt.ArrayLike, output_size: int | Sequence[int | None] | None) -> Exact:
    """Largest value in each of `output_size` bins; NaN always wins.

    x: (n, c, *spatial), floating, integer or bool. output_size: a number, or a number or None (the extent of x) per
    axis; bins overlap where it does not divide the extent, see Bins. Returns (n, c, *output_size). A bin of an empty
    axis gives −inf, the least integer or False. +0 is larger than −0. Raises ValueError for an output size below 1.
    Source: PyTorch AdaptiveMaxPool2d,
    https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveMaxPool2d.html
    """
    x = check_image(x, ORDERED_DTYPES)
    return select_windows(x, Bins.of(x.shape[2:], output_size), DtypeOrder(x.dtype, descending=False))


@operator
def adaptive_avg_pool(x: npt.ArrayLike, output_size: int | Sequence[int | None] | None) -> Exact:
    """Average of each of `output_size` bins.

    x: (n, c, *spatial), floating or integer. Parameters as in adaptive_max_pool. A bin of an empty axis gives 0 / 0,
    NaN
    (integers: 0). Integer sums wrap in their dtype, then are divided toward zero.
    Source: PyTorch AdaptiveAvgPool2d,
    https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html
    """
    x = check_image(x, AVERAGED_DTYPES)
    bins = Bins.of(x.shape[2:], output_size)
    return average_windows(x, bins, bins.counts(False))


@operator
def global_max_pool(x: npt.ArrayLike) -> Exact:
    """Largest value of each channel: adaptive_max_pool to one bin an axis.

    x: (n, c, *spatial), floating, integer or bool. Returns (n, c, 1, …, 1). An empty channel gives −inf, the least
    integer or False.
    Source: ONNX GlobalMaxPool-22, https://onnx.ai/onnx/operators/onnx__GlobalMaxPool.html
    """
    return adaptive_max_pool(x, 1)


@operator
def global_avg_pool(x: npt.ArrayLike) -> Exact:
    """Average of each channel: adaptive_avg_pool to one bin an axis.

    x: (n, c, *spatial), floating or integer. Returns (n, c, 1, …, 1). An empty channel gives NaN (integers: 0).
    Source: ONNX GlobalAveragePool-22, https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html
    """
    return adaptive_avg_pool(x, 1)
