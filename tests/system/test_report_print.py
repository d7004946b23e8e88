"""The printed report: light, nothing cut off, no interactive elements."""

import pytest

from conformance.cases.operators import drawing_properties
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example
from tests.support.browser_pages import expect

PAPER_WIDTH = 700  # pixels between the margins of A4
CASE = "#/case/max_pool/stride-2-padding-1"
PLACES = (
    "",
    "#findings",
    "#differences",
    "#conventions",
    "#run",
    "#/results?sort=case",
    "#/translations",
    "#/accuracy",
    "#/pairs?surfaces=alpha.nn,beta.keras.layers",
    "#/surface/beta.keras.layers",
    CASE,
)
CONTROLS = "nav, select, input, summary, .copy, .steps, .bar-top, button:not(.sort), .arrow"

# Elements that hide a part of their content.
CLIPPED = """
() => [...document.querySelectorAll("main *:not(.hidden)")].filter((one) => one.checkVisibility()
  && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible").map((one) => one.outerHTML)
"""


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A report with forty surfaces."""
    folder = tmp_path_factory.mktemp("crowded")
    names = [f"crowd.number_{number}.functional" for number in range(40)]
    results = [one for name in names for one in example.all_pass(name)]
    results[-10:-9] = [example.differing("max_pool/stride-2-padding-1", names[-1], example.SQUARE, None)]
    path = folder / "report.html"
    run = example.run("crowd", names, results)
    path.write_text(
        render_html(load_report(example.write(folder, run, example.beta())), operators=drawing_properties()),
        encoding="utf-8",
    )
    return path


@pytest.fixture
def printed(visit):
    """Open a page in print layout. The colour scheme is dark, which print must ignore."""

    def open_at(file, place):
        page = visit(file, place, width=PAPER_WIDTH, color_scheme="dark")
        page.emulate_media(media="print", color_scheme="dark")
        return page

    return open_at


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_cut_off_at_the_edge(printed, file, crowded, place):
    for one in (file, crowded):
        page = printed(one, place)
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPER_WIDTH
        assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("place", PLACES)
def test_paper_is_light_and_has_no_controls(printed, file, place):
    page = printed(file, place)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert [one.inner_text() for one in page.locator(CONTROLS).all() if one.is_visible()] == []
    expect(page.locator("h1").locator("visible=true")).to_have_count(1)


def test_paper_is_light_if_the_reader_chose_dark_colours(opened):
    page = opened()
    for label in ("as the system", "light"):
        page.get_by_role("button", name=f"Colours: {label}").click()
    expect(page.locator("body")).to_have_css("background-color", "rgb(20, 23, 27)")
    page.emulate_media(media="print")
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")


def test_drawing_and_numbers_are_printed(printed, file):
    page = printed(file, f"{CASE}?surface=beta.keras.layers")
    expect(page.locator(".slice svg")).to_be_visible()
    expect(page.locator(".grid td.worst").first).to_be_visible()
    expect(page.locator(".code pre").first).to_be_visible()


def test_differing_numbers_of_many_surfaces_are_printed_with_the_surface(printed, crowded):
    page = printed(crowded, "")
    cell = page.locator("#matrix td[data-surface='crowd.number_39.functional']").filter(visible=True).first
    assert cell.inner_text().strip() == "✗ 1"
    label = cell.evaluate("(one) => getComputedStyle(one, '::before').content")
    assert label == '"crowd.number_39.functional"'
    expect(page.locator("#matrix thead")).to_be_hidden()


def test_matrix_prints_only_rows_with_differences(printed, file):
    page = printed(file, "")
    expect(page.locator("#matrix thead")).to_be_visible()
    rows = page.locator("#matrix tbody tr")
    assert rows.count() > 0
    for row in rows.all():
        assert row.is_visible() is ("clean" not in (row.get_attribute("class") or ""))
