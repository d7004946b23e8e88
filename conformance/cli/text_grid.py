"""Text grids for the terminal: signs around each cell mark what it is; colors repeat the marks."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

SIGN_ORDER = "[({~·_"
"""First characters of the entries of a legend, in their order."""
MAX_GRID_ROWS = 24
"""Number of rows that fit on a small terminal, with the title and the legend."""
MAX_GRID_COLUMNS = 200
"""Maximum number of columns. A terminal seldom shows as many, because each takes at least three characters."""
GRID_GAP_CHARACTERS = 4
"""Distance of two grids side by side, in characters."""


@dataclass(frozen=True)
class CellMark:
    """A mark of a cell: the signs left and right of it, its color, and its meaning.

    sign: the sign in the legend, if it differs from the two signs.
    """

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
    """One cell: its text, its mark, and a second mark of what the cell is in the plane, such as padding."""

    text: str
    mark: CellMark = NO_MARK
    base_mark: CellMark = NO_MARK


@dataclass(frozen=True)
class Grid:
    """A title and rows of cells. full_shape: the number of rows and columns of the drawn plane."""

    title: str
    rows: tuple[tuple[GridCell, ...], ...]
    full_shape: tuple[int, int]

    @classmethod
    def build(cls, title: str, shape: tuple[int, int], cell: Callable[[int, int], GridCell]) -> Grid:
        """Return a grid. Cells beyond the largest terminal size are not created: an axis may have a million."""
        rows, columns = min(shape[0], MAX_GRID_ROWS), min(shape[1], MAX_GRID_COLUMNS)
        return cls(title, tuple(tuple(cell(r, c) for c in range(columns)) for r in range(rows)), shape)

    @property
    def width(self) -> int:
        """Width of a line, in characters."""
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
        """Yield the marks of all cells."""
        for cell in itertools.chain.from_iterable(self.rows):
            yield from (cell.mark, cell.base_mark)

    def fit_columns(self, columns: int) -> Grid:
        """Return the grid with as many columns as fit into a width."""
        fit = max(1, columns // (self._widest + 2))
        return Grid(self.title, tuple(row[:fit] for row in self.rows), self.full_shape)

    def omission_note(self) -> str:
        """Return a note that names the shown rows and columns; an empty string if all are shown."""
        shown = (len(self.rows), max((len(row) for row in self.rows), default=0))
        parts = zip(shown, self.full_shape, ("rows", "columns"), strict=True)
        texts = [f"{some} of {every} {name}" for some, every, name in parts if some < every]
        return f"{self.title}: the first {' and '.join(texts)}" if texts else ""


def lay_out_grids(grids: Iterable[Grid], notes: Iterable[str], columns: int) -> list[Text]:
    """Return the lines of grids, side by side if they fit, otherwise below each other; then the legend and notes."""
    fitting = [grid.fit_columns(columns) for grid in grids]
    fits_in_row = sum(grid.width for grid in fitting) + GRID_GAP_CHARACTERS * (len(fitting) - 1) <= columns
    lines = _side_by_side(fitting) if fits_in_row else _one_below_another(fitting)
    all_notes = [*notes, *filter(None, (grid.omission_note() for grid in fitting))]
    wrapped = [line for note in all_notes for line in textwrap.wrap(note, columns)]
    return [Text(), *lines, *_legend_lines(fitting, columns), *map(Text, wrapped)]


def _side_by_side(grids: Sequence[Grid]) -> list[Text]:
    lines = []
    for parts in itertools.zip_longest(*(grid.lines() for grid in grids)):
        line = Text()
        for part, grid in zip(parts, grids, strict=True):
            line.append_text(part or Text(" " * grid.width)).append(" " * GRID_GAP_CHARACTERS)
        line.rstrip()  # trailing blanks could make the terminal wrap a line of full width
        lines.append(line)
    return lines


def _one_below_another(grids: Sequence[Grid]) -> list[Text]:
    return [line for grid in grids for line in (*grid.lines(), Text())][:-1]


def _legend_lines(grids: Sequence[Grid], columns: int) -> list[Text]:
    words = {mark.legend for grid in grids for mark in grid.marks() if mark.meaning}
    lines: list[str] = []
    for word in sorted(words, key=lambda word: (SIGN_ORDER.index(word[0]), word)):
        if lines and len(lines[-1]) + 3 + len(word) <= columns:
            lines[-1] += f"   {word}"
        else:
            lines.append(word)
    return [Text(line, "dim") for line in lines]
