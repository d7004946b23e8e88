"""Generate the index of the reports for upstream projects, upstream.md, from the pages of reports and findings.

`python -m docs.generate.upstream` updates the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from docs.generate.compat import DOCS, heading_anchor, page_sections
from reports.views.markdown_layout import table_text
from reports.views.template_environment import render_markdown_template

PAGE = DOCS / "upstream.md"
REPORTS = DOCS / "upstream"
FIRST_PROJECT = "torch"
"""Its first report is about memory that is written, and comes first in the index."""
RETIRED = {"mxnet": "the project is retired, and its repository accepts no issues"}
"""Pages of findings without reports, and the reason."""
LINK = re.compile(r"\[[^\]]*\]\(https://github\.com/[^)]+/(?:issues|pull)/\d+\)")
NOT_REPORTED = re.compile(r"\bno report\b", re.IGNORECASE)
FIXED = re.compile(r"\bright in (\d[\d.]*\d)")


class Severity(Enum):
    """Severity of a bug, the greatest first: the title of a section on the pages of reports."""

    MEMORY = "Memory errors, crashes and hangs"
    NUMBERS = "Wrong numbers, shapes and dtypes"
    SPECIAL = "Wrong NaN, infinities and zeros"
    REJECTED = "Valid calls that are rejected, and invalid ones that are accepted"


@dataclass(frozen=True)
class Report:
    """One report.

    project: name of its page.
    text: everything below the title.
    """

    project: str
    severity: Severity
    title: str
    text: str

    @property
    def link(self) -> str:
        """Return the address in docs."""
        return f"{REPORTS.name}/{self.project}.md#{heading_anchor(self.title)}"

    @property
    def findings(self) -> frozenset[str]:
        """Return the addresses of its findings, in docs."""
        return frozenset(re.findall(r"\]\(\.\./(findings/[\w.-]+#[\w-]+)\)", self.text))


@dataclass(frozen=True)
class Bug:
    """A section below the heading "Bugs" of a page of findings."""

    page: str
    title: str
    link: str
    text: str

    @property
    def upstream_report(self) -> str:
        """Return the upstream report, "" if there is none: the first link of the row "upstream"."""
        rows: list[str] = re.findall(r"^\| upstream \| (.*) \|$", self.text, re.MULTILINE)
        found = [LINK.findall(row) for row in rows if not NOT_REPORTED.search(row)]
        return str(found[0][0]) if found and found[0] else ""

    @property
    def fixed_in(self) -> str:
        """Return the release that the row "upstream" names as right, "" if it names none."""
        rows: list[str] = re.findall(r"^\| upstream \| (.*) \|$", self.text, re.MULTILINE)
        return next((found[1] for row in rows if (found := FIXED.search(row))), "")

    @property
    def report_count(self) -> int:
        """Return how many reports the section needs: one for each row of a table of bugs that has no report, or one."""
        rows = [line.split(" | ")[-1] for line in self.text.splitlines() if line.startswith("| ")]
        return max(1, sum(bool(NOT_REPORTED.search(cell)) for cell in rows))


def project_pages() -> list[Path]:
    """Return the pages of reports, that of FIRST_PROJECT first."""
    return sorted(REPORTS.glob("*.md"), key=lambda path: (path.stem != FIRST_PROJECT, path.stem))


def page_reports(page: Path) -> Iterator[Report]:
    """Yield the reports of a page. An unknown section is a ValueError."""
    for section in re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        severity, _, body = section.partition("\n")
        for part in re.split(r"^### ", body, flags=re.MULTILINE)[1:]:
            title, _, text = part.partition("\n")
            yield Report(page.stem, Severity(severity), title, text)


def all_reports() -> list[Report]:
    """Return the reports of all projects, ordered by severity."""
    found = [report for page in project_pages() for report in page_reports(page)]
    return sorted(found, key=lambda report: [*Severity].index(report.severity))


def all_bugs() -> list[Bug]:
    """Return the bugs of all pages of findings whose projects accept reports."""
    pages = (page for page in sorted((DOCS / "findings").glob("*.md")) if page.stem not in RETIRED)
    return [bug for page in pages for bug in page_bugs(page)]


def page_bugs(page: Path) -> Iterator[Bug]:
    """Yield the sections below the heading "Bugs" of a page of findings."""
    text = page.read_text("utf-8").partition("\n## Bugs\n")[2].partition("\n## ")[0]
    for title, link, body in page_sections(page.name, text):
        yield Bug(page.stem, title, link, body)


def unreported_bugs(bugs: Iterable[Bug], reports: Iterable[Report]) -> dict[str, int]:
    """Return the number of missing reports of each bug that has no upstream report, no fix and too few texts."""
    linked = [link for report in reports for link in report.findings]
    pending = [bug for bug in bugs if not (bug.upstream_report or bug.fixed_in)]
    missing = {bug.link: bug.report_count - linked.count(bug.link) for bug in pending}
    return {link: count for link, count in missing.items() if count > 0}


def upstream_page() -> str:
    """Return the whole page."""
    reports, bugs = all_reports(), all_bugs()
    linked = {link for report in reports for link in report.findings}
    missing = unreported_bugs(bugs, reports)
    known = [bug for bug in bugs if bug.link not in linked and bug.upstream_report]
    fixed = [bug for bug in bugs if bug.link not in linked and bug.fixed_in and not bug.upstream_report]
    rows = {
        severity: [[one.project, f"[{one.title}]({one.link})"] for one in reports if one.severity is severity]
        for severity in Severity
    }
    return render_markdown_template(
        "docs.generate",
        "upstream.md.j2",
        count=len(reports),
        projects=len(project_pages()),
        sections=[(severity.value, table_text(["project", "report"], found)) for severity, found in rows.items()],
        known=table_text(["page", "finding", "report"], [[*_cells(bug), bug.upstream_report] for bug in known]),
        fixed=table_text(["page", "finding", "release"], [[*_cells(bug), bug.fixed_in] for bug in fixed]),
        missing=table_text(["page", "finding"], [_cells(bug) for bug in bugs if bug.link in missing]),
        retired=RETIRED,
    )


def _cells(bug: Bug) -> tuple[str, str]:
    return bug.page, f"[{bug.title}]({bug.link})"


if __name__ == "__main__":
    PAGE.write_text(upstream_page(), "utf-8")
