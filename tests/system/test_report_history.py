"""The page of the report with past runs, in a browser."""

import pytest

from reports.analysis.past_runs import surface_histories
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example
from tests.support.browser_pages import expect, violations
from tests.support.compared_runs import CONV, NN, POOL, WRONG, alpha, environment
from tests.support.example_results import differing, result

SAME = "alpha.nn.functional"


def on(day, version, *records):
    changes = {"started": f"2026-11-{day:02}T02:00:00+00:00", "environment": environment(packages={"alpha": version})}
    return alpha(*records, result(POOL, SAME), surfaces=(NN, SAME), **changes)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report with two past runs: a case fails from version 2.1 on, on one of two surfaces."""
    folder = tmp_path_factory.mktemp("history")
    fails = differing(POOL, NN, WRONG, None)
    runs = [
        on(1, "2.0", result(POOL, NN), result(CONV, NN)),
        on(2, "2.1", fails, result(CONV, NN)),
        on(3, "2.1", fails, result(CONV, NN)),
    ]
    *past, current = (load_report(example.write(folder / str(number), run)) for number, run in enumerate(runs))
    path = folder / "report.html"
    histories = surface_histories(current, [one.backends[0] for one in past])
    path.write_text(render_html(current, histories=histories), encoding="utf-8")
    return path


def test_runs_are_listed_with_what_changed(visit, made):
    page = visit(made, "#history")
    article = page.locator(f"[id='history-{NN}']")
    text = "3 runs since 2026-11-01; the last change was on 2026-11-02, version 2.1: 1 result: ✓ pass → ✗ fail."
    assert article.locator("p").inner_text() == text
    rows = [
        [cell.inner_text().split("\n") for cell in row.locator("th, td").all()]
        for row in article.locator("tbody tr").all()
    ]
    assert rows == [
        [["2026-11-03 02:00", "this report"], ["2.1"], ["1 fail, 1 pass"], ["none"]],
        [["2026-11-02 02:00"], ["2.1"], ["1 fail, 1 pass"], ["alpha: 2.0 → 2.1", f"1 result: ✓ pass → ✗ fail: {POOL}"]],
        [["2026-11-01 02:00"], ["2.0"], ["2 pass"], ["first run"]],
    ]


def test_surfaces_with_changes_are_first_and_only_their_tables_are_open(visit, made):
    page = visit(made, "#history")
    expect(page.locator(".past h2")).to_have_text([NN, SAME], use_inner_text=True)
    expect(page.locator(".past table").filter(visible=True)).to_have_count(1)
    assert page.get_by_role(
        "img", name="alpha.nn, 3 runs: unexpected results 0 → 1, known deviations 0 → 0"
    ).is_visible()


@pytest.mark.parametrize("place", ["#overview", f"#/surface/{NN}"])
def test_history_is_linked(visit, made, place):
    page = visit(made, place)
    page.locator(f"main a[href='#history-{NN}']").filter(visible=True).first.click()
    expect(page.locator(f"[id='history-{NN}']")).to_be_visible()


def test_surface_without_past_runs_has_no_link(opened):
    page = opened("#/surface/alpha.nn")
    expect(page.locator("a[href^='#history']")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_page_is_accessible_and_as_wide_as_the_screen(visit, made, axe, width, scheme):
    page = visit(made, "#history", width=width, color_scheme=scheme)
    assert violations(axe, page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_needs_no_script(browser, made):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{made.as_uri()}#history")
    expect(page.locator(".past svg").first).to_be_visible()
    expect(page.locator(".past table").first).to_be_visible()
    page.context.close()
