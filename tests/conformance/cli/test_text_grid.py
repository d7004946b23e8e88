"""Text grids: marks, legends and grids that do not fit."""

from conformance.cli.text_grid import CellMark, Grid, GridCell, lay_out_grids

FIRST = CellMark("[", "]", "bold", "first window")


def grid(rows, columns, title="x"):
    def cell(row, column):
        text = str(row * columns + column)
        return GridCell(text, FIRST) if text == "0" else GridCell(text)

    return Grid.build(title, (rows, columns), cell)


def drawn(grids, notes=(), columns=60):
    return [line.plain.rstrip() for line in lay_out_grids(grids, notes, columns)]


def test_marks_are_around_cells_and_explained_in_the_legend():
    lines = drawn([grid(2, 2)])
    assert lines[:4] == ["", "x", "[0] 1", " 2  3"]
    assert "[ ] first window" in "\n".join(lines)


def test_grids_are_side_by_side_if_they_fit():
    assert drawn([grid(1, 2, "x"), grid(1, 2, "y")])[1].split() == ["x", "y"]
    narrow = drawn([grid(1, 5, "x"), grid(1, 5, "y")], columns=20)
    assert [line for line in narrow if line in {"x", "y"}] == ["x", "y"]


def test_omitted_rows_and_columns_are_counted():
    assert grid(2, 2).omission_note() == ""
    large = grid(30, 3)
    assert len(large.rows) == 24
    assert large.omission_note() == "x: the first 24 of 30 rows"
    assert grid(1, 9).fit_columns(12).omission_note() == "x: the first 4 of 9 columns"


def test_notes_are_wrapped():
    assert drawn([grid(1, 1)], ["one two three"], columns=9)[-2:] == ["one two", "three"]
