"""A Markdown page for the documentation: every operator on every surface, and why what differs differs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from reports.analysis import summary
from reports.analysis.contradictions import contradiction_lines, find_contradictions
from reports.analysis.summary import STATUS_SIGNS, STATUS_TEXTS
from reports.results.reader import BackendRun, Report
from reports.results.records import ResultRecord
from reports.views.markdown_layout import code_span, escape_markdown, table_lines

NO_REASON_TEXT = "no reason is given"
MAX_LISTED_CASES = 8  # operators or surfaces in one cell


def render_matrix(report: Report) -> str:
    """Return the page: a table for each backend, the differences by reason, and where surfaces part."""
    lines = [*_header_lines(report)]
    for backend in report.backends:
        lines += _backend_lines(backend, report)
    lines += [*_difference_lines(report), *_contradiction_lines(report)]
    return "\n".join(lines).rstrip() + "\n"


def _header_lines(report: Report) -> Iterator[str]:
    yield "# What agrees"
    yield ""
    yield "Made by `conformance report --format matrix RESULTS… --out docs/matrix.md`; do not edit it."
    yield ""
    yield escape_markdown(summary.report_verdict(report).sentence)
    yield ""
    shown = summary.count_by_status(report.results)
    yield "In each cell: " + ", ".join(f"{STATUS_SIGNS[status]} {STATUS_TEXTS[status]}" for status in shown) + "."
    yield ""


def _backend_lines(backend: BackendRun, report: Report) -> list[str]:
    counts = summary.counts_by_operator(Report((backend,)))
    surfaces = [surface for surface in backend.header.surfaces if any(surface in row for row in counts.values())]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(backend.header.environment.packages.items()))
    versions += f"; level {backend.header.level}"
    rows = [
        [code_span(operator), *(_counts_cell(row.get(surface, {})) for surface in surfaces)]
        for operator, row in counts.items()
    ]
    totals = summary.counts_by_surface(report)
    whole = [["**all**", *(_counts_cell(totals[surface]) for surface in surfaces)]]
    partial = [] if backend.complete else ["**Partial run.**", ""]
    return [
        f"## {escape_markdown(backend.name)}",
        "",
        escape_markdown(versions),
        "",
        *partial,
        *table_lines(["operator", *map(code_span, surfaces)], [*rows, *whole]),
    ]


def _counts_cell(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda one: one[0] != "pass")
    return " ".join(f"{STATUS_SIGNS[status]}\u00a0{number:,}" for status, number in ordered) or "·"


def _difference_lines(report: Report) -> list[str]:
    """List what differs by its reason, the most frequent first; what has none stands out."""
    cases = report.cases
    found: defaultdict[tuple[str, str], list[ResultRecord]] = defaultdict(list)
    for result in report.results:
        if result.status in summary.DIFFERING_STATUSES:
            found[result.reason or NO_REASON_TEXT, result.issue or ""].append(result)
    rows = []
    for (reason, issue), results in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        smallest = min(results, key=lambda result: (cases[result.case].size, result.case, result.surface))
        rows.append(
            [
                f"{len(results):,}",
                _names_text(sorted({cases[result.case].operator for result in results})),
                _names_text(sorted({result.surface for result in results})),
                code_span(smallest.case),
                " ".join(filter(None, [escape_markdown(reason), escape_markdown(issue)])),
            ]
        )
    head = ["results", "operators", "surfaces", "smallest case", "why"]
    return ["## Every difference, by its reason", "", *table_lines(head, rows)] if rows else []


def _names_text(names: list[str]) -> str:
    more = [f"and {len(names) - MAX_LISTED_CASES} more"] if len(names) > MAX_LISTED_CASES else []
    return ", ".join([*map(code_span, names[:MAX_LISTED_CASES]), *more])


def _contradiction_lines(report: Report) -> list[str]:
    cases = report.cases
    rows = [
        [
            escape_markdown(one.backend),
            code_span(one.operator),
            f"{len(one.cases):,}",
            code_span(one.cases[0]),
            *_behaviours_text(contradiction_lines(one, cases)),
        ]
        for one in find_contradictions(report)
    ]
    head = ["backend", "operator", "cases", "smallest case", "what its surfaces do"]
    words = "One case, two surfaces of one backend, two things done. Digits within the error bound do not count."
    return ["## Contradicts itself", "", words, "", *table_lines(head, rows)] if rows else []


def _behaviours_text(texts: list[str]) -> list[str]:
    return ["; ".join(map(escape_markdown, texts))]
