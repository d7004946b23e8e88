"""A night as Markdown: a summary of all, and for each thing that is new the text of an issue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from reports.analysis.comparison import ResultChange
from reports.analysis.comparison_text import change_text
from reports.analysis.likely_cause import CAUSE_KINDS, LikelyCause
from reports.analysis.night import Announcement, NightComparison
from reports.analysis.summary import count_text
from reports.results.exploration import FindingRecord
from reports.results.reader import BackendRun
from reports.results.records import without_label
from reports.views.exploration_markdown import finding_parts, package_versions_text, result_lines, script_lines
from reports.views.markdown_layout import PageSection, code_span, escape_markdown, fit_sections, table_section

MAX_ISSUE_CASES = 20  # of one group, named in its issue
MAX_CHANGED_ROWS = 200  # of one table of the summary
ScriptWriter = Callable[[str, str], str]
"""What makes a stand-alone script of a case on a surface; "" where that cannot be."""


def issue_text(news: Announcement, script: ScriptWriter) -> str:
    """Return the text of an issue but for its title: what was found, why it may be new, and how to see it.

    It has at most 60,000 characters, and says so where a part did not fit.
    """
    head = [f"**{news.cause.label}.** {escape_markdown(news.cause.sentence)}", ""]
    parts = _finding_lines(news, news.finding) if news.finding else _difference_lines(news, script)
    return fit_sections(
        [PageSection(head), *_circumstance_lines(news.previous_run, news.backend), *map(PageSection, parts)],
        "The results file has all.",
    )


def _finding_lines(news: Announcement, finding: FindingRecord) -> Iterator[list[str]]:
    yield from finding_parts(news.backend, finding)
    like = [
        f"- {code_span(one.id)} cannot be told from it: {escape_markdown(one.sentence)}"
        for one in news.similar_findings
    ]
    yield [*like, *[""] * bool(like)]


def _difference_lines(news: Announcement, script: ScriptWriter) -> Iterator[list[str]]:
    """Yield what there is to say of cases of the catalogue that differ."""
    assert news.group is not None  # noqa: S101 - it is a finding or a group
    example = news.group.example
    shown, asked = (
        code_span(f"conformance show {example.case}"),
        f"{example.case} --surface {without_label(example.surface)}",
    )
    yield [escape_markdown(f"{news.statement} {news.detail}".rstrip()), ""]
    yield [f"The smallest case, as {shown} has it; {code_span(f'conformance repro {asked}')} prints a script:", ""]
    yield list(result_lines(news.backend.cases[example.case], [example]))
    yield list(script_lines(script(example.case, example.surface)))
    named = [f"- {code_span(one.case)} on {code_span(one.surface)}" for one in news.group.results[:MAX_ISSUE_CASES]]
    left = len(news.group.results) - len(named)
    yield [*named, *([f"- and {left:,} more"] if left else []), ""]


def _circumstance_lines(before: BackendRun | None, after: BackendRun) -> Iterator[PageSection]:
    """Yield the circumstances of both nights, one below the other."""
    head = ["night", "started", "versions", "Python", "suite", "tried"]
    rows = [_night_lines("before", before)] if before else []
    yield table_section([], head, [*rows, _night_lines("this one", after)])


def _night_lines(name: str, run: BackendRun) -> list[str]:
    where, header = run.header.environment, run.header
    suite = ", ".join(f"{package} {version}" for package, version in where.suite.items())
    tried = header.catalogue_version or header.catalogue
    if header.explored:
        tried = f"explored, seed {header.explored.seed}, {count_text(header.explored.cases, 'case')}"
    return [name, *map(escape_markdown, (header.started, package_versions_text(run), where.python, suite, tried))]


def summary_page(night: NightComparison) -> str:
    """Return the summary of a night as GitHub-flavoured Markdown of at most 60,000 characters."""
    return fit_sections(_summary_sections(night), "The results files have all.")


def night_headline(night: NightComparison) -> str:
    """Say in a few words what a night has brought."""
    if not night.has_news:
        return "The night is not whole" if night.problems else "Nothing new"
    counted = [*([count_text(len(night.announcements), "new difference")] if night.announcements else [])]
    counted += [count_text(len(night.changed), "changed value")] if night.changed else []
    return ", ".join(counted)


def _summary_sections(night: NightComparison) -> Iterator[PageSection]:
    good = not night.has_news and not night.problems
    problems = [f"- ❌ {escape_markdown(problem)}" for problem in night.problems]
    above = [
        f"## {'✅' if good else '❌'} {night_headline(night)}",
        "",
        f"Findings that were told before: {night.known_count:,}.",
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
        yield table_section(
            ["### Gone: no longer wrong", ""], ["case", "surface", "what it was"], rows, MAX_CHANGED_ROWS
        )
    rows = [
        [escape_markdown(name), code_span(one.id), escape_markdown(one.sentence)]
        for name, one in night.missing_findings
    ]
    if rows:
        head = ["### Findings of the night before that were not drawn again", ""]
        yield table_section(head, ["backend", "finding", "what"], rows, MAX_CHANGED_ROWS)


def _announcement_sections(night: NightComparison) -> Iterator[PageSection]:
    ordered = sorted(night.announcements, key=lambda one: (CAUSE_KINDS.index(one.cause.kind), one.backend.name))
    rows = [
        [one.cause.label, escape_markdown(one.backend.name), escape_markdown(one.statement), code_span(one.key)]
        for one in ordered
    ]
    if rows:
        yield table_section(["### New", ""], ["why", "backend", "what", "issue"], rows, MAX_CHANGED_ROWS)
        told = dict.fromkeys((one.backend.name, one.cause.sentence) for one in ordered)
        yield PageSection([], [f"- {escape_markdown(name)}: {escape_markdown(sentence)}" for name, sentence in told])


def _version_section(night: NightComparison) -> PageSection:
    last = {(run.name, run.header.explored is not None): run for run in night.previous.runs} if night.previous else {}
    rows = []
    for run in night.current.runs:
        before = last.get((run.name, run.header.explored is not None))
        now, was = package_versions_text(run), package_versions_text(before) if before else "–"
        what = f"explored, {count_text(run.header.explored.cases, 'case')}" if run.header.explored else run.header.level
        rows.append(
            [escape_markdown(run.name), what, escape_markdown(now), "the same" if was == now else escape_markdown(was)]
        )
    return table_section(["### Versions", ""], ["backend", "what ran", "tonight", "the night before"], rows)


def _change_sections(night: NightComparison) -> Iterator[PageSection]:
    """Yield changed values and answers, those of one backend, operator, kind and reason in a row."""
    ordered = sorted(night.changed, key=lambda pair: _is_same_change_group(*pair))
    rows = []
    for (name, operator, kind, word), some in groupby(ordered, lambda pair: _is_same_change_group(*pair)):
        changes = [change for change, _ in some]
        first = min(changes, key=lambda one: one.case.size)
        told = f"{code_span(first.case.case)} on {code_span(first.surface)}: {escape_markdown(change_text(first))}"
        rows.append(
            [word, escape_markdown(name), code_span(operator), f"{kind}, {count_text(len(changes), 'result')}", told]
        )
    if rows:
        head = ["why", "backend", "operator", "what", "the smallest"]
        yield table_section(["### Changed values and answers", ""], head, rows, MAX_CHANGED_ROWS)


def _is_same_change_group(change: ResultChange, told: LikelyCause) -> tuple[str, str, str, str]:
    return change.backend, change.case.operator, change.kind, told.label
