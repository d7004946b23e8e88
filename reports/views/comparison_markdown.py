"""A difference as Markdown, for a pull request or a job's page; never longer than the page takes."""

from __future__ import annotations

from collections.abc import Iterator

from reports.analysis.comparison import Difference
from reports.analysis.comparison_text import Group, groups, headline, notes, said, sentence
from reports.analysis.summary import plural
from reports.views.markdown_layout import Section, code, escaped, fit, tabular

MOST_ROWS = 100  # of one group


def render_difference(difference: Difference) -> str:
    """Return the difference as GitHub-flavoured Markdown of at most 60,000 characters."""
    return fit(sections(difference), "`--format json` has all.")


def sections(difference: Difference) -> Iterator[Section]:
    """Yield the parts of a page about a difference, what happened first."""
    yield _head(difference)
    yield from _facts(difference)
    for group in groups(difference):
        yield _group(group)


def _head(difference: Difference) -> Section:
    good = not difference.matters and not difference.problems
    above = [f"## {'✅' if good else '❌'} {escaped(headline(difference))}", "", escaped(sentence(difference)), ""]
    points = [*(f"- ❌ {escaped(problem)}" for problem in difference.problems), *map(_note, notes(difference))]
    return Section(above, points, [""] if points else [])


def _note(note: str) -> str:
    return f"- {escaped(note)}"


def _facts(difference: Difference) -> Iterator[Section]:
    rows = [
        [escaped(fact.what), escaped(fact.before), escaped(fact.after), ", ".join(map(escaped, names))]
        for fact, names in difference.facts.items()
    ]
    if rows:
        yield tabular(["### Run under", ""], ["what", "old", "new", "backends"], rows)


def _group(group: Group) -> Section:
    where = f"{code(group.operator)}, {escaped(group.backend)}: {plural(len(group.changes), 'result')}"
    rows = [[code(change.case.case), code(change.surface), escaped(said(change))] for change in group.changes]
    return tabular([f"### {escaped(group.heading)}: {where}", ""], ["case", "surface", "what"], rows, MOST_ROWS)
