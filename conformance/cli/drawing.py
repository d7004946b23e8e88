"""Text drawings of cases: the padded input with its first and last window, and the expected output next to it.

One plane is drawn (one slice of it in 3-D), with as many rows and columns as fit. Signs around the cells carry all
information; colors only repeat it, so that a drawing in a pipe or on a monochrome terminal is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from conformance.cases.arrays import Array
from conformance.cases.case import Answers, Case
from conformance.cases.operators import OPERATORS, Geometry, Rounding
from conformance.cli.text_grid import NO_MARK, CellMark, Grid, GridCell, lay_out_grids
from conformance.judging.expected import Expected
from reference import Windows

MIN_DRAWN_AXES, MAX_DRAWN_AXES = 3, 5  # (n, c, and one to three spatial axes)

PADDING_DOT, ASCII_PADDING_DOT = "·", "."
FIRST_WINDOW_MARK = CellMark("[", "]", "bold green", "first window")
LAST_WINDOW_MARK = CellMark("(", ")", "bold cyan", "last window")
BOTH_WINDOWS_MARK = CellMark("{", "}", "bold yellow", "first and last window")
ONLY_WINDOW_MARK = CellMark("[", "]", "bold green", "the only window")
UNREAD_MARK = CellMark("~", "~", "red", "in no window")
PADDING_MARK = CellMark(" ", " ", "dim", "padding", PADDING_DOT)
OVERHANG_MARK = CellMark(" ", " ", "dim", "past the padding", "_")
RETAINED_MARK = CellMark("[", "]", "bold green", "from the input")
CROPPED_MARK = CellMark("~", "~", "red", "cropped")

Scene = tuple[list[Grid], list[str]]


@dataclass(frozen=True)
class DrawnAxis:
    """One axis of the drawn plane: the position of the input in its padding, and the cells of two windows.

    padded: size of the padded input; length: padded plus the cells that the last window reads past the padding.
    """

    before: int
    size: int
    padded: int
    length: int
    first: frozenset[int]
    last: frozenset[int]

    @classmethod
    def from_windows(cls, windows: Windows, axis: int) -> DrawnAxis:
        """Return the given axis of some windows."""
        offsets = range(0, windows.window[axis] * windows.dilation[axis], windows.dilation[axis])
        last_start = (windows.output[axis] - 1) * windows.stride[axis]
        first, last = frozenset(offsets), frozenset(last_start + offset for offset in offsets)
        padded = windows.padded[axis]
        return cls(windows.pads[axis][0], windows.size[axis], padded, padded + windows.overhang[axis], first, last)


SINGLE_ROW_AXIS = DrawnAxis(0, 1, 1, 1, frozenset({0}), frozenset({0}))


def drawing_lines(case: Case, expected: Expected, columns: int, *, ascii_only: bool = False) -> list[Text]:
    """Return the lines of a drawing that is at most `columns` wide; no lines if the case cannot be drawn."""
    lines = [line for scene in _make_scenes(case, expected) for line in lay_out_grids(*scene, columns)]
    if ascii_only:
        return [Text(line.plain.replace(PADDING_DOT, ASCII_PADDING_DOT).rstrip()) for line in lines]
    return lines


def _make_scenes(case: Case, expected: Expected) -> Iterator[Scene]:
    """Yield the scenes to draw: one for a case, one for each answer of a convention case."""
    x, operator = expected.inputs["x"], OPERATORS[case.operator]
    if not MIN_DRAWN_AXES <= x.ndim <= MAX_DRAWN_AXES or 0 in x.shape or operator.is_gradient:
        return
    for title, output, changed in _titled_outputs(case, expected):
        parameters = {**case.parameters, **changed}
        if operator.geometry is Geometry.PADS and output is not None and 0 not in output.shape:
            yield _pad_scene(x, title, output, parameters["pads"])
        elif operator.geometry is Geometry.WINDOWS and (windows := _drawable_windows(case, parameters)):
            yield _window_scene(x, title, output, windows)


def _titled_outputs(case: Case, expected: Expected) -> Iterator[tuple[str, Array | None, Mapping[str, Any]]]:
    """Yield a title, the output of the operator if it is known, and the parameters that an answer changes."""
    if expected.target is not None:
        exact = expected.target.exact
        # With `then`, further operators process the output, so the value of this operator is not the expected value.
        yield "expected", None if case.then or exact is None else exact.value, {}
    named = case.expect.named if isinstance(case.expect, Answers) else {}
    for name, target in expected.answers.items():
        answer = named[name]
        value = None if target.exact is None else target.exact.value
        yield f"answer {name!r}", value, answer if isinstance(answer, Mapping) else {}


def _drawable_windows(case: Case, given: Mapping[str, Any]) -> Windows | None:
    """Return the windows of a case, or None if they cannot be drawn."""
    window: Any = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else given.get("window")
    try:
        rounding = given.get("rounding", Rounding.FLOOR)
        windows = Windows.of(case.shape[2:], window, given["stride"], given["padding"], given["dilation"], rounding)
    except (KeyError, TypeError, ValueError):
        # A case that must be rejected may have parameters that define no windows.
        return None
    cropped = min(end for pair in windows.pads for end in pair) < 0
    return None if cropped or 0 in windows.output else windows


def _window_scene(x: Array, title: str, output: Array | None, windows: Windows) -> Scene:
    depth = _depth_slice(windows) if len(windows.size) + 2 == MAX_DRAWN_AXES else None
    axes = [DrawnAxis.from_windows(windows, axis) for axis in range(len(windows.size))]
    # A 1-D input is drawn as a single row; of a 3-D input the last two axes are drawn.
    rows, columns = [SINGLE_ROW_AXIS, *axes][-2:]
    index, coverage = _plane_index(depth), windows.coverage()
    read = np.atleast_2d(coverage if depth is None else coverage[depth])
    grids = [_input_grid(_indexed_name("x", index), np.atleast_2d(x[index]), rows, columns, read)]
    if output is not None and output.shape[2:] == windows.output:
        index = _plane_index(None if depth is None else 0)
        grids.append(_output_grid(_indexed_name(title, index), np.atleast_2d(output[index])))
    return grids, _slice_note(x, depth)


def _depth_slice(windows: Windows) -> int:
    """Return the slice of a 3-D input to draw: the first one that the first window reads."""
    positions = (k * windows.dilation[0] - windows.pads[0][0] for k in range(windows.window[0]))
    return next((position for position in positions if 0 <= position < windows.size[0]), 0)


def _plane_index(depth: int | None) -> tuple[int, ...]:
    """Return the index of the drawn plane: the first sample, the first channel, and in 3-D the slice."""
    return (0, 0) if depth is None else (0, 0, depth)


def _indexed_name(name: str, index: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, index))}]"


def _slice_note(x: Array, depth: int | None) -> list[str]:
    """Return a note that names the drawn part of an array, unless all of it is drawn."""
    planes = [] if x.shape[:2] == (1, 1) else [f"the first of {x.shape[0]} x {x.shape[1]} planes"]
    slices = [] if depth is None else [f"slice {depth} of {x.shape[2]}"]
    return [f"drawn: {', '.join([*planes, *slices])}"] if planes + slices else []


def _input_grid(title: str, plane: Array, rows: DrawnAxis, columns: DrawnAxis, coverage: Array) -> Grid:
    only = rows.first == rows.last and columns.first == columns.last

    def cell(r: int, c: int) -> GridCell:
        mark = _window_mark(r in rows.first and c in columns.first, r in rows.last and c in columns.last, only)
        if r >= rows.padded or c >= columns.padded:
            return GridCell(OVERHANG_MARK.sign, mark, OVERHANG_MARK)
        i, j = r - rows.before, c - columns.before
        if not (0 <= i < rows.size and 0 <= j < columns.size):
            return GridCell(PADDING_DOT, mark, PADDING_MARK)
        return GridCell(_number_text(plane[i, j]), mark if coverage[i, j] else UNREAD_MARK)

    return Grid.build(title, (rows.length, columns.length), cell)


def _window_mark(first: bool, last: bool, only: bool) -> CellMark:
    """Return the mark of a cell in the first window, the last window or both; `only`: there is a single window."""
    marks = {
        (True, True): ONLY_WINDOW_MARK if only else BOTH_WINDOWS_MARK,
        (True, False): FIRST_WINDOW_MARK,
        (False, True): LAST_WINDOW_MARK,
    }
    return marks.get((first, last), NO_MARK)


def _output_grid(title: str, plane: Array) -> Grid:
    end = (plane.shape[0] - 1, plane.shape[1] - 1)

    def cell(r: int, c: int) -> GridCell:
        return GridCell(_number_text(plane[r, c]), _window_mark((r, c) == (0, 0), (r, c) == end, end == (0, 0)))

    return Grid.build(title, (plane.shape[0], plane.shape[1]), cell)


def _pad_scene(x: Array, title: str, output: Array, pads: Sequence[tuple[int, int]]) -> Scene:
    """Draw the retained cells of the input in the input and in the output; of 3-D arrays the first slice with any."""
    depth, output_depth = (max(-pads[0][0], 0), max(pads[0][0], 0)) if x.ndim == MAX_DRAWN_AXES else (None, None)
    source, result = np.atleast_2d(x[_plane_index(depth)]), np.atleast_2d(output[_plane_index(output_depth)])
    ends = [(0, 0), *pads][-2:]
    # Negative padding crops: the retained cells of the input move by the padding before them.
    retained = [range(max(-low, 0), size + min(high, 0)) for size, (low, high) in zip(source.shape, ends, strict=True)]
    moved = [range(cells.start + low, cells.stop + low) for cells, (low, _) in zip(retained, ends, strict=True)]
    grids = [
        _retained_grid(_indexed_name("x", _plane_index(depth)), source, retained, CROPPED_MARK),
        _retained_grid(_indexed_name(title, _plane_index(output_depth)), result, moved, NO_MARK),
    ]
    return grids, _slice_note(x, depth)


def _retained_grid(title: str, plane: Array, retained: Sequence[range], other: CellMark) -> Grid:
    def cell(r: int, c: int) -> GridCell:
        return GridCell(_number_text(plane[r, c]), RETAINED_MARK if r in retained[0] and c in retained[1] else other)

    return Grid.build(title, (plane.shape[0], plane.shape[1]), cell)


def _number_text(value: Any) -> str:
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.4g}"
