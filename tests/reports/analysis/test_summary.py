"""Counts, problems, verdicts and groups of differences."""

from collections import Counter

import pytest

from reports.analysis import summary
from reports.analysis.deviation import deviation_text
from reports.results import Report, load_report
from tests.support import example_results as example


@pytest.fixture
def report(tmp_path):
    return load_report(example.write(tmp_path, example.alpha(), example.beta(), example.gamma(), example.delta()))


def test_matrix_counts_every_result_once(report):
    counted = Counter()
    for operator, row in summary.counts_by_operator(report).items():
        for surface, counts in row.items():
            counted.update({(operator, surface, status): number for status, number in counts.items()})
    assert counted == Counter((report.cases[one.case].operator, one.surface, one.status) for one in report.results)


def test_good_run_has_a_good_verdict(tmp_path):
    verdict = summary.report_verdict(load_report(example.write(tmp_path, example.alpha())))
    assert (verdict.is_good, verdict.headline) == (True, "All agree")
    assert verdict.sentence == "18 results of 9 cases on 2 surfaces of 1 backend: 18 pass."


def test_known_differences_are_expected(tmp_path):
    known = example.result("conv/edge-detector", "k.nn", status="known", verdict="differ", kind="value", reason="why")
    verdict = summary.report_verdict(load_report(example.write(tmp_path, example.run("k", ["k.nn"], [known]))))
    assert (verdict.is_good, verdict.headline) == (True, "As expected, with 1 known difference")


@pytest.mark.parametrize(
    ("runs", "headline"),
    [
        ([example.gamma()], "The run is incomplete"),
        ([example.delta()], "Nothing ran"),
        ([example.alpha(), example.delta()], "The run is incomplete"),
        ([example.beta()], "9 unexpected results"),
    ],
)
def test_headline_names_the_problem(tmp_path, runs, headline):
    verdict = summary.report_verdict(load_report(example.write(tmp_path, *runs)))
    assert (verdict.is_good, verdict.headline) == (False, headline)


def test_report_without_files_is_not_good():
    assert not summary.report_verdict(Report(())).is_good
    assert summary.report_problems(Report(())) == ["There are no results."]


def test_problems_name_the_surfaces(report):
    problems = summary.report_problems(report)
    assert "delta: nothing ran." in problems
    assert "gamma: partial run, stopped after 3 results." in problems
    assert any(problem.startswith("5 results failed") and "beta.keras.layers (4)" in problem for problem in problems)


def test_groups_contain_each_difference_once_and_known_ones_last(report):
    groups = summary.difference_groups(report)
    different = [result for result in report.results if result.status in summary.DIFFERING_STATUSES]
    assert sorted(id(result) for group in groups for result in group.results) == sorted(map(id, different))
    assert [group.status for group in groups][-1] == "known"
    assert groups[-1].surfaces == ("beta.book", "beta.keras.layers")


def test_smallest_case_of_a_group_is_first(report):
    for group in summary.difference_groups(report):
        sizes = [report.cases[result.case].size for result in group.results]
        assert sizes == sorted(sizes)


def test_causes_that_differ_only_in_numbers_are_one_group(tmp_path):
    names = ["conv/edge-detector", "conv/wraps-in-int64"]
    died = [example.died(name, "k.nn", "crashed", f"signal at {n}") for n, name in enumerate(names)]
    groups = summary.difference_groups(load_report(example.write(tmp_path, example.run("k", ["k.nn"], died))))
    assert [len(group.results) for group in groups] == [2]


@pytest.mark.parametrize(
    ("case", "surface", "expected"),
    [
        ("max_pool/stride-2-padding-1", "beta.keras.layers", "at [0, 0, 1, 1] expected 15, got 14"),
        ("max_pool/nan-in-the-window", "beta.keras.layers", "at [0, 0, 0] expected nan, got 3"),
        ("avg_pool/large", "beta.keras.layers", ""),
    ],
)
def test_deviation_names_the_worst_element(report, case, surface, expected):
    result = next(result for result in report.results if (result.case, result.surface) == (case, surface))
    assert deviation_text(result, report.cases[case]) == expected


def test_deviation_in_shape_names_both(tmp_path):
    got = example.array([1, 2], [2])
    result = example.differing("conv/edge-detector", "k.nn", got, None, kind="shape")
    report = load_report(example.write(tmp_path, example.run("k", ["k.nn"], [result])))
    text = deviation_text(next(report.results), report.cases["conv/edge-detector"])
    assert text == "expected float32 [1, 1, 1, 7], got float32 [2]"


def test_unsupported_is_grouped_by_reason_the_most_frequent_first(report):
    counts = [(reason, len(results)) for reason, results in summary.unsupported_by_reason(report).items()]
    assert counts == [("no asymmetric padding", 3), ("no convolution", 1), ("the loops work on one plane", 1)]


def test_predicates_are_split_into_words():
    assert summary.predicate_text("WindowExceedsPaddedInput") == "window exceeds padded input"
