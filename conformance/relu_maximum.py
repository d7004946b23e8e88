"""The largest value of a window from convolutions and ReLU: weights, layers and channels.

max(a, b) = relu(a - b) + relu(b) - relu(-b), so one ReLU layer halves the values to compare: three channels a pair,
and two for a value left over, which passes as relu(a) - relu(-a). The sums after one ReLU and the differences before
the next are linear, so they are one convolution. Exact on integers, whose differences are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.int64]

PAIR_BEFORE = np.array([[1, -1], [0, 1], [0, -1]])
PAIR_AFTER = np.array([[1, 1, -1]])
SINGLE_BEFORE = np.array([[1], [-1]])
SINGLE_AFTER = np.array([[1, -1]])


def layers(window: Sequence[int]) -> list[NDArray[Any]]:
    """Return the kernels (out, in, *window) of the convolutions, a ReLU between each two, for one channel.

    The first has the window's extents, the others extents of 1. A window of one cell needs one convolution.
    """
    cells = math.prod(window)
    linear: Matrix = np.eye(cells, dtype=np.int64)
    kernels = []
    while linear.shape[0] > 1:
        before, after = _round(linear.shape[0])
        kernels.append(before @ linear)
        linear = after
    kernels.append(linear)
    ones = (1,) * len(window)
    return [kernels[0].reshape(-1, 1, *window), *(kernel.reshape(*kernel.shape, *ones) for kernel in kernels[1:])]


def channels(window: Sequence[int]) -> list[int]:
    """Return the number of channels after each convolution: 6, 3, 1 for 2 x 2, and 14, 8, 5, 3, 1 for 3 x 3."""
    return [kernel.shape[0] for kernel in layers(window)]


def _round(values: int) -> tuple[Matrix, Matrix]:
    """Return the weights before and after one ReLU that leave the larger of each two of so many values."""
    pairs, single = divmod(values, 2)
    before = [PAIR_BEFORE] * pairs + [SINGLE_BEFORE] * single
    after = [PAIR_AFTER] * pairs + [SINGLE_AFTER] * single
    return _blocks(before), _blocks(after)


def _blocks(matrices: Sequence[Matrix]) -> Matrix:
    """Return the block-diagonal matrix of the given ones."""
    rows = sum(matrix.shape[0] for matrix in matrices)
    columns = sum(matrix.shape[1] for matrix in matrices)
    whole = np.zeros((rows, columns), np.int64)
    row = column = 0
    for matrix in matrices:
        whole[row : row + matrix.shape[0], column : column + matrix.shape[1]] = matrix
        row, column = row + matrix.shape[0], column + matrix.shape[1]
    return whole
