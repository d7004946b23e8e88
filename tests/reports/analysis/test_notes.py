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


def test_results_that_differed_after_other_programs_are_counted_with_an_example(tmp_path):
    lines = example.alpha()
    changed = [{**one, "after_others": "crashed (signal 6)"} if one["record"] == "result" else one for one in lines]
    count = sum(one["record"] == "result" for one in lines)
    note = report_notes(load_report(example.write(tmp_path, changed)))[-1]
    assert note.startswith(f"{count} results differed after other programs had run in the process, and count as they")
    assert note.endswith("alpha.nn: crashed (signal 6)")
