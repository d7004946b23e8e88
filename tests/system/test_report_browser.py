"""The HTML report in a real browser. With CONFORMANCE_REQUIRE_BROWSER=1 a missing browser is an error."""

import itertools
import re

import ml_dtypes
import numpy as np
import pytest

from conformance.cases.operators import drawing_properties
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example
from tests.support.browser_pages import expect, listen, wait_for_address, wait_for_status

CASE = "#/case/max_pool/stride-2-padding-1"
SURFACE = "#/surface/beta.keras.layers"


@pytest.fixture
def made(visit, tmp_path):
    """Open the report of some records at a hash."""

    def open_at(records, place=""):
        path = tmp_path / "made.html"
        path.write_text(
            render_html(load_report(example.write(tmp_path, records)), operators=drawing_properties()), encoding="utf-8"
        )
        return visit(path, place)

    return open_at


@pytest.mark.parametrize("body", ["<script>missing()</script>", "<script>console.log(1)</script>", "<img src=x>"])
def test_listener_notices_errors_messages_and_requests(browser, tmp_path, body):
    path = tmp_path / "bad.html"
    path.write_text(f"<!doctype html><title>bad</title>{body}", encoding="utf-8")
    page = browser.new_page()
    messages = listen(page, path.as_uri())
    page.goto(path.as_uri())
    page.close()
    assert messages


def test_page_opens_with_its_overview(opened):
    page = opened()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        ["✗ 9 unexpected results, 1 finding"], use_inner_text=True
    )
    expect(page.locator("#app")).to_be_hidden()
    expect(page.locator("img")).to_have_count(0)


@pytest.mark.parametrize("place", ["differences", "conventions", "run"])
def test_navigation_shows_one_page_at_a_time(opened, place):
    page = opened()
    page.get_by_role("navigation", name="Pages").locator(f'a[href="#{place}"]').click()
    expect(page.locator(f"#{place}")).to_be_visible()
    expect(page.locator("#overview")).to_be_hidden()
    expect(page.locator(".bar-top [aria-current]")).to_have_attribute("href", f"#{place}")
    page.locator("h1:focus").wait_for()


@pytest.mark.parametrize("place", ["overview", "/accuracy", "run"])
def test_current_page_is_visible_in_the_navigation_of_a_narrow_screen(opened, place):
    page = opened(width=390, height=844)
    page.evaluate("(place) => { location.hash = place; }", place)
    link = page.locator(f".bar-top nav a[href='#{place}'][aria-current]")
    link.wait_for()
    box = link.bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 390


@pytest.mark.parametrize("place", ["run", "/results"])
def test_address_that_changes_before_the_page_listens_is_followed(browser, file, place):
    # Preact runs effects after the first paint, at the latest after 35 ms. Here they run after a second.
    page = browser.new_page()
    page.add_init_script(
        "const later = window.setTimeout.bind(window);"
        "window.requestAnimationFrame = () => 0;"
        "window.setTimeout = (call, delay, ...rest) => later(call, delay === 35 ? 1000 : delay, ...rest);"
    )
    page.goto(file.as_uri())
    page.wait_for_function("() => window.Report?.ready")
    page.evaluate("(place) => { location.hash = place; }", place)
    expect(page.locator(".bar-top nav [aria-current]")).to_have_attribute("href", f"#{place}")
    page.close()


def test_list_contains_every_result(opened):
    wait_for_status(opened("#/results"), "39 of 39 results")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("status=fail", 5),
        ("operator=max_pool&surface=beta.book", 4),
        ("text=sigsegv%20three", 1),
        ("surface=none", 0),
        ("kind=special", 0),
        ("kind=flaky", 1),
        ("dtype=int64", 3),
        ("parameter=window&value=%5B9%2C9%5D", 4),
        ("parameter=groups", 0),
        ("dtype=float32&parameter=padding&value=%5B%5B0%2C0%5D%5D", 5),
    ],
)
def test_filter_in_the_url_is_applied(opened, query, count):
    page = opened(f"#/results?{query}")
    wait_for_status(page, f"{count} of 39 results")
    expect(page.locator(".list tbody tr")).to_have_count(count)


def test_changed_filter_is_in_the_url(opened):
    page = opened("#/results")
    page.locator(".filters[role=search] select[name=status]").select_option("known")
    page.get_by_label("Text").fill("Recipe")
    wait_for_address(page, "#/results?status=known&text=Recipe")
    wait_for_status(page, "2 of 39 results")
    page.get_by_label("Parameter").select_option("stride")
    page.get_by_label("Value of stride").select_option("[2, 2]")
    wait_for_address(page, "#/results?status=known&text=Recipe&parameter=stride&value=%5B2%2C2%5D")
    page.locator("select[name=parameter]").select_option("window")
    wait_for_address(page, "&parameter=window")
    page.get_by_role("link", name="Reset").click()
    wait_for_status(page, "39 of 39 results")


def test_matrix_cell_links_to_the_filtered_list(opened):
    page = opened()
    page.locator(".matrix td.fail a").first.click()
    expect(page).to_have_title(re.compile("^Results – 9 unexpected results"))
    wait_for_address(page, "#/results?operator=avg_pool&surface=beta.keras.layers&status=fail")
    page.go_back()
    expect(page.locator("#app")).to_be_hidden()
    expect(page.locator("#overview")).to_be_visible()


def test_case_can_be_opened_with_the_keyboard(opened):
    page = opened("#/results?status=crashed")
    page.locator(".list a").focus()
    page.keyboard.press("Enter")
    wait_for_address(page, "#/case/avg_pool/three-channels?surface=beta.book")
    page.locator("h1:focus").wait_for()


def test_page_of_a_case_marks_the_worst_cell(opened):
    page = opened(f"{CASE}?surface=beta.keras.layers")
    worst = page.locator(".grid td.worst")
    assert worst.all_text_contents() == ["15 (worst)", "14 (worst)", "-1 (worst)"]
    text = page.locator("#app").inner_text()
    assert "expected 15, got 14" in text
    assert "conformance repro max_pool/stride-2-padding-1 --surface beta.keras.layers" in text
    assert "# beta.keras.layers" in text


def test_page_of_a_case_without_a_surface_shows_the_worst_one(opened):
    page = opened("#/case/max_pool/nan-in-the-window")
    expect(page.locator(".sibling[aria-current=page]")).to_contain_text("flaky", use_inner_text=True)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("avg_pool/large?surface=beta.keras.layers", "too large, not recorded in the results"),
        ("max_pool/window-larger-than-input?surface=alpha.nn", "window exceeds padded input"),
        (
            "max_pool/window-larger-than-input?surface=alpha.nn",
            "There is no drawing. The call must be rejected and has no output.",
        ),
        ("max_pool/stride-2-padding-1?surface=alpha.nn", "bitwise equal"),
        ("avg_pool/three-channels?surface=beta.book", "</script><img src=x onerror="),
        ("conv/edge-detector?surface=beta.book", "There is no program for this case"),
        ("conv/wraps-in-int64?surface=beta.keras.layers", "+18446744073709551615"),
        ("avg_pool/divisor-at-the-border?surface=beta.keras.layers", "Observed: whole-window"),
        ("no/such", "No such case"),
        ("%E0%A4%A", "No such case"),
    ],
)
def test_page_of_a_case_contains(opened, place, expected):
    assert expected in opened(f"#/case/{place}").locator("#app").inner_text()


def test_link_to_a_section_scrolls_to_it(opened):
    page = opened("#unsupported")
    expect(page.locator("#unsupported")).to_be_visible()
    assert page.locator("#unsupported").bounding_box()["y"] < 900


def test_skip_link_does_not_leave_the_view(opened):
    page = opened("#/results")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    wait_for_address(page, "#/results")


def test_every_case_on_every_surface_opens_without_error(opened):
    page = opened()
    links = page.locator("html").evaluate(
        "() => Report.results.map((one) => Report.caseLink(one.case.id, one.surface.name))"
    )
    assert len(links) == 39
    for link in links:
        page.evaluate("(link) => { location.hash = link; }", link)
        page.locator("#app article.case").wait_for()


def test_large_array_is_shown_around_its_worst_cell(made):
    data = [float(value) for value in range(4096)]
    case = example.case("conv/large", example.SQUARE, example.array(data, [1, 1, 64, 64]))
    wrong = example.array([*data[:-1], -1.0], [1, 1, 64, 64])
    worst = {"index": [0, 0, 63, 63], "expected": 4095, "got": -1, "absolute": 4096, "ulp": 1}
    records = [example.header("k", ["k.nn"]), case, example.program("k.nn")]
    page = made([*records, example.differing("conv/large", "k.nn", wrong, worst)], "#/case/conv/large")
    expect(page.locator("#app")).to_contain_text("Shown: 16 × 16 of 64 × 64 cells.", use_inner_text=True)
    expect(page.locator(".grid td.worst")).to_have_count(3)


def test_step_of_the_drawing_is_in_the_url(opened):
    page = opened(f"{CASE}?surface=alpha.nn")
    content = page.locator(".held")
    assert content.inner_text() == (
        "output[0, 0, 0, 0], 1 of 4, is computed from 4 input cells (0, 1, 4, 5), 5 cells of padding. Expected 5."
    )
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Output cell").press("ArrowRight")
    wait_for_address(page, "surface=alpha.nn&step=2")
    content.filter(
        has_text="output[0, 0, 1, 0], 3 of 4, is computed from 6 input cells (4, 5, 8, 9, 12, 13)"
    ).wait_for()
    assert page.locator(".slice .read.input").all_text_contents() == ["4", "5", "8", "9", "12", "13"]
    page.get_by_role("button", name="Previous").click()
    content.filter(has_text="2 of 4").wait_for()


def test_step_in_the_url_is_applied(opened):
    expect(opened(f"{CASE}?surface=alpha.nn&step=3").locator(".held")).to_contain_text("4 of 4", use_inner_text=True)
    expect(opened(f"{CASE}?surface=alpha.nn&step=99").locator(".held")).to_contain_text("4 of 4", use_inner_text=True)
    expect(opened(f"{CASE}?surface=alpha.nn&step=x").locator(".held")).to_contain_text("1 of 4", use_inner_text=True)


def test_drawing_starts_at_the_worst_element(opened):
    text = opened(f"{CASE}?surface=beta.keras.layers").locator(".held").inner_text()
    assert text.startswith("output[0, 0, 1, 1], 4 of 4")
    assert text.endswith("Expected 15, got 14.")


def test_program_can_be_copied(opened):
    page = opened(f"{CASE}?surface=alpha.nn", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the program", exact=True).click()
    page.get_by_text("Copied").wait_for()
    program = example.program("alpha.nn")["text"]
    setup = example.SETUP.format(package="alpha")
    assert page.evaluate("navigator.clipboard.readText()") == f"{setup}\n{program}"


def test_translations_are_programs_of_the_run_with_their_results(opened):
    page = opened("#/translations")
    page.locator("select[name=operator]").select_option("max_pool")
    wait_for_status(page, "2 cases match. Programs of the most typical case, max_pool/stride-2-padding-1:")
    page.locator("select[name=window]").select_option("[2]")
    wait_for_address(page, "#/translations?operator=max_pool&window=%5B2%5D")
    page.locator("p[role=status] a", has_text="max_pool/nan-in-the-window").wait_for()
    alpha = page.locator(".translation").first
    expect(alpha.locator("pre").first).to_contain_text("# alpha.nn", use_inner_text=True)
    expect(alpha).to_contain_text("1 ✓ pass", use_inner_text=True)
    expect(page.locator("select[name=stride] option")).to_have_text(["all", "[2]"], use_inner_text=True)


def rounded(name, surface, budget, got=None, **changes):
    return example.result(name, surface, budget_used=budget, **({"got": got} if got else {}), **changes)


def test_accuracy_shows_ulp_and_share_of_the_bound_by_surface(made):
    expected = example.array([1.0, 4.0], [1, 1, 2])
    cases = [
        example.case(f"avg_pool/{name}", example.array([1, 2, 3], [1, 1, 3]), expected, terms=9, bound=1e-6)
        for name in "abc"
    ]
    off = example.array([1.0, 4.0 + 2**-20], [1, 1, 2])
    results = [rounded("avg_pool/a", "k.nn", 0.25), rounded("avg_pool/b", "k.nn", 0.75, off)]
    results += [example.differing("avg_pool/c", "k.nn", expected, None), rounded("avg_pool/c", "k.lax", 0.5, off)]
    records = [example.header("k", ["k.nn", "k.lax"]), *cases, *map(example.program, ("k.nn", "k.lax"))]
    page = made([*records, *results, example.footer(results)], "#/accuracy?operator=avg_pool")
    wait_for_status(page, "3 results")
    rows = page.locator(".accuracy tbody tr")
    expect(rows.nth(0).locator("td")).to_have_text(
        ["avg_pool", "float32", "1", "0", "2", "2", "0.5", "0.5", "0"], use_inner_text=True
    )
    assert rows.nth(1).locator("td").all_inner_texts() == [
        "avg_pool",
        "float32",
        "2",
        "1",
        "0",
        "2",
        "0.25",
        "0.75",
        "1",
    ]
    expect(page.locator("figure svg[role=img]")).to_have_count(2)
    page.locator("select[name=surface]").select_option("k.lax")
    expect(rows).to_have_count(1)
    rows.get_by_role("link").click()
    wait_for_address(page, "#/case/avg_pool/c?surface=k.lax")


@pytest.mark.parametrize(
    ("dtype", "integer"),
    [(np.float16, np.int16), (ml_dtypes.bfloat16, np.int16), (np.float32, np.int32), (np.float64, np.int64)],
)
def test_ulps_are_differences_of_the_bit_patterns(opened, dtype, integer):
    page = opened("#/accuracy")
    numbers = np.array([0, 1e-7, -1e-7, 0.1, 0.99, 1, 1.01, -2, 3, 100, 60000], dtype)
    ordered = np.where(numbers < 0, -1, 1) * np.abs(numbers).view(integer).astype(object)
    for one, other in itertools.combinations(range(len(numbers)), 2):
        arguments = [float(numbers[one]), float(numbers[other]), np.dtype(dtype).name]
        found = float(page.evaluate("(values) => Report.ulps(...values)", arguments))
        assert found == float(abs(ordered[one] - ordered[other])), arguments


def test_page_of_a_case_lists_all_surfaces(opened):
    page = opened(f"{CASE}?surface=beta.keras.layers")
    rows = page.locator(".surfaces tbody tr")
    expect(rows).to_have_count(5)
    wrong = rows.filter(has_text="beta.keras.layers")
    assert wrong.locator("td").all_inner_texts()[:6] == ["✗ fail", "native", "∞", "1.049e6", "15", "14"]
    page.locator(".surfaces summary").first.click()
    expect(page.locator(".surfaces pre").first).to_contain_text("# alpha.nn", use_inner_text=True)
    rows.get_by_role("link", name="alpha.nn.functional").click()
    wait_for_address(page, "surface=alpha.nn.functional")


@pytest.mark.parametrize(
    "place",
    ["", "#matrix", "#differences", "#conventions", "#run", "#/results", "#/translations", "#/accuracy", CASE, SURFACE],
)
def test_narrow_screen_needs_no_horizontal_scrolling(opened, place):
    page = opened(place, width=360, height=700)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
