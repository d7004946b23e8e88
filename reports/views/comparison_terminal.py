"""A difference for a terminal or a log: circumstances first, then what changed, the verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from reports.analysis.comparison import Change, Difference
from reports.analysis.comparison_text import Group, groups, headline, notes, said, sentence
from reports.analysis.summary import SIGNS, plural
from reports.views.terminal import STYLES, one_line

MOST_LINES = 10  # of one group
MOST_NEW = 1  # of one group of what is new, which is no news of what was there before
STYLE = {"value": "yellow", "answer": "yellow", "redefined": "yellow", "removed": "yellow", "added": "dim"}


def render_difference(difference: Difference) -> RenderableType:
    """Return the difference as something that a rich console prints, a change a line."""
    return Lines(*_lines(difference))


def _lines(difference: Difference) -> Iterator[Text]:
    for fact, names in difference.facts.items():
        where = f"{', '.join(names)}: " if len(difference.pairs) > 1 else ""
        yield Text(f"{one_line(where + fact.what)}: {one_line(fact.before)} → {one_line(fact.after)}")
    yield from (Text(one_line(note), "dim") for note in notes(difference))
    if difference.facts or difference.retold:
        yield Text()
    for group in groups(difference):
        yield from _group(group)
        yield Text()
    yield Text(one_line(sentence(difference)))
    yield from (Text(f"{SIGNS['fail']} {one_line(problem)}", "red") for problem in difference.problems)
    good = not difference.matters and not difference.problems
    sign = SIGNS["pass" if good else "fail"]
    yield Text(f"{sign} {headline(difference)}", "bold green" if good else "bold red")


def _group(group: Group) -> Iterator[Text]:
    style = STYLES.get(group.changes[0].now or "", "") if group.kind == "status" else STYLE[group.kind]
    where = one_line(f"{group.operator}, {group.backend}")
    yield Text(group.heading, style).append(f"  {where}: {plural(len(group.changes), 'result')}", "default not bold")
    most = MOST_NEW if group.kind == "added" else MOST_LINES
    yield from map(_change, group.changes[:most])
    left = len(group.changes) - most
    if left > 0:
        yield Text(f"  and {left:,} more (--format json has all)", "dim")


def _change(change: Change) -> Text:
    line = Text(f"  {one_line(change.case.case)} on {one_line(change.surface)}")
    what = said(change)
    return line.append(f": {one_line(what)}", "dim") if what else line
