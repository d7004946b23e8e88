"""The Markdown summary for a pull request or a job's page: what failed first, then what is new, the rest folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.analysis import summary
from reports.analysis.comparison import Difference
from reports.analysis.contradictions import contradictions, said
from reports.analysis.deviation import deviation
from reports.analysis.summary import SIGNS, WORDS, Group
from reports.results.reader import Backend, Report
from reports.views import comparison_markdown
from reports.views.markdown_layout import Section, code, escaped, fit, folded, tabular

MOST_SURFACES = 12  # named in one row


def render_markdown(report: Report, difference: Difference | None = None) -> str:
    """Return the summary as GitHub-flavoured Markdown of at most 60,000 characters.

    difference: what is otherwise than in an earlier run.
    """
    return fit(_sections(report, difference), "The HTML report has them.")


def _sections(report: Report, difference: Difference | None) -> Iterator[Section]:
    groups = summary.groups(report)
    known = [group for group in groups if group.status == "known"]
    yield _verdict(report)
    yield from _groups([group for group in groups if group.status != "known"], report, ["### Unexpected", ""])
    yield from _findings(report)
    if difference is not None:
        yield from comparison_markdown.sections(difference)
    if report.backends or not report.explored:
        yield _surfaces(report)
    for title, sections in (
        ("Known differences", _groups(known, report)),
        ("Contradicts itself", _contradictions(report)),
        ("Conventions", _conventions(report)),
        ("Unsupported", _unsupported(report)),
    ):
        yield from (folded(f"{title}: {len(section.items):,}", section) for section in sections)


def _verdict(report: Report) -> Section:
    verdict = summary.verdict(report)
    problems = [f"- ❌ {escaped(problem)}" for problem in summary.problems(report)]
    sign = "✅" if verdict.good else "❌"
    above = [f"## {sign} {escaped(verdict.headline)}", "", escaped(verdict.sentence), ""]
    return Section(above, problems, [""] if problems else [])


def _surfaces(report: Report) -> Section:
    counts = summary.by_surface(report)
    shown = summary.occurring(counts)
    rows = [
        [_backend(backend), code(surface), *(f"{counts[surface].get(status, 0):,}" for status in shown)]
        for backend in report.backends
        for surface in backend.header.surfaces
    ]
    head = ["backend", "surface", *(f"{SIGNS[status]} {WORDS[status]}" for status in shown)]
    return tabular(["## Surfaces", ""], head, rows)


def _backend(backend: Backend) -> str:
    name = escaped(f"{backend.name} {backend.version or ''}".strip())
    return name if backend.complete else f"{name} ❌ partial run"


def _groups(groups: list[Group], report: Report, above: Sequence[str] = ()) -> Iterator[Section]:
    head = ["status", "operator", "what", "smallest case", "results", "surfaces", "why"]
    if groups:
        yield tabular(above, head, [_group(group, report) for group in groups])


def _group(group: Group, report: Report) -> list[str]:
    off = deviation(group.example, report.cases[group.example.case])
    named = ", ".join(code(surface) for surface in group.surfaces[:MOST_SURFACES])
    more = f" and {len(group.surfaces) - MOST_SURFACES} more" if len(group.surfaces) > MOST_SURFACES else ""
    why = " ".join(filter(None, [escaped(group.reason), escaped(group.issue or "")]))
    return [
        f"{SIGNS[group.status]} {WORDS[group.status]}",
        code(group.operator),
        group.action + (f": {escaped(off)}" if off else ""),
        code(group.example.case),
        f"{len(group.results):,}",
        named + more,
        why,
    ]


def _findings(report: Report) -> Iterator[Section]:
    rows = [
        [code(one.id), escaped(one.sentence), code(one.case), f"{one.covers:,}"]
        for run in report.explored
        for one in (run.header.explored.findings if run.header.explored else ())
    ]
    if rows:
        yield tabular(["### Found by exploring", ""], ["finding", "what", "smallest case", "cases like it"], rows)


def _contradictions(report: Report) -> Iterator[Section]:
    cases = report.cases
    rows = [
        [escaped(one.backend), code(one.operator), "; ".join(map(escaped, said(one, cases))), code(one.cases[0]),
         f"{len(one.cases):,}"]
        for one in contradictions(report)
    ]  # fmt: skip
    if rows:
        yield tabular([], ["backend", "operator", "what its surfaces do", "smallest case", "cases"], rows)


def _conventions(report: Report) -> Iterator[Section]:
    rows = [
        [
            code(question), escaped(answer.about), code(surface), code(answer.observed or "not put"),
            code(answer.declared or "nothing") + (" ❌ contradicted" if answer.contradicted else ""),
            escaped(answer.source),
        ]
        for question, answers in summary.conventions(report).items()
        for surface, answer in answers.items()
    ]  # fmt: skip
    if rows:
        yield tabular([], ["question", "about", "surface", "observed", "declared", "source"], rows)


def _unsupported(report: Report) -> Iterator[Section]:
    rows = [[f"{len(results):,}", escaped(reason)] for reason, results in summary.unsupported(report).items()]
    if rows:
        yield tabular([], ["results", "reason"], rows)
