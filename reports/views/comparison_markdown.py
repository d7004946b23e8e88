"""Markdown of a comparison, for a pull request or the summary page of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from reports.analysis.comparison import FailOn, ReportDifference
from reports.analysis.comparison_text import (
    ChangeGroup,
    change_groups,
    change_text,
    difference_headline,
    difference_notes,
    difference_sentence,
)
from reports.analysis.summary import count_text
from reports.views.markdown_layout import PageSection, code_span, escape_markdown, fit_sections, table_section

MAX_CHANGE_ROWS = 100  # per group


def render_difference_markdown(difference: ReportDifference, fail_on: FailOn = FailOn.ANY) -> str:
    """Return a comparison as GitHub-flavoured Markdown of at most 60,000 characters. fail_on: what makes it fail."""
    return fit_sections(difference_sections(difference, fail_on), "`--format json` contains everything.")


def difference_sections(difference: ReportDifference, fail_on: FailOn = FailOn.ANY) -> Iterator[PageSection]:
    """Yield the sections of a page about a comparison, the result first."""
    yield _header_section(difference, fail_on)
    yield from _facts_section(difference)
    for group in change_groups(difference):
        yield _group_section(group)


def _header_section(difference: ReportDifference, fail_on: FailOn) -> PageSection:
    good = not difference.failing_changes(fail_on) and not difference.problems
    above = [
        f"## {'✅' if good else '❌'} {escape_markdown(difference_headline(difference, fail_on))}",
        "",
        escape_markdown(difference_sentence(difference)),
        "",
    ]
    points = [
        *(f"- ❌ {escape_markdown(problem)}" for problem in difference.problems),
        *map(_note_line, difference_notes(difference)),
    ]
    return PageSection(above, points, [""] if points else [])


def _note_line(note: str) -> str:
    return f"- {escape_markdown(note)}"


def _facts_section(difference: ReportDifference) -> Iterator[PageSection]:
    rows = [
        [
            escape_markdown(fact.name),
            escape_markdown(fact.before),
            escape_markdown(fact.after),
            ", ".join(map(escape_markdown, names)),
        ]
        for fact, names in difference.facts.items()
    ]
    if rows:
        yield table_section(["### Differing circumstances", ""], ["what", "old", "new", "backends"], rows)


def _group_section(group: ChangeGroup) -> PageSection:
    count = count_text(len(group.changes), "result")
    heading = (
        f"{escape_markdown(group.heading)}: {code_span(group.operator)}, {escape_markdown(group.backend)}: {count}"
    )
    rows = [
        [code_span(change.case.case), code_span(change.surface), escape_markdown(change_text(change))]
        for change in group.changes
    ]
    return table_section([f"### {heading}", ""], ["case", "surface", "what"], rows, MAX_CHANGE_ROWS)
