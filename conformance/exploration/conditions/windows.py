"""Where the windows and planes of a case have a property of their numbers: in one window, image or channel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from conformance.cases import geometry
from conformance.cases.arrays import NUMPY_DTYPES, Array, dtype_kind
from conformance.cases.case import Case
from conformance.cases.features.numbers import MAX_WINDOW_CELLS, WindowCells, window_cells
from conformance.cases.generators import DtypeKind
from conformance.cases.operators import OPERATORS, Arithmetic

SIGNED_BYTE = 127
"""Largest signed byte."""
MAX_SAMPLED_CELLS = 30_000
"""Number of cells of all windows above which only some windows are inspected, the first and last among them."""


def _extremum(windows: WindowCells, sign: int) -> tuple[Array, Array]:
    """Return the cells with the opposite infinity for padding, and the largest of them: sign -1 for the smallest."""
    cells = sign * windows.filled(-sign * np.inf)
    return cells, np.asarray(cells.max(-1))


def _occurs_twice(windows: WindowCells, sign: int) -> Array:
    """Whether several cells are the extremum of a window. NaN is the extremum of its window."""
    cells, largest = _extremum(windows, sign)
    return np.asarray(windows.where((cells == largest[..., None]) | np.isnan(cells)) > 1)


def _is_at(windows: WindowCells, sign: int, position: int) -> Array:
    """Whether the extremum of each window of several cells is its first or last cell, and only there."""
    cells, largest = _extremum(windows, sign)
    equal = (cells == largest[..., None]) & windows.inside
    return np.asarray(equal[..., position] & (equal.sum(-1) == 1) & (windows.sizes > 1))


WINDOW_PROPERTIES: Mapping[str, Callable[[WindowCells], Array]] = MappingProxyType(
    {
        "padding": lambda windows: (windows.sizes < windows.inside.shape[-1]) & (not windows.are_bins),
        "no padding": lambda windows: (windows.sizes == windows.inside.shape[-1]) & (not windows.are_bins),
        "one cell": lambda windows: windows.sizes == 1,
        "several cells": lambda windows: windows.sizes > 1,
        "NaN": lambda windows: windows.where(np.isnan(windows.cells)) > 0,
        "a number": lambda windows: windows.where(~np.isnan(windows.cells)) > 0,
        "NaN in its first cell": lambda windows: np.isnan(windows.cells[..., 0]) & windows.inside[..., 0],
        "NaN in its last cell": lambda windows: np.isnan(windows.cells[..., -1]) & windows.inside[..., -1],
        "plus infinity": lambda windows: windows.where(np.isposinf(windows.cells)) > 0,
        "minus infinity": lambda windows: windows.where(np.isneginf(windows.cells)) > 0,
        "a zero": lambda windows: windows.where(windows.cells == 0) > 0,
        "a negative zero": lambda windows: windows.where((windows.cells == 0) & np.signbit(windows.cells)) > 0,
        "zeros of both signs": lambda windows: (
            (windows.where((windows.cells == 0) & np.signbit(windows.cells)) > 0)
            & (windows.where((windows.cells == 0) & ~np.signbit(windows.cells)) > 0)
        ),
        "zero as its largest value": lambda windows: _extremum(windows, 1)[1] == 0,
        "zero as its smallest value": lambda windows: _extremum(windows, -1)[1] == 0,
        "a negative value": lambda windows: windows.where(windows.cells < 0) > 0,
        "only negative values": lambda windows: (
            (windows.where(windows.cells < 0) == windows.sizes) & (windows.sizes > 0)
        ),
        "only positive values": lambda windows: (
            (windows.where(windows.cells > 0) == windows.sizes) & (windows.sizes > 0)
        ),
        "only zeros": lambda windows: (windows.where(windows.cells == 0) == windows.sizes) & (windows.sizes > 0),
        "only NaN or minus infinity": lambda windows: (
            (windows.where(np.isnan(windows.cells) | np.isneginf(windows.cells)) == windows.sizes) & (windows.sizes > 0)
        ),
        "its largest value twice": lambda windows: _occurs_twice(windows, 1),
        "its smallest value twice": lambda windows: _occurs_twice(windows, -1),
        "its largest value first": lambda windows: _is_at(windows, 1, 0),
        "its largest value last": lambda windows: _is_at(windows, 1, -1),
        "its smallest value first": lambda windows: _is_at(windows, -1, 0),
        "its smallest value last": lambda windows: _is_at(windows, -1, -1),
        "only values above 127": lambda windows: (
            (windows.where(windows.cells > SIGNED_BYTE) == windows.sizes) & (windows.sizes > 0)
        ),
    }
)
"""Properties of each window, (n, c, windows)."""


def place_features(case: Case) -> Iterator[str]:
    """Yield where windows and planes have properties of their numbers, for small inputs."""
    for name, spec in case.inputs.items():
        if math.prod(spec.shape) > MAX_WINDOW_CELLS or len(spec.shape) <= 2:  # noqa: PLR2004
            continue
        numbers = spec.make().astype(np.float64)
        yield from _plane_features(name, numbers)
        if NUMPY_DTYPES[spec.dtype].kind in "iu" and numbers.size:
            yield from _half_features(name, numbers > np.iinfo(NUMPY_DTYPES[spec.dtype]).max // 2)
        if name == "x":
            yield from _window_features(case, numbers)


def _plane_features(name: str, numbers: Array) -> Iterator[str]:
    """Yield properties of the first and last cells of planes, and of images after the first."""
    if 0 in numbers.shape:
        return
    rows = numbers.reshape(math.prod(numbers.shape[:2]), -1)
    nans = np.isnan(rows)
    if (rows <= 0).any():
        yield f"a value of at most zero in {name}"
    if (nans.any(1) & (nans.sum(1) % 2 == 0)).any():
        yield f"an even number of NaN in a plane of {name}"
    if (rows != rows[:, :1]).any():
        yield f"different values in a plane of {name}"
    if nans[:, -1].any():
        yield f"NaN in the last cell of a plane of {name}"
    if (nans[:, -1] & (nans.sum(1) == 1)).any():
        yield f"NaN in the last cell only of a plane of {name}"
    if len(numbers) > 1:
        later = np.sort(numbers[1:].reshape((len(numbers) - 1) * numbers.shape[1], -1), axis=1)
        if (later[:, 1:] == later[:, :-1]).any():
            yield f"equal values in a plane of {name} after its first image"
    for sign, word in ((1, "positive"), (-1, "negative")):
        if np.isinf(sign * rows).any() and (sign * rows == np.inf).any():
            yield f"a {word} infinity in {name}"


def _half_features(name: str, is_upper: Array) -> Iterator[str]:
    """Yield whether integers are in the upper half of the positive range of their dtype, (n, c, *spatial)."""
    rows = is_upper.reshape(math.prod(is_upper.shape[:2]), -1)
    if rows.any():
        yield f"a number in the upper half of its range in {name}"
    if (rows.any(1) & ~rows.all(1)).any():
        yield f"numbers in both halves of their range in a plane of {name}"


def _window_features(case: Case, x: Array) -> Iterator[str]:
    windows = window_cells(case, x)
    if windows is None or not windows.cells.size:
        return
    windows, selected = _sampled(windows)
    with np.errstate(invalid="ignore"):
        shape = windows.cells.shape[:3]
        every = {name: np.broadcast_to(is_true(windows), shape) for name, is_true in WINDOW_PROPERTIES.items()}
        every |= _average_properties(case, windows, selected)
    true = {name: mask for name, mask in every.items() if mask.any()}
    for name, mask in true.items():
        yield f"a window with {name}"
        if mask[:, -1].any():
            yield f"a window of the last channel with {name}"
        if mask[1:].any():
            yield f"a window after the first image with {name}"
        if mask[..., -1].any():
            yield f"a last window with {name}"
    yield from (f"a window with {first} and {second}" for first, second in _occurring_together(true))


def _sampled(windows: WindowCells) -> tuple[WindowCells, Array]:
    """Return at most about MAX_SAMPLED_CELLS cells, evenly from all windows, images and channels; and these windows."""
    cells, selected = windows.cells, [np.arange(size) for size in windows.cells.shape[:3]]
    for axis in (2, 0, 1):
        size = cells.shape[axis]
        count = min(size, max(2, size * MAX_SAMPLED_CELLS // cells.size))
        selected[axis] = np.unique(np.linspace(0, size - 1, count).astype(int))
        cells = cells.take(selected[axis], axis)
    return replace(windows, cells=cells, inside=windows.inside[selected[2]]), selected[2]


def _occurring_together(true: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of properties that one window has. true: for each property, the windows that have it."""
    names = list(true)
    rows = np.array([mask.ravel() for mask in true.values()], np.float32)  # one product counts the windows of all pairs
    with np.errstate(invalid="ignore"):  # on some processors, a product of ones and zeros sets the flag of NaN
        counts = rows @ rows.T if names else rows
    for first, second in np.argwhere(np.triu(counts > 0, 1)) if names else ():
        yield names[first], names[second]


def _average_properties(case: Case, windows: WindowCells, selected: Array) -> dict[str, Array]:
    """Return the properties of the averages that a kernel computes, (n, c, windows). selected: see `_sampled`."""
    described = OPERATORS.get(case.operator)
    if described is None or described.arithmetic is not Arithmetic.AVERAGE:
        return {}
    divisor, counts = case.parameters.get("divisor"), windows.sizes
    if isinstance(divisor, int) and divisor > 0:
        counts = np.full_like(counts, divisor)
    elif case.parameters.get("count_include_pad") and (walk := geometry.case_windows(case)):
        counts = walk.counts(include_padding=True).ravel()[selected]
    averages = windows.filled(0).sum(-1) / np.maximum(counts, 1)
    rounds = dtype_kind(case.dtype) is not DtypeKind.FLOATING
    return {
        "an average other than zero": (np.trunc(averages) if rounds else averages) != 0,
        "an average of several cells": np.broadcast_to(counts > 1, averages.shape),
        "an average that is not a whole number": np.isfinite(averages) & (averages != np.trunc(averages)),
        "a negative average": averages < 0,
    }
