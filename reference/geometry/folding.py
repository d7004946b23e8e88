"""Folding every window with one operation, axis after axis."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np

from reference.arguments import Array
from reference.geometry.windows import WindowCell, Windows, WindowWalk

# Folds along axis 0 of an array (the first argument) into another (the last).
FoldPass: TypeAlias = Callable[[Array, np.ufunc, "int | float", Array], None]

# Up to this many cells one pass for each is as fast as combining ever longer spans.
MAX_CELL_BY_CELL = 3

# Up to this stride it is faster to fold windows along the last axis at stride 1 and drop most than to read with gaps.
MAX_COPIED_STRIDE = 4

# Item sizes in bytes for which two items form one word, so that a cast selects every second item.
HALVABLE_ITEM_BYTES = (1, 2, 4)


def fold_windows(
    values: Array, windows: WindowWalk, operation: np.ufunc, start: int | float, out: Array | None = None
) -> Array:
    """Fold the real cells of each window with an operation that may be taken in any order.

    values: (n, c, *spatial). `start` is the operation's neutral element, and the result of a window without a real cell
    gets. One axis after the other, so a window of a × b cells costs a + b operations at most, and those that shrink
    most come first. Returns (n, c, *output), in `out` if given; never memory of `values`. Overflow and NaN give no
    warning.
    """
    passes = _plan_passes(windows)
    for count, (axis, extent, one_pass) in enumerate(passes, 1):
        target = out
        if target is None or count < len(passes):
            target = np.empty((*values.shape[:axis], extent, *values.shape[axis + 1 :]), values.dtype)
        if target.size:
            with np.errstate(all="ignore"):
                one_pass(values.swapaxes(0, axis), operation, start, target.swapaxes(0, axis))
        values = target
    if passes:
        return values
    out = np.empty_like(values) if out is None else out
    np.copyto(out, values)
    return out


@lru_cache(maxsize=256)
def _plan_passes(windows: WindowWalk) -> tuple[tuple[int, int, FoldPass], ...]:
    """Return (axis, outputs, pass) for each axis along which there is something to fold."""
    walks = [(2 + axis, windows.axis(axis)) for axis in range(len(windows.size))]
    walks = [(axis, walk) for axis, walk in walks if not walk.is_identity]
    walks.sort(key=lambda pair: pair[1].output[0] / max(pair[1].size[0], 1))
    innermost = 1 + len(windows.size)
    return tuple((axis, walk.output[0], _fastest_pass(walk, axis == innermost)) for axis, walk in walks)


def _fastest_pass(walk: WindowWalk, innermost: bool) -> FoldPass:
    """Return the way along one axis that takes the least time."""
    if isinstance(walk, Windows) and walk.window[0] > 1 and walk.output[0] > 1:
        if innermost and walk.stride[0] <= MAX_COPIED_STRIDE:
            return partial(_end_to_end, walk)
        if walk.stride == (1,) and walk.window[0] > MAX_CELL_BY_CELL:
            return partial(_span_by_span, walk)
    window = walk.window[0] if isinstance(walk, Windows) else walk.size[0] // math.gcd(walk.size[0], walk.output[0])
    if walk.output[0] * window.bit_length() < window:
        return partial(_window_by_window, [walk.inside((o,))[1][0] for o in range(walk.output[0])])
    everywhere = (slice(0, walk.output[0]),)
    return partial(_cell_by_cell, sorted(walk.cells(), key=lambda cell: cell[2] != everywhere))


def _cell_by_cell(
    cells: list[WindowCell], source: Array, operation: np.ufunc, start: int | float, target: Array
) -> None:
    """Fold cell k of every window at once, for each k; first those that every window has."""
    views = [(source[inputs], target[outputs]) for _, inputs, outputs in cells]
    complete = sum(view.shape == target.shape for _, view in views)
    if complete > 1:
        operation(views[0][0], views[1][0], out=target)
    elif complete:
        np.copyto(target, views[0][0])
    else:
        target.fill(start)
    for values, folded in views[min(complete, 2) :]:
        operation(folded, values, out=folded)


def _window_by_window(
    inputs: list[slice], source: Array, operation: np.ufunc, start: int | float, target: Array
) -> None:
    """Fold each window by halves: where windows are few and large."""
    for o, cells in enumerate(inputs):
        window = source[cells]
        while len(window) > 1:
            half = len(window) // 2
            folded = operation(window[:half], window[half : 2 * half])
            if len(window) % 2:
                operation(folded[0], window[-1], out=folded[0, ...])
            window = folded
        target[o] = window[0] if len(window) else start


def _span_by_span(walk: Windows, source: Array, operation: np.ufunc, start: int | float, target: Array) -> None:
    """Fold windows at stride 1 from spans of 1, 2, 4, … cells."""
    _fold_spans(_pad_with_neutral(walk, source, start, 0), walk, operation, target)


def _end_to_end(walk: Windows, source: Array, operation: np.ufunc, start: int | float, target: Array) -> None:
    """Fold along the innermost axis as if all rows were one, and drop the windows that lie in two.

    It is what makes short rows, and strides that leave gaps, as fast as long rows without.
    """
    rows = np.ascontiguousarray(_pad_with_neutral(walk, source.swapaxes(0, -1), start, -1))
    folded = np.empty_like(rows)
    _fold_spans(rows.reshape(-1), walk, operation, folded.reshape(-1)[: rows.size - walk.extent[0] + 1])
    _copy_strided(walk.stride[0], folded, target.swapaxes(0, -1))


def _copy_strided(stride: int, source: Array, target: Array) -> None:
    """Copy every first, second … element of source's last axis, as many as target's has."""
    size = source.itemsize
    if stride == 2 and size in HALVABLE_ITEM_BYTES and source.shape[-1] % 2 == 0 and sys.byteorder == "little":  # noqa: PLR2004
        # The first of two is the low half of a word: dropping the other is a cast, and vectorised.
        words = source.view(f"u{2 * size}")[..., : target.shape[-1]]
        np.copyto(target.view(f"u{size}"), words, casting="unsafe")
    else:
        np.copyto(target, source[..., : (target.shape[-1] - 1) * stride + 1 : stride])


def _pad_with_neutral(walk: Windows, source: Array, start: int | float, axis: int) -> Array:
    """Put the neutral element round an axis, which changes no fold, as far as windows reach; and crop."""
    (before, after), overhang, size = walk.pads[0], walk.overhang[0], walk.size[0]

    def along(start: int | None, stop: int | None) -> tuple[slice, ...]:
        return (*(slice(None),) * (source.ndim - 1 if axis else 0), slice(start, stop))

    source = source[along(max(-before, 0), size - max(-after, 0))]
    if before <= 0 and after <= 0 and not overhang:
        return source
    first, end = max(before, 0), max(before, 0) + source.shape[axis]
    shape = list(source.shape)
    shape[axis] = end + max(after, 0) + overhang
    padded = np.empty(shape, source.dtype)
    padded[along(0, first)] = padded[along(end, None)] = start
    padded[along(first, end)] = source
    return padded


def _fold_spans(cells: Array, walk: Windows, operation: np.ufunc, target: Array) -> None:
    """Fold windows of two or more at stride 1 along the first axis, from spans of 1, 2, 4, … cells."""
    window, dilation, outputs = walk.window[0], walk.dilation[0], len(target)
    parts, done, span = None, 0, 1
    while True:
        if window & span:
            part = cells[done * dilation : done * dilation + outputs]
            parts = part if parts is None else operation(parts, part, out=target)
            done += span
        if 2 * span > window:
            return
        further = span * dilation
        out = target if 2 * span == window else None
        cells = operation(cells[:-further], cells[further:], out=out)
        span *= 2
