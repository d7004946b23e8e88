"""The answers of all surfaces to each convention, grouped by answer."""

import pytest

from reports.analysis.convention_rows import convention_rows
from reports.results import load_report
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
