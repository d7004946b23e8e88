"""A case drawn for the terminal: the padded input with its first and last window, and beside it what must come out.

One plane is drawn, of a 3-D case one slice of it, and as many rows and columns as fit. The drawing says the same
without colours, in a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from conformance.cases.arrays import Array
from conformance.cases.case import Answers, Case
from conformance.cli.text_grid import NO_MARK, CellMark, Grid, GridCell, lay_out_grids
from conformance.judging.expected import Expected
from reference import Windows

# Operators whose output has one element for each window of a walk over x.
WINDOW_OPERATORS = {"max_pool", "min_pool", "avg_pool", "lp_pool", "softmax_pool", "max_pool_with_indices", "conv"}
WINDOW_OPERATORS |= {"stochastic_pool", "stochastic_pool_probabilities"}
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
    """One axis of the plane: where the input lies in its padding, and the cells of the first and the last window.

    padded: extent of the padded input; length: that and what the last window reaches past it.
    """

    before: int
    size: int
    padded: int
    length: int
    first: frozenset[int]
    last: frozenset[int]

    @classmethod
    def from_windows(cls, walk: Windows, axis: int) -> DrawnAxis:
        """Return an axis of a walk."""
        reach = range(0, walk.window[axis] * walk.dilation[axis], walk.dilation[axis])
        end = (walk.output[axis] - 1) * walk.stride[axis]
        first, last = frozenset(reach), frozenset(end + step for step in reach)
        padded = walk.padded[axis]
        return cls(walk.pads[axis][0], walk.size[axis], padded, padded + walk.overhang[axis], first, last)


SINGLE_ROW_AXIS = DrawnAxis(0, 1, 1, 1, frozenset({0}), frozenset({0}))


def drawing_lines(case: Case, expected: Expected, columns: int, *, ascii_only: bool = False) -> list[Text]:
    """Return the lines of a drawing for so many columns; none where there is nothing to draw."""
    lines = [line for scene in _make_scenes(case, expected) for line in lay_out_grids(*scene, columns)]
    if ascii_only:
        return [Text(line.plain.replace(PADDING_DOT, ASCII_PADDING_DOT).rstrip()) for line in lines]
    return lines


def _make_scenes(case: Case, expected: Expected) -> Iterator[Scene]:
    """Yield what to draw: of a case one scene, of a question one for each answer."""
    x = expected.inputs["x"]
    if not MIN_DRAWN_AXES <= x.ndim <= MAX_DRAWN_AXES or 0 in x.shape:
        return
    for title, output, changed in _titled_outputs(case, expected):
        parameters = {**case.parameters, **changed}
        if case.operator == "pad" and output is not None and 0 not in output.shape:
            yield _pad_scene(x, title, output, parameters["pads"])
        elif case.operator in WINDOW_OPERATORS and (walk := _drawable_windows(case, parameters)):
            yield _window_scene(x, title, output, walk)


def _titled_outputs(case: Case, expected: Expected) -> Iterator[tuple[str, Array | None, Mapping[str, Any]]]:
    """Yield a title, the output of the operator itself if it is known, and the parameters that an answer changes."""
    if expected.target is not None:
        exact = expected.target.exact
        # What follows reads the output on, so that it is not what must come out in the end.
        yield "expected", None if case.then or exact is None else exact.value, {}
    named = case.expect.named if isinstance(case.expect, Answers) else {}
    for name, target in expected.answers.items():
        answer = named[name]
        value = None if target.exact is None else target.exact.value
        yield f"answer {name!r}", value, answer if isinstance(answer, Mapping) else {}


def _drawable_windows(case: Case, given: Mapping[str, Any]) -> Windows | None:
    """Return the windows of a case, None where it has none that can be drawn."""
    window: Any = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else given.get("window")
    try:
        rounding = given.get("rounding", "floor")
        walk = Windows.of(case.shape[2:], window, given["stride"], given["padding"], given["dilation"], rounding)
    except (KeyError, TypeError, ValueError):
        return None
    cropped = min(end for pair in walk.pads for end in pair) < 0
    return None if cropped or 0 in walk.output else walk


def _window_scene(x: Array, title: str, output: Array | None, walk: Windows) -> Scene:
    depth = _depth_slice(walk) if len(walk.size) + 2 == MAX_DRAWN_AXES else None
    rows, columns = [SINGLE_ROW_AXIS, *(DrawnAxis.from_windows(walk, axis) for axis in range(len(walk.size)))][-2:]
    place, coverage = _depth_text(depth), walk.coverage()
    read = np.atleast_2d(coverage if depth is None else coverage[depth])
    grids = [_input_grid(_with_depth("x", place), np.atleast_2d(x[place]), rows, columns, read)]
    if output is not None and output.shape[2:] == walk.output:
        place = _depth_text(None if depth is None else 0)
        grids.append(_output_grid(_with_depth(title, place), np.atleast_2d(output[place])))
    return grids, _slice_note(x, depth)


def _depth_slice(walk: Windows) -> int:
    """Return the slice of a 3-D input to draw: the first that the first window reads."""
    positions = (k * walk.dilation[0] - walk.pads[0][0] for k in range(walk.window[0]))
    return next((position for position in positions if 0 <= position < walk.size[0]), 0)


def _depth_text(depth: int | None) -> tuple[int, ...]:
    return (0, 0) if depth is None else (0, 0, depth)


def _with_depth(name: str, place: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, place))}]"


def _slice_note(x: Array, depth: int | None) -> list[str]:
    """Say what of an array is drawn, if not all."""
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
    """Return the mark of a cell in the first window, the last one or both, which may be the only one."""
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
    """Draw what is left of the input in the input and in the output; of 3-D arrays the first slice that has some."""
    depth, to = (max(-pads[0][0], 0), max(pads[0][0], 0)) if x.ndim == MAX_DRAWN_AXES else (None, None)
    source, result = np.atleast_2d(x[_depth_text(depth)]), np.atleast_2d(output[_depth_text(to)])
    ends = [(0, 0), *pads][-2:]
    kept = [range(max(-low, 0), size + min(high, 0)) for size, (low, high) in zip(source.shape, ends, strict=True)]
    moved = [range(cells.start + low, cells.stop + low) for cells, (low, _) in zip(kept, ends, strict=True)]
    grids = [
        _retained_grid(_with_depth("x", _depth_text(depth)), source, kept, CROPPED_MARK),
        _retained_grid(_with_depth(title, _depth_text(to)), result, moved, NO_MARK),
    ]
    return grids, _slice_note(x, depth)


def _retained_grid(title: str, plane: Array, kept: Sequence[range], other: CellMark) -> Grid:
    def cell(r: int, c: int) -> GridCell:
        return GridCell(_number_text(plane[r, c]), RETAINED_MARK if r in kept[0] and c in kept[1] else other)

    return Grid.build(title, (plane.shape[0], plane.shape[1]), cell)


def _number_text(value: Any) -> str:
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.4g}"
