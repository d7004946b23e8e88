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
from conformance.cli.text_grid import PLAIN, Cell, Grid, Mark, laid_out
from conformance.judging.expected import Expected
from reference import Windows

# Operators whose output has one element for each window of a walk over x.
WALKS = {"max_pool", "min_pool", "avg_pool", "lp_pool", "softmax_pool", "max_pool_with_indices", "conv"}
WALKS |= {"stochastic_pool", "stochastic_pool_probabilities"}
FEWEST_AXES, MOST_AXES = 3, 5  # (n, c, and one to three spatial axes)

DOT, ASCII_DOT = "·", "."
FIRST = Mark("[", "]", "bold green", "first window")
LAST = Mark("(", ")", "bold cyan", "last window")
BOTH = Mark("{", "}", "bold yellow", "first and last window")
ONLY = Mark("[", "]", "bold green", "the only window")
UNREAD = Mark("~", "~", "red", "in no window")
PADDING = Mark(" ", " ", "dim", "padding", DOT)
BEYOND = Mark(" ", " ", "dim", "past the padding", "_")
KEPT = Mark("[", "]", "bold green", "from the input")
CROPPED = Mark("~", "~", "red", "cropped")

Scene = tuple[list[Grid], list[str]]


@dataclass(frozen=True)
class Axis:
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
    def of(cls, walk: Windows, axis: int) -> Axis:
        """Return an axis of a walk."""
        reach = range(0, walk.window[axis] * walk.dilation[axis], walk.dilation[axis])
        end = (walk.output[axis] - 1) * walk.stride[axis]
        first, last = frozenset(reach), frozenset(end + step for step in reach)
        padded = walk.padded[axis]
        return cls(walk.pads[axis][0], walk.size[axis], padded, padded + walk.overhang[axis], first, last)


ROW = Axis(0, 1, 1, 1, frozenset({0}), frozenset({0}))


def drawing(case: Case, wanted: Expected, columns: int, *, ascii_only: bool = False) -> list[Text]:
    """Return the lines of a drawing for so many columns; none where there is nothing to draw."""
    lines = [line for scene in _scenes(case, wanted) for line in laid_out(*scene, columns)]
    if ascii_only:
        return [Text(line.plain.replace(DOT, ASCII_DOT).rstrip()) for line in lines]
    return lines


def _scenes(case: Case, wanted: Expected) -> Iterator[Scene]:
    """Yield what to draw: of a case one scene, of a question one for each answer."""
    x = wanted.inputs["x"]
    if not FEWEST_AXES <= x.ndim <= MOST_AXES or 0 in x.shape:
        return
    for title, output, changed in _outputs(case, wanted):
        parameters = {**case.parameters, **changed}
        if case.operator == "pad" and output is not None and 0 not in output.shape:
            yield _pad_scene(x, title, output, parameters["pads"])
        elif case.operator in WALKS and (walk := _walk(case, parameters)):
            yield _walk_scene(x, title, output, walk)


def _outputs(case: Case, wanted: Expected) -> Iterator[tuple[str, Array | None, Mapping[str, Any]]]:
    """Yield a title, the output of the operator itself if it is known, and the parameters that an answer changes."""
    if wanted.target is not None:
        exact = wanted.target.exact
        # What follows reads the output on, so that it is not what must come out in the end.
        yield "expected", None if case.then or exact is None else exact.value, {}
    named = case.expect.named if isinstance(case.expect, Answers) else {}
    for name, target in wanted.answers.items():
        answer = named[name]
        value = None if target.exact is None else target.exact.value
        yield f"answer {name!r}", value, answer if isinstance(answer, Mapping) else {}


def _walk(case: Case, given: Mapping[str, Any]) -> Windows | None:
    """Return the windows of a case, None where it has none that can be drawn."""
    window: Any = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else given.get("window")
    try:
        rounding = given.get("rounding", "floor")
        walk = Windows.of(case.shape[2:], window, given["stride"], given["padding"], given["dilation"], rounding)
    except (KeyError, TypeError, ValueError):
        return None
    cropped = min(end for pair in walk.pads for end in pair) < 0
    return None if cropped or 0 in walk.output else walk


def _walk_scene(x: Array, title: str, output: Array | None, walk: Windows) -> Scene:
    depth = _depth(walk) if len(walk.size) + 2 == MOST_AXES else None
    rows, columns = [ROW, *(Axis.of(walk, axis) for axis in range(len(walk.size)))][-2:]
    place, coverage = _place(depth), walk.coverage()
    read = np.atleast_2d(coverage if depth is None else coverage[depth])
    grids = [_input_grid(_named("x", place), np.atleast_2d(x[place]), rows, columns, read)]
    if output is not None and output.shape[2:] == walk.output:
        place = _place(None if depth is None else 0)
        grids.append(_output_grid(_named(title, place), np.atleast_2d(output[place])))
    return grids, _notes(x, depth)


def _depth(walk: Windows) -> int:
    """Return the slice of a 3-D input to draw: the first that the first window reads."""
    positions = (k * walk.dilation[0] - walk.pads[0][0] for k in range(walk.window[0]))
    return next((position for position in positions if 0 <= position < walk.size[0]), 0)


def _place(depth: int | None) -> tuple[int, ...]:
    return (0, 0) if depth is None else (0, 0, depth)


def _named(name: str, place: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, place))}]"


def _notes(x: Array, depth: int | None) -> list[str]:
    """Say what of an array is drawn, if not all."""
    planes = [] if x.shape[:2] == (1, 1) else [f"the first of {x.shape[0]} x {x.shape[1]} planes"]
    slices = [] if depth is None else [f"slice {depth} of {x.shape[2]}"]
    return [f"drawn: {', '.join([*planes, *slices])}"] if planes + slices else []


def _input_grid(title: str, plane: Array, rows: Axis, columns: Axis, coverage: Array) -> Grid:
    only = rows.first == rows.last and columns.first == columns.last

    def cell(r: int, c: int) -> Cell:
        mark = _windows(r in rows.first and c in columns.first, r in rows.last and c in columns.last, only)
        if r >= rows.padded or c >= columns.padded:
            return Cell(BEYOND.sign, mark, BEYOND)
        i, j = r - rows.before, c - columns.before
        if not (0 <= i < rows.size and 0 <= j < columns.size):
            return Cell(DOT, mark, PADDING)
        return Cell(_number(plane[i, j]), mark if coverage[i, j] else UNREAD)

    return Grid.of(title, (rows.length, columns.length), cell)


def _windows(first: bool, last: bool, only: bool) -> Mark:
    """Return the mark of a cell in the first window, the last one or both, which may be the only one."""
    marks = {(True, True): ONLY if only else BOTH, (True, False): FIRST, (False, True): LAST}
    return marks.get((first, last), PLAIN)


def _output_grid(title: str, plane: Array) -> Grid:
    end = (plane.shape[0] - 1, plane.shape[1] - 1)

    def cell(r: int, c: int) -> Cell:
        return Cell(_number(plane[r, c]), _windows((r, c) == (0, 0), (r, c) == end, end == (0, 0)))

    return Grid.of(title, (plane.shape[0], plane.shape[1]), cell)


def _pad_scene(x: Array, title: str, output: Array, pads: Sequence[tuple[int, int]]) -> Scene:
    """Draw what is left of the input in the input and in the output; of 3-D arrays the first slice that has some."""
    depth, to = (max(-pads[0][0], 0), max(pads[0][0], 0)) if x.ndim == MOST_AXES else (None, None)
    source, result = np.atleast_2d(x[_place(depth)]), np.atleast_2d(output[_place(to)])
    ends = [(0, 0), *pads][-2:]
    kept = [range(max(-low, 0), size + min(high, 0)) for size, (low, high) in zip(source.shape, ends, strict=True)]
    moved = [range(cells.start + low, cells.stop + low) for cells, (low, _) in zip(kept, ends, strict=True)]
    grids = [
        _kept_grid(_named("x", _place(depth)), source, kept, CROPPED),
        _kept_grid(_named(title, _place(to)), result, moved, PLAIN),
    ]
    return grids, _notes(x, depth)


def _kept_grid(title: str, plane: Array, kept: Sequence[range], other: Mark) -> Grid:
    def cell(r: int, c: int) -> Cell:
        return Cell(_number(plane[r, c]), KEPT if r in kept[0] and c in kept[1] else other)

    return Grid.of(title, (plane.shape[0], plane.shape[1]), cell)


def _number(value: Any) -> str:
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.4g}"
