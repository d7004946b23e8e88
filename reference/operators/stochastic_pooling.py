"""Stochastic pooling: a cell of each window is drawn, with probabilities in proportion to the activations."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_dtype, check_image
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.certainty import is_certainty_checked
from reference.arithmetic.errorfree import UNDERFLOW_ERROR, FloatPair, to_float64, two_product, two_sum
from reference.arithmetic.exact import Exact, UnroundedResult, as_if_exact, round_in_blocks, selection_result
from reference.arithmetic.rounding import Position
from reference.geometry.blocks import BLOCK_BYTES, Block, split_into_blocks
from reference.geometry.folding import fold_windows
from reference.geometry.windows import Windows, WindowWalk, all_planes_index
from reference.operators.fractional_pooling import check_unit_interval
from reference.operators.max_pool_indices import plane_indices
from reference.operators.pooling import FLOAT64_BYTES, window_sums
from reference.registry import operator


@operator
def stochastic_pool_probabilities(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """The probability of each cell of each window: its activation divided by the sum of the window's.

    x: (n, c, *spatial), floating and non-negative. Returns (n, c, *output, *window); padding has the probability 0. A
    window whose sum is 0 has no cell to draw: all its probabilities are 0. Infinities and NaN follow IEEE
    arithmetic: in a window with a NaN all probabilities are NaN; in one with an infinity, infinite cells have NaN and
    others 0.
    n: the cells added; S is the probability, as one division follows their sum.
    Raises ValueError for negative activations, or if the window exceeds the padded input.
    Source: Zeiler and Fergus, "Stochastic Pooling for Regularization of Deep Convolutional Neural Networks" (2013),
    section 3.1, https://arxiv.org/abs/1301.3557; 0 for a sum of 0: Pylearn2, stochastic_max_pool_bc01.
    """
    x = check_activations(x)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    shape = (*x.shape[:2], *windows.output, *windows.window)

    def cut() -> Iterator[Block]:
        return split_into_blocks(x.shape[:2], windows, FLOAT64_BYTES * math.prod(windows.window))

    terms = windows.counts(False).reshape(*windows.output, *(1,) * len(windows.size))

    def compute(block: Block) -> UnroundedResult:
        return _probabilities(x[block.inputs], block.walk, windows.window)

    return round_in_blocks(shape, x.dtype, cut, compute, terms)


def _probabilities(x: Array, windows: WindowWalk, window: tuple[int, ...]) -> UnroundedResult:
    wide, rank = to_float64(x), len(windows.size)
    finite, over = np.isfinite(wide), (..., *(np.newaxis,) * rank)
    cells, real = (
        _window_cells(wide, windows, window),
        _window_cells(np.ones((1, 1, *windows.size)), windows, window) > 0,
    )
    sums = fold_windows(np.where(finite, 0.0, wide), windows, np.add, 0.0)[over]
    with np.errstate(all="ignore"):
        special = np.where(np.isfinite(sums) | ~real, 0.0, cells / sums)
        cells = np.where(np.isfinite(sums), cells, 0.0)
        terms = int(windows.counts(False).max(initial=1))
        totals = window_sums(np.where(finite, wide, 0.0), windows, terms)
        pair = _pair_quotients(cells, FloatPair(*(part[over] for part in (totals.high, totals.low, totals.error))))

    def exactly(position: Position) -> Fraction:
        total = sum(map(Fraction, cells[position[:-rank]].ravel().tolist()), Fraction(0))
        return Fraction(cells[position].item()) / total if total else Fraction(0)

    def errors(high: Array) -> tuple[Array, Array]:
        return np.where(np.isfinite(high), high, 0.0) * ROUNDING_SLACK, np.zeros(high.shape)

    quotients = UnroundedResult(pair, exactly, special, errors=errors)
    return quotients if is_certainty_checked() else as_if_exact(quotients.round(x.dtype)[1])


@operator
def stochastic_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    draws: npt.ArrayLike,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """The value of the cell of each window that a given draw selects.

    x: (n, c, *spatial), floating and non-negative; draws: (n, c, *output), floating, each in [0, 1). The selected cell
    is the first in row-major order at which the sum of the activations so far exceeds draw · the sum of all, both in
    exact arithmetic; so it is never one of activation 0. A window whose sum is 0 gives 0, one with a value that is
    not finite NaN. Returns (n, c, *output). Raises the errors of stochastic_pool_probabilities, and ValueError for
    draws outside [0, 1).
    Source: Zeiler and Fergus, as there, equation 5.
    """
    x = check_activations(x)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    draws, values = _check_draws(draws, x, windows), np.empty((*x.shape[:2], *windows.output), x.dtype)
    for block, chosen, known in _drawn_cells_by_block(x, windows, draws):
        values[block.outputs] = np.where(
            known, _gather_cells(x[block.inputs], chosen), np.array(np.nan).astype(x.dtype)
        )
    return selection_result(values, windows.counts(False))


def stochastic_indices(x: Array, windows: Windows, draws: npt.ArrayLike) -> Array:
    """Return the plane index of each value that stochastic_pool selects, −1 for no cell: (n, c, *output)."""
    draws, indices = _check_draws(draws, x, windows), np.empty((*x.shape[:2], *windows.output), np.int64)
    places = plane_indices(x)
    for block, chosen, _ in _drawn_cells_by_block(x, windows, draws):
        indices[block.outputs] = np.where(chosen < 0, -1, _gather_cells(places[block.inputs], chosen))
    return indices


def _drawn_cells_by_block(x: Array, windows: Windows, draws: Array) -> Iterator[tuple[Block, Array, Array]]:
    """Yield block after block, each with what _selection says of it; the indices count in the block."""
    for block in split_into_blocks(x.shape[:2], windows, FLOAT64_BYTES):
        yield block, *_drawn_cells(to_float64(x[block.inputs]), block.walk, to_float64(draws[block.outputs]))


def _drawn_cells(wide: Array, windows: WindowWalk, draws: Array) -> tuple[Array, Array]:
    """Return the indices of the drawn cells, −1 for no cell, and which windows contain only finite numbers."""
    finite = np.isfinite(wide)
    known = np.isfinite(fold_windows(np.where(finite, 0.0, wide), windows, np.add, 0.0))
    wide = np.where(finite, wide, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        indices, doubtful = _first_cell_beyond_draw(wide, windows, draws)
    for position in map(tuple, np.argwhere(doubtful & known).tolist()):
        inside: tuple[Any, ...] = (*position[:2], *windows.inside(position[2:])[1])
        chosen = _exact_drawn_cell(wide[inside].ravel().tolist(), Fraction(draws[position].item()))
        indices[position] = plane_indices(wide)[inside].ravel()[chosen]
    return np.where(known, indices, -1), known


def check_activations(x: npt.ArrayLike) -> Array:
    """Return x as an array (n, c, *spatial); raise as stochastic_pool_probabilities does."""
    x = check_image(x, FLOAT_DTYPES)
    for part in map(to_float64, _plane_blocks(x)):
        if (part < 0).any():
            raise ValueError(f"x has the negative value {part[part < 0][0]}: activations must be at least 0")
    return x


def _check_draws(draws: npt.ArrayLike, x: Array, windows: Windows) -> Array:
    draws, shape = check_dtype("draws", draws, FLOAT_DTYPES), (*x.shape[:2], *windows.output)
    if draws.shape != shape:
        raise ValueError(f"draws have shape {draws.shape}: expected {shape}, one per window")
    for part in _plane_blocks(draws):
        check_unit_interval("draws", part)
    return draws


def _plane_blocks(x: Array) -> Iterator[Array]:
    """Yield the planes of (n, c, *spatial), many together where they are small."""
    together = max(BLOCK_BYTES // max(x[:1, :1].size * FLOAT64_BYTES, 1), 1)
    for part in x:
        for start in range(0, len(part), together):
            yield part[start : start + together]


def _window_cells(x: Array, windows: WindowWalk, window: tuple[int, ...]) -> Array:
    """Return the cells of each window, 0 for padding: (n, c, *output, *window)."""
    cells = np.zeros((*x.shape[:2], *windows.output, *window), x.dtype)
    for offsets, inputs, outputs in windows.cells():
        at: tuple[Any, ...] = (slice(None), slice(None), *outputs, *offsets)
        cells[at] = x[all_planes_index(inputs)]
    return cells


def _pair_quotients(a: Array, b: FloatPair) -> FloatPair:
    """Divide non-negative float64 numbers by non-negative pairs; 0 / 0 is 0."""
    high = a / b.high
    product, dropped = two_product(high, b.high)
    rest = ((a - product) - dropped) - high * b.low
    low = rest / b.high
    error = (np.abs(rest) + np.abs(high * b.low)) * 2.0**-51 + high * b.error + 2 * UNDERFLOW_ERROR
    error = (error / b.high + np.abs(low) * 2.0**-50) * ROUNDING_SLACK + UNDERFLOW_ERROR
    return FloatPair(*two_sum(high, low), error).with_zeros(a == 0)


def _first_cell_beyond_draw(wide: Array, windows: WindowWalk, draws: Array) -> tuple[Array, Array]:
    """Return the index of each window's cell at which the running sum exceeds its draw's share, and where in doubt."""
    totals = fold_windows(wide, windows, np.add, 0.0)
    shares, running = draws * totals, np.zeros(totals.shape)
    # Of n cells each running sum is off by n units of the total at most, and so is the total.
    near = totals * (2.0**-51 * (windows.counts(False) + 2)) + UNDERFLOW_ERROR
    indices, doubtful = np.full(totals.shape, -1, np.int64), ~np.isfinite(totals)
    places = plane_indices(wide)
    for _, inputs, outputs in windows.cells():
        here = all_planes_index(outputs)
        running[here] += wide[all_planes_index(inputs)]
        gap = running[here] - shares[here]
        np.copyto(indices[here], places[all_planes_index(inputs)], where=(gap > 0) & (indices[here] < 0))
        doubtful[here] |= np.abs(gap) <= near[here]
    return indices, doubtful & (totals > 0)


def _exact_drawn_cell(values: list[float], draw: Fraction) -> int:
    """Return the first of the values, whose sum is not 0, at which the running sum exceeds the draw's share."""
    sums = list(accumulate(map(Fraction, values)))
    return next(k for k, running in enumerate(sums) if running > draw * sums[-1])


def _gather_cells(x: Array, indices: Array) -> Array:
    """Return the cells of each plane (n, c, *spatial) at indices (n, c, *output), and 0 for −1."""
    planes = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    planes = np.concatenate([planes, np.zeros((*x.shape[:2], 1), x.dtype)], axis=2)
    places = indices.reshape(*x.shape[:2], math.prod(indices.shape[2:]))
    return np.take_along_axis(planes, places, axis=2).reshape(indices.shape)
