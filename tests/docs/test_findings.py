"""The pages of findings name cases that exist, and that a run at level standard includes."""

import re

import pytest

from conformance.cases.operators import OPERATORS
from reports.results.vocabulary import Level
from tests import ROOT

PAGES = sorted((ROOT / "docs/findings").glob("*.md"))
CASE_IDS = re.compile(rf"\b(?:{'|'.join(OPERATORS)})/[a-z0-9./_-]*[a-z0-9]")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_named_case_runs_at_level_standard(page, catalogue):
    levels = {case.id: case.level for case in catalogue.cases}
    prefixes = {case_id.rpartition("/")[0] for case_id in levels} | {case.convention_id for case in catalogue.cases}
    named = {name for name in CASE_IDS.findall(page.read_text("utf-8")) if name not in prefixes}
    assert {name: levels.get(name) for name in named if levels.get(name) not in (Level.SMOKE, Level.STANDARD)} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_section_of_a_page_has_a_row_in_the_index(page):
    linked = set(re.findall(rf"findings/{page.stem}\.md#([\w-]+)", (ROOT / "docs/findings.md").read_text("utf-8")))
    headings = re.findall(r"^### (.*)$", page.read_text("utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert anchors - linked == set()
