"""Counts, problems and verdicts."""

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
    assert (verdict.is_good, verdict.headline) == (True, "18 of 18 judged agree")
    assert verdict.sentence == "18 results of 9 cases on 2 surfaces of 1 backend: 18 pass."


def test_known_differences_are_expected(tmp_path):
    known = example.result("conv/edge-detector", "k.nn", status="known", verdict="differ", kind="value", reason="why")
    verdict = summary.report_verdict(load_report(example.write(tmp_path, example.run("k", ["k.nn"], [known]))))
    assert (verdict.is_good, verdict.headline) == (True, "0 of 1 judged agree; 1 known to deviate")


def test_slow_results_agree_and_are_named_in_the_headline(tmp_path):
    run = example.run("k", ["k.nn"], example.slow_results("k.nn"))
    verdict = summary.report_verdict(load_report(example.write(tmp_path, run)))
    assert (verdict.is_good, verdict.headline) == (True, "2 of 2 judged agree; 1 slow")


def test_headline_of_a_partial_run_names_everything_that_restricts_it(tmp_path):
    selection = {"surfaces": [], "operators": ["conv", "max_pool"], "cases": []}
    results = [example.result("conv/edge-detector", "k.nn"), example.unsupported("max_pool/stride-2-padding-1", "k.nn")]
    report = load_report(example.write(tmp_path, example.run("k", ["k.nn"], results, selection=selection)))
    assert summary.report_verdict(report).headline == "1 of 1 judged agree; 1 not supported; only conv, max_pool"


def test_headline_counts_many_selected_operators(tmp_path):
    selection = {"surfaces": [], "operators": [f"operator_{number}" for number in range(7)], "cases": []}
    run = example.run("k", ["k.nn"], [example.result("conv/edge-detector", "k.nn")], selection=selection)
    assert summary.report_verdict(load_report(example.write(tmp_path, run))).headline == (
        "1 of 1 judged agree; only 7 operators"
    )


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


@pytest.mark.parametrize(
    ("names", "text"), [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcde", "a, b, c and 2 more")]
)
def test_long_lists_of_names_are_counted(names, text):
    assert summary.list_text(list(names), 3) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("value 0.5", "value 0.5"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb", "a\\nb"),
        ("\u202ex", "\\u202ex"),
        ("é", "é"),
    ],
)
def test_characters_that_a_terminal_would_interpret_are_escaped(text, shown):
    assert summary.escape_control_characters(text) == shown
