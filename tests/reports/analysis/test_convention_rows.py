"""The answers of all surfaces to each convention, grouped by answer."""

import pytest

from reports.analysis.convention_rows import convention_rows, surface_answers
from reports.results import load_report
from reports.results.vocabulary import CONTRADICTORY_ANSWERS
from reports.views.html import render_html
from tests.support import example_results as example

BORDER = "avg_pool/divisor-at-the-border"
SURFACES = ["k.nn", "k.lax", "k.jit", "k.book"]


def report_of(folder, *answers):
    """Return a report of one convention. answers: observed answer by surface."""
    results = [example.result(BORDER, surface) for surface, _ in answers]
    records = [example.convention(surface, observed, observed, "undocumented") for surface, observed in answers]
    return load_report(example.write(folder, example.run("k", SURFACES, results + records)))


def test_most_frequent_answer_is_first_and_missing_ones_are_last(tmp_path):
    answers = [("k.nn", None), ("k.lax", "whole-window"), ("k.jit", "real-cells"), ("k.book", "real-cells")]
    (row,) = convention_rows(report_of(tmp_path, *answers))
    assert [(group.answer, [one.surface for one, _ in group.records]) for group in row.answers] == [
        ("real-cells", ["k.book", "k.jit"]), ("whole-window", ["k.lax"]), (None, ["k.nn"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "disagree"),
    [(["real-cells", "real-cells"], False), (["real-cells", "whole-window"], True), (["real-cells", None], False)],
)
def test_surfaces_disagree_if_they_give_different_answers(tmp_path, answers, disagree):
    (row,) = convention_rows(report_of(tmp_path, *zip(SURFACES, answers, strict=False)))
    assert row.disagree is disagree


def test_contradicted_declarations_have_the_status_of_the_result_and_come_first(tmp_path):
    rows = convention_rows(load_report(example.write(tmp_path, example.alpha(), example.beta())))
    assert [row.contradicted for row in rows] == [True]
    contradicted = [
        (one.surface, status) for group in rows[0].answers for one, status in group.records if one.contradicted
    ]
    assert contradicted == [("beta.keras.layers", "fail")]


def test_html_marks_contradicted_and_undocumented_answers(tmp_path):
    page = render_html(load_report(example.write(tmp_path, example.alpha(), example.beta())))
    row = page.partition('data-shown="disagreements contradictions"')[2].partition("</tr>")[0]
    assert "declares real-cells" in row
    assert row.count("(undocumented)") == 2
    assert row.count('class="doc" href="https://example.org/pooling"') == 2


def answers_of(folder, *records):
    """Return the answers of `k.nn` as (answer, colour). records: declared and observed answer of each case."""
    names = [BORDER, *(f"{BORDER}-{number}" for number in range(1, len(records)))]
    cases = [example.case(name, example.SQUARE, {"answers": {}}, question=BORDER) for name in names]
    own = [
        example.convention("k.nn", declared, observed, "undocumented") | {"case": name, "question": BORDER}
        for name, (declared, observed) in zip(names, records, strict=True)
    ]
    others = [
        example.convention(name, None, "most", "undocumented") | {"case": BORDER, "question": BORDER}
        for name in ("k.lax", "k.jit")
    ]
    report = load_report(
        example.write(folder, [example.header("k", SURFACES), *cases, *others, *own, example.footer([])])
    )
    return [(one.answer, one.colour) for one in surface_answers(report) if one.record.surface == "k.nn"]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([(None, None)], ("", 0)),
        ([("a", None)], ("a", 1)),
        ([("a", "most")], ("most", 0)),
        ([(None, None), (None, "b")], ("b", 1)),
        ([("a", "most"), ("a", "most")], ("most", 0)),
        ([("a", "most"), ("a", "b")], (CONTRADICTORY_ANSWERS, 1)),
    ],
)
def test_answer_of_a_surface_is_the_observed_one_of_all_cases_or_the_declared_one(tmp_path, records, expected):
    assert answers_of(tmp_path, *records) == [expected]


def test_answers_have_a_limited_number_of_colours(tmp_path):
    surfaces = [f"k.{number}" for number in range(9)]
    records = [example.convention(one, None, one, "undocumented") for one in surfaces]
    results = [example.result(BORDER, one) for one in surfaces]
    report = load_report(example.write(tmp_path, example.run("k", surfaces, results + records)))
    assert [one.colour for one in surface_answers(report)] == [0, 1, 2, 3, 4, 5, 5, 5, 5]


def test_observed_answer_is_preferred_to_a_case_without_one(tmp_path):
    cases = [example.case(name, example.SQUARE, {"answers": {}}, question=BORDER) for name in ("avg_pool/a", BORDER)]
    answers = [
        example.convention("k.nn", None, None, "undocumented") | {"case": "avg_pool/a", "question": BORDER},
        example.convention("k.nn", None, "b", "undocumented") | {"case": BORDER, "question": BORDER},
    ]
    records = [example.header("k", ["k.nn"]), *cases, *answers, example.footer([])]
    (row,) = convention_rows(load_report(example.write(tmp_path, records)))
    assert [group.answer for group in row.answers] == ["b"]
