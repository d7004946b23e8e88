from itertools import pairwise

import numpy as np
import pytest

from conformance import CatalogueError
from conformance.judging.drawn import boundaries
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from reports.results import DifferenceKind, Outcome, Verdict
from tests.support.fake_backends import one

BINS = ("adaptive_max_pool", "id: drawn, x: {values: [[[9, 1, 2, 3, 4]]]}, output_size: [2], drawn: DRAWN")
WINDOWS = (
    "fractional_max_pool",
    "id: drawn, x: {values: [[[5, 1, 9, 3]], [[1, 2, 3, 4]]]}, window: [1], output_size: [3], drawn: windows",
)


@pytest.fixture
def case_of(tmp_path):
    """Return a function that returns the case of an operator and a text in which some parts are replaced."""

    def read(example, replaced=(), *, operator=""):
        text = example[1]
        for old, new in dict(replaced).items():
            text = text.replace(old, new)
        return one(tmp_path, text, operator=operator or example[0])

    return read


def verdict(case, array):
    target = compute_expected(case).target
    return judge_outcome(ProgramOutcome(Outcome.RETURNED, (np.array(array, np.float32),)), target)


@pytest.mark.parametrize(("extent", "parts", "count"), [(7, 3, 3), (6, 3, 1), (5, 4, 4), (9, 4, 4), (3, 3, 1)])
def test_every_sequence_of_boundaries_has_steps_of_the_floor_or_one_more(extent, parts, count):
    found = list(boundaries(extent, parts))
    assert len(found) == len(set(found)) == count
    for places in found:
        assert (places[0], places[-1], len(places)) == (0, extent, parts + 1)
        assert {end - start for start, end in pairwise(places)} <= {extent // parts, extent // parts + 1}


# The boundaries of two bins over five cells are 0, 2, 5 or 0, 3, 5.
@pytest.mark.parametrize(
    ("drawn", "result", "agrees"),
    [
        ("bins", [9, 4], True),
        ("bins", [9, 3], False),
        ("overlapping_bins", [9, 4], True),
    ],
)
def test_the_result_for_any_possible_bins_agrees(case_of, drawn, result, agrees):
    case = case_of(BINS, {"DRAWN": drawn})
    assert (verdict(case, [[result]] * 2).verdict == Verdict.AGREE) is agrees


def test_overlapping_bins_share_the_cell_at_their_boundary(case_of):
    case = case_of(BINS, {"DRAWN": "overlapping_bins", "[9, 1, 2, 3, 4]": "[1, 2, 3, 9, 4]"})
    # With the boundary 3, cell 3 belongs to both bins. With 2, it belongs to the second bin only.
    assert verdict(case, [[[9, 9]]] * 2).verdict == Verdict.AGREE
    assert verdict(case, [[[3, 9]]] * 2).verdict == Verdict.AGREE
    assert verdict(case, [[[2, 9]]] * 2).verdict == Verdict.DIFFER


def test_each_plane_may_have_other_windows(case_of):
    case = case_of(WINDOWS)
    first, second = [[5, 1, 3], [5, 9, 3]], [[1, 2, 4], [1, 3, 4]]
    for one_plane in first:
        for other in second:
            assert verdict(case, [[one_plane], [other]] * 2).verdict == Verdict.AGREE
    assert verdict(case, [[[5, 9, 9]], [[1, 2, 4]]] * 2).verdict == Verdict.DIFFER


def test_a_second_call_with_the_same_seed_must_give_the_same_result(case_of):
    case = case_of(WINDOWS)
    differing = verdict(case, [[[5, 1, 3]], [[1, 2, 4]], [[5, 9, 3]], [[1, 2, 4]]])
    assert (differing.verdict, differing.kind) == (Verdict.DIFFER, DifferenceKind.VALUE)
    assert differing.message.startswith("none of 4 possible results")


def test_planes_share_the_boundaries_of_bins(case_of):
    case = case_of(BINS, {"DRAWN": "bins", "[[[9, 1, 2, 3, 4]]]": "[[[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]]"})
    assert verdict(case, [[[2, 5], [2, 5]]] * 2).verdict == Verdict.AGREE
    assert verdict(case, [[[2, 5], [3, 5]]] * 2).verdict == Verdict.DIFFER


def test_averages_of_bins_must_be_exact(case_of):
    # The average of the last three cells is 10/3.
    case = case_of(BINS, {"DRAWN": "bins", "3, 4]": "3, 5]"}, operator="adaptive_avg_pool")
    with pytest.raises(CatalogueError, match="rounded"):
        compute_expected(case)


def test_too_many_possible_results_are_rejected(case_of):
    # 30! / (10! * 20!) sequences of 20 steps of one or two cells.
    case = case_of(BINS, {"DRAWN": "bins", "[[[9, 1, 2, 3, 4]]]": "arange, shape: [1, 1, 30]", "[2]": "[20]"})
    with pytest.raises(CatalogueError, match="exceed the limit"):
        compute_expected(case)


@pytest.mark.parametrize(
    ("example", "replaced", "message"),
    [
        (WINDOWS, {"drawn: windows": "drawn: bins"}, "no bins that a call can draw"),
        (BINS, {"DRAWN": "windows"}, "no windows that a call can draw"),
        (WINDOWS, {"drawn: windows": "drawn: windows, samples: {values: [[[0]], [[0]]]}"}, "together with drawn"),
    ],
)
def test_other_combinations_are_errors(case_of, example, replaced, message):
    with pytest.raises(CatalogueError, match=message):
        case_of(example, replaced)
