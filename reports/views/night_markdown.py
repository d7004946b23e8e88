"""A night as Markdown: a summary of all, and for each thing that is new the text of an issue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from reports.analysis.comparison import Change
from reports.analysis.comparison_text import said
from reports.analysis.likely_cause import KINDS, Blame
from reports.analysis.night import News, Night
from reports.analysis.summary import plural
from reports.results.exploration import Finding
from reports.results.reader import Backend
from reports.results.records import plain
from reports.views.exploration_markdown import finding_parts, result_lines, script_lines, versions
from reports.views.markdown_layout import Section, code, escaped, fit, tabular

MOST_CASES = 20  # of one group, named in its issue
MOST_ROWS = 200  # of one table of the summary
Script = Callable[[str, str], str]
"""What makes a stand-alone script of a case on a surface; "" where that cannot be."""


def issue(news: News, script: Script) -> str:
    """Return the text of an issue but for its title: what was found, why it may be new, and how to see it.

    It has at most 60,000 characters, and says so where a part did not fit.
    """
    head = [f"**{news.blame.word}.** {escaped(news.blame.sentence)}", ""]
    parts = _found(news, news.finding) if news.finding else _differing(news, script)
    return fit([Section(head), *_nights(news.before, news.backend), *map(Section, parts)], "The results file has all.")


def _found(news: News, finding: Finding) -> Iterator[list[str]]:
    yield from finding_parts(news.backend, finding)
    like = [f"- {code(one.id)} cannot be told from it: {escaped(one.sentence)}" for one in news.like]
    yield [*like, *[""] * bool(like)]


def _differing(news: News, script: Script) -> Iterator[list[str]]:
    """Yield what there is to say of cases of the catalogue that differ."""
    assert news.group is not None  # noqa: S101 - it is a finding or a group
    example = news.group.example
    shown, asked = code(f"conformance show {example.case}"), f"{example.case} --surface {plain(example.surface)}"
    yield [escaped(f"{news.statement} {news.detail}".rstrip()), ""]
    yield [f"The smallest case, as {shown} has it; {code(f'conformance repro {asked}')} prints a script:", ""]
    yield list(result_lines(news.backend.cases[example.case], [example]))
    yield list(script_lines(script(example.case, example.surface)))
    named = [f"- {code(one.case)} on {code(one.surface)}" for one in news.group.results[:MOST_CASES]]
    left = len(news.group.results) - len(named)
    yield [*named, *([f"- and {left:,} more"] if left else []), ""]


def _nights(before: Backend | None, after: Backend) -> Iterator[Section]:
    """Yield the circumstances of both nights, one below the other."""
    head = ["night", "started", "versions", "Python", "suite", "tried"]
    rows = [_night("before", before)] if before else []
    yield tabular([], head, [*rows, _night("this one", after)])


def _night(name: str, run: Backend) -> list[str]:
    where, header = run.header.environment, run.header
    suite = ", ".join(f"{package} {version}" for package, version in where.suite.items())
    tried = header.catalogue_version or header.catalogue
    if header.explored:
        tried = f"explored, seed {header.explored.seed}, {plural(header.explored.cases, 'case')}"
    return [name, *map(escaped, (header.started, versions(run), where.python, suite, tried))]


def summary_page(night: Night) -> str:
    """Return the summary of a night as GitHub-flavoured Markdown of at most 60,000 characters."""
    return fit(_sections(night), "The results files have all.")


def headline(night: Night) -> str:
    """Say in a few words what a night has brought."""
    if not night.new:
        return "The night is not whole" if night.problems else "Nothing new"
    counted = [*([plural(len(night.news), "new difference")] if night.news else [])]
    counted += [plural(len(night.changed), "changed value")] if night.changed else []
    return ", ".join(counted)


def _sections(night: Night) -> Iterator[Section]:
    good = not night.new and not night.problems
    problems = [f"- ❌ {escaped(problem)}" for problem in night.problems]
    above = [
        f"## {'✅' if good else '❌'} {headline(night)}",
        "",
        f"Findings that were told before: {night.known:,}.",
        "",
    ]
    yield Section(above, problems, [""] if problems else [])
    yield from _news(night)
    yield _versions(night)
    yield from _changed(night)
    rows = [[code(one.case.case), code(one.surface), escaped(said(one))] for one in night.gone]
    if rows:
        yield tabular(["### Gone: no longer wrong", ""], ["case", "surface", "what it was"], rows, MOST_ROWS)
    rows = [[escaped(name), code(one.id), escaped(one.sentence)] for name, one in night.lost]
    if rows:
        head = ["### Findings of the night before that were not drawn again", ""]
        yield tabular(head, ["backend", "finding", "what"], rows, MOST_ROWS)


def _news(night: Night) -> Iterator[Section]:
    ordered = sorted(night.news, key=lambda one: (KINDS.index(one.blame.kind), one.backend.name))
    rows = [[one.blame.word, escaped(one.backend.name), escaped(one.statement), code(one.key)] for one in ordered]
    if rows:
        yield tabular(["### New", ""], ["why", "backend", "what", "issue"], rows, MOST_ROWS)
        told = dict.fromkeys((one.backend.name, one.blame.sentence) for one in ordered)
        yield Section([], [f"- {escaped(name)}: {escaped(sentence)}" for name, sentence in told])


def _versions(night: Night) -> Section:
    last = {(run.name, run.header.explored is not None): run for run in night.last.runs} if night.last else {}
    rows = []
    for run in night.tonight.runs:
        before = last.get((run.name, run.header.explored is not None))
        now, was = versions(run), versions(before) if before else "–"
        what = f"explored, {plural(run.header.explored.cases, 'case')}" if run.header.explored else run.header.level
        rows.append([escaped(run.name), what, escaped(now), "the same" if was == now else escaped(was)])
    return tabular(["### Versions", ""], ["backend", "what ran", "tonight", "the night before"], rows)


def _changed(night: Night) -> Iterator[Section]:
    """Yield changed values and answers, those of one backend, operator, kind and reason in a row."""
    ordered = sorted(night.changed, key=lambda pair: _alike(*pair))
    rows = []
    for (name, operator, kind, word), some in groupby(ordered, lambda pair: _alike(*pair)):
        changes = [change for change, _ in some]
        first = min(changes, key=lambda one: one.case.size)
        told = f"{code(first.case.case)} on {code(first.surface)}: {escaped(said(first))}"
        rows.append([word, escaped(name), code(operator), f"{kind}, {plural(len(changes), 'result')}", told])
    if rows:
        head = ["why", "backend", "operator", "what", "the smallest"]
        yield tabular(["### Changed values and answers", ""], head, rows, MOST_ROWS)


def _alike(change: Change, told: Blame) -> tuple[str, str, str, str]:
    return change.backend, change.case.operator, change.kind, told.word
