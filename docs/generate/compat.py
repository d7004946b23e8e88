"""Generate the pages of the answers of releases: compat.md compares frameworks, releases/ has a page for each backend.

`python -m docs.generate.compat` updates the pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.catalogue.loading import load_catalogue
from conformance.judging.release_answers import (
    FINDINGS_FILE,
    CaseHistory,
    Release,
    ReleaseData,
    read_release_data,
    release_data_files,
)
from conformance.judging.release_changes import MEANINGS, grouped, read_groups
from conformance.judging.release_findings import Finding, findings_page
from docs.generate.backends import REPOSITORY_ROOT
from docs.generate.pages import write_pages
from docs.generate.release_matrix import matrix_tables
from reports.views.markdown_layout import code_span, table_text
from reports.views.template_environment import render_markdown_template

DOCS = REPOSITORY_ROOT / "docs"
INDEX = "compat.md"
MAX_NAMES = 4
"""Maximum number of cases that a row names."""
CASE_ID = re.compile(r"[a-z0-9_]+/[\w.-]+(?:/[\w.-]+)*")
SAME, NONE = "=", "–"
"""Cells: the answer of the release to the left, and no answer."""
Row = tuple[list[str], list[str], CaseHistory]
"""Cases, surfaces, and the record of one of them; the others have the same answers."""


def compat_pages() -> dict[str, str]:
    """Return all pages and the file of findings by their path in docs/."""
    found, catalogue = [read_release_data(path) for path in release_data_files()], load_catalogue()
    sections = [_section(data) for data in found]
    tables = matrix_tables(found, catalogue.cases)
    index = render_markdown_template(
        "docs.generate", "compat.md.j2", releases=_release_table(sections), meanings=MEANINGS, tables=list(tables)
    )
    index_pages = {INDEX: index, f"compat/{FINDINGS_FILE}": findings_file(catalogue.by_id)}
    return index_pages | {_page(one.backend): _backend_page(part) for one, part in zip(found, sections, strict=True)}


def _page(backend: str) -> str:
    return f"releases/{backend}.md"


def _backend_page(section: Mapping[str, object]) -> str:
    return render_markdown_template("docs.generate", "releases.md.j2", one=section, same=SAME, missing=NONE)


def _release_table(sections: Iterable[dict[str, Any]]) -> str:
    head = ["backend", "releases", "answers", "changed", *MEANINGS]
    rows = [
        [
            f"[{code_span(one['data'].backend)}]({_page(one['data'].backend)})",
            _span_text(one["data"].releases),
            f"{one['pairs']:,}",
            str(one["changes"]),
            *(str(one["counts"][name]) for name in MEANINGS),
        ]
        for one in sections
    ]
    return table_text(head, rows)


def _span_text(releases: Sequence[Release]) -> str:
    if len(releases) == 1:
        return f"1: {releases[0].version}"
    return f"{len(releases)}: {releases[0].version} to {releases[-1].version}"


def _section(data: ReleaseData) -> dict[str, Any]:
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


def _change_tables(data: ReleaseData) -> dict[str, object]:
    """Return the numbers of changes by class, and the tables of the classes and of the changes."""
    groups = read_groups(data.backend)
    counts, rows, page = Counter[str](), [], f"findings/{findings_page(data.backend)}.md"
    for group, changes in zip(groups, grouped(data, groups).values(), strict=True):
        counts[group.class_] += len(changes)
        link = f"; [finding]({page}#{group.finding})" if group.finding and group.finding not in group.change else ""
        text = (group.change + link).replace("](findings/", "](../findings/")
        rows.append([group.releases, group.class_, str(len(changes)), text])
    classes = [[name, str(counts[name]), meaning] for name, meaning in MEANINGS.items() if counts[name]]
    return {
        "counts": counts,
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
    for title, link, text in finding_sections(DOCS / "findings" / f"{findings_page(data.backend)}.md"):
        named = set(CASE_ID.findall(text))
        found = merged_rows(one for one in data.records if one.case in named)
        rows += [[f"[{title}](../{link})", _cases_text(row[0]), *_cells(data, row)] for row in found]
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


def findings_file(cases: Container[str]) -> str:
    """Return the text of docs/compat/findings.json: the findings that name cases of the catalogue."""
    found = [
        Finding(
            link.partition("#")[2],
            page.stem,
            title,
            tuple(sorted({*filter(cases.__contains__, CASE_ID.findall(text))})),
        )
        for page in sorted((DOCS / "findings").glob("*.md"))
        for title, link, text in finding_sections(page)
    ]
    lines = [msgspec.json.encode(one).decode() for one in found if one.cases]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _constant_table(data: ReleaseData) -> str:
    """Return a table of the conventions whose answer is the same in all releases that were run."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in data.records:
        if record.question and len(record.ranges) == 1 and len(record.ranges[0].run) == len(data.releases):
            found.setdefault((record.case, record.ranges[0].answer), []).append(record.surface)
    rows = [[code_span(case), answer, ", ".join(map(code_span, names))] for (case, answer), names in found.items()]
    return table_text(["case of a convention", "answer", "surface"], sorted(rows))


if __name__ == "__main__":
    write_pages(compat_pages(), DOCS)
