"""Cases in which surfaces of one backend disagree."""

import io

from rich.console import Console

from reports.analysis.contradictions import contradiction_lines, find_contradictions
from reports.results import load_report
from reports.views.html import render_html
from reports.views.markdown import render_markdown
from reports.views.terminal import render_terminal
from tests.support import example_results as example

ONE, TWO, CASE, QUESTION = "a.one", "a.two", "max_pool/stride-2-padding-1", "avg_pool/divisor-at-the-border"
AT_END = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1048576}
WRONG = example.array([5, 7, 13, 14], [1, 1, 2, 2])


def wrong(surface, digest="00", **changes):
    return example.differing(CASE, surface, WRONG, AT_END, digest=digest, **changes)


def report(folder, *records):
    return load_report(example.write(folder, example.run("a", [ONE, TWO], records)))


def test_agreeing_surface_contradicts_a_differing_one(tmp_path):
    found = report(tmp_path, example.result(CASE, ONE), wrong(TWO))
    (one,) = find_contradictions(found)
    assert (one.backend, one.operator, one.cases) == ("a", "max_pool", (CASE,))
    assert contradiction_lines(one, found.cases) == [
        f"{ONE}: agrees with the reference",
        f"{TWO}: returns other values (at [0, 0, 1, 1] expected 15, got 14)",
    ]


def test_known_differences_count(tmp_path):
    assert find_contradictions(report(tmp_path, example.result(CASE, ONE), wrong(TWO, status="known", reason="why")))


def test_different_bits_within_the_bound_are_no_contradiction(tmp_path):
    records = [example.result(CASE, ONE, digest="00"), example.result(CASE, TWO, digest="11")]
    assert find_contradictions(report(tmp_path, *records)) == []


def test_surfaces_with_the_same_wrong_output_do_not_contradict(tmp_path):
    assert find_contradictions(report(tmp_path / "same", wrong(ONE), wrong(TWO))) == []
    assert len(find_contradictions(report(tmp_path / "different", wrong(ONE), wrong(TWO, digest="11")))) == 1


def test_unsupported_result_contradicts_nothing(tmp_path):
    assert find_contradictions(report(tmp_path, wrong(ONE), example.unsupported(CASE, TWO))) == []


def test_rejection_contradicts_a_crash(tmp_path):
    rejected = example.rejected(CASE, ONE, status="fail", verdict="differ", kind="rejected")
    (one,) = find_contradictions(report(tmp_path, rejected, example.died(CASE, TWO, "crashed", "signal 8")))
    assert [description for description, _ in one.behaviours] == [
        "crashes the process",
        "rejects what must be accepted",
    ]


def test_outputs_of_calls_that_must_be_rejected_are_not_compared(tmp_path):
    case = "max_pool/window-larger-than-input"
    accepted = {"status": "known", "verdict": "differ", "kind": "accepted", "budget_used": None, "reason": "why"}
    records = [example.result(case, surface, digest=surface[-3:], **accepted) for surface in (ONE, TWO)]
    assert find_contradictions(report(tmp_path, *records)) == []


def test_different_answers_to_a_convention_are_a_contradiction(tmp_path):
    answers = [("real-cells", ONE), ("whole-window", TWO)]
    results = [example.result(QUESTION, surface) for _, surface in answers]
    conventions = [example.convention(surface, answer, answer, "undocumented") for answer, surface in answers]
    (one,) = find_contradictions(report(tmp_path, *results, *conventions))
    assert one.behaviours == (("answers 'real-cells'", (ONE,)), ("answers 'whole-window'", (TWO,)))


def test_same_contradiction_is_listed_once_with_its_smallest_case(tmp_path):
    other = "max_pool/padding-recipe-on-negative-input"
    records = [
        *(example.result(name, ONE) for name in (CASE, other)),
        wrong(TWO),
        example.differing(other, TWO, WRONG, AT_END, digest="11"),
    ]
    (one,) = find_contradictions(report(tmp_path, *records))
    assert set(one.cases) == {CASE, other}
    assert one.results[0].case == one.cases[0]


def test_backends_are_not_compared_with_each_other(tmp_path):
    runs = [example.run("a", [ONE], [example.result(CASE, ONE)]), example.run("b", [TWO], [wrong(TWO)])]
    assert find_contradictions(load_report(example.write(tmp_path, *runs))) == []


def test_every_view_lists_contradictions(tmp_path):
    found = report(tmp_path, example.result(CASE, ONE), wrong(TWO))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render_terminal(found))
    assert "a: its surfaces disagree on 1 case" in console.export_text()
    for text in (render_markdown(found), render_html(found)):
        assert "Surfaces that disagree" in text
        assert "returns other values" in text


def test_views_without_contradictions_have_no_section(tmp_path):
    found = report(tmp_path, example.result(CASE, ONE), example.result(CASE, TWO))
    assert "Surfaces that disagree" not in render_markdown(found) + render_html(found)
