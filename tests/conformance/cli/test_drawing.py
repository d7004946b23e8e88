"""Drawings of `conformance show`, character by character."""

import pytest

from conformance.cases.case import Rejected
from conformance.cases.operators import OPERATORS, Geometry
from conformance.cli.drawing import drawing_lines
from conformance.judging.expected import compute_expected
from tests.support.fake_backends import one

FOUR = "x: {values: arange, shape: [1, 1, 4, 4]}"


def drawn(folder, text, columns=80, *, ascii_only=True, **keywords):
    """Return the drawing of a case as text without trailing blanks."""
    case = one(folder, f"id: a, {text}", **keywords)
    lines = drawing_lines(case, compute_expected(case), columns, ascii_only=ascii_only)
    assert all(len(line.plain) <= columns for line in lines)
    return "\n".join(line.plain.rstrip() for line in lines).lstrip("\n")


def test_first_and_last_window_are_marked_in_the_padded_input_and_in_the_output(tmp_path):
    text = f"{FOUR}, window: 3, stride: 2, padding: 1"
    assert drawn(tmp_path, text) == (
        "x[0, 0]                     expected[0, 0]\n"
        "[ .][ .][ .]  .   .   .     [ 5]  7\n"
        "[ .][ 0][ 1]  2   3   .      13 (15)\n"
        "[ .][ 4]{ 5}( 6)( 7)  .\n"
        "  .   8 ( 9)(10)(11)  .\n"
        "  .  12 (13)(14)(15)  .\n"
        "  .   .   .   .   .   .\n"
        "[ ] first window   ( ) last window   { } first and last window   . padding"
    )


def test_narrow_terminal_has_the_output_below_and_a_legend_of_several_lines(tmp_path):
    text = f"{FOUR}, window: 3, stride: 2, padding: 1"
    assert drawn(tmp_path, text, columns=40).splitlines()[6:] == [
        "  .   .   .   .   .   .",
        "",
        "expected[0, 0]",
        "[ 5]  7",
        " 13 (15)",
        "[ ] first window   ( ) last window",
        "{ } first and last window   . padding",
    ]


def test_dilated_windows_and_cells_in_no_window_are_marked(tmp_path):
    text = "x: {values: arange, shape: [1, 1, 7]}, window: 2, stride: 3, dilation: 2"
    assert drawn(tmp_path, text) == (
        "x[0, 0]                  expected[0, 0]\n"
        "[0]~1~[2](3)~4~(5)~6~    [2](5)\n"
        "[ ] first window   ( ) last window   ~ ~ in no window"
    )


def test_cells_past_the_padding_differ_from_padding(tmp_path):
    text = "x: {values: arange, shape: [1, 1, 5]}, window: 3, stride: 2, padding: [[1, 0]], rounding: full"
    assert drawn(tmp_path, text) == (
        "x[0, 0]                  expected[0, 0]\n"
        "[.][0][1] 2 (3)(4)(_)    [1] 3 (4)\n"
        "[ ] first window   ( ) last window   . padding   _ past the padding"
    )


def test_single_window_has_its_own_legend(tmp_path):
    text = "x: {values: arange, shape: [1, 1, 2, 2]}, window: 2"
    assert drawn(tmp_path, text) == "x[0, 0]    expected[0, 0]\n[0][1]     [3]\n[2][3]\n[ ] the only window"


def test_3d_input_is_drawn_as_the_first_slice_that_the_first_window_reads(tmp_path):
    text = (
        "x: {values: arange, shape: [2, 1, 3, 2, 2]}, window: 2, dilation: [2, 1, 1], padding: [[1, 1], [0, 0], [0, 0]]"
    )
    assert drawn(tmp_path, text) == (
        "x[0, 0, 1]    expected[0, 0, 0]\n"
        "[4][5]        [7]\n"
        "[6][7]\n"
        "[ ] the only window\n"
        "drawn: the first of 2 x 1 planes, slice 1 of 3"
    )


def test_convolution_has_the_window_of_its_kernel(tmp_path):
    text = f"{FOUR}, kernel: {{values: [[[[1, 0], [0, 1]]]]}}, stride: 2"
    assert drawn(tmp_path, text, operator="conv") == (
        "x[0, 0]             expected[0, 0]\n"
        "[ 0][ 1]  2   3     [ 5]  9\n"
        "[ 4][ 5]  6   7      21 (25)\n"
        "  8   9 (10)(11)\n"
        " 12  13 (14)(15)\n"
        "[ ] first window   ( ) last window"
    )


def test_pad_marks_the_input_inside_the_output_and_cropped_cells(tmp_path):
    text = "x: {values: [[[[1, 2, 3], [4, 5, 6]]]]}, pads: [[1, 0], [-1, 2]], value: 7"
    assert drawn(tmp_path, text, operator="pad") == (
        "x[0, 0]      expected[0, 0]\n"
        "~1~[2][3]     7  7  7  7\n"
        "~4~[5][6]    [2][3] 7  7\n"
        "             [5][6] 7  7\n"
        "[ ] from the input   ~ ~ cropped"
    )


def test_3d_pad_draws_a_slice_with_cells_of_the_input(tmp_path):
    text = "x: {values: arange, shape: [1, 1, 2, 1, 2]}, pads: [[1, 0], [0, 0], [0, 1]]"
    assert drawn(tmp_path, text, operator="pad") == (
        "x[0, 0, 0]    expected[0, 0, 1]\n[0][1]        [0][1] 0\n[ ] from the input\ndrawn: slice 0 of 2"
    )


def test_omitted_rows_and_columns_are_named(tmp_path):
    text = "x: {values: arange, shape: [1, 1, 30, 30]}, window: 2"
    assert drawn(tmp_path, text, columns=50).splitlines()[-3:] == [
        "x[0, 0]: the first 24 of 30 rows and 10 of 30",
        "columns",
        "expected[0, 0]: the first 10 of 15 columns",
    ]


def test_input_of_a_million_cells_is_drawn(tmp_path):
    assert "of 1000000 columns" in drawn(tmp_path, "x: {values: arange, shape: [1, 1, 1000000]}, window: 2")


def test_each_answer_of_a_convention_case_is_drawn(tmp_path):
    text = f"about: B, {FOUR}, window: 3, answers: {{window: {{stride: 3}}, one: {{stride: 1}}}}"
    drawing = drawn(tmp_path, text, section="questions")
    assert "answer 'window'[0, 0]" in drawing
    assert "answer 'one'[0, 0]" in drawing
    assert drawing.count("x[0, 0]") == 2


def test_case_that_must_be_rejected_is_drawn_if_it_has_windows(tmp_path):
    assert drawn(tmp_path, f"{FOUR}, window: 9, expect: {{rejected: WindowExceedsPaddedInput}}") == ""
    text = "x: {values: arange, shape: [1, 3, 2]}, kernel: {values: [[[1, 1]]]}, groups: 2, "
    drawing = drawn(tmp_path, f"{text} expect: {{rejected: GroupsDoNotDivideChannels}}", operator="conv")
    assert drawing.startswith("x[0, 0]\n[0][1]\n[ ] the only window")


def test_intermediate_output_is_not_drawn_as_expected(tmp_path):
    drawing = drawn(tmp_path, f"{FOUR}, window: 2, then: [{{operator: max_pool, window: 2}}]")
    assert drawing.startswith("x[0, 0]")
    assert "expected" not in drawing


def test_colors_add_no_characters(tmp_path):
    text = f"{FOUR}, window: 3, stride: 2, padding: 1"
    ascii_drawing = drawn(tmp_path, text)
    assert drawn(tmp_path, text, ascii_only=False).replace("·", ".") == ascii_drawing
    assert ascii_drawing.isascii()


@pytest.mark.parametrize(
    ("values", "dtype", "shown"),
    [
        ("[1, 0]", "bool", "[1][0]"),
        ("[-7, 100]", "int8", "[ -7][100]"),
        ("[0.123456, .nan]", "float32", "[0.1235][   nan]"),
        ("[-.inf, 123456]", "float64", "[     -inf][1.235e+05]"),
    ],
)
def test_numbers_are_short(tmp_path, values, dtype, shown):
    assert shown in drawn(tmp_path, f"x: {{values: [[{values}]], dtype: {dtype}}}, window: 2")


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_every_case_of_the_suite_can_be_drawn(catalogue, columns):
    smoke = catalogue.select("smoke")
    drawings = {case.id: drawing_lines(case, compute_expected(case), columns, ascii_only=True) for case in smoke}
    walked = {one.name for one in OPERATORS.values() if one.geometry is Geometry.WINDOWS and not one.is_gradient}
    with_windows = {case.id for case in smoke if case.operator in walked and not isinstance(case.expect, Rejected)}
    missing = [name for name in with_windows if not drawings[name]]
    assert len(missing) < len(with_windows) / 5
    for lines in drawings.values():
        assert all(line.plain.isascii() for line in lines)
