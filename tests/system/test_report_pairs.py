"""The page of the report that compares surfaces: selection, the points on which they differ, and links."""

import re
from itertools import product

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Declaration
from conformance.catalogue.surface_comparison import compare_surfaces
from conformance.cli.lookup import find_framework_surface
from conformance.cli.results_io import observed_answers
from conformance.judging.conventions import processor_answers
from conformance.judging.ledger import Ledger
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example
from tests.support.browser_pages import expect, wait_for_address
from tests.support.fake_backends import load, surface

BORDER = "avg_pool/divisor-at-the-border"
LARGER = "avg_pool/window-larger-than-input"
SCREENS = [(1440, 900), (390, 844)]
QUOTED = 'https://example.org/pool (Pool 2.1): "The padding is excluded."'
CASES = [
    example.case(name, example.SQUARE, {"answers": answers}, question=name, about=about)
    for name, about, answers in (
        (
            BORDER,
            "What does an average at the border divide by?",
            {"real-cells": example.array([2.5, 4], [1, 2]), "whole-window": example.array([1.25, 2], [1, 2])},
        ),
        (
            LARGER,
            "Is a window larger than the input rejected?",
            {"rejected": {"rejected": "WindowExceedsPaddedInput"}, "empty": example.array([], [1, 0])},
        ),
    )
]


def answer(question, surface, observed, source="undocumented", declared=None):
    about = next(case["about"] for case in CASES if case["case"] == question)
    return example.convention(surface, declared or observed, observed, source) | {
        "question": question,
        "case": question,
        "about": about,
    }


def run(backend, surfaces, answers):
    results = [example.result(one["case"], one["surface"]) for one in answers]
    records = [example.header(backend, surfaces), *CASES, *map(example.program, surfaces), *results]
    return [*records, *answers, example.footer(results)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report of two backends, with three surfaces that answer conventions and one that does not."""
    folder = tmp_path_factory.mktemp("pairs")
    k = [
        answer(BORDER, "k.nn", "real-cells", QUOTED),
        answer(LARGER, "k.nn", "rejected"),
        answer(BORDER, "k.jit", "real-cells"),
    ]
    m = [answer(BORDER, "m.ops", "whole-window", declared="real-cells"), answer(LARGER, "m.ops", "rejected")]
    path = folder / "report.html"
    report = load_report(example.write(folder, run("k", ["k.book", "k.nn", "k.jit"], k), run("m", ["m.ops"], m)))
    path.write_text(render_html(report), encoding="utf-8")
    return path


def rows(page):
    """Return the text of each row with a point: the question, and one text for each surface."""
    found = page.locator(".pairs tbody tr:not(.group)").all()
    return [
        [list(filter(None, cell.inner_text().split("\n"))) for cell in row.locator("th, td").all()] for row in found
    ]


def folded(page):
    return page.locator(".folded summary").all_inner_texts()


@pytest.mark.parametrize(("width", "height"), SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_points_on_which_two_surfaces_differ_are_on_the_first_screen(visit, made, width, height, scheme):
    page = visit(made, "#/pairs?surfaces=k.nn,m.ops", width=width, height=height, color_scheme=scheme)
    expect(page.get_by_role("heading", level=1)).to_have_text("k.nn and m.ops differ on 1 point", use_inner_text=True)
    (point,) = rows(page)
    assert point == [
        ["What does an average at the border divide by?", "divisor-at-the-border"],
        ["real-cells [2.5, 4]", "“The padding is excluded.” Pool 2.1"],
        ["whole-window [1.25, 2]", "observed with m 2.1.0; it declares real-cells"],
    ]
    box = page.locator(".pairs td").last.bounding_box()
    assert box["y"] + box["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_answers_have_different_colours_and_names(visit, made):
    page = visit(made, "#/pairs?surfaces=k.nn,m.ops")
    colours = page.locator(".pairs .answer").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(colours)) == 2
    expect(page.locator(".pairs .answer b")).to_have_text(["real-cells", "whole-window"], use_inner_text=True)


def test_other_points_are_counted_and_folded(visit, made):
    page = visit(made, "#/pairs?surfaces=k.nn,m.ops")
    assert folded(page) == ["They agree on 1 point"]
    page.locator(".folded summary").click()
    text = re.compile(re.escape("Is a window larger than the input rejected? rejected") + "$")
    expect(page.locator(".folded li")).to_have_text(text, use_inner_text=True)
    page = visit(made, "#/pairs?surfaces=k.nn,k.jit")
    expect(page.get_by_role("heading", level=1)).to_have_text("k.nn and k.jit differ on no point", use_inner_text=True)
    assert folded(page) == ["They agree on 1 point", "Only one of them answers 1 point"]


def test_third_surface_can_be_chosen_and_the_address_contains_all(visit, made):
    page = visit(made, "#/pairs?surfaces=k.nn,m.ops")
    page.get_by_label("Third surface").select_option("k.jit")
    wait_for_address(page, "#/pairs?surfaces=k.nn,m.ops,k.jit")
    page.get_by_role("heading", name="k.nn, m.ops and k.jit differ on 1 point").wait_for()
    expect(page).to_have_title(re.compile("^k.nn, m.ops and k.jit differ on 1 point – "))
    page.locator("select[name=operator]").select_option("avg_pool")
    wait_for_address(page, "&operator=avg_pool")
    page.get_by_label("First surface").select_option("")
    wait_for_address(page, "#/pairs?surfaces=m.ops,k.jit&operator=avg_pool")


def test_framework_means_its_first_surface(visit, made):
    page = visit(made, "#/pairs?surfaces=k,m")
    expect(page.get_by_role("heading", level=1)).to_have_text("k.nn and m.ops differ on 1 point", use_inner_text=True)
    expect(page.get_by_label("First surface")).to_have_value("k")


def test_one_surface_is_compared_with_all_others(visit, made):
    page = visit(made, "#/pairs?surfaces=k.nn")
    table = page.locator(".pairs-page tbody tr")
    assert [row.inner_text().split("\t") for row in table.all()] == [
        ["k.book", "0 points", "0"], ["k.jit", "0 points", "1"], ["m.ops", "1 point", "1"],
    ]  # fmt: skip
    page.get_by_role("link", name="m.ops").click()
    wait_for_address(page, "#/pairs?surfaces=k.nn,m.ops")


@pytest.mark.parametrize("text", ["nobody", "k.nn,nobody", "k.nn,nobody,m.ops"])
def test_unknown_surface_is_named(visit, made, text):
    page = visit(made, f"#/pairs?surfaces={text}")
    expect(page.locator(".note")).to_have_text(
        "The results do not contain the surface or framework nobody.", use_inner_text=True
    )


def test_point_links_to_its_convention_and_answer_to_its_case(visit, made):
    page = visit(made, "#/pairs?surfaces=k.nn,m.ops")
    page.locator(".pairs td a").first.click()
    wait_for_address(page, f"#/case/{BORDER}?surface=k.nn")
    page.go_back()
    page.locator(".pairs th[scope=row] a").click()
    wait_for_address(page, f"#convention-{BORDER}")
    expect(page.locator(f"[id='convention-{BORDER}']")).to_be_visible()


@pytest.mark.parametrize("place", ["#overview", "#conventions", "#/surface/k.nn"])
def test_page_is_linked(visit, made, place):
    page = visit(made, place)
    page.locator("main a[href^='#/pairs']").filter(visible=True).first.click()
    expect(page.locator(".pairs-page h1")).to_have_text("Compare surfaces", use_inner_text=True)


def test_link_to_a_convention_shows_it_although_a_filter_hid_it(visit, made):
    page = visit(made, "#conventions?only=disagreements")
    expect(page.locator(f"[id='convention-{LARGER}']")).to_be_hidden()
    page.get_by_label("Search the report").fill("window-larger")
    page.get_by_role("option").filter(has_text="convention").click()
    # The page is rendered after the address has changed.
    page.locator(f"[id='convention-{LARGER}']").wait_for(state="visible")


STATES = [  # declared answer, answer on another processor, observed answers by case
    (None, None, {}),
    (None, None, {"a": "one"}),
    ("window", None, {}),
    ("window", None, {"a": "window"}),
    ("window", None, {"a": "one", "b": "one"}),
    ("window", None, {"a": "one", "b": "window"}),
    ("window", "one", {}),
    ("window", "one", {"a": "window"}),
]
COMBINATIONS = [*product(STATES, repeat=2)]
POINTS = """
() => {
  const questions = (points) => points.map((one) => one.question).sort();
  const found = Object.entries(Report.pointsOf(["f.a", "f.b"]));
  return Object.fromEntries(found.map(([key, points]) => [key, questions(points)]));
}
"""


def convention_lines(number):
    """Return a convention and a second case of it."""
    text = "about: By how much, x: {values: arange, shape: [1, 1, 4, 4]}, window: 3"
    answers = "answers: {window: {stride: 3}, one: {stride: 1}}"
    yield f"id: q{number:02}, {text}, {answers}"
    yield f"id: q{number:02}-again, question: q{number:02}, {text}, {answers}"


def test_points_are_those_of_the_command_compare(visit, tmp_path, fake_registry):
    names = ("f.a", "f.b")
    declarations, answers, cases = {name: {} for name in names}, [], []
    for number, states in enumerate(COMBINATIONS):
        question = f"max_pool/q{number:02}"
        case_ids = {"a": question, "b": f"{question}-again"}
        cases += [example.case(one, example.SQUARE, {"answers": {}}, question=question) for one in case_ids.values()]
        for name, (declared, other, observed) in zip(names, states, strict=True):
            if declared:
                cpu = {"avx512f": other} if other else {}
                declarations[name][question] = Declaration(declared, observed="1.0", cpu=cpu)
            for key in observed or {"a": None}:
                record = example.convention(name, declared, observed.get(key), "undocumented")
                answers.append(record | {"question": question, "case": case_ids[key]})
    surfaces = [surface(name, declarations=declarations[name]) for name in names]
    fake_registry(*surfaces)
    records = [example.header("f", names), *cases, *answers, example.footer([])]
    paths = example.write(tmp_path / "results", records)
    catalogue = load(
        tmp_path, *(line for n in range(len(COMBINATIONS)) for line in convention_lines(n)), section="questions"
    )
    found = compare_surfaces(surfaces, catalogue.cases, Ledger(()), observed_answers(paths))
    report = load_report(paths)
    page_path = tmp_path / "report.html"
    page_path.write_text(render_html(report, processor_answers=processor_answers(report.surfaces)), encoding="utf-8")
    points = visit(page_path).evaluate(POINTS)
    assert points["differing"] == [one.id for one in found.differing]
    assert points["single"] == [one.id for one in found.unanswered]
    assert len(points["same"]) == found.same_count
    assert min(map(len, points.values())) > 0


def test_frameworks_mean_the_same_surfaces_as_on_the_command_line(visit, tmp_path):
    known = {name: registry.get_backend(name) for name in registry.backend_names()}
    runs = [
        [example.header(name, [one.name for one in backend.surfaces]), example.footer([])]
        for name, backend in known.items()
    ]
    path = tmp_path / "report.html"
    path.write_text(render_html(load_report(example.write(tmp_path, *runs))), encoding="utf-8")
    frameworks = visit(path).evaluate("() => [...Report.frameworks].map(([text, { name }]) => [text, name])")
    assert len(frameworks) >= len([one for one in known.values() if any(not two.route for two in one.surfaces)])
    for text, name in frameworks:
        assert find_framework_surface(text).name == name, text
