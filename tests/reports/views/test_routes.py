"""The Markdown page of what exporters and runtimes change."""

import re

from reports.results import load_report
from reports.views.routes import render_routes
from tests.support import example_results as example

ROUTE, OTHER_ROUTE = "alpha→one", "alpha→two"
VALUE, QUESTION, REJECTED = "max_pool/stride-2-padding-1", "avg_pool/divisor-at-the-border", "avg_pool/three-channels"
WORST = {"index": [0, 0], "expected": 1, "got": 2, "absolute": 1, "ulp": 1}
LEDGER = {"status": "known", "reason": "The exporter leaves the divisor out.", "issue": "https://example.org/issues/2"}


def page(folder, *records):
    return render_routes(load_report(example.write(folder, example.run("routes", [ROUTE, OTHER_ROUTE], records))))


def rows(text, heading):
    part = re.split(r"\n###? ", text.split(f"# {heading}\n")[1])[0]
    cells = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return cells[2:]


def changed(part, **changes):
    got = example.array([1], [1, 1, 1, 1])
    return example.differing(VALUE, ROUTE, got, WORST, changed_by=part, **changes)


def refused(surface, part):
    judged = {"status": "refused", "verdict": "differ", "kind": "rejected", "changed_by": part}
    return example.rejected(REJECTED, surface, **judged, message="SomeError: no kernel", reason="refused")


def test_results_without_a_route_are_named(tmp_path):
    text = render_routes(load_report(example.write(tmp_path, example.alpha())))
    assert text.endswith("The results contain no route.\n")


def test_operators_are_counted_by_what_became_of_the_result(tmp_path):
    text = page(
        tmp_path,
        changed("exporter"),
        example.result(VALUE, OTHER_ROUTE),
        refused(ROUTE, "runtime"),
        example.unsupported(REJECTED, OTHER_ROUTE),
        example.unsupported("conv/edge-detector", ROUTE),
        example.unsupported("conv/edge-detector", OTHER_ROUTE),
    )
    # An operator that no route can write is left out.
    assert rows(text, "In float32") == [
        ["`avg_pool`", "⊘\u00a01", "–\u00a01"],
        ["`max_pool`", "✗\u00a01", "✓\u00a01"],
    ]


def test_what_the_source_changes_arrives_unchanged(tmp_path):
    text = page(tmp_path, changed("source", status="known", reason="A bug of alpha."))
    assert rows(text, "In float32") == [["`max_pool`", "✓\u00a01", "·"]]
    assert rows(text, "In other dtypes") == []
    assert rows(text, "Changed values") == []


def test_conventions_show_the_new_answer_and_its_cause(tmp_path):
    answers = [
        example.convention(surface, None, observed, "undocumented")
        for surface, observed in ((ROUTE, "whole-window"), (OTHER_ROUTE, "real-cells"))
    ]
    text = page(
        tmp_path, *answers, example.result(QUESTION, ROUTE, changed_by="runtime"), example.result(QUESTION, OTHER_ROUTE)
    )
    assert rows(text, "Conventions") == [["`avg_pool-divisor-at-the-border`", "whole-window (runtime)", "="]]


def test_convention_with_the_answer_of_the_source_on_all_routes_is_counted_only(tmp_path):
    answer = example.convention(ROUTE, None, "real-cells", "undocumented")
    text = page(tmp_path, answer, example.result(QUESTION, ROUTE))
    assert "The answer to 1 conventions is that of the source" in text
    assert rows(text, "Conventions") == []


def test_changed_values_are_grouped_by_reason(tmp_path):
    text = page(tmp_path, changed("exporter", **LEDGER))
    (row,) = rows(text, "Changed values")
    assert row[:5] == ["1", "`max_pool`", f"<code>{ROUTE}</code>", "exporter", f"`{VALUE}`"]
    assert "leaves the divisor out" in row[5]
    assert "example.org/issues/2" in row[5]


def test_cases_that_must_be_rejected_are_not_counted_as_operators(tmp_path):
    text = page(tmp_path, example.rejected("max_pool/window-larger-than-input", ROUTE))
    assert rows(text, "In float32") == []


def test_calls_that_the_source_rejects_too_are_not_counted_as_operators(tmp_path):
    assert rows(page(tmp_path, example.rejected(QUESTION, ROUTE)), "In float32") == []


def test_partial_run_is_marked(tmp_path):
    run = example.run("routes", [ROUTE], [example.result(VALUE, ROUTE)], complete=False)
    assert "**partial run**" in render_routes(load_report(example.write(tmp_path, run)))


def test_refused_cases_are_grouped_by_operator_and_exception(tmp_path):
    text = page(tmp_path, refused(ROUTE, "runtime"), refused(OTHER_ROUTE, "exporter"))
    (row,) = rows(text, "Refused cases")
    assert row[0] == "2"
    assert row[3:] == ["exporter, runtime", f"`{REJECTED}`", "SomeError"]
