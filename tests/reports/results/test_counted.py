"""Results that are only counted: which ones, and that a run of them equals the file in numbers."""

from collections import Counter

import pytest

from reports.results import load_report
from reports.results.counted import is_only_counted, load_counted_run
from tests.support import example_results as example


@pytest.mark.parametrize("run", [example.alpha, example.beta, example.gamma])
def test_numbers_equal_those_of_the_file(tmp_path, run):
    (path,) = example.write(tmp_path, run())
    counted, ids = load_counted_run(path)
    (full,) = load_report([path]).backends
    assert len(ids) == len(full.cases)
    assert len(counted.results) == len(full.results)
    for key in ("surface", "status", "outcome", "verdict"):
        assert Counter(getattr(one, key) for one in counted.results) == Counter(
            getattr(one, key) for one in full.results
        )
    assert [one for one in counted.results if not is_only_counted(one)] == [
        one for one in full.results if not is_only_counted(one)
    ]


def test_all_results_of_a_case_with_a_difference_are_stored_with_their_programs(tmp_path):
    (path,) = example.write(tmp_path, example.beta())
    counted, _ = load_counted_run(path)
    (full,) = load_report([path]).backends
    shown = {one.case for one in full.results if not is_only_counted(one)}
    assert {one.case for one in counted.results if not one.case.endswith("/*")} >= shown
    assert {one.program for one in counted.results if one.program} == counted.programs.keys()


def test_result_that_differed_after_other_programs_is_not_only_counted(tmp_path):
    lines = [{**one, "after_others": "crashed"} if one["record"] == "result" else one for one in example.alpha()]
    (path,) = example.write(tmp_path, lines)
    counted, _ = load_counted_run(path)
    assert {one.after_others for one in counted.results} == {"crashed"}
