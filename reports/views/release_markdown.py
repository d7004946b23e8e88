"""Markdown of the answers that a newer release changes."""

from __future__ import annotations

from collections.abc import Sequence

from reports.analysis.releases.joined import JoinedRelease, NewAnswer
from reports.analysis.summary import count_text
from reports.views.markdown_layout import PageSection, code_span, escape_markdown, fit_sections, table_section

HEAD = ["convention or case", "surface", "before", "after", "returned or raised"]


def release_page(releases: Sequence[JoinedRelease], name: str) -> str:
    """Return a page about the newer releases of a backend, with at most 60,000 characters.

    name: of the backend.
    """
    sections = [part for one in releases for part in _release_sections(one, name)]
    return fit_sections(sections or [PageSection([f"# {name}: no newer release", ""])], "The data has all answers.")


def _release_sections(joined: JoinedRelease, name: str) -> list[PageSection]:
    before = joined.data["releases"][-2]["version"]
    changed = count_text(len(joined.changes), "changed answer")
    lines = [
        f"# {name} {joined.version}: {changed}",
        "",
        f"{count_text(joined.compared, 'answer')} compared with {before}.",
    ]
    if joined.other_cases:
        lines.append(f"{joined.other_cases:,} answers are to cases that the data about older releases does not have.")
    if joined.other_cpu:
        lines.append("The older release was run on another processor. Other instruction sets can change an answer.")
    return [PageSection([*lines, ""]), table_section([], HEAD, [_row(one, joined.version) for one in joined.changes])]


def _row(change: NewAnswer, version: str) -> list[str]:
    case = code_span(change.case)
    named = case if change.question in (None, change.case) else f"{code_span(change.question or '')}: {case}"
    before, after = f"{change.old} ({change.old_version})", f"{change.new} ({version})"
    return [named, code_span(change.surface), before, after, escape_markdown(change.observed)]
