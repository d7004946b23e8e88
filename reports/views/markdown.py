"""Markdown summary for a pull request or a CI job: failures first, then changes, the rest in folded sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.analysis import summary
from reports.analysis.comparison import ReportDifference
from reports.analysis.contradictions import contradiction_lines, find_contradictions
from reports.analysis.deviation import deviation_text
from reports.analysis.differences import DifferenceGroup, difference_groups
from reports.analysis.notes import report_notes
from reports.analysis.summary import STATUS_SIGNS, STATUS_TEXTS
from reports.results import BackendRun, Report, Status
from reports.views import comparison_markdown
from reports.views.markdown_layout import (
    PageSection,
    code_span,
    escape_markdown,
    fit_sections,
    folded_section,
    table_section,
)

MAX_SURFACE_ROWS = 12  # surfaces listed in one table cell


def render_markdown(report: Report, difference: ReportDifference | None = None) -> str:
    """Return the summary as GitHub-flavoured Markdown of at most 60,000 characters.

    difference: comparison with an earlier run, if any.
    """
    return fit_sections(_summary_sections(report, difference), "The HTML report contains them.")


def _summary_sections(report: Report, difference: ReportDifference | None) -> Iterator[PageSection]:
    groups = difference_groups(report)
    known = [group for group in groups if group.status == Status.KNOWN]
    unexpected = [group for group in groups if group.status != Status.KNOWN]
    yield _verdict_section(report)
    yield from _groups_section(unexpected, report, ["### Unexpected", ""])
    yield from _findings_section(report)
    if difference is not None:
        yield from comparison_markdown.difference_sections(difference)
    if report.backends or not report.explorations:
        yield _surfaces_section(report)
    for title, sections in (
        ("Known differences", _groups_section(known, report)),
        ("Surfaces that disagree", _contradictions_section(report)),
        ("Conventions", _conventions_section(report)),
        ("Unsupported", _unsupported_section(report)),
    ):
        yield from (folded_section(f"{title}: {len(section.items):,}", section) for section in sections)


def _verdict_section(report: Report) -> PageSection:
    verdict = summary.report_verdict(report)
    problems = [f"- ❌ {escape_markdown(problem)}" for problem in summary.report_problems(report)]
    notes = [f"- ⚠️ {escape_markdown(note)}" for note in report_notes(report)]
    sign = "✅" if verdict.is_good else "❌"
    above = [f"## {sign} {escape_markdown(verdict.headline)}", "", escape_markdown(verdict.sentence), ""]
    return PageSection(above, [*problems, *notes], [""] if problems or notes else [])


def _surfaces_section(report: Report) -> PageSection:
    counts = summary.counts_by_surface(report)
    shown = summary.occurring_statuses(counts)
    rows = [
        [_backend_section(backend), code_span(surface), *(f"{counts[surface].get(status, 0):,}" for status in shown)]
        for backend in report.backends
        for surface in backend.header.surfaces
    ]
    head = ["backend", "surface", *(f"{STATUS_SIGNS[status]} {STATUS_TEXTS[status]}" for status in shown)]
    return table_section(["## Surfaces", ""], head, rows)


def _backend_section(backend: BackendRun) -> str:
    name = escape_markdown(f"{backend.name} {backend.version or ''}".strip())
    return name if backend.complete else f"{name} ❌ partial run"


def _groups_section(groups: list[DifferenceGroup], report: Report, above: Sequence[str] = ()) -> Iterator[PageSection]:
    head = ["status", "operator", "what", "smallest case", "results", "surfaces", "why"]
    if groups:
        yield table_section(above, head, [_group_item(group, report) for group in groups])


def _group_item(group: DifferenceGroup, report: Report) -> list[str]:
    deviation = deviation_text(group.example, report.cases[group.example.case])
    names = ", ".join(code_span(surface) for surface in group.surfaces[:MAX_SURFACE_ROWS])
    more = f" and {len(group.surfaces) - MAX_SURFACE_ROWS} more" if len(group.surfaces) > MAX_SURFACE_ROWS else ""
    reason = " ".join(filter(None, [escape_markdown(group.reason), escape_markdown(group.issue or "")]))
    return [
        f"{STATUS_SIGNS[group.status]} {STATUS_TEXTS[group.status]}",
        code_span(group.operator),
        group.action + (f": {escape_markdown(deviation)}" if deviation else ""),
        code_span(group.example.case),
        f"{len(group.results):,}",
        names + more,
        reason,
    ]


def _findings_section(report: Report) -> Iterator[PageSection]:
    rows = [
        [code_span(one.id), escape_markdown(one.sentence), code_span(one.case), f"{one.explained_count:,}"]
        for run in report.explorations
        for one in (run.header.explored.findings if run.header.explored else ())
    ]
    if rows:
        head = ["finding", "what", "smallest case", "cases explained"]
        yield table_section(["### Exploration findings", ""], head, rows)


def _contradictions_section(report: Report) -> Iterator[PageSection]:
    cases = report.cases
    rows = [
        [
            escape_markdown(one.backend),
            code_span(one.operator),
            "; ".join(map(escape_markdown, contradiction_lines(one, cases))),
            code_span(one.cases[0]),
            f"{len(one.cases):,}",
        ]
        for one in find_contradictions(report)
    ]
    if rows:
        yield table_section([], ["backend", "operator", "behaviour of the surfaces", "smallest case", "cases"], rows)


def _conventions_section(report: Report) -> Iterator[PageSection]:
    rows = [
        [
            code_span(convention),
            escape_markdown(answer.about),
            code_span(surface),
            code_span(answer.observed or "not observed"),
            code_span(answer.declared or "nothing") + (" ❌ contradicted" if answer.contradicted else ""),
            escape_markdown(answer.source),
        ]
        for convention, answers in summary.answers_by_convention(report).items()
        for surface, answer in answers.items()
    ]
    if rows:
        yield table_section([], ["convention", "about", "surface", "observed", "declared", "source"], rows)


def _unsupported_section(report: Report) -> Iterator[PageSection]:
    rows = [
        [f"{len(results):,}", escape_markdown(reason)]
        for reason, results in summary.unsupported_by_reason(report).items()
    ]
    if rows:
        yield table_section([], ["results", "reason"], rows)
