"""Errors in programs are not described as crashes of a process."""

import pytest

from reports.analysis import summary
from reports.analysis.cause_text import CauseWriter
from reports.analysis.differences import difference_groups
from reports.analysis.program_errors import is_program_error
from reports.results import load_report
from tests.support import example_results as example

WRONG = example.died("conv/edge-detector", "alpha.nn", "crashed", "error in the program: NameError: no name, line 2")
DEAD = example.died("avg_pool/large", "alpha.nn", "crashed", "signal 11 (SIGSEGV)")


@pytest.fixture
def report(tmp_path):
    return load_report(example.write(tmp_path, example.run("alpha", ["alpha.nn"], [WRONG, DEAD])))


def test_only_the_message_of_a_program_error_makes_one(report):
    assert [is_program_error(result) for result in report.results] == [True, False]


def test_problems_count_both_kinds_apart(report):
    assert summary.report_problems(report) == [
        "1 result failed because of an error in the program that the adapter wrote: alpha.nn (1).",
        "1 result crashed the process: alpha.nn (1).",
    ]


def test_causes_describe_both_kinds(report):
    groups = {group.operator: group for group in difference_groups(report)}
    texts = {text.group.operator: text.effect for text in CauseWriter(report).texts(groups.values())}
    assert (groups["conv"].action, groups["avg_pool"].action) == ("has an error in its program", "crashes the process")
    assert texts["conv"] == "has an error in the program: NameError: no name, line 2"
    assert texts["avg_pool"].startswith("ends the process: signal 11")
