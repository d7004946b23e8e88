"""Generate the page of the answers of old releases, compat.md: a row for each finding, a column for each release.

`python -m docs.generate.compat` updates the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from conformance.judging.release_answers import CaseHistory, ReleaseData, read_release_data, release_data_files
from conformance.judging.release_changes import MEANINGS, grouped, read_groups
from docs.generate.backends import REPOSITORY_ROOT
from reports.views.markdown_layout import code_span, table_text
from reports.views.template_environment import render_markdown_template

DOCS = REPOSITORY_ROOT / "docs"
PAGE = DOCS / "compat.md"
MAX_NAMES = 4
"""Maximum number of cases that a row names."""
SAME, NONE = "=", "–"
"""Cells: the answer of the release to the left, and no answer."""
Row = tuple[list[str], list[str], CaseHistory]
"""Cases, surfaces, and the record of one of them; the others have the same answers."""


def compat_page() -> str:
    """Return the whole page."""
    return render_markdown_template(
        "docs.generate",
        "compat.md.j2",
        backends=[_section(read_release_data(path)) for path in release_data_files()],
        same=SAME,
        missing=NONE,
    )


def _section(data: ReleaseData) -> dict[str, object]:
    changed = [one for one in data.records if len(one.ranges) > 1]
    asked = [one for one in changed if one.question]
    # The cause of the first range is not known: nothing is before it.
    causes = Counter(span.evidence.cause for one in changed for span in one.ranges[1:])
    return {
        "data": data,
        "versions": ", ".join(release.version for release in data.releases),
        "pairs": len(data.records),
        "changes": sum(causes.values()),
        "causes": causes,
        "findings": _finding_table(data),
        **_change_tables(data),
        "conventions": _table(data, "case of a convention", merged_rows(asked)),
        "others": _table(data, "case", merged_rows(one for one in changed if not one.question)),
        "constant": _constant_table(data),
    }


def _change_tables(data: ReleaseData) -> dict[str, str]:
    """Return the tables of the classes and of the changes."""
    groups = read_groups(data.backend)
    counts, rows, page = Counter[str](), [], f"findings/{data.backend}.md"
    for group, changes in zip(groups, grouped(data, groups).values(), strict=True):
        counts[group.class_] += len(changes)
        link = f"; [finding]({page}#{group.finding})" if group.finding and group.finding not in group.change else ""
        rows.append([group.releases, group.class_, str(len(changes)), group.change + link])
    classes = [[name, str(counts[name]), meaning] for name, meaning in MEANINGS.items() if counts[name]]
    return {
        "classes": table_text(["class", "answers", "meaning"], classes),
        "reasons": table_text(["releases", "class", "answers", "change"], rows),
    }


def merged_rows(records: Iterable[CaseHistory]) -> list[Row]:
    """Return the records with their surfaces; cases of one operator with the same answers everywhere are one row."""
    surfaces: dict[tuple[str, object], list[CaseHistory]] = {}
    for record in sorted(records, key=lambda one: (one.case, one.surface)):
        surfaces.setdefault((record.case, answer_cells(record)), []).append(record)
    cases: dict[tuple[object, ...], Row] = {}
    for (case, cells), found in surfaces.items():
        names = [one.surface for one in found]
        # Conventions are read one by one, so that each has a row of its own.
        key = (found[0].question and case) or case.partition("/")[0]
        cases.setdefault((key, cells, *names), ([], names, found[0]))[0].append(case)
    return list(cases.values())


def answer_cells(record: CaseHistory) -> tuple[tuple[str, ...], ...]:
    """Return the answer and the releases of each range."""
    return tuple((span.answer, *span.run) for span in record.ranges)


def release_cells(data: ReleaseData, record: CaseHistory) -> Iterator[str]:
    """Yield one cell for each release: the answer if it differs from that of the release to the left."""
    answers = {version: span.answer for span in record.ranges for version in span.run}
    before: str | None = None
    for release in data.releases:
        answer = answers.get(release.version, NONE)
        yield SAME if answer == before else answer
        before = answer


def _table(data: ReleaseData, title: str, rows: Sequence[Row]) -> str:
    head = [title, "surface", *(release.version for release in data.releases)]
    return table_text(head, [[_cases_text(row[0]), *_cells(data, row)] for row in rows])


def _cells(data: ReleaseData, row: Row) -> list[str]:
    _, surfaces, record = row
    return [", ".join(map(code_span, surfaces)), *release_cells(data, record)]


def _cases_text(cases: Sequence[str]) -> str:
    if len(cases) <= MAX_NAMES:
        return ", ".join(map(code_span, cases))
    return f"{code_span(cases[0])} and {len(cases) - 1} more of this operator"


def _finding_table(data: ReleaseData) -> str:
    head = ["finding", "case", "surface", *(release.version for release in data.releases)]
    rows = []
    for title, link, text in finding_sections(DOCS / "findings" / f"{data.backend}.md"):
        named = set(re.findall(r"[a-z_]+/[\w.-]+(?:/[\w.-]+)*", text))
        found = merged_rows(one for one in data.records if one.case in named)
        rows += [[f"[{title}]({link})", _cases_text(row[0]), *_cells(data, row)] for row in found]
    return table_text(head, rows)


def finding_sections(page: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the title, the link and the text of each section of a page of findings; nothing without a page."""
    return page_sections(page.name, page.read_text("utf-8") if page.exists() else "")


def page_sections(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the title, the link and the text of each section of a text from a page of findings."""
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        yield title, f"findings/{name}#{heading_anchor(title)}", body.partition("\n## ")[0]


def heading_anchor(title: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _constant_table(data: ReleaseData) -> str:
    """Return a table of the conventions whose answer is the same in all releases that were run."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in data.records:
        if record.question and len(record.ranges) == 1 and len(record.ranges[0].run) == len(data.releases):
            found.setdefault((record.case, record.ranges[0].answer), []).append(record.surface)
    rows = [[code_span(case), answer, ", ".join(map(code_span, names))] for (case, answer), names in found.items()]
    return table_text(["case of a convention", "answer", "surface"], sorted(rows))


if __name__ == "__main__":
    PAGE.write_text(compat_page(), "utf-8")
