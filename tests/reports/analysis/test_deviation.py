"""Descriptions of the deviation of a result."""

import pytest
from msgspec.structs import replace

from reports.analysis.deviation import deviation_text, failure_reason, unravel_index
from reports.results import RecordedArray, WorstElementRecord, load_report
from tests.support import example_results as example


@pytest.fixture
def case_and_result(tmp_path):
    """A case with the expected result [[1, 2], [3, 4]], and a result without an output."""
    run = load_report(example.write(tmp_path, example.alpha())).backends[0]
    result = replace(next(iter(run.results)), got=None, worst=None, message=None, reason=None)
    return replace(run.cases[result.case], expected=array(1, 2, 3, 4)), result


def array(*data, dtype="int8", shape=(2, 2)):
    return RecordedArray(dtype, shape, data)


@pytest.mark.parametrize(
    ("got", "text"),
    [
        (array(1, 2, 9, 8), "at [1, 0] expected 3, got 9"),
        (array(1, 2, 3, 4), ""),
        (array(1, 2, 3, 4, dtype="int16"), "expected int8 [2, 2], got int16 [2, 2]"),
        (array(1, 2, 3, 4, shape=(4,)), "expected int8 [2, 2], got int8 [4]"),
        (RecordedArray("int8", (2, 2)), ""),
        (None, ""),
    ],
)
def test_first_deviating_element_shape_or_dtype_is_described(case_and_result, got, text):
    case, result = case_and_result
    assert deviation_text(replace(result, got=got), case) == text


def test_worst_element_is_preferred_to_the_first(case_and_result):
    case, result = case_and_result
    worst = WorstElementRecord(index=(1, 1), expected=4, got=8)
    assert deviation_text(replace(result, got=array(9, 2, 3, 8), worst=worst), case) == "at [1, 1] expected 4, got 8"


def test_reason_of_a_failure_is_the_deviation_the_message_or_the_reason(case_and_result):
    case, result = case_and_result
    assert failure_reason(result, case) == ""
    explained = replace(result, reason="a bug")
    assert failure_reason(explained, case) == "a bug"
    rejected = replace(explained, message="no kernel")
    assert failure_reason(rejected, case) == "no kernel"
    assert failure_reason(replace(rejected, got=array(9, 2, 3, 4)), case) == "at [0, 0] expected 1, got 9"


@pytest.mark.parametrize(("position", "index"), [(0, (0, 0, 0)), (5, (0, 1, 2)), (6, (1, 0, 0)), (11, (1, 1, 2))])
def test_position_in_row_major_order_becomes_an_index(position, index):
    assert unravel_index(position, (2, 2, 3)) == index
