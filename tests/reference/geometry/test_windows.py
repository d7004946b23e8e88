import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest

from reference import Windows
from reference.geometry.bins import Bins
from tests.support import loop_reference

SIZES = [1, 2, 4, 7]
GEOMETRIES = [
    (size, window, stride, padding, dilation, rounding)
    for size, window, stride, padding, dilation, rounding in itertools.product(
        SIZES,
        [1, 2, 3],
        [1, 2, 5],
        [(0, 0), (1, 2), (3, 0), (-1, 2), (1, -1), (-1, -2), "same_upper", "same_lower"],
        [1, 2],
        ["floor", "ceil", "full"],
    )
]


def by_loops(case):
    try:
        return loop_reference.axis_of(*case)
    except loop_reference.Refused:
        return None


def walk_of(case):
    size, window, stride, padding, dilation, rounding = case
    return Windows.of((size,), window, stride, padding if isinstance(padding, str) else [padding], dilation, rounding)


POSSIBLE = [case for case in GEOMETRIES if by_loops(case)]


def test_windows_that_exceed_the_padded_input_are_refused():
    impossible = [case for case in GEOMETRIES if not by_loops(case)]
    assert impossible
    for case in impossible:
        with pytest.raises(ValueError, match=r"exceeds the padded input|crops more than the input"):
            walk_of(case)


def test_cells_are_the_real_cells_of_the_loops():
    for case in POSSIBLE:
        expected = {(k, i, o) for o, cells in enumerate(by_loops(case)) for k, i in cells if i is not None}
        found = [
            (k, i, o)
            for (k,), (inputs,), (outputs,) in walk_of(case).cells()
            for i, o in zip(range(99)[inputs], range(99)[outputs], strict=True)
        ]
        assert len(found) == len(set(found))
        assert set(found) == expected, case


def test_inside_lists_the_real_cells_of_one_window():
    for case in POSSIBLE:
        for o, cells in enumerate(by_loops(case)):
            (offsets,), (inputs,) = walk_of(case).inside((o,))
            listed = list(zip(range(99)[offsets], range(99)[inputs], strict=True))
            assert listed == [(k, i) for k, i in cells if i is not None], case


def test_counts_are_those_of_the_loops():
    for case in POSSIBLE:
        windows, cells = walk_of(case), by_loops(case)
        assert windows.counts(True).tolist() == [len(c) for c in cells]
        assert windows.counts(False).tolist() == [sum(i is not None for _, i in c) for c in cells]
        assert windows.counts(False).dtype == np.int64


def test_coverage_counts_the_windows_of_each_cell():
    for case in POSSIBLE:
        reached = [i for cells in by_loops(case) for _, i in cells]
        assert walk_of(case).coverage().tolist() == [reached.count(i) for i in range(case[0])], case
    assert Windows.of((2, 3), (2, 2), stride=1).coverage().tolist() == [[1, 2, 1], [1, 2, 1]]


@pytest.mark.parametrize("size", range(10))
@pytest.mark.parametrize("number", range(1, 13))
def test_bins_hold_the_cells_that_their_share_of_the_axis_touches(size, number):
    walk = Bins.of((size,), number)
    shares = [(Fraction(o * size, number), Fraction((o + 1) * size, number)) for o in range(number)]
    expected = [[i for i in range(size) if i + 1 > low and i < high] for low, high in shares]
    found = {o: [] for o in range(number)}
    for (k,), (inputs,), (outputs,) in walk.cells():
        for i, o in zip(range(size)[inputs], range(number)[outputs], strict=True):
            assert i - k == expected[o][0]
            found[o].append(i)
    assert [found[o] for o in range(number)] == expected
    assert [list(range(size)[walk.inside((o,))[1][0]]) for o in range(number)] == expected
    assert walk.counts(False).tolist() == [len(cells) for cells in expected]
    assert walk.is_identity == (size == number)


def test_counts_of_several_axes_are_products():
    windows = Windows.of((4, 5), (3, 2), stride=2, padding=1)
    assert windows.counts(False).tolist() == [[2, 4, 4], [3, 6, 6]]
    assert windows.counts(True).tolist() == [[6, 6, 6], [6, 6, 6]]


def test_cells_of_several_axes_come_in_row_major_order():
    assert [offsets for offsets, _, _ in Windows.of((2, 3), (2, 3)).cells()] == list(np.ndindex(2, 3))


def test_overhang_is_how_far_the_last_window_passes_the_padded_input():
    assert Windows.of((5,), 2, 2, rounding="ceil").overhang == (1,)
    assert Windows.of((5,), 2, 2, rounding="floor").overhang == (0,)
    assert Windows.of((4, 5), (3, 2), 3, rounding="full").overhang == (2, 0)
    assert Windows.of((6,), 2, 4, dilation=2, rounding="full").overhang == (1,)


@pytest.mark.parametrize(
    ("rounding", "output"),
    [("floor", 2), ("ceil", 2), ("full", 3)],
)
def test_partial_window_that_starts_in_the_padding_is_dropped(rounding, output):
    # Starts at 0, 2 and 4; before-pad + input = 1 + 3 = 4.
    assert Windows.of((3,), 2, 2, [(1, 1)], rounding=rounding).output == (output,)


@pytest.mark.parametrize(("rounding", "output"), [("floor", 2), ("ceil", 3), ("full", 3)])
def test_partial_window_that_starts_inside_is_kept(rounding, output):
    assert Windows.of((5,), 2, 2, rounding=rounding).output == (output,)


@pytest.mark.parametrize("rounding", ["floor", "ceil", "full"])
@pytest.mark.parametrize(("word", "pads"), [("same_upper", (1, 2)), ("same_lower", (2, 1))])
def test_same_gives_one_window_a_stride_and_puts_the_odd_cell_on_its_side(word, pads, rounding):
    windows = Windows.of((6,), 4, 1, word, rounding=rounding)
    assert windows.pads == (pads,)
    assert windows.output == (6,)


def test_same_ignores_cells_that_no_window_reaches():
    windows = Windows.of((5,), 1, 3, "same_upper", rounding="full")
    assert (windows.pads, windows.output) == (((0, 0),), (2,))


def test_parameters_are_parsed_once():
    windows = Windows.of([4, 5], 2, None, [1, (0, 2)], np.int64(1), "ceil")
    assert windows == Windows((4, 5), (2, 2), (2, 2), ((1, 1), (0, 2)), (1, 1), "ceil")
    assert windows.padded == (6, 7)
    assert Windows.of((9,), 3, dilation=2).extent == (5,)
    with pytest.raises(dataclasses.FrozenInstanceError):
        windows.stride = (1, 1)


def test_cells_of_padding_cost_nothing():
    windows = Windows.of((1,), 2**30, 1, [(2**30 - 1, 0)])
    assert list(windows.cells()) == [((2**30 - 1,), (slice(0, 1, 1),), (slice(0, 1),))]
    assert windows.counts(True).tolist() == [2**30]


def test_a_valid_padding_is_none():
    assert Windows.of((3, 4), 2, padding="valid").pads == ((0, 0), (0, 0))


def test_an_extent_below_zero_is_refused():
    with pytest.raises(ValueError, match="size -1 must be at least 0"):
        Windows.of((-1,), 1, padding=5)


def test_windows_of_one_cell_at_stride_1_are_the_identity_unless_they_pad_or_crop():
    assert Windows.of((3, 4), 1, padding=[(0, 0), 0]).is_identity
    assert not Windows.of((3,), 2, 1).is_identity
    assert not Windows.of((3,), 1, 2).is_identity
    for padding in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
        assert not Windows.of((3,), 1, padding=[padding]).is_identity
