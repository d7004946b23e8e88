"""Accessibility of the report: contrast, and the rules of axe, in light and dark mode, wide and narrow."""

import re
from importlib.resources import files

import pytest

from tests.support.browser_pages import violations
from tests.support.nightly import NIGHTLY

PLACES = (
    "",
    "#findings",
    "#differences",
    "#conventions",
    "#run",
    "#/results",
    "#/results?status=fail&parameter=window&sort=case",
)
PLACES += ("#/pairs", "#/pairs?surfaces=alpha", "#/pairs?surfaces=alpha.nn,beta.keras.layers,nobody")
PLACES += ("#matrix", "#/translations", "#/accuracy", "#/surface/beta.keras.layers", "#/surface/none", "#terms")
CASES = ("max_pool/stride-2-padding-1?surface=beta.keras.layers", "avg_pool/divisor-at-the-border", "no/such")
# The colours of the page by name, as RGB values.
COLOURS = """
(names) => {
  const probe = document.body.appendChild(document.createElement("i"));
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  };
  return Object.fromEntries(names.map((name) => [name, colour(name)]));
}
"""
MIN_CONTRAST = 4.5  # https://www.w3.org/TR/WCAG22/#contrast-minimum
COLOUR_PAIRS = [
    *((ink, ground) for ink in ("ink", "muted", "link") for ground in ("ground", "raised", "none-ground")),
    *((state, f"{state}-ground") for state in ("fail", "known", "pass", "none")),
    *((state, "ground") for state in ("fail", "known", "pass", "none", "mark")),
    *(("ink", f"answer-{number}") for number in range(1, 6)),
]


def palette(scheme):
    """Return the colours of a scheme by name, as RGB values from 0 to 1."""
    style = files("reports.views").joinpath("static/report.css").read_text("utf-8")
    pairs = re.findall(r"--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)", style)
    place = {"light": 1, "dark": 2}[scheme]
    return {pair[0]: tuple(int(pair[place][at : at + 2], 16) / 255 for at in (0, 2, 4)) for pair in pairs}


def luminance(colour):
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), COLOUR_PAIRS)
def test_text_has_enough_contrast(scheme, ink, ground):
    colours = palette(scheme)
    assert contrast(colours[ink], colours[ground]) >= MIN_CONTRAST


def test_every_colour_is_written_once_for_both_schemes():
    style = files("reports.views").joinpath("static/report.css").read_text("utf-8")
    assert len(palette("light")) == len(set(re.findall(r"(--[\w-]+): light-dark", style))) > 20
    outside = re.sub(r"light-dark\(.*?\)", "", style)
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=[;, )])", outside) == []


@pytest.mark.parametrize("system", ["light", "dark"])
@pytest.mark.parametrize("switch", ["as the system", "light", "dark"])
def test_colours_are_those_of_the_chosen_scheme(opened, system, switch):
    page = opened(color_scheme=system)
    for label in {"as the system": [], "light": ["as the system"], "dark": ["as the system", "light"]}[switch]:
        page.get_by_role("button", name=f"Colours: {label}").click()
    colours = palette(system if switch == "as the system" else switch)
    found = page.evaluate(COLOURS, list(colours))
    assert found == {name: [round(part * 255) for part in colour] for name, colour in colours.items()}


def test_contrast_follows_the_standard():
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast((0.5, 0.5, 0.5), (1, 1, 1)) < MIN_CONTRAST


# Colours do not depend on the width. HYPOTHESIS_PROFILE=nightly opens the pages in both schemes at both widths.
PAIRS = [("light", 1280), ("dark", 360), *([("light", 360), ("dark", 1280)] if NIGHTLY else [])]


@pytest.mark.parametrize(("scheme", "width"), PAIRS)
def test_pages_have_no_accessibility_violations(visit, axe, file, scheme, width):
    page = visit(file, color_scheme=scheme, width=width)
    for place in (*PLACES, *(f"#/case/{case}" for case in CASES)):
        page.evaluate("(place) => { location.hash = place; }", place)
        page.wait_for_timeout(150)
        assert violations(axe, page) == [], place
    page.keyboard.press("/")
    page.keyboard.type("max_pool")
    assert violations(axe, page) == []


def test_axe_finds_a_violation(browser, axe):
    page = browser.new_page()
    page.set_content('<html lang="en"><title>t</title><main><h1>h</h1><p style="color:#bbb">faint</p></main></html>')
    found = [name for name, *_ in violations(axe, page)]
    page.close()
    assert found == ["color-contrast"]
