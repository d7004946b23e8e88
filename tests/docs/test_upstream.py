"""The reports for upstream projects: scripts, the parts that an issue needs, and a report for each bug."""

import shutil
import subprocess
from collections import Counter

import pytest

from conformance.adapters import registry
from docs.generate import upstream
from docs.generate.upstream import Bug, Report, Severity
from tests import ROOT
from tests.support.documentation_blocks import NEEDS_BACKEND, blocks

PAGES = upstream.project_pages()
REPORTS = upstream.all_reports()
MISSING = {"tensorflow": 3}
"""Number of texts that are missing, for each page of findings. Their scripts need a processor with AVX512-FP16."""
PARTS = ("Expected", "Got", "Versions", "Cause", "Details")
NODE = shutil.which("node")


@pytest.mark.parametrize(
    "block", [block for page in PAGES for block in blocks(page)], ids=lambda block: f"{block.place}-{block.language}"
)
def test_script_is_valid_names_its_backend_and_has_an_output(block):
    if block.language == "js":
        check_javascript(block.text)
    else:
        compile(block.text, block.place, "exec")
    assert block.why_not.removeprefix(NEEDS_BACKEND).split()[0] in registry.backend_names()
    assert block.output


def check_javascript(text):
    """Check the syntax of a script. Without Node.js the quotation marks and brackets are counted."""
    if NODE is None:
        assert all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}"))
        return
    done = subprocess.run([NODE, "--check", "-"], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.link)
def test_report_has_every_part_and_one_script(report):
    assert [part for part in PARTS if f"\n- **{part}**: " not in report.text] == []
    assert report.text.count("```python\n") + report.text.count("```js\n") == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_of_a_page_are_ordered_by_severity(page):
    order = [[*Severity].index(report.severity) for report in upstream.page_reports(page)]
    assert order == sorted(order)
    assert order


def test_memory_corruption_comes_first_and_is_reported_as_a_security_advisory():
    assert "memory corruption" in REPORTS[0].title
    assert "security/advisories" in REPORTS[0].text


def test_every_bug_has_a_report_or_a_text():
    missing = Counter()
    for link, count in upstream.unreported_bugs(upstream.all_bugs(), REPORTS).items():
        missing[link.partition(".md")[0].rpartition("/")[2]] += count
    assert missing == MISSING


def test_reports_link_to_bugs():
    known = {bug.link for bug in upstream.all_bugs()}
    assert {link for report in REPORTS for link in report.findings} - known == set()
    assert [report.link for report in REPORTS if not report.findings] == []


def test_page_is_the_generated_one():
    assert upstream.PAGE.read_text("utf-8") == upstream.upstream_page(), "python -m docs.generate.upstream"


def test_pages_are_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.stem for page in PAGES if f": upstream/{page.name}\n" not in navigation] == []


def bug(*rows):
    return Bug("torch", "a", "findings/torch.md#a", "\n".join(rows))


def report(*links):
    return Report("torch", Severity.NUMBERS, "t", "".join(f"[torch](../{link})" for link in links))


LINKED = "[a/b#1](https://github.com/a/b/issues/1)"


@pytest.mark.parametrize(
    ("row", "known"),
    [
        (f"| upstream | {LINKED}, open |", LINKED),
        (f"| upstream | no report found; {LINKED} is about another call |", ""),
        (f"| upstream | {LINKED} is another bug. No report about float64 found |", ""),
        ("| upstream | documented: [page](https://example.org/issues/1) |", ""),
        ("| why | not known |", ""),
    ],
)
def test_upstream_report_is_the_link_of_a_row_that_has_one(row, known):
    assert bug("| | |", row).upstream_report == known


def test_bug_that_a_release_has_fixed_needs_no_text():
    fixed = bug("| upstream | no report found; right in 1.32.0 |")
    assert fixed.fixed_in == "1.32.0"
    assert upstream.unreported_bugs([fixed], []) == {}


def test_bug_without_a_text_is_missing():
    unknown = bug("| upstream | no report found |")
    assert upstream.unreported_bugs([unknown], []) == {unknown.link: 1}
    assert upstream.unreported_bugs([unknown], [report("findings/torch.md#b")]) == {unknown.link: 1}
    assert upstream.unreported_bugs([unknown], [report(unknown.link)]) == {}
    assert upstream.unreported_bugs([bug(f"| upstream | {LINKED} |")], []) == {}


def test_table_of_bugs_needs_a_text_for_each_row_without_a_report():
    table = bug(
        "| call | got | upstream |",
        "| a | 1 | no report found |",
        f"| b | 1 | {LINKED} |",
        "| c | 1 | no report found |",
    )
    assert upstream.unreported_bugs([table], [report(table.link)]) == {table.link: 1}
    assert upstream.unreported_bugs([table], [report(table.link)] * 2) == {}
