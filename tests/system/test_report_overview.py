"""The first screen of the report, the cards of causes, and the tools of every page, in a real browser."""

import re

import pytest

from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example
from tests.support.browser_pages import expect, wait_for_address, wait_for_status

SCREENS = [(1440, 900), (390, 844)]
STRIDE = "max_pool/stride-2-padding-1"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A report with twenty surfaces, one of which has many failures, and an agreeing textbook surface."""
    folder = tmp_path_factory.mktemp("many")
    names = [*(f"crowd.number_{number}" for number in range(20)), "crowd.book"]
    results = [one for name in names for one in example.all_pass(name)]
    return write(folder, example.run("crowd", names, results), example.beta())


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A report in which all differences are known."""
    known = example.differing(STRIDE, "k.nn", None, None, status="known", reason="Why. Write -inf instead of 0.",
                              issue="https://example.org/issues/1")  # fmt: skip
    others = [example.result(STRIDE, "k.lax"), example.result("conv/edge-detector", "k.nn")]
    return write(tmp_path_factory.mktemp("known"), example.run("k", ["k.nn", "k.lax"], [known, *others]))


def write(folder, *runs):
    path = folder / "report.html"
    path.write_text(render_html(load_report(example.write(folder, *runs))), encoding="utf-8")
    return path


def is_in_view(page, locator):
    box = locator.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_first_screen_shows_figures_worst_surface_and_first_cause(visit, many, width, height):
    page = visit(many, width=width, height=height)
    expect(page.locator(".figures li")).to_have_count(5)
    first = page.locator(".ranking a").first
    expect(first).to_contain_text("beta.keras.layers", use_inner_text=True)
    for shown in (page.locator(".figures"), first, page.locator(".leading li").first):
        assert is_in_view(page, shown)


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_first_screen_shows_the_most_severe_cause_of_each_of_the_worst_surfaces(visit, many, width, height):
    page = visit(many, width=width, height=height)
    causes = page.locator(".ranking .cause")
    assert causes.count() == 2  # the third surface agrees
    expect(causes.first).to_have_text("avg_pool does not finish within the time limit", use_inner_text=True)
    assert is_in_view(page, causes.first)
    causes.first.click()
    expect(page.locator("#differences")).to_be_visible()


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_no_figure_is_cut_off(visit, many, width, height):
    page = visit(many, width=width, height=height)
    # The counts of a run of the whole catalogue have five digits.
    page.locator(".figures b").evaluate_all("numbers => numbers.forEach(one => { one.textContent = '88,888' })")
    fits = "one => one.scrollWidth <= one.clientWidth + 1 && one.getBoundingClientRect().right <= innerWidth"
    assert page.locator(".figures *").evaluate_all(f"parts => parts.every({fits})")


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_known_deviations_are_named_as_such(visit, known, width, height):
    page = visit(known, width=width, height=height)
    expect(page.locator("h1").first).to_have_text("✓ 2 of 3 judged agree; 1 known to deviate", use_inner_text=True)
    expect(page.get_by_role("heading", name="Most severe known deviations")).to_be_visible()
    assert is_in_view(page, page.locator(".leading li").first)


def test_more_surfaces_are_shown_on_a_narrow_screen(visit, many):
    page = visit(many, width=390, height=844)
    shown = page.locator(".ranking li").filter(visible=True)
    expect(shown).to_have_count(4)
    page.get_by_role("button", name="Show all 23 surfaces").click()
    expect(shown).to_have_count(23)


def test_cause_on_the_first_screen_leads_to_its_card(opened):
    page = opened()
    page.locator(".leading a").first.click()
    card = page.locator(page.evaluate("location.hash"))
    expect(card.locator("h2")).to_contain_text("avg_pool ends the process", use_inner_text=True)
    expect(card.locator("dt")).to_have_text(
        ["Smallest input", "Expected", "Got", "When", "Message", "Reproduce"], use_inner_text=True
    )


def test_card_of_a_known_deviation_has_the_form_of_a_finding(visit, known):
    page = visit(known, "#differences")
    entry = page.locator(".difference .entry")
    facts = dict(zip(entry.locator("dt").all_inner_texts(), entry.locator("dd").all_inner_texts(), strict=True))
    assert facts["Why"] == "Why. Write -inf instead of 0."
    assert facts["Upstream"] == "https://example.org/issues/1"
    assert facts["Write instead"].startswith("Write -inf instead of 0. k.lax returns the expected result.")
    assert f"conformance repro {STRIDE} --surface k.nn" in facts["Reproduce"]


def test_causes_can_be_filtered_and_the_filter_is_in_the_address(opened):
    page = opened("#differences")
    wait_for_status(page, "9 of 9 causes")
    page.locator("#cause-filters select[name=kind]").select_option("wrong value")
    page.locator("#cause-filters select[name=status]").select_option("known")
    wait_for_address(page, "#differences?kind=wrong+value&status=known")
    wait_for_status(page, "1 of 9 causes")
    expect(page.locator(".difference").filter(visible=True)).to_have_count(1)
    expect(page.locator(".contents li").filter(visible=True)).to_have_count(1)


@pytest.mark.parametrize(("query", "count"), [("backend=beta", 9), ("backend=alpha", 0), ("kind=crash", 1), ("", 9)])
def test_filter_of_causes_in_the_address_is_applied(opened, query, count):
    wait_for_status(opened(f"#differences?{query}"), f"{count} of 9 causes")


def test_conventions_can_be_filtered(opened):
    page = opened("#conventions")
    wait_for_status(page, "1 of 1 convention")
    page.locator("#convention-filters select").select_option("disagreements")
    wait_for_address(page, "#conventions?only=disagreements")
    expect(page.locator(".answers-by li b")).to_have_text(
        ["real-cells", "whole-window", "not observed"], use_inner_text=True
    )


def test_slash_focuses_the_search_on_every_page_and_can_be_typed_in_it(opened):
    for place in ("", "#differences", "#/results"):
        page = opened(place)
        page.keyboard.press("/")
        page.keyboard.type("conv/edge")
        expect(page.get_by_label("Search the report")).to_have_value("conv/edge")
        page.keyboard.press("Enter")
        wait_for_address(page, "#/case/conv/edge-detector")


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("avg_po", "operator", "#/results?operator=avg_pool"),
        ("beta.keras", "surface", "#/surface/beta.keras.layers"),
        ("ends the process", "cause", None),
        ("wraps", "case", "#/case/conv/wraps-in-int64"),
    ],
)
def test_search_finds_operators_surfaces_causes_and_cases(opened, text, kind, target):
    page = opened()
    page.get_by_label("Search the report").fill(text)
    option = page.get_by_role("option").filter(has=page.locator(".kind", has_text=kind)).first
    option.click()
    wait_for_address(page, target or page.locator(".leading a").first.get_attribute("href"))


def test_search_can_be_used_with_the_keyboard_and_falls_back_to_all_results(opened):
    page = opened()
    field = page.get_by_label("Search the report")
    field.fill("max_pool")
    field.press("ArrowDown")
    expect(page.locator("[role=option][aria-selected=true]")).to_have_attribute("id", "search-1")
    field.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)
    field.fill("within 60")
    field.press("Enter")
    wait_for_address(page, "#/results?text=within%2060")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_switch_changes_the_colours_and_is_remembered(opened, scheme):
    page = opened(color_scheme=scheme)
    background = "getComputedStyle(document.body).backgroundColor"
    found = [page.evaluate(background)]
    for label in ("as the system", "light", "dark"):
        page.get_by_role("button", name=f"Colours: {label}").click()
        found.append(page.evaluate(background))
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    system = light if scheme == "light" else dark
    assert found == [system, light, dark, system]
    page.get_by_role("button", name="Colours: as the system").click()
    page.reload()
    page.get_by_role("button", name="Colours: light").wait_for()
    assert page.evaluate(background) == light


def test_explanation_of_a_status_is_shown_on_focus(opened):
    page = opened()
    page.locator(".ranking").first.wait_for()
    chip = page.locator(".split .legend a", has_text="stale")
    chip.focus()
    text = re.compile("^The ledger lists a deviation, but the result agrees")
    expect(page.locator(".tip")).to_have_text(text, use_inner_text=True)
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_be_hidden()
    expect(chip).to_have_attribute("title", re.compile("^The ledger lists"))
    chip.click()
    expect(page.locator("#term-stale")).to_be_visible()


def headings(page):
    return page.locator(".matrix thead th[data-surface]").filter(visible=True)


def test_textbook_surfaces_are_hidden_until_they_are_chosen(visit, many):
    page = visit(many, "#matrix")
    expect(headings(page).get_by_text("crowd.number_0", exact=True)).to_have_count(1)
    expect(headings(page).filter(has_text=".book")).to_have_count(0)
    page.locator(".chooser summary").click()
    page.get_by_role("button", name="all", exact=True).click()
    expect(headings(page).filter(has_text="crowd.book")).to_have_count(1)


def test_columns_are_chosen_and_ordered_by_the_address_and_by_buttons(visit, many):
    page = visit(many, "#matrix?columns=crowd.book,beta.keras.layers")
    expect(headings(page)).to_have_text(["crowd.book", "beta.keras.layers"])
    page.locator(".chooser summary").click()
    page.get_by_role("button", name="Move beta.keras.layers to the left").click()
    wait_for_address(page, "#matrix?columns=beta.keras.layers,crowd.book")
    expect(headings(page)).to_have_text(["beta.keras.layers", "crowd.book"])
    page.get_by_label("crowd.book", exact=True).uncheck()
    expect(headings(page)).to_have_text(["beta.keras.layers"])
    row = page.locator(".matrix tbody tr", has_text="max_pool")
    expect(row.locator("td")).to_have_text(["✗ 2"], use_inner_text=True)


def test_worst_surfaces_can_be_first(visit, many):
    page = visit(many, "#matrix")
    page.locator(".chooser summary").click()
    page.get_by_role("button", name="worst first").click()
    expect(headings(page).first).to_have_text("beta.keras.layers")


def test_matrix_is_one_tab_stop_and_arrow_keys_move_in_it(opened):
    page = opened("#matrix")
    expect(page.locator(".matrix a[tabindex='0']")).to_have_count(1)
    expect(page.locator(".matrix a:not([tabindex='-1'])")).to_have_count(1)
    page.locator(".matrix a[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    focused = page.locator(".matrix a:focus")
    expect(focused).to_have_attribute("aria-label", re.compile(re.escape("avg_pool on")))
    expect(page.locator(".matrix a[tabindex='0']")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".matrix th a:focus, .matrix td a:focus")).to_have_count(1)


def test_colour_of_a_cell_is_its_worst_status(opened):
    page = opened("#matrix")
    cell = page.locator(".matrix tbody tr", has_text="max_pool").locator("td[data-surface='beta.keras.layers'] a")
    expect(cell).to_have_text("✗ 2", use_inner_text=True)
    assert "fail" in cell.locator("xpath=..").get_attribute("class").split()
    expect(cell).to_have_attribute("aria-label", "max_pool on beta.keras.layers: 1 fail, 1 flaky, 1 known, 1 pass")


def test_page_of_a_surface_shows_causes_conventions_reasons_and_badge(opened):
    page = opened("#/surface/beta.book")
    text = page.locator("#app").inner_text()
    for expected in ("Unexpected differences", "avg_pool ends the process", "Known deviations", "no asymmetric padding",
                     "not observed", "![beta.book](build/conformance/badges/beta.book.svg)"):  # fmt: skip
        assert expected in text, expected
    badge = page.get_by_role("img", name="Badge of beta.book")
    assert badge.evaluate("(one) => one.naturalWidth") > 50
    page.locator(".surface .leading a").first.click()
    expect(page.locator(page.evaluate("location.hash"))).to_be_visible()


def test_unknown_surface_is_named(opened):
    expect(opened("#/surface/none").locator("#app")).to_contain_text("No such surface", use_inner_text=True)


def test_what_happened_comes_before_the_other_surfaces_on_a_narrow_screen(visit, many):
    page = visit(many, f"#/case/{STRIDE}", width=390, height=844)
    heading = page.get_by_role("heading", name="What happened")
    assert is_in_view(page, heading)
    assert heading.bounding_box()["y"] < page.locator(".siblings").bounding_box()["y"]


def test_addresses_in_a_source_are_links(visit, tmp_path):
    case = example.case("conv/a", example.SQUARE, example.SQUARE, source="ONNX Conv-22, https://example.org/conv.html.")
    results = [example.result("conv/a", "k.nn")]
    page = visit(
        write(
            tmp_path, [example.header("k", ["k.nn"]), case, example.program("k.nn"), *results, example.footer(results)]
        ),
        "#/case/conv/a",
    )
    expect(page.locator("article a", has_text="example.org")).to_have_attribute("href", "https://example.org/conv.html")


@pytest.mark.parametrize("width", [1440, 390])
def test_labels_of_the_accuracy_chart_are_inside_it(visit, tmp_path, width):
    names = ["k.layers.channels_first", "k.nn"]
    case = example.case("avg_pool/a", example.SQUARE, example.array([1.0, 4.0], [2]), bound=1e-6)
    results = [example.result("avg_pool/a", name, budget_used=0.25) for name in names]
    records = [example.header("k", names), case, *map(example.program, names), *results, example.footer(results)]
    page = visit(write(tmp_path, records), "#/accuracy", width=width)
    for figure in page.locator("figure.chart").all():
        frame = figure.locator("svg").bounding_box()
        for label in figure.locator("text", has_text="k.").all():
            box = label.bounding_box()
            assert box["x"] >= frame["x"]
            assert box["height"] >= 10
        expect(figure.locator("text", has_text="k.layers.channels_first")).to_have_count(1)
