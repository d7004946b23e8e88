"""Runs that cannot be combined: shown with a warning, or rejected."""

import json
import re

import pytest

from reports.analysis.summary import report_problems, report_verdict
from reports.results import UnreadableResults, load_report
from reports.views.html import render_html
from reports.views.markdown import render_markdown
from tests.support import example_results as example


def other(**changes):
    """Return a run of another backend, by default with another catalogue."""
    header = {"catalogue": {"digest": "00", "version": "2.0.0", "cases": 1}} | changes
    return example.run("other", ["other.nn"], example.all_pass("other.nn"), **header)


def test_runs_of_different_catalogues_are_combined_with_a_note_if_allowed(tmp_path):
    report = load_report(example.write(tmp_path, example.alpha(), other()), allow_mixed=True)
    assert len(report.backends) == 2
    (sentence,) = report.mixture_notes
    assert sentence.startswith(
        f"Mixed catalogues: other.jsonl was made from 2.0.0 (00), alpha.jsonl from ({example.CATALOGUE[:12]})"
    )
    assert report_problems(report)[0] == sentence
    assert report_verdict(report).headline == "The runs cannot be combined"
    assert not report_verdict(report).is_good


def test_runs_with_different_ledgers_are_combined_with_a_note_if_allowed(tmp_path):
    records = other(catalogue=example.alpha()[0]["catalogue"], ledger="1" * 32)
    paths = example.write(tmp_path, example.alpha(), records)
    with pytest.raises(UnreadableResults, match="judged with another ledger"):
        load_report(paths)
    (sentence,) = load_report(paths, allow_mixed=True).mixture_notes
    assert sentence.startswith("Mixed ledgers: other.jsonl was judged with another ledger than alpha.jsonl")


@pytest.mark.parametrize("change", [{"digest": "0" * 32}, {"parameters": {"window": [7, 7]}}])
def test_different_cases_with_the_same_id_are_rejected(tmp_path, change):
    records = json.loads(json.dumps(other()))
    next(record for record in records if record["record"] == "case").update(change)
    paths = example.write(tmp_path, example.alpha(), records)
    with pytest.raises(UnreadableResults, match=r"other.jsonl: the case '.*' differs from the one in .*alpha.jsonl$"):
        load_report(paths, allow_mixed=True)


def test_compatible_runs_have_no_note(tmp_path):
    assert load_report(example.write(tmp_path, example.alpha(), example.delta()), allow_mixed=True).mixture_notes == ()


NOTICE = "Mixed catalogues: other.jsonl was made from 2.0.0 (00)"


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_mixed_partial_and_stale_results_are_reported_at_the_top(tmp_path, render):
    stale = example.result("conv/edge-detector", "s.nn", status="stale")
    runs = (example.alpha(), other(), example.gamma(), example.run("s", ["s.nn"], [stale]))
    page = render(load_report(example.write(tmp_path, *runs), allow_mixed=True))
    text = re.sub(r"\\(.)", r"\1", page)
    problems = (NOTICE, "gamma: partial run", "1 result agreed although the ledger says that they differ (stale)")
    assert [text.index(one) for one in problems] == sorted(text.index(one) for one in problems)
    assert all(
        text.index(one) < min(text.index(end) for end in ('id="matrix"', "| surface") if end in text)
        for one in problems
    )


def test_warning_is_red_and_visible(visit, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(
        render_html(load_report(example.write(tmp_path, example.alpha(), other()), allow_mixed=True)), "utf-8"
    )
    page = visit(path)
    notice = page.get_by_text(NOTICE)
    assert notice.bounding_box()["y"] < 300
    assert notice.evaluate("(one) => getComputedStyle(one).color") == "rgb(168, 32, 26)"
    assert page.get_by_role("heading", level=1).inner_text() == "✗ The runs cannot be combined"


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
def test_report_of_mixed_runs_has_the_exit_status_of_an_incomplete_run(conformance, folder, form):
    paths = example.write(folder, example.alpha(), other())
    arguments = ["report", "--format", form, *([] if form == "terminal" else ["--out", "view"]), *paths]
    status, out, _ = conformance(*arguments)
    assert status == 3
    assert "Mixed catalogues" in (out if form == "terminal" else (folder / "view").read_text("utf-8"))


@pytest.mark.parametrize("form", ["junit", "matrix", "badge", "parquet"])
def test_formats_without_a_warning_reject_mixed_runs_in_one_line(conformance, folder, form):
    paths = example.write(folder, example.alpha(), other())
    status, _, error = conformance("report", "--format", form, *paths)
    assert (status, len(error)) == (2, 1)
    assert "made from the catalogue 00, but" in error[0]
