"""The gradient of grey-scale dilation: with respect to x and to the kernel."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_choice, check_image
from reference.arithmetic.exact import Exact
from reference.arithmetic.ordering import DtypeOrder
from reference.arithmetic.sums import exact_sums
from reference.geometry.windows import SliceTuple, Windows, all_planes_index
from reference.operators.morphology.dilation import cell_sums, check_channel_kernel
from reference.operators.pooling_grad import TIE_RULES, check_gradient, normalise_nan_and_zero
from reference.registry import operator

Chosen = tuple[tuple[int, ...], SliceTuple, SliceTuple, Array]
"""A cell of the window, its cells of x, their windows, and which of these choose it."""


@operator
def dilation2d_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    ties: str = "first",
) -> tuple[Exact, ...]:
    """Return the gradients with respect to x and kernel: that of each window goes to the cell of its largest sum.

    grad: (n, c, *output); x: (n, c, *spatial); kernel: (c, 1, *window); all of one floating dtype. Results have the
    shapes of x and kernel. A cell of x adds the gradients of the windows that choose it; a weight adds those of the
    windows of all items that choose its cell. ties: which of several equal sums is chosen, as in max_pool_grad;
    sums are equal if they round to the same number. NaN is the largest, and equal to NaN. The gradient of a window
    without a real cell is lost. n: the windows that give to the element; each term is divided where ties split.
    Raises ValueError if grad has not the output's shape, or for what dilation2d refuses.
    Source: TensorFlow 2.21, Dilation2DBackpropInput and Dilation2DBackpropFilter, where the derivative exists,
    https://www.tensorflow.org/api_docs/python/tf/raw_ops/Dilation2DBackpropInput
    """
    x = check_image(x, FLOAT_DTYPES)
    kernel = check_channel_kernel(x, kernel)
    windows = Windows.of(x.shape[2:], kernel.shape[2:], stride, padding, dilation, called="kernel")
    grad = check_gradient(grad, x, (*x.shape[:2], *windows.output))
    chosen = _chosen_cells(x, kernel, windows, check_choice("ties", ties, TIE_RULES))
    counts = _tie_counts(chosen, grad.shape) if ties == "split" else None
    return exact_sums(grad, _input_sums(chosen, x.shape), counts), exact_sums(
        grad, _kernel_sums(chosen, kernel.shape), counts
    )


def _chosen_cells(x: Array, kernel: Array, windows: Windows, ties: str) -> list[Chosen]:
    """Return, for each cell of the window, the windows that give it their gradient."""
    order = DtypeOrder(x.dtype, descending=False)
    best = np.full((*x.shape[:2], *windows.output), order.lowest_key, order.key_dtype)
    cells = []
    for offsets, inputs, outputs in windows.cells():
        # Equal numbers have equal keys.
        keys = order.keys(normalise_nan_and_zero(cell_sums(x, kernel, offsets, inputs)))
        target = best[all_planes_index(outputs)]
        np.maximum(target, keys, out=target)
        cells.append((offsets, inputs, outputs, keys))
    free, chosen = np.ones(best.shape, bool), []
    for offsets, inputs, outputs, keys in reversed(cells) if ties == "last" else cells:
        index = all_planes_index(outputs)
        is_chosen = keys == best[index]
        if ties in ("first", "last"):
            is_chosen &= free[index]
            free[index] &= ~is_chosen
        chosen.append((offsets, inputs, outputs, is_chosen))
    return chosen


def _tie_counts(chosen: list[Chosen], shape: tuple[int, ...]) -> Array:
    """Count the cells that each window chooses; 1 for a window without cells."""
    count = np.zeros(shape, np.int64)
    for _, _, outputs, is_chosen in chosen:
        count[all_planes_index(outputs)] += is_chosen
    return np.maximum(count, 1)


def _input_sums(chosen: list[Chosen], shape: tuple[int, ...]) -> Callable[[Array], Array]:
    def add(shares: Array) -> Array:
        total = np.zeros(shape, shares.dtype)
        for _, inputs, outputs, is_chosen in chosen:
            total[all_planes_index(inputs)] += np.where(is_chosen, shares[all_planes_index(outputs)], 0)
        return total

    return add


def _kernel_sums(chosen: list[Chosen], shape: tuple[int, ...]) -> Callable[[Array], Array]:
    def add(shares: Array) -> Array:
        total = np.zeros(shape, shares.dtype)
        for offsets, _, outputs, is_chosen in chosen:
            given = np.where(is_chosen, shares[all_planes_index(outputs)], 0)
            total.squeeze(1)[all_planes_index(offsets)] += given.sum(axis=(0, *range(2, given.ndim)))
        return total

    return add
