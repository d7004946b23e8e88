"""A difference as Markdown, for a pull request or a job's page; never longer than the page takes."""

from __future__ import annotations

from collections.abc import Iterator

from reports.difference import Difference
from reports.difference_words import Group, groups, headline, notes, said, sentence
from reports.markdown import code, cut, escaped, table
from reports.summary import plural

MOST_ROWS = 100  # of one group


def render_difference(difference: Difference) -> str:
    """Return the difference as GitHub-flavoured Markdown of at most 60,000 characters."""
    lines = [*_head(difference), *_facts(difference)]
    for group in groups(difference):
        lines += _group(group)
    return cut(lines, "`--format json` has all.")


def _head(difference: Difference) -> Iterator[str]:
    good = not difference.matters and not difference.problems
    yield f"## {'✅' if good else '❌'} {escaped(headline(difference))}"
    yield ""
    yield escaped(sentence(difference))
    yield ""
    points = [*(f"- ❌ {escaped(problem)}" for problem in difference.problems), *map(_note, notes(difference))]
    yield from [*points, ""] if points else []


def _note(note: str) -> str:
    return f"- {escaped(note)}"


def _facts(difference: Difference) -> list[str]:
    rows = [
        [escaped(fact.what), escaped(fact.before), escaped(fact.after), ", ".join(map(escaped, names))]
        for fact, names in difference.facts.items()
    ]
    return ["### Run under", "", *table(["what", "old", "new", "backends"], rows)] if rows else []


def _group(group: Group) -> list[str]:
    where = f"{code(group.operator)}, {escaped(group.backend)}: {plural(len(group.changes), 'result')}"
    rows = [
        [code(change.case.case), code(change.surface), escaped(said(change))] for change in group.changes[:MOST_ROWS]
    ]
    left = len(group.changes) - MOST_ROWS
    more = [f"and {left:,} more", ""] if left > 0 else []
    return [f"### {escaped(group.heading)}: {where}", "", *table(["case", "surface", "what"], rows), *more]
