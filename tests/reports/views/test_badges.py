"""Badges: text, contrast, file names, and that they need no other files."""

import json
import re
from xml.etree import ElementTree

import pytest

from reports.results import load_report
from reports.views.badges import AMBER_BACKGROUND, GREEN_BACKGROUND, GREY_BACKGROUND, RED_BACKGROUND, render_badges
from tests.support import example_results as example

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def badges(tmp_path):
    return lambda *runs: render_badges(load_report(example.write(tmp_path, *runs)))


def text_of(files, surface):
    return "".join(text.text for text in ElementTree.fromstring(files[f"{surface}.svg"]).iter(f"{SVG}text"))  # noqa: S314


def luminance(colour):
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def known():
    nn = "alpha.nn"
    return example.run(
        "alpha", [nn], [example.result("conv/edge-detector", nn, status="known", reason="so", issue=None)]
    )


def undeclared():
    return example.run("alpha", ["alpha.nn"], example.undeclared("avg_pool/divisor-at-the-border", "alpha.nn"))


def slow():
    return example.run("alpha", ["alpha.nn"], example.slow_results("alpha.nn"))


@pytest.mark.parametrize(
    ("run", "surface", "message", "colour"),
    [
        (undeclared, "alpha.nn", "1 undeclared", AMBER_BACKGROUND),
        (slow, "alpha.nn", "1 pass, 1 slow", GREEN_BACKGROUND),
        (example.alpha, "alpha.nn", "9 pass", GREEN_BACKGROUND),
        (known, "alpha.nn", "1 known", AMBER_BACKGROUND),
        (example.beta, "beta.book", "1 fail, 1 crashed", RED_BACKGROUND),
        (example.beta, "beta.keras.layers", "4 fail, 1 timed out, 1 flaky, 1 stale", RED_BACKGROUND),
        (example.gamma, "gamma.lax", "partial run", RED_BACKGROUND),
        (example.delta, "delta.npx", "nothing ran", RED_BACKGROUND),
    ],
)
def test_badge_shows_the_result_as_text_and_colour(badges, run, surface, message, colour):
    files = badges(run())
    assert text_of(files, surface) == surface + message
    root = ElementTree.fromstring(files[f"{surface}.svg"])  # noqa: S314 - our own
    assert root.get("aria-label") == root.find(f"{SVG}title").text == f"{surface}: {message}"
    assert [rect.get("fill") for rect in root.iter(f"{SVG}rect")] == [GREY_BACKGROUND, colour]
    endpoint = json.loads(files[f"{surface}.json"])
    assert endpoint == {
        "schemaVersion": 1, "label": surface, "message": message, "labelColor": GREY_BACKGROUND, "color": colour,
        "isError": colour == RED_BACKGROUND,
    }  # fmt: skip


@pytest.mark.parametrize("colour", [GREY_BACKGROUND, GREEN_BACKGROUND, AMBER_BACKGROUND, RED_BACKGROUND])
def test_white_can_be_read_on_every_background(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_one_badge_per_surface(badges):
    files = badges(example.alpha(), example.beta())
    names = ["alpha.nn", "alpha.nn.functional", "beta.keras.layers", "beta.book"]
    assert list(files) == [f"{name}.{ending}" for name in names for ending in ("svg", "json")]


def test_badge_needs_no_other_files(badges):
    text = badges(example.alpha())["alpha.nn.svg"]
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|<script|<style|<image|@import", text)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/x", ".hidden", "a\\b", "a\x00b", "<svg onload=x>", "漢字", "", "x" * 300]
)
def test_hostile_name_is_escaped_and_stays_in_the_folder(badges, name):
    files = badges(example.run("n", [name], [example.result("conv/edge-detector", name)]))
    svg, endpoint = files
    assert re.fullmatch(r"[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]{0,59}\.svg", svg)
    root = ElementTree.fromstring(files[svg])  # noqa: S314 - our own
    assert [part.tag for part in root] == [f"{SVG}{tag}" for tag in ("title", "rect", "text", "rect", "text")]
    assert set(root.attrib) == {"role", "aria-label", "width", "height", "font-family", "font-size"}
    assert all(sign.isprintable() for sign in files[svg].strip() + files[endpoint])


def test_badges_have_unique_names(badges):
    names = ["a/b", "a b", "A_B", "a_b-2"]
    files = badges(example.run("n", names, [example.result("conv/edge-detector", name) for name in names]))
    assert len({name.lower() for name in files}) == 2 * len(names)


def test_text_fits_its_half_in_every_font(badges):
    root = ElementTree.fromstring(badges(example.beta())["beta.keras.layers.svg"])  # noqa: S314 - our own
    for rect, text in zip(root.iter(f"{SVG}rect"), root.iter(f"{SVG}text"), strict=True):
        start, end = (int(rect.get("x")) + extra for extra in (0, int(rect.get("width"))))
        assert start < int(text.get("x")) < int(text.get("x")) + int(text.get("textLength")) < end
    assert end == int(root.get("width"))


def test_same_results_give_the_same_bytes(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.beta(), example.gamma())
    assert list(render_badges(load_report(paths)).items()) == list(render_badges(load_report(paths[::-1])).items())


def test_command_writes_the_badges_into_a_folder(conformance, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = example.write(tmp_path / "results", example.alpha())
    assert conformance("report", *paths, "--format", "badge")[:2] == (0, "report: build/conformance/badges\n")
    assert conformance("report", *paths, "--format", "badge", "--out", "folder")[0] == 0
    assert [path.read_text("utf-8") for path in sorted((tmp_path / "folder").iterdir())] == [
        path.read_text("utf-8") for path in sorted((tmp_path / "build/conformance/badges").iterdir())
    ]
    assert len(list((tmp_path / "folder").iterdir())) == 4
    status, _, error = conformance("report", *paths, "--format", "badge", "--out", "-")
    assert (status, error) == (
        2,
        ["conformance: --format badge writes several files: --out must be a folder (see conformance report --help)"],
    )
    status, _, error = conformance("report", *paths, "--format", "junit", "--out", "folder")
    assert (status, error) == (2, ["conformance: folder: Is a directory"])
