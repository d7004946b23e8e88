"""The reports for upstream projects: scripts that can be run, and the parts that an issue needs."""

import re

import pytest

from conformance.adapters import registry
from tests import ROOT
from tests.support.documentation_blocks import NEEDS_BACKEND, blocks

PAGE = ROOT / "docs/upstream.md"
REPORTS = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
PARTS = ("Expected", "Got", "Versions", "Cause", "Details")


@pytest.mark.parametrize("block", list(blocks(PAGE)), ids=lambda block: block.place)
def test_script_is_valid_names_its_backend_and_has_an_output(block):
    compile(block.text, block.place, "exec")
    assert block.why_not.removeprefix(NEEDS_BACKEND).split()[0] in registry.backend_names()
    assert block.output


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.splitlines()[0])
def test_report_has_every_part_and_one_script(report):
    assert [part for part in PARTS if f"\n- **{part}**: " not in report] == []
    assert report.count("```python\n") == 1


def test_memory_corruption_comes_first_and_is_reported_as_a_security_advisory():
    assert "memory corruption" in REPORTS[0].splitlines()[0]
    assert "security/advisories" in REPORTS[0]
