"""The page of catalogue statistics."""

import json

import pytest

from conformance import ConformanceError
from conformance.catalogue import statistics
from conformance.catalogue.loading import Catalogue
from conformance.cli.markdown_pages import catalogue_page
from tests import ROOT
from tests.support.fake_backends import load

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
OTHERS = {
    "counted": "2020-01-02",
    "parts": {
        "a": {"name": "them", "what": "their cases", "counts": {"max_pool": 1234, "pad": 0}},
        "by_hand": [{"name": "nobody", "what": "not counted", "counts": {}}],
    },
}


def rows(page, title):
    """Return the cells of a section's table by the name in the first column, including the header."""
    section = page.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in cells if "---" not in row[0]}


@pytest.fixture(scope="module")
def page(catalogue):
    """Return the page of the built-in catalogue."""
    return catalogue_page(catalogue, statistics.read_other_suites(ROOT / "benchmarks" / "others.json"))


def test_every_case_is_counted_once_in_every_table(page, catalogue):
    for title in ("Level and kind", "Spatial axes", "Dtype"):
        cases = [int(row[0].replace(",", "")) for name, row in rows(page, title).items() if name != "operator"]
        assert sum(cases) == len(catalogue.cases)


def test_cases_are_counted_by_level_kind_rank_and_dtype(tmp_path):
    found = load(
        tmp_path,
        f"id: a, {X}, window: 2",
        f"id: b, {X}, window: 2, expect: [[5, 7], [13, 15]], level: standard",
        f"id: c, {X}, window: 9, expect: {{rejected: WindowExceedsPaddedInput}}",
        "id: d, x: {values: arange, shape: [1, 1, 4], dtype: int8}, window: 2",
    )
    page = catalogue_page(found)
    assert rows(page, "Level and kind") == {
        "operator": ["cases", "smoke", "standard", "exhaustive", "value", "pinned", "rejected", "drawn", "question"],
        "`max_pool`": ["4", "3", "1", "–", "2", "1", "1", "–", "–"],
    }
    assert rows(page, "Spatial axes")["`max_pool`"] == ["4", "1", "3", "–"]
    assert rows(page, "Dtype") == {"operator": ["cases", "float32", "int8"], "`max_pool`": ["4", "3", "1"]}
    assert "4 cases: 3 at level smoke, 1 at level standard, 0 at level exhaustive; 0 of them of gradients." in page
    assert "`avg_pool`" in page.split("Operators without a case: ")[1]


def test_question_is_a_kind(tmp_path):
    text = f"id: q, about: A, {X}, window: 2, answers: {{one: {{stride: 1}}, two: {{stride: 2}}}}"
    found = load(tmp_path, text, section="questions")
    assert statistics.expectation_kind(found.cases[0]) == "question"


def test_sweeps_are_listed_with_their_coverage(tmp_path):
    text = "id: s, cover: pairs, factors: {rank: [1], extent: [5, 6], window: [1, 2], stride: [1, 2]}"
    found = load(tmp_path, f"{text}, x: {{values: integers}}", section="sweeps")
    (row,) = (row for name, row in rows(catalogue_page(found), "Sweeps").items() if name == "`max_pool/s`")
    assert row[:3] == ["smoke", "pairs", "4"]
    assert row[4:] == ["18"]
    assert int(row[3]) == len(found.cases)


def test_only_combinations_in_rows_are_counted(tmp_path):
    text = "id: s, cover: pairs, factors: {rank: [1], extent: [5, 6], window: [1, 2], stride: [1, 2]}"
    found = load(tmp_path, f"{text}, x: {{values: integers}}", section="sweeps")
    fewer = Catalogue(found.cases, {sweep: names[:1] for sweep, names in found.sweeps.items()})
    assert rows(catalogue_page(fewer), "Sweeps")["`max_pool/s`"][2:] == ["4", "1", "6"]


def test_rows_that_are_not_read_are_counted_in_the_first_line_and_among_the_sweeps(tmp_path):
    factors = "{rank: [1], extent: [5, 6], window: [1, 2], stride: [1, 2]}"
    texts = (f"id: {name}, level: {level}, cover: all, factors: {factors}, x: {{values: integers}}"
             for name, level in (("s", "standard"), ("all", "exhaustive")))  # fmt: skip
    page = catalogue_page(load(tmp_path, *texts, section="sweeps"))
    assert "16 cases: 0 at level smoke, 8 at level standard, 8 at level exhaustive; 0 of them of gradients.\n" in page
    assert rows(page, "Sweeps")["`max_pool/all`"] == ["exhaustive", "all", "4", "8", "8"]
    assert rows(page, "Level and kind")["`max_pool`"][0] == "8"
    assert "Rows of exhaustive sweeps are not loaded here" in page


def test_other_suites_are_compared_with_notes(tmp_path):
    page = catalogue_page(load(tmp_path, f"id: a, {X}, window: 2"), OTHERS)
    assert rows(page, "Comparison with other suites") == {
        "operator": ["here", "here, smoke", "them"],
        "`max_pool`": ["1", "1", "1,234"],
        "`pad`": ["–", "–", "–"],
    }
    assert "Counted 2020-01-02." in page
    assert "- them: their cases.\n- nobody: not counted.\n" in page


def test_lines_of_prose_have_limited_length(page):
    assert all(len(line) <= 120 for line in page.splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("text", ["", "[]", "{}", "3"])
def test_counts_of_others_that_cannot_be_read_are_one_line(tmp_path, text):
    path = tmp_path / "others.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ConformanceError) as refused:
        statistics.read_other_suites(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_what_is_counted_by_hand_is_written_as_it_stands_in_the_script():
    script = (ROOT / "benchmarks" / "others.py").read_text("utf-8")
    written = json.loads((ROOT / "benchmarks" / "others.json").read_text("utf-8"))
    for part in written["parts"]["by_hand"]:
        assert f'"name": "{part["name"]}"' in script
        assert all(f'"{name}": {count}' in script for name, count in part["counts"].items())
