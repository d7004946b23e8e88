import io

from rich.console import Console

from reports.analysis.contradictions import contradiction_lines, find_contradictions
from reports.results.reader import load_report
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


def test_surface_that_agrees_parts_from_one_that_differs(tmp_path):
    found = report(tmp_path, example.result(CASE, ONE), wrong(TWO))
    (one,) = find_contradictions(found)
    assert (one.backend, one.operator, one.cases) == ("a", "max_pool", (CASE,))
    assert contradiction_lines(one, found.cases) == [
        f"{ONE}: agrees with the reference",
        f"{TWO}: returns other values (at [0, 0, 1, 1] expected 15, got 14)",
    ]


def test_known_differences_count_like_any_other(tmp_path):
    assert find_contradictions(report(tmp_path, example.result(CASE, ONE), wrong(TWO, status="known", reason="why")))


def test_digits_within_the_bound_are_no_contradiction(tmp_path):
    records = [example.result(CASE, ONE, digest="00"), example.result(CASE, TWO, digest="11")]
    assert find_contradictions(report(tmp_path, *records)) == []


def test_surfaces_that_are_wrong_alike_do_not_part(tmp_path):
    assert find_contradictions(report(tmp_path / "alike", wrong(ONE), wrong(TWO))) == []
    assert len(find_contradictions(report(tmp_path / "apart", wrong(ONE), wrong(TWO, digest="11")))) == 1


def test_what_cannot_be_said_contradicts_nothing(tmp_path):
    assert find_contradictions(report(tmp_path, wrong(ONE), example.unsupported(CASE, TWO))) == []


def test_refusals_and_deaths_part(tmp_path):
    refused = example.violation(CASE, ONE, status="fail", verdict="differ", kind="rejected")
    (one,) = find_contradictions(report(tmp_path, refused, example.died(CASE, TWO, "crashed", "signal 8")))
    assert [words for words, _ in one.behaviours] == ["crashes the process", "rejects what must be accepted"]


def test_what_comes_of_accepted_nonsense_is_not_compared(tmp_path):
    case = "max_pool/window-larger-than-input"
    accepted = {"status": "known", "verdict": "differ", "kind": "accepted", "budget_used": None, "reason": "why"}
    records = [example.result(case, surface, digest=surface[-3:], **accepted) for surface in (ONE, TWO)]
    assert find_contradictions(report(tmp_path, *records)) == []


def test_question_is_answered_twice(tmp_path):
    answers = [("real-cells", ONE), ("whole-window", TWO)]
    results = [example.result(QUESTION, surface) for _, surface in answers]
    conventions = [example.convention(surface, answer, answer, "undocumented") for answer, surface in answers]
    (one,) = find_contradictions(report(tmp_path, *results, *conventions))
    assert one.behaviours == (("answers 'real-cells'", (ONE,)), ("answers 'whole-window'", (TWO,)))


def test_same_parting_is_listed_once_with_its_smallest_case(tmp_path):
    other = "max_pool/padding-recipe-on-negative-input"
    records = [
        *(example.result(name, ONE) for name in (CASE, other)),
        wrong(TWO),
        example.differing(other, TWO, WRONG, AT_END, digest="11"),
    ]
    (one,) = find_contradictions(report(tmp_path, *records))
    assert set(one.cases) == {CASE, other}
    assert one.results[0].case == one.cases[0]


def test_backends_are_not_held_against_each_other(tmp_path):
    runs = [example.run("a", [ONE], [example.result(CASE, ONE)]), example.run("b", [TWO], [wrong(TWO)])]
    assert find_contradictions(load_report(example.write(tmp_path, *runs))) == []


def test_every_view_tells_of_them(tmp_path):
    found = report(tmp_path, example.result(CASE, ONE), wrong(TWO))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render_terminal(found))
    assert "a contradicts itself on 1 case" in console.export_text()
    for text in (render_markdown(found), render_html(found)):
        assert "Contradicts itself" in text
        assert "returns other values" in text


def test_nothing_is_said_where_nothing_parts(tmp_path):
    found = report(tmp_path, example.result(CASE, ONE), example.result(CASE, TWO))
    assert "Contradicts itself" not in render_markdown(found) + render_html(found)
