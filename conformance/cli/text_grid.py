"""Grids of cells for the terminal: signs around each cell say what it is, and colours repeat that."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

SIGN_ORDER = "[({~·_"  # in the order of a legend
MAX_GRID_ROWS = 24
MAX_GRID_COLUMNS = 200
GRID_GAP = 4


@dataclass(frozen=True)
class CellMark:
    """What stands left and right of a cell, its colour, what it means, and its sign in the legend if it is another."""

    left: str
    right: str
    style: str
    meaning: str
    sign: str = ""

    @property
    def legend(self) -> str:
        """The sign and its meaning."""
        return f"{self.sign or f'{self.left} {self.right}'} {self.meaning}"


NO_MARK = CellMark(" ", " ", "", "")


@dataclass(frozen=True)
class GridCell:
    """One cell: its text, how it is marked, and what it is under that."""

    text: str
    mark: CellMark = NO_MARK
    base_mark: CellMark = NO_MARK


@dataclass(frozen=True)
class Grid:
    """A title over rows of cells, and how many rows and columns there would be in all."""

    title: str
    rows: tuple[tuple[GridCell, ...], ...]
    full_shape: tuple[int, int]

    @classmethod
    def build(cls, title: str, shape: tuple[int, int], cell: Callable[[int, int], GridCell]) -> Grid:
        """Make a grid; cells that no terminal has room for are not made, for an axis may have a million."""
        rows, columns = min(shape[0], MAX_GRID_ROWS), min(shape[1], MAX_GRID_COLUMNS)
        return cls(title, tuple(tuple(cell(r, c) for c in range(columns)) for r in range(rows)), shape)

    @property
    def width(self) -> int:
        """Letters that a line takes."""
        return max(len(self.title), (self._widest + 2) * max((len(row) for row in self.rows), default=0))

    @property
    def _widest(self) -> int:
        return max((len(cell.text) for row in self.rows for cell in row), default=0)

    def lines(self) -> Iterator[Text]:
        """Yield the title and the rows, all of the same width."""
        yield Text(self.title.ljust(self.width), "bold")
        for row in self.rows:
            line = Text()
            for cell in row:
                style = " ".join(filter(None, (cell.mark.style, cell.base_mark.style)))
                line.append(f"{cell.mark.left}{cell.text:>{self._widest}}{cell.mark.right}", style)
            line.append(" " * (self.width - len(line)))
            yield line

    def marks(self) -> Iterator[CellMark]:
        """Yield what its cells are."""
        for cell in itertools.chain.from_iterable(self.rows):
            yield from (cell.mark, cell.base_mark)

    def fit_columns(self, columns: int) -> Grid:
        """Return the grid with as many columns as fit."""
        fit = max(1, columns // (self._widest + 2))
        return Grid(self.title, tuple(row[:fit] for row in self.rows), self.full_shape)

    def omission_note(self) -> str:
        """Say which part is shown, if not all."""
        shown = (len(self.rows), max((len(row) for row in self.rows), default=0))
        parts = zip(shown, self.full_shape, ("rows", "columns"), strict=True)
        said = [f"{some} of {every} {name}" for some, every, name in parts if some < every]
        return f"{self.title}: the first {' and '.join(said)}" if said else ""


def lay_out_grids(grids: Iterable[Grid], notes: Iterable[str], columns: int) -> list[Text]:
    """Return grids side by side where they fit, else one under the other; then the legend and the notes."""
    fitting = [grid.fit_columns(columns) for grid in grids]
    beside = sum(grid.width for grid in fitting) + GRID_GAP * (len(fitting) - 1) <= columns
    lines = _side_by_side(fitting) if beside else _one_below_another(fitting)
    said = [*notes, *filter(None, (grid.omission_note() for grid in fitting))]
    wrapped = [line for note in said for line in textwrap.wrap(note, columns)]
    return [Text(), *lines, *_legend_lines(fitting, columns), *map(Text, wrapped)]


def _side_by_side(grids: Sequence[Grid]) -> list[Text]:
    lines = []
    for parts in itertools.zip_longest(*(grid.lines() for grid in grids)):
        line = Text()
        for part, grid in zip(parts, grids, strict=True):
            line.append_text(part or Text(" " * grid.width)).append(" " * GRID_GAP)
        line.rstrip()  # or a full line would be broken by what nobody sees
        lines.append(line)
    return lines


def _one_below_another(grids: Sequence[Grid]) -> list[Text]:
    return [line for grid in grids for line in (*grid.lines(), Text())][:-1]


def _sign_rank(word: str) -> tuple[int, str]:
    return SIGN_ORDER.index(word[0]), word


def _legend_lines(grids: Sequence[Grid], columns: int) -> list[Text]:
    words = {mark.legend for grid in grids for mark in grid.marks() if mark.meaning}
    lines: list[str] = []
    for word in sorted(words, key=_sign_rank):
        if lines and len(lines[-1]) + 3 + len(word) <= columns:
            lines[-1] += f"   {word}"
        else:
            lines.append(word)
    return [Text(line, "dim") for line in lines]
