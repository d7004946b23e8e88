"""Terminal output of a comparison: circumstances first, then the changes, the verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group as Lines, RenderableType
from rich.text import Text

from reports.analysis.comparison import ChangeKind, FailOn, ReportDifference, ResultChange
from reports.analysis.comparison_text import (
    ChangeGroup,
    change_groups,
    change_text,
    difference_headline,
    difference_notes,
    difference_sentence,
)
from reports.analysis.summary import STATUS_SIGNS, count_text
from reports.results import Status
from reports.views.terminal import STATUS_STYLES, terminal_line

MAX_LINES_PER_GROUP = 10
MAX_ADDED_LINES = 1  # per group of new results, which are not changes of existing ones
CHANGE_STYLES = {kind: "dim" if kind == ChangeKind.ADDED else "yellow" for kind in ChangeKind}


def render_difference_terminal(difference: ReportDifference, fail_on: FailOn = FailOn.ANY) -> RenderableType:
    """Return a comparison as a renderable of rich, one line per change. fail_on: the changes that make it fail."""
    return Lines(*_output_lines(difference, fail_on))


def _output_lines(difference: ReportDifference, fail_on: FailOn) -> Iterator[Text]:
    for fact, names in difference.facts.items():
        backends = f"{', '.join(names)}: " if len(difference.pairs) > 1 else ""
        yield Text(f"{terminal_line(backends + fact.name)}: {terminal_line(fact.before)} → {terminal_line(fact.after)}")
    yield from (Text(terminal_line(note), "dim") for note in difference_notes(difference))
    if difference.facts or difference.program_changed_count:
        yield Text()
    for group in change_groups(difference):
        yield from _group_lines(group)
        yield Text()
    yield Text(terminal_line(difference_sentence(difference)))
    yield from (Text(f"{STATUS_SIGNS['fail']} {terminal_line(problem)}", "red") for problem in difference.problems)
    good = not difference.failing_changes(fail_on) and not difference.problems
    sign = STATUS_SIGNS[Status.PASS if good else Status.FAIL]
    yield Text(f"{sign} {difference_headline(difference, fail_on)}", "bold green" if good else "bold red")


def _group_lines(group: ChangeGroup) -> Iterator[Text]:
    is_status = group.kind == ChangeKind.STATUS
    style = STATUS_STYLES.get(group.changes[0].new_text or "", "") if is_status else CHANGE_STYLES[group.kind]
    subject = terminal_line(f"{group.operator}, {group.backend}")
    yield Text(group.heading, style).append(
        f"  {subject}: {count_text(len(group.changes), 'result')}", "default not bold"
    )
    limit = MAX_ADDED_LINES if group.kind == ChangeKind.ADDED else MAX_LINES_PER_GROUP
    yield from map(_change_line, group.changes[:limit])
    omitted = len(group.changes) - limit
    if omitted > 0:
        yield Text(f"  and {omitted:,} more (--format json lists all)", "dim")


def _change_line(change: ResultChange) -> Text:
    line = Text(f"  {terminal_line(change.case.case)} on {terminal_line(change.surface)}")
    text = change_text(change)
    return line.append(f": {terminal_line(text)}", "dim") if text else line
