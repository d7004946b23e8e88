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
