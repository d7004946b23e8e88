"""Folding every window with one operation, axis after axis."""

import numpy as np

from .arguments import Array
from .windows import Windows


def fold(values: Array, windows: Windows, operation: np.ufunc, start: int | float) -> Array:
    """Fold the real cells of each window with an operation that may be taken in any order.

    values: (n, c, *spatial). `start` is the operation's neutral element, and what a window without a real cell
    gets. One pass per axis: a window of a × b cells costs a + b operations. Returns (n, c, *output).
    """
    for axis in range(len(windows.size)):
        values = _fold_axis(values, windows.axis(axis), 2 + axis, operation, start)
    return values


def _fold_axis(values: Array, walk: Windows, axis: int, operation: np.ufunc, start: int | float) -> Array:
    if walk.window == walk.stride == (1,) and walk.pads == ((0, 0),):
        return values
    shape = list(values.shape)
    shape[axis] = walk.output[0]
    folded = np.full(shape, start, values.dtype)
    before = (slice(None),) * axis
    for _, inputs, outputs in walk.cells():
        target = folded[before + outputs]
        operation(target, values[before + inputs], out=target)
    return folded
