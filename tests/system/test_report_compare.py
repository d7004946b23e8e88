"""The HTML report with a comparison: changes in the overview and on the page Compare."""

import re

import pytest

from conformance.cases.operators import drawing_properties
from reports.analysis.comparison import compare_reports
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example

NN = "alpha.nn"
POOL = "max_pool/stride-2-padding-1"
WORST = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1}
WRONG = example.array([5, 7, 13, 14], [1, 1, 2, 2])


def passing(**changes):
    return example.run("alpha", [NN], example.all_pass(NN), **changes)


def broken():
    records = [record for record in example.all_pass(NN) if record["case"] != POOL]
    return example.run("alpha", [NN], [*records, example.differing(POOL, NN, WRONG, WORST)])


@pytest.fixture
def page(tmp_path):
    def render(old, new):
        reports = [load_report(example.write(tmp_path / name, run)) for name, run in (("old", old), ("new", new))]
        return render_html(reports[1], compare_reports(*reports))

    return render


def part(page, name):
    return re.search(rf'<section id="{name}".*?</section>', page, flags=re.DOTALL)[0]


def test_overview_lists_changes_with_links_to_cases(page):
    overview = part(page(passing(), broken()), "overview")
    assert "Something changed: 9 results compared (alpha): 1 changed status." in overview
    assert "✓ pass → ✗ fail" in overview
    assert f'href="#/case/{POOL}?surface={NN}"' in overview


def test_page_shows_both_runs_and_every_change(page):
    compared = part(page(passing(started="2026-10-01T00:00:00Z"), broken()), "compare")
    assert "2026-10-01T00:00:00Z" in compared
    assert "2026-11-20T09:41:00Z" in compared
    assert "value: at [0, 0, 1, 1] expected 15, got 14" in compared


@pytest.mark.parametrize(("count", "folded"), [(10, []), (12, ["2 more results"]), (60, ["50 more results"])])
def test_long_group_of_changes_is_folded(page, count, folded):
    names = [f"alpha.{number:02}" for number in range(count)]
    old = example.run("alpha", names, [example.result(POOL, name) for name in names])
    new = example.run("alpha", names, [example.differing(POOL, name, WRONG, WORST) for name in names])
    compared = part(page(old, new), "compare")
    assert re.findall("<summary>(.*?)</summary>", compared) == folded
    assert compared.count("<ul") == compared.count("</ul>") == 1 + len(folded)
    assert compared.count("<details") == compared.count("</details>") == len(folded)
    assert compared.count("value: at [0, 0, 1, 1]") == min(count, 50)


def test_equal_results_have_no_changes(page):
    assert "Nothing changed: 9 results compared (alpha): all are the same." in part(
        page(passing(), passing()), "overview"
    )


def test_without_an_earlier_run_there_is_no_comparison(tmp_path):
    html = render_html(load_report(example.write(tmp_path, passing())), operators=drawing_properties())
    assert 'id="compare"' not in html
    assert "#compare" not in html


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"catalogue": {"digest": "00", "cases": 9}}, "The catalogues differ"),
        ({"ledger": "00"}, "The ledgers differ"),
    ],
)
def test_different_catalogues_and_ledgers_are_reported_at_the_top(page, changes, warning):
    found = page(passing(**changes), passing())
    for place in ("overview", "compare"):
        assert re.search(rf'class="problems".*?{warning}', part(found, place), flags=re.DOTALL)


def test_partial_run_is_reported_at_the_top(page):
    partial = example.run("alpha", [NN], example.all_pass(NN)[:3], complete=False)
    assert "alpha, old results: partial run" in part(page(partial, passing()), "overview")


def test_command_line_compares_with_a_file_or_a_folder(conformance, tmp_path):
    old, new = (example.write(tmp_path / name, run)[0] for name, run in (("old", passing()), ("new", broken())))
    for before in (old, old.parent):
        status, _, _ = conformance("report", new, "--against", before, "--out", tmp_path / "report.html")
        assert status == 1
        assert "1 changed status" in part((tmp_path / "report.html").read_text("utf-8"), "overview")


@pytest.fixture
def results_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example.write(tmp_path, passing(), example.gamma())


@pytest.mark.usefixtures("results_folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--against", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--against", "gamma.jsonl"], "no backend is in both: OLD contains gamma, NEW contains alpha"),
        (
            ["--against", "alpha.jsonl", "--format", "terminal"],
            "--against needs --format html or markdown, not terminal",
        ),
    ],
)
def test_invalid_comparison_is_reported_in_one_line(conformance, options, message):
    found, _, error = conformance("report", "alpha.jsonl", *options)
    assert (found, len(error)) == (2, 1)
    assert message in error[0]
