"""Gradients of stochastic pooling: of the drawn values, and of the probabilities."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from reference.arguments import Array, PaddingArgument, PerAxis
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import UNDERFLOW_ERROR, FloatPair, to_float64
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.rounding import rational_to_pair, round_to
from reference.geometry.windows import Windows
from reference.operators.indexed_grad import scatter_add
from reference.operators.pooling_grad import check_gradient
from reference.operators.stochastic_pooling import check_activations, stochastic_indices
from reference.registry import operator


@operator
def stochastic_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    draws: npt.ArrayLike,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Assign each window's gradient to the drawn cell. Without a drawn cell the gradient is dropped.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating; draws: those of the operator. What moves
    the probabilities has no part in it. Returns (n, c, *spatial). n: the windows that give to the cell.
    Raises ValueError if grad has not the output's shape, or for what stochastic_pool refuses.
    Source: Zeiler and Fergus (see stochastic_pool_probabilities): as in max pooling, with the drawn cell for the
    largest.
    """
    x = check_activations(x)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    indices = stochastic_indices(x, windows, draws)
    return scatter_add(check_gradient(grad, x, indices.shape), indices, x)


@operator
def stochastic_pool_probabilities_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Add to each cell (g − Σ gᵢpᵢ) / Σ xᵢ of each window, g being the gradient of the cell's own probability.

    grad: (n, c, *output, *window), of the dtype of x: (n, c, *spatial), floating and non-negative; entries at
    padding has no part. A window whose sum is 0 gives 0; one with a value or gradient that is not finite NaN to all
    its real cells. Returns (n, c, *spatial). n: 3 for each of the most cells in a window, plus the windows of the
    cell, plus 4, as each product in g / Σ − Σ gᵢxᵢ / Σ² passes through that many roundings less 3 at most (Σ twice
    and the other sum, products, quotients, a difference); S adds (|g| + Σ |gᵢ|pᵢ) / Σ xᵢ.
    Raises ValueError if grad has not the output's shape, or for what stochastic_pool_probabilities refuses.
    Source: the derivative of xᵢ / Σ xᵢ.
    """
    x = check_activations(x)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    grad = to_float64(check_gradient(grad, x, (*x.shape[:2], *windows.output, *windows.window)))
    with np.errstate(all="ignore"):
        sums, size, special, largest = _collect_terms(grad, to_float64(x), windows)
        magnitude = size * ROUNDING_SLACK
    return round_result(
        _as_pair(sums),
        x.dtype,
        lambda position: Fraction(sums[position]),
        special=special,
        terms=windows.coverage() + 3 * largest + 4,
        magnitude=magnitude,
    )


def _collect_terms(grad: Array, x: Array, windows: Windows) -> tuple[Array, Array, Array, Array]:
    """Return for each cell the sum of its terms, the sum of their absolute parts, NaN results and the largest window.

    Dtypes: Fractions, float64, float64 (0 elsewhere), int64.
    """
    sums = np.full(x.shape, Fraction(0), dtype=object)
    size, special, largest = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape, np.int64)
    for position in np.ndindex(*x.shape[:2], *windows.output):
        offsets, inputs = windows.inside(position[2:])
        at, own = (*position[:2], *inputs), (*position, *offsets)
        cells, g = x[at], grad[own]
        largest[at] = np.maximum(largest[at], cells.size)
        if not np.isfinite(cells).all() or not np.isfinite(g).all():
            special[at] = np.nan
        elif cells.any():
            slopes, sizes = _window_slopes(cells, g)
            sums[at] += slopes
            size[at] += sizes
    return sums, size, special, largest


def _window_slopes(cells: Array, grad: Array) -> tuple[Array, Array]:
    """Return what one window gives to its cells, as rationals, and the sum of its absolute parts as float64."""
    exact, g = (_as_fractions(part) for part in (cells, grad))
    total = exact.sum()
    slopes, size = (g - (g * exact).sum() / total) / total, (abs(g) + (abs(g) * exact).sum() / total) / total
    # Not astype, which raises for numbers beyond float64.
    return slopes, np.array([float(round_to(part, np.float64)) for part in size.ravel()]).reshape(cells.shape)


def _as_fractions(x: Array) -> Array:
    fractions = np.empty(x.size, dtype=object)
    fractions[:] = [Fraction(number) for number in x.ravel().tolist()]
    return fractions.reshape(x.shape)


def _as_pair(sums: Array) -> FloatPair:
    parts = np.array([rational_to_pair(number) for number in sums.ravel().tolist()]).reshape(*sums.shape, 2)
    high, low = parts[..., 0], parts[..., 1]
    return FloatPair(high, low, np.where(sums != 0, np.abs(high) * 2.0**-105 + UNDERFLOW_ERROR, 0.0))
