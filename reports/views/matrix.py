"""A Markdown page for the documentation: every operator on every surface, and why what differs differs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from reports.analysis import summary
from reports.analysis.contradictions import contradictions, said
from reports.analysis.summary import SIGNS, WORDS
from reports.results.reader import Backend, Report
from reports.results.records import Result
from reports.views.markdown_layout import code, escaped, table

UNTOLD = "no reason is given"
MOST_NAMED = 8  # operators or surfaces in one cell


def render_matrix(report: Report) -> str:
    """Return the page: a table for each backend, the differences by reason, and where surfaces part."""
    lines = [*_head(report)]
    for backend in report.backends:
        lines += _backend(backend, report)
    lines += [*_differences(report), *_contradictions(report)]
    return "\n".join(lines).rstrip() + "\n"


def _head(report: Report) -> Iterator[str]:
    yield "# What agrees"
    yield ""
    yield "Made by `conformance report --format matrix RESULTS… --out docs/matrix.md`; do not edit it."
    yield ""
    yield escaped(summary.verdict(report).sentence)
    yield ""
    shown = summary.count(report.results)
    yield "In each cell: " + ", ".join(f"{SIGNS[status]} {WORDS[status]}" for status in shown) + "."
    yield ""


def _backend(backend: Backend, report: Report) -> list[str]:
    counts = summary.matrix(Report((backend,)))
    surfaces = [surface for surface in backend.header.surfaces if any(surface in row for row in counts.values())]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(backend.header.environment.packages.items()))
    versions += f"; level {backend.header.level}"
    rows = [
        [code(operator), *(_cell(row.get(surface, {})) for surface in surfaces)] for operator, row in counts.items()
    ]
    totals = summary.by_surface(report)
    whole = [["**all**", *(_cell(totals[surface]) for surface in surfaces)]]
    partial = [] if backend.complete else ["**Partial run.**", ""]
    return [
        f"## {escaped(backend.name)}",
        "",
        escaped(versions),
        "",
        *partial,
        *table(["operator", *map(code, surfaces)], [*rows, *whole]),
    ]


def _cell(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda one: one[0] != "pass")
    return " ".join(f"{SIGNS[status]}\u00a0{number:,}" for status, number in ordered) or "·"


def _differences(report: Report) -> list[str]:
    """List what differs by its reason, the most frequent first; what has none stands out."""
    cases = report.cases
    found: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in report.results:
        if result.status in summary.DIFFERENT:
            found[result.reason or UNTOLD, result.issue or ""].append(result)
    rows = []
    for (reason, issue), results in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        smallest = min(results, key=lambda result: (cases[result.case].size, result.case, result.surface))
        rows.append(
            [
                f"{len(results):,}",
                _named(sorted({cases[result.case].operator for result in results})),
                _named(sorted({result.surface for result in results})),
                code(smallest.case),
                " ".join(filter(None, [escaped(reason), escaped(issue)])),
            ]
        )
    head = ["results", "operators", "surfaces", "smallest case", "why"]
    return ["## Every difference, by its reason", "", *table(head, rows)] if rows else []


def _named(names: list[str]) -> str:
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join([*map(code, names[:MOST_NAMED]), *more])


def _contradictions(report: Report) -> list[str]:
    cases = report.cases
    rows = [
        [escaped(one.backend), code(one.operator), f"{len(one.cases):,}", code(one.cases[0]), *_camps(said(one, cases))]
        for one in contradictions(report)
    ]
    head = ["backend", "operator", "cases", "smallest case", "what its surfaces do"]
    words = "One case, two surfaces of one backend, two things done. Digits within the error bound do not count."
    return ["## Contradicts itself", "", words, "", *table(head, rows)] if rows else []


def _camps(texts: list[str]) -> list[str]:
    return ["; ".join(map(escaped, texts))]
