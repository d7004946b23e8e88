"""The HTML report in a real browser. CONFORMANCE_REQUIRE_BROWSER=1 makes a missing browser an error, not a skip."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from reports.results.reader import load_report
from reports.views.html import render_html
from tests.support import example_results as example
from tests.support.browser_pages import finds, leads, listen

CASE = "#/case/max_pool/stride-2-padding-1"


@pytest.fixture
def made(visit, tmp_path):
    """Open the report of some records at a hash."""

    def open_at(records, place=""):
        path = tmp_path / "made.html"
        path.write_text(render_html(load_report(example.write(tmp_path, records))), encoding="utf-8")
        return visit(path, place)

    return open_at


@pytest.mark.parametrize("body", ["<script>missing()</script>", "<script>console.log(1)</script>", "<img src=x>"])
def test_errors_words_and_requests_of_a_page_are_noticed(browser, tmp_path, body):
    path = tmp_path / "bad.html"
    path.write_text(f"<!doctype html><title>bad</title>{body}", encoding="utf-8")
    page = browser.new_page()
    heard = listen(page, path.as_uri())
    page.goto(path.as_uri())
    page.close()
    assert heard


def test_page_opens_with_its_overview(opened):
    page = opened()
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["✗ 9 unexpected results, 1 finding"]
    assert page.locator("#app").is_hidden()
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("place", ["differences", "conventions", "run"])
def test_every_page_of_the_navigation_shows_itself_alone(opened, place):
    page = opened()
    page.get_by_role("navigation", name="Pages").locator(f'a[href="#{place}"]').click()
    assert page.locator(f"#{place}").is_visible()
    assert page.locator("#overview").is_hidden()
    assert page.locator(".bar-top [aria-current]").get_attribute("href") == f"#{place}"
    page.locator("h1:focus").wait_for()


def test_list_holds_every_result(opened):
    finds(opened("#/results"), "39 of 39 results")


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
def test_filter_in_the_url_shows_what_the_sender_saw(opened, query, count):
    page = opened(f"#/results?{query}")
    finds(page, f"{count} of 39 results")
    assert page.locator(".list tbody tr").count() == count


def test_filter_changed_by_hand_stands_in_the_url(opened):
    page = opened("#/results")
    page.get_by_label("Status").select_option("known")
    page.get_by_label("Text").fill("Recipe")
    page.wait_for_function("location.hash === '#/results?status=known&text=Recipe'")
    finds(page, "2 of 39 results")
    page.get_by_label("Parameter").select_option("stride")
    page.get_by_label("Value of stride").select_option("[2, 2]")
    leads(page, "#/results?status=known&text=Recipe&parameter=stride&value=%5B2%2C2%5D")
    page.locator("select[name=parameter]").select_option("window")
    assert "value=" not in page.url
    page.get_by_role("link", name="Reset").click()
    finds(page, "39 of 39 results")


def test_search_is_one_key_away_and_a_slash_in_it_is_a_letter(opened):
    page = opened("#/results")
    page.keyboard.press("/")
    page.keyboard.type("conv/edge")
    assert page.get_by_label("Text").input_value() == "conv/edge"
    finds(page, "5 of 39 results")


def test_matrix_cell_leads_into_the_filtered_list_and_back(opened):
    page = opened()
    page.locator(".matrix a.count.fail").first.click()
    assert page.title().startswith("Results – 9 unexpected results")
    leads(page, "#/results?operator=avg_pool&surface=beta.keras.layers&status=fail")
    page.go_back()
    assert page.locator("#app").is_hidden()
    assert page.locator("#overview").is_visible()


def test_list_leads_to_a_case_with_the_keyboard_alone(opened):
    page = opened("#/results?status=crashed")
    page.locator(".list a").focus()
    page.keyboard.press("Enter")
    leads(page, "#/case/avg_pool/three-channels?surface=beta.book")
    page.locator("h1:focus").wait_for()


def test_detail_marks_the_worst_cell(opened):
    page = opened(f"{CASE}?surface=beta.keras.layers")
    worst = page.locator(".grid td.worst")
    assert worst.all_text_contents() == ["15 (worst)", "14 (worst)", "-1 (worst)"]
    said = page.locator("#app").inner_text()
    assert "expected 15, got 14" in said
    assert "conformance repro max_pool/stride-2-padding-1 --surface beta.keras.layers" in said
    assert "# beta.keras.layers" in said


def test_detail_without_a_surface_shows_the_worst_one(opened):
    page = opened("#/case/max_pool/nan-in-the-window")
    assert "flaky" in page.locator(".sibling[aria-current=page]").inner_text()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("avg_pool/large?surface=beta.keras.layers", "too large to be kept in the results"),
        ("max_pool/window-larger-than-input?surface=alpha.nn", "window exceeds padded input"),
        (
            "max_pool/window-larger-than-input?surface=alpha.nn",
            "Nothing is drawn. What must be rejected has no output.",
        ),
        ("max_pool/stride-2-padding-1?surface=alpha.nn", "equal bit for bit"),
        ("avg_pool/three-channels?surface=beta.book", "</script><img src=x onerror="),
        ("conv/edge-detector?surface=beta.book", "No program exists for this case"),
        ("conv/wraps-in-int64?surface=beta.keras.layers", "+18446744073709551615"),
        ("avg_pool/divisor-at-the-border?surface=beta.keras.layers", "Observed: whole-window"),
        ("no/such", "No such case"),
        ("%E0%A4%A", "No such case"),
    ],
)
def test_detail_says_what_there_is_to_say(opened, place, said):
    assert said in opened(f"#/case/{place}").locator("#app").inner_text()


def test_link_to_a_section_of_a_page_shows_it(opened):
    page = opened("#unsupported")
    assert page.locator("#unsupported").is_visible()
    assert page.locator("#unsupported").bounding_box()["y"] < 900


def test_skip_link_stays_in_the_view(opened):
    page = opened("#/results")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    leads(page, "#/results")


def test_every_case_on_every_surface_opens_without_error(opened):
    page = opened()
    links = page.locator("html").evaluate(
        "() => Report.results.map((one) => Report.caseLink(one.case.id, one.surface.name))"
    )
    assert len(links) == 39
    for link in links:
        page.evaluate("(link) => { location.hash = link; }", link)
        page.locator("#app article.case").wait_for()


def test_large_array_is_cut_around_its_worst_cell(made):
    data = [float(value) for value in range(4096)]
    case = example.case("conv/large", example.SQUARE, example.array(data, [1, 1, 64, 64]))
    wrong = example.array([*data[:-1], -1.0], [1, 1, 64, 64])
    worst = {"index": [0, 0, 63, 63], "expected": 4095, "got": -1, "absolute": 4096, "ulp": 1}
    records = [example.header("k", ["k.nn"]), case, example.program("k.nn")]
    page = made([*records, example.differing("conv/large", "k.nn", wrong, worst)], "#/case/conv/large")
    assert "Shown: 16 × 16 of 64 × 64 cells." in page.locator("#app").inner_text()
    assert page.locator(".grid td.worst").count() == 3


def test_stepping_through_windows_by_button_and_key_stands_in_the_url(opened):
    page = opened(f"{CASE}?surface=alpha.nn")
    held = page.locator(".held")
    assert held.inner_text() == (
        "output[0, 0, 0, 0], 1 of 4, is made of 4 input cells (0, 1, 4, 5), 5 cells of padding. Expected 5."
    )
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Output cell").press("ArrowRight")
    leads(page, "surface=alpha.nn&step=2")
    held.filter(has_text="output[0, 0, 1, 0], 3 of 4, is made of 6 input cells (4, 5, 8, 9, 12, 13)").wait_for()
    assert page.locator(".slice .read.input").all_text_contents() == ["4", "5", "8", "9", "12", "13"]
    page.get_by_role("button", name="Previous").click()
    held.filter(has_text="2 of 4").wait_for()


def test_window_of_a_shared_url_is_the_senders(opened):
    assert "4 of 4" in opened(f"{CASE}?surface=alpha.nn&step=3").locator(".held").inner_text()
    assert "4 of 4" in opened(f"{CASE}?surface=alpha.nn&step=99").locator(".held").inner_text()
    assert "1 of 4" in opened(f"{CASE}?surface=alpha.nn&step=x").locator(".held").inner_text()


def test_drawing_begins_at_the_worst_element(opened):
    said = opened(f"{CASE}?surface=beta.keras.layers").locator(".held").inner_text()
    assert said.startswith("output[0, 0, 1, 1], 4 of 4")
    assert said.endswith("Expected 15, got 14.")


def test_program_is_copied_as_it_ran(opened):
    page = opened(f"{CASE}?surface=alpha.nn", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the program", exact=True).click()
    page.get_by_text("Copied").wait_for()
    program = example.program("alpha.nn")["text"]
    assert page.evaluate("navigator.clipboard.readText()") == program


def test_translations_are_programs_of_the_run_with_what_came_of_them(opened):
    page = opened("#/translations")
    page.locator("select[name=operator]").select_option("max_pool")
    finds(page, "2 cases match; the programs of the most ordinary, max_pool/stride-2-padding-1:")
    page.locator("select[name=window]").select_option("[2]")
    leads(page, "#/translations?operator=max_pool&window=%5B2%5D")
    page.locator("p[role=status] a", has_text="max_pool/nan-in-the-window").wait_for()
    alpha = page.locator(".translation").first
    assert "# alpha.nn" in alpha.locator("pre").first.inner_text()
    assert "1 ✓ pass" in alpha.inner_text()
    assert page.locator("select[name=stride] option").all_inner_texts() == ["all", "[2]"]


def rounded(name, surface, budget, got=None, **changes):
    return example.result(name, surface, budget_used=budget, **({"got": got} if got else {}), **changes)


def test_accuracy_tells_ulp_and_share_of_the_bound_by_surface(made):
    wanted = example.array([1.0, 4.0], [1, 1, 2])
    cases = [
        example.case(f"avg_pool/{name}", example.array([1, 2, 3], [1, 1, 3]), wanted, terms=9, bound=1e-6)
        for name in "abc"
    ]
    off = example.array([1.0, 4.0 + 2**-20], [1, 1, 2])
    results = [rounded("avg_pool/a", "k.nn", 0.25), rounded("avg_pool/b", "k.nn", 0.75, off)]
    results += [example.differing("avg_pool/c", "k.nn", wanted, None), rounded("avg_pool/c", "k.lax", 0.5, off)]
    records = [example.header("k", ["k.nn", "k.lax"]), *cases, *map(example.program, ("k.nn", "k.lax"))]
    page = made([*records, *results, example.footer(results)], "#/accuracy?operator=avg_pool")
    finds(page, "3 results")
    rows = page.locator(".accuracy tbody tr")
    assert rows.nth(0).locator("td").all_inner_texts() == ["avg_pool", "float32", "1", "0", "2", "2", "0.5", "0.5", "0"]
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
    assert page.locator("figure svg[role=img]").count() == 2
    page.locator("select[name=surface]").select_option("k.lax")
    assert rows.count() == 1
    rows.get_by_role("link").click()
    leads(page, "#/case/avg_pool/c?surface=k.lax")


@pytest.mark.parametrize(
    ("dtype", "whole"),
    [(np.float16, np.int16), (ml_dtypes.bfloat16, np.int16), (np.float32, np.int32), (np.float64, np.int64)],
)
def test_errors_are_counted_in_floats_as_the_bits_have_them(opened, dtype, whole):
    page = opened("#/accuracy")
    numbers = np.array([0, 1e-7, -1e-7, 0.1, 0.99, 1, 1.01, -2, 3, 100, 60000], dtype)
    ordered = np.where(numbers < 0, -1, 1) * np.abs(numbers).view(whole).astype(object)
    for one, other in itertools.combinations(range(len(numbers)), 2):
        asked = [float(numbers[one]), float(numbers[other]), np.dtype(dtype).name]
        found = float(page.evaluate("(asked) => Report.ulps(...asked)", asked))
        assert found == float(abs(ordered[one] - ordered[other])), asked


def test_same_case_stands_side_by_side_on_all_surfaces(opened):
    page = opened(f"{CASE}?surface=beta.keras.layers")
    rows = page.locator(".surfaces tbody tr")
    assert rows.count() == 5
    wrong = rows.filter(has_text="beta.keras.layers")
    assert wrong.locator("td").all_inner_texts()[:6] == ["✗ fail", "native", "∞", "1.049e6", "15", "14"]
    page.locator(".surfaces summary").first.click()
    assert "# alpha.nn" in page.locator(".surfaces pre").first.inner_text()
    rows.get_by_role("link", name="alpha.nn.functional").click()
    leads(page, "surface=alpha.nn.functional")


@pytest.mark.parametrize(
    "place", ["", "#differences", "#conventions", "#run", "#/results", "#/translations", "#/accuracy", CASE]
)
def test_narrow_phone_needs_no_sideways_scrolling(opened, place):
    page = opened(place, width=360, height=700)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
