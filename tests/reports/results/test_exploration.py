"""Exploration findings in all views: separate from results of catalogue cases, and escaped."""

import json
import re

import pytest
from rich.console import Console

from conformance.cli.results_io import exit_status
from reports.analysis.summary import count_by_status, counts_by_operator, report_problems, report_verdict
from reports.results import UnreadableResults, load_report
from reports.views.exploration_markdown import render_findings_page
from reports.views.html import render_html
from reports.views.junit import render_junit
from reports.views.markdown import render_markdown
from reports.views.terminal import render_terminal
from tests.support import example_results as example
from tests.support.browser_pages import expect

SENTENCE = example.finding()["sentence"]


@pytest.fixture
def both(tmp_path):
    """Results files of a run of catalogue cases and of an exploration of the same backend."""
    return [*example.write(tmp_path, example.alpha()), *example.write(tmp_path / "explored", example.exploration())]


def part(page, name):
    return re.search(rf'<section id="{name}".*?</section>', page, flags=re.DOTALL)[0]


def printed(report):
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(render_terminal(report))
    return captured.get()


def test_explorations_are_not_counted_among_results(both):
    report, alone = load_report(both, allow_mixed=True), load_report(both[:1])
    assert report.mixture_notes == ()
    assert (counts_by_operator(report), count_by_status(report.results)) == (
        counts_by_operator(alone),
        count_by_status(alone.results),
    )
    assert example.FOUND not in report.cases
    assert [run.name for run in report.explorations] == ["alpha"]


def test_findings_are_problems(both):
    report = load_report(both, allow_mixed=True)
    assert report_problems(report) == ["alpha: exploration found 1 unknown difference."]
    assert report_verdict(report).headline == "1 finding"
    assert not report_verdict(report).is_good
    assert exit_status(report) == 1
    assert exit_status(load_report(both[:1], allow_mixed=True)) == 0


def test_html_shows_a_finding(both):
    found = part(render_html(load_report(both, allow_mixed=True)), "findings")
    for text in (
        SENTENCE,
        "seed 7",
        "1,000 cases",
        "41 cases",
        "3 further differences not examined",
        "import alpha",
        "values: [[[0, 1]]]",
    ):
        assert text in found, text
    assert "at [0, 0, 0] expected 0, got 1" in found
    assert f'data-case="{example.FOUND}" data-surface="alpha.nn"' in found
    assert SENTENCE in part(render_html(load_report(both, allow_mixed=True)), "overview")


def test_report_without_explorations_has_no_page_of_findings(both):
    page = render_html(load_report(both[:1], allow_mixed=True))
    assert 'id="findings"' not in page
    assert "#findings" not in page.split("</nav>")[0]


def test_explorations_alone_make_a_report(both):
    report = load_report(both[1:], allow_mixed=True)
    page = render_html(report)
    assert SENTENCE in part(page, "findings")
    assert 'id="matrix"' not in page
    assert report_problems(report) == ["alpha: exploration found 1 unknown difference."]
    assert "surface  " not in printed(report)
    assert "## Surfaces" not in render_markdown(report)


def test_exploration_without_findings_is_good(tmp_path):
    report = load_report(example.write(tmp_path, example.exploration(findings=[])), allow_mixed=True)
    assert report_verdict(report).headline == "No findings"
    assert report_verdict(report).is_good
    assert exit_status(report) == 0
    assert "alpha: no findings in 1,000 cases, seed 7" in part(render_html(report), "overview")


def test_incomplete_file_shows_its_findings(tmp_path):
    records = example.exploration(complete=False)[:1]
    report = load_report(example.write(tmp_path, records), allow_mixed=True)
    found = part(render_html(report), "findings")
    assert SENTENCE in found
    assert "data-case" not in found
    assert exit_status(report) == 3


def test_markdown_and_terminal_show_a_finding_in_one_line(both):
    report = load_report(both, allow_mixed=True)
    assert "| `max_pool-0a1b2c3d` | max\\_pool on alpha.nn: numbers are wrong" in render_markdown(report)
    assert f"✗ max_pool-0a1b2c3d {SENTENCE}" in printed(report)


def test_other_views_treat_an_exploration_as_a_run_and_reject_it_with_other_files(both):
    assert example.FOUND.encode() in render_junit(load_report(both[1:])).encode()
    with pytest.raises(UnreadableResults, match="is also in"):
        load_report(both)


def test_labels_are_added_to_surfaces_of_findings(tmp_path):
    (run,) = load_report(example.write(tmp_path, example.exploration("alpha@old")), allow_mixed=True).explorations
    assert run.header.explored.findings[0].surfaces == ("alpha.nn@old",)
    assert [one.surface for one in run.results] == ["alpha.nn@old"]


def test_page_of_findings_contains_case_results_and_script(tmp_path):
    findings = [example.finding(said="RuntimeError: `no`", script="print('```')\n")]
    (run,) = load_report(example.write(tmp_path, example.exploration(findings=findings)), allow_mixed=True).explorations
    page = render_findings_page(run)
    assert "## `max_pool-0a1b2c3d`" in page
    assert "| input `x` | <code>float32 &#91;1, 1, 2&#93; &#91;&#91;&#91;0, 1&#93;&#93;&#93;</code> |" in page
    assert "at \\[0, 0, 0\\] expected 0, got 1" in page
    assert "````python\nprint('```')\n````" in page
    assert "RuntimeError: &#96;no&#96;" in page
    assert "1,000 cases, seed 7" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": "x"}, "explored.seed: expected `int`, got `str`"),
        ({"findings": [1]}, "explored.findings[0]: expected `object`, got `int`"),
        ({"findings": [example.finding(surfaces=3)]}, "explored.findings[0].surfaces: expected `array`, got `int`"),
        (
            {"findings": [example.finding(conditions=[1])]},
            "explored.findings[0].conditions[0]: expected `str`, got `int`",
        ),
        ({"statuses": {"pass": "many"}}, "explored.statuses[...]: expected `int`, got `str`"),
    ],
)
def test_invalid_exploration_is_rejected_with_its_key(tmp_path, change, message):
    records = json.loads(json.dumps(example.exploration()))
    records[0]["explored"].update(change)
    (path,) = example.write(tmp_path, records)
    with pytest.raises(UnreadableResults, match=re.escape(f"{path}:1: {message}")):
        load_report([path], allow_mixed=True)


def test_smallest_case_has_a_drawing_and_a_comparison(opened):
    page = opened("#findings")
    drawn = page.locator("#findings .drawn")
    assert drawn.get_by_text("The surface returns other values.").is_visible()
    assert drawn.locator(".comparison td.worst").count() == 3
    assert drawn.locator(".geometry svg").is_visible()
    assert page.locator("#findings summary").all_inner_texts() == [
        "A script that needs only the framework and NumPy",
        "The case in catalogue format",
    ]
    page.locator("#findings summary").first.click()
    assert page.get_by_role("button", name="Copy the script of max_pool-0a1b2c3d").is_visible()
    assert page.locator("#findings img").count() == 0


def test_finding_links_to_its_case(opened):
    page = opened("#findings")
    page.locator("#findings .where a").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{example.FOUND} on alpha.nn", use_inner_text=True)


def test_list_of_results_does_not_contain_findings(opened):
    page = opened("#/results?text=explored")
    assert page.get_by_role("status").inner_text().startswith("0 of ")
