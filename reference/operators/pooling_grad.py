"""Gradients of maximum, minimum and average pooling.

A gradient takes the gradient of the operator's output, then all that the operator takes. Padding's share is dropped.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_choice, check_dtype, check_image
from reference.arithmetic.exact import Exact
from reference.arithmetic.ordering import DtypeOrder, make_nan_canonical
from reference.arithmetic.sums import exact_sums
from reference.geometry.windows import SliceTuple, Windows, WindowWalk, all_planes_index
from reference.operators.pooling import window_divisors
from reference.registry import operator

TIE_RULES = ("first", "last", "all", "split")


@operator
def max_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    ties: str = "first",
) -> Exact:
    """Assign each window's gradient to the cell of its largest value. A cell adds the gradients of its windows.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating. ties: which of several equal values is
    given the gradient: the "first" or the "last" in row-major order, "all" of them, or all in equal shares
    ("split"). Values are equal as numbers are, −0 and +0 too; NaN is the largest of all and equal to NaN, so that a
    window's NaN is given its gradient. −inf inside the input is a value like others.
    The gradient of a window without a real cell is lost. Returns (n, c, *spatial).
    n: the windows that give to the cell; each term is divided where ties split.
    Raises ValueError if grad has not the output's shape, or for what max_pool refuses.
    Source: the derivative of ONNX MaxPool-22 where it has one. Among numbers PyTorch, TensorFlow, JAX and MXNet
    give "first" (JAX's max and PyTorch's amax "split"); of NaNs PyTorch and JAX choose the last, TensorFlow and
    MXNet pass over them.
    """
    x = check_image(x, FLOAT_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return selection_grad(grad, x, windows, DtypeOrder(x.dtype, descending=False), ties)


@operator
def min_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    ties: str = "first",
) -> Exact:
    """Assign each window's gradient to the cell of its smallest value. A cell adds the gradients of its windows.

    As max_pool_grad, the other way round; NaN is the smallest of all here. Source: −max_pool(−x).
    """
    x = check_image(x, FLOAT_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return selection_grad(grad, x, windows, DtypeOrder(x.dtype, descending=True), ties)


def check_gradient(grad: npt.ArrayLike, x: Array, shape: tuple[int, ...]) -> Array:
    """Return grad as an array of x's dtype; raise ValueError if it has not the output's shape."""
    grad = check_dtype("grad", grad, (x.dtype,))
    if grad.shape != shape:
        raise ValueError(f"grad has shape {grad.shape}: the output has {shape}")
    return grad


def selection_grad(grad: npt.ArrayLike, x: Array, walk: WindowWalk, order: DtypeOrder, ties: str) -> Exact:
    """Give each window's gradient to the cells that come last in an order, as max_pool_grad does."""
    check_choice("ties", ties, TIE_RULES)
    grad = check_gradient(grad, x, (*x.shape[:2], *walk.output))
    keys = order.keys(normalise_nan_and_zero(x))
    best = np.full(grad.shape, order.lowest_key, keys.dtype)
    for _, inputs, outputs in walk.cells():
        target = best[all_planes_index(outputs)]
        np.maximum(target, keys[all_planes_index(inputs)], out=target)

    def add(shares: Array) -> Array:
        total = np.zeros(x.shape, shares.dtype)
        for inputs, outputs, chosen in _choosing_cells(keys, best, walk, ties):
            total[inputs] += np.where(chosen, shares[outputs], 0)
        return total

    return exact_sums(grad, add, _tie_counts(keys, best, walk) if ties == "split" else None)


def normalise_nan_and_zero(x: Array) -> Array:
    """Return a copy of x with one kind of NaN and one zero, so that equal elements have equal keys."""
    numbers = np.array(x)
    make_nan_canonical(numbers)
    numbers[numbers == 0] = 0
    return numbers


def _choosing_cells(
    keys: Array, best: Array, walk: WindowWalk, ties: str
) -> Iterator[tuple[SliceTuple, SliceTuple, Array]]:
    """Yield, for each window cell, the input cells, their windows, and which of these choose it."""
    cells = [(all_planes_index(inputs), all_planes_index(outputs)) for _, inputs, outputs in walk.cells()]
    free = np.ones(best.shape, bool)
    for inputs, outputs in reversed(cells) if ties == "last" else cells:
        chosen = keys[inputs] == best[outputs]
        if ties in ("first", "last"):
            chosen &= free[outputs]
            free[outputs] &= ~chosen
        yield inputs, outputs, chosen


def _tie_counts(keys: Array, best: Array, walk: WindowWalk) -> Array:
    """Count the cells of each window that are equal to its best; 1 for a window without cells."""
    count = np.zeros(best.shape, np.int64)
    for _, outputs, chosen in _choosing_cells(keys, best, walk, "all"):
        count[outputs] += chosen
    return np.maximum(count, 1)


@operator
def avg_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    count_include_pad: bool = False,
    divisor: int | None = None,
) -> Exact:
    """Give every real cell of a window the window's gradient, divided by the window's divisor.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating; x's values do not matter. The other
    parameters are those of avg_pool. Returns (n, c, *spatial). n: the windows that the cell is in; S adds
    |grad| / divisor, so the bound of a sum of divided terms applies unchanged: one division a term, n − 1 additions.
    Raises ValueError if grad has not the output's shape, or for what avg_pool refuses.
    Source: the adjoint of ONNX AveragePool-22, https://onnx.ai/onnx/operators/onnx__AveragePool.html
    """
    x = check_image(x, FLOAT_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return average_grad(grad, x, windows, window_divisors(windows, count_include_pad, divisor))


def average_grad(grad: npt.ArrayLike, x: Array, walk: WindowWalk, divisors: Array) -> Exact:
    """Give each window's gradient, divided, to all of its cells, as avg_pool_grad does; divisors: shape `output`."""
    grad = check_gradient(grad, x, (*x.shape[:2], *walk.output))

    def add(shares: Array) -> Array:
        total = np.zeros(x.shape, shares.dtype)
        for _, inputs, outputs in walk.cells():
            total[all_planes_index(inputs)] += shares[all_planes_index(outputs)]
        return total

    # A window with divisor 0 has no real cell to give to.
    return exact_sums(grad, add, np.maximum(divisors, 1))
