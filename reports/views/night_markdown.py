"""Markdown of a nightly comparison: a summary page, and the text of an issue for each announcement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from reports.analysis.comparison import ResultChange
from reports.analysis.comparison_text import change_text
from reports.analysis.nightly.likely_cause import CAUSE_KINDS, LikelyCause
from reports.analysis.nightly.night import Announcement, NightComparison
from reports.analysis.summary import count_text
from reports.results import BackendRun, FindingRecord
from reports.views.exploration_markdown import finding_parts, package_versions_text, result_lines, script_lines
from reports.views.markdown_layout import PageSection, code_span, escape_markdown, fit_sections, table_section

MAX_ISSUE_CASES = 20  # cases listed in the issue of a group
MAX_CHANGED_ROWS = 200  # per table of the summary
ScriptWriter = Callable[[str, str], str]
"""Returns a stand-alone script for a case on a surface, or "" if there is none."""


def issue_text(announcement: Announcement, script: ScriptWriter) -> str:
    """Return the text of an issue without its title: the finding, the likely cause, and how to reproduce it.

    It has at most 60,000 characters, with a note if something is omitted.
    """
    head = [f"**{announcement.cause.label}.** {escape_markdown(announcement.cause.sentence)}", ""]
    finding = announcement.finding
    parts = _finding_lines(announcement, finding) if finding else _difference_lines(announcement, script)
    return fit_sections(
        [
            PageSection(head),
            *_circumstance_lines(announcement.previous_run, announcement.backend),
            *map(PageSection, parts),
        ],
        "The results file contains everything.",
    )


def _finding_lines(announcement: Announcement, finding: FindingRecord) -> Iterator[list[str]]:
    yield from finding_parts(announcement.backend, finding)
    similar = [
        f"- {code_span(one.id)} counts as the same finding: {escape_markdown(one.sentence)}"
        for one in announcement.similar_findings
    ]
    yield [*similar, *[""] * bool(similar)]


def _difference_lines(announcement: Announcement, script: ScriptWriter) -> Iterator[list[str]]:
    """Yield the parts of the text about catalogue cases that differ."""
    group = announcement.group
    assert group is not None  # noqa: S101 - an announcement has a finding or a group
    example = group.example
    show = code_span(f"conformance show {example.case}")
    repro = code_span(" ".join(example.command))
    yield [escape_markdown(f"{announcement.statement} {announcement.detail}".rstrip()), ""]
    yield [f"The smallest case. {show} prints its definition, {repro} prints a script:", ""]
    yield list(result_lines(announcement.backend.cases[example.case], [example]))
    yield list(script_lines(script(example.case, example.surface)))
    listed = [f"- {code_span(one.case)} on {code_span(one.surface)}" for one in group.results[:MAX_ISSUE_CASES]]
    omitted = len(group.results) - len(listed)
    yield [*listed, *([f"- and {omitted:,} more"] if omitted else []), ""]


def _circumstance_lines(before: BackendRun | None, after: BackendRun) -> Iterator[PageSection]:
    """Yield a table of the circumstances of both nights."""
    head = ["night", "started", "versions", "Python", "suite", "cases"]
    rows = [_night_row("previous", before)] if before else []
    yield table_section([], head, [*rows, _night_row("this", after)])


def _night_row(name: str, run: BackendRun) -> list[str]:
    environment, header = run.header.environment, run.header
    suite = ", ".join(f"{package} {version}" for package, version in environment.suite.items())
    cases = header.catalogue.version or header.catalogue.digest
    if header.explored:
        cases = f"explored, seed {header.explored.seed}, {count_text(header.explored.cases, 'case')}"
    values = (header.started, package_versions_text(run), environment.python, suite, cases)
    return [name, *map(escape_markdown, values)]


def summary_page(night: NightComparison) -> str:
    """Return the summary of a night as GitHub-flavoured Markdown of at most 60,000 characters."""
    return fit_sections(_summary_sections(night), "The results files contain everything.")


def night_headline(night: NightComparison) -> str:
    """Return the result of a night in a few words."""
    if not night.has_changes:
        return "The night is incomplete" if night.problems else "Nothing new"
    counted = [*([count_text(len(night.announcements), "new difference")] if night.announcements else [])]
    counted += [count_text(len(night.changed), "changed value")] if night.changed else []
    return ", ".join(counted)


def _summary_sections(night: NightComparison) -> Iterator[PageSection]:
    good = not night.has_changes and not night.problems
    problems = [f"- ❌ {escape_markdown(problem)}" for problem in night.problems]
    above = [
        f"## {'✅' if good else '❌'} {night_headline(night)}",
        "",
        f"Findings that were reported before: {night.known_count:,}.",
        "",
    ]
    yield PageSection(above, problems, [""] if problems else [])
    yield from _announcement_sections(night)
    yield _version_section(night)
    yield from _change_sections(night)
    rows = [
        [code_span(one.case.case), code_span(one.surface), escape_markdown(change_text(one))] for one in night.fixed
    ]
    if rows:
        head = ["case", "surface", "previous difference"]
        yield table_section(["### Fixed: these results pass now", ""], head, rows, MAX_CHANGED_ROWS)
    rows = [
        [escape_markdown(name), code_span(one.id), escape_markdown(one.sentence)]
        for name, one in night.missing_findings
    ]
    if rows:
        heading = ["### Findings of the previous night that were not found again", ""]
        yield table_section(heading, ["backend", "finding", "what"], rows, MAX_CHANGED_ROWS)


def _announcement_sections(night: NightComparison) -> Iterator[PageSection]:
    ordered = sorted(night.announcements, key=lambda one: (CAUSE_KINDS.index(one.cause.kind), one.backend.name))
    rows = [
        [one.cause.label, escape_markdown(one.backend.name), escape_markdown(one.statement), code_span(one.key)]
        for one in ordered
    ]
    if rows:
        yield table_section(["### New", ""], ["likely cause", "backend", "what", "issue"], rows, MAX_CHANGED_ROWS)
        causes = dict.fromkeys((one.backend.name, one.cause.sentence) for one in ordered)
        yield PageSection([], [f"- {escape_markdown(name)}: {escape_markdown(sentence)}" for name, sentence in causes])


def _version_section(night: NightComparison) -> PageSection:
    # A backend may have a run of catalogue cases and an exploration in the same night.
    by_key = {(run.name, run.header.explored is not None): run for run in night.previous.runs} if night.previous else {}
    rows = []
    for run in night.current.runs:
        before = by_key.get((run.name, run.header.explored is not None))
        new, old = package_versions_text(run), package_versions_text(before) if before else "–"
        cases = (
            f"explored, {count_text(run.header.explored.cases, 'case')}" if run.header.explored else run.header.level
        )
        rows.append(
            [escape_markdown(run.name), cases, escape_markdown(new), "the same" if old == new else escape_markdown(old)]
        )
    return table_section(["### Versions", ""], ["backend", "cases", "this night", "previous night"], rows)


def _change_sections(night: NightComparison) -> Iterator[PageSection]:
    """Yield a table of changed values and answers, one row per backend, operator, kind and likely cause."""
    ordered = sorted(night.changed, key=lambda pair: _change_group_key(*pair))
    rows = []
    for (name, operator, kind, cause), pairs in groupby(ordered, lambda pair: _change_group_key(*pair)):
        changes = [change for change, _ in pairs]
        first = min(changes, key=lambda one: one.case.size)
        example = f"{code_span(first.case.case)} on {code_span(first.surface)}: {escape_markdown(change_text(first))}"
        count = f"{kind}, {count_text(len(changes), 'result')}"
        rows.append([cause, escape_markdown(name), code_span(operator), count, example])
    if rows:
        head = ["likely cause", "backend", "operator", "what", "smallest case"]
        yield table_section(["### Changed values and answers", ""], head, rows, MAX_CHANGED_ROWS)


def _change_group_key(change: ResultChange, cause: LikelyCause) -> tuple[str, str, str, str]:
    return change.backend, change.case.operator, change.kind, cause.label
