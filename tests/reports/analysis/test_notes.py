"""Notes: results that are listed although they do not fail a run."""

from reports.analysis.notes import report_notes
from reports.results import load_report
from tests.support import example_results as example


def test_slow_results_are_noted_by_surface(tmp_path):
    runs = example.run("alpha", ["alpha.nn", "alpha.x"], example.slow_results("alpha.nn"))
    assert report_notes(load_report(example.write(tmp_path, runs))) == [
        "1 result exceeded the time limit once and agreed in a second run (slow): alpha.nn (1)."
    ]


def test_report_without_such_results_has_no_notes(tmp_path):
    assert report_notes(load_report(example.write(tmp_path, example.alpha(), example.beta()))) == []


def test_conventions_without_an_answer_are_listed_once_for_all_surfaces_that_leave_them(tmp_path):
    nn, other = "alpha.nn", "alpha.other"
    border, edge = (example.undeclared("avg_pool/divisor-at-the-border", one) for one in (nn, other))
    runs = example.run("alpha", [nn, other], [*border, *edge])
    assert report_notes(load_report(example.write(tmp_path, runs))) == [
        "1 convention without a declared answer on alpha.nn and alpha.other: avg_pool-divisor-at-the-border "
        "(`conformance declare` writes the observed answers)."
    ]
