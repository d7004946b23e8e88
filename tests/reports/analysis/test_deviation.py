"""Descriptions of the deviation of a result."""

import ml_dtypes
import numpy as np
import pytest
from msgspec.structs import replace

from reports.analysis import summary
from reports.analysis.cause_text import CauseWriter
from reports.analysis.deviation import (
    deviation_text,
    failure_reason,
    is_program_error,
    move_size_text,
    unit_in_last_place,
    unravel_index,
)
from reports.analysis.differences import difference_groups
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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_unit_in_last_place_is_that_of_numpy(dtype):
    scalar = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype).type
    limits = ml_dtypes.finfo(scalar) if dtype == "bfloat16" else np.finfo(scalar)
    for value in (0.0, float(limits.smallest_subnormal), float(limits.tiny), 0.75, 1.0, 3.0, float(limits.max) / 2):
        assert unit_in_last_place(value, dtype) == float(np.spacing(scalar(value)))


@pytest.mark.parametrize(
    ("distance", "magnitude", "dtype", "bound", "text"),
    [
        (2.0**-22, 1.5, "float32", 2.0**-20, "2 ulp, 25 % of the largest error bound"),
        (2.0**-22, 1.5, "float32", 0.0, "2 ulp"),
        (2.0**-22, 1.5, "float32", None, "2 ulp"),
        (np.inf, np.inf, "float32", 2.0**-20, ""),
        (0.0, 0.0, "float32", 2.0**-20, ""),  # -0.0 and 0.0
        (3, 3, "int32", None, ""),
    ],
)
def test_size_of_a_move_is_given_where_it_has_a_meaning(distance, magnitude, dtype, bound, text):
    assert move_size_text(distance, magnitude, dtype, bound) == text


WRONG = example.died("conv/edge-detector", "alpha.nn", "crashed", "error in the program: NameError: no name, line 2")
DEAD = example.died("avg_pool/large", "alpha.nn", "crashed", "signal 11 (SIGSEGV)")


@pytest.fixture
def report_with_program_error(tmp_path):
    return load_report(example.write(tmp_path, example.run("alpha", ["alpha.nn"], [WRONG, DEAD])))


def test_only_the_message_of_a_program_error_makes_one(report_with_program_error):
    assert [is_program_error(result) for result in report_with_program_error.results] == [True, False]


def test_problems_count_both_kinds_apart(report_with_program_error):
    assert summary.report_problems(report_with_program_error) == [
        "1 result failed because of an error in the program that the adapter wrote: alpha.nn (1).",
        "1 result crashed the process: alpha.nn (1).",
    ]


def test_causes_describe_both_kinds(report_with_program_error):
    groups = {group.operator: group for group in difference_groups(report_with_program_error)}
    texts = {text.group.operator: text.effect for text in CauseWriter(report_with_program_error).texts(groups.values())}
    assert (groups["conv"].action, groups["avg_pool"].action) == ("has an error in its program", "crashes the process")
    assert texts["conv"] == "has an error in the program: NameError: no name, line 2"
    assert texts["avg_pool"].startswith("ends the process: signal 11")
