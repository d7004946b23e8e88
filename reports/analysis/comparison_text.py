"""What all views of a difference say alike: its groups, the sentence, and what happened to a result in a few words."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from reports.analysis.comparison import KINDS, Change, Difference
from reports.analysis.deviation import unravel, why
from reports.analysis.summary import SIGNS, WORDS, plural
from reports.results.arrays import Array
from reports.results.fields import SPECIALS, Number
from reports.results.records import STATUSES, Case, Result

HEADINGS = {
    "value": "other values, though judged the same",
    "answer": "another answer to a question",
    "redefined": "another case under the same id, not compared",
    "removed": "gone",
    "added": "new",
}
COUNTED = {
    "status": "changed status",
    "value": "changed value",
    "answer": "changed the answer to a question",
    "redefined": "cannot be compared: the case is another one",
    "removed": "gone",
    "added": "new",
}

MIXED = {
    "catalogue": "The catalogues are mixed: {fact.before} and {fact.after}; what is another case is not compared.",
    "ledger": "Judged by different ledgers, {fact.before} and {fact.after}: what one knows may be new in the other.",
}


@dataclass(frozen=True)
class Group:
    """Changes of one kind, between the same two statuses, of one backend and operator; the smallest case first."""

    kind: str
    backend: str
    operator: str
    changes: tuple[Change, ...]

    @property
    def heading(self) -> str:
        """What happened, in words."""
        first = self.changes[0]
        if first.kind != "status":
            return HEADINGS[first.kind]
        return " → ".join(f"{SIGNS[status]} {WORDS[status]}" for status in (first.was, first.now) if status)


def groups(difference: Difference) -> list[Group]:
    """Group the changes: what fails now before what passes now, then values, answers, what is gone and what is new."""
    found: dict[tuple[str, ...], list[Change]] = {}
    for change in difference.changes:
        between = (change.was or "", change.now or "") if change.kind == "status" else ()
        found.setdefault((change.kind, change.backend, change.case.operator, *between), []).append(change)
    made = [Group(key[0], key[1], key[2], tuple(sorted(changes, key=_size))) for key, changes in found.items()]
    return sorted(made, key=_importance)


def _size(change: Change) -> tuple[int, str, str]:
    return change.case.size, change.case.case, change.surface


def _importance(group: Group) -> tuple[int, tuple[int, ...], str, int, str]:
    first = group.changes[0]
    between = [STATUSES.index(status) for status in (first.now, first.was) if status] if group.kind == "status" else []
    return KINDS.index(group.kind), tuple(between), group.backend, first.case.size, group.operator


def counts(difference: Difference) -> dict[str, int]:
    """Count the changes by kind; only kinds that occur."""
    counted = Counter(change.kind for change in difference.changes)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


def headline(difference: Difference) -> str:
    """Say in a few words what came of it."""
    if difference.matters:
        return "Something changed" + (", and the comparison is incomplete" if difference.problems else "")
    return "The comparison is incomplete" if difference.problems else "Nothing changed"


def sentence(difference: Difference) -> str:
    """Say how much was compared, and how much changed in which way."""
    names = ", ".join(pair.name for pair in difference.pairs)
    parts = [f"{number:,} {COUNTED[kind]}" for kind, number in counts(difference).items()]
    parts += [f"{difference.waiting:,} wait for the end of a run"] if difference.waiting else []
    return f"{plural(difference.compared, 'result')} compared ({names}): {', '.join(parts) or 'all are the same'}."


def notes(difference: Difference) -> list[str]:
    """Say what a reader should know besides."""
    if not difference.retold:
        return []
    return [f"{plural(difference.retold, 'result')} compared are of another program than before."]


def warnings(difference: Difference) -> list[str]:
    """Say what must be known before anything is read out of a comparison: why it is not whole, what was mixed."""
    mixed = [fact for fact in difference.facts if fact.what in MIXED]
    return difference.problems + [MIXED[fact.what].format(fact=fact) for fact in mixed]


def said(change: Change) -> str:
    """Say what happened to a result in a few words."""
    if change.kind == "answer":
        return f"{change.case.question}: {change.was or 'none'} → {change.now or 'none'}"
    if change.before is None or change.after is None:
        return " ".join(WORDS[status] for status in (change.was, change.now) if status)
    if change.kind == "value":
        return _moved(change.before, change.after, change.case) + _retold(change)
    if change.kind == "redefined":
        return " → ".join(WORDS[status] for status in (change.was, change.now) if status)
    return _why(change.before if change.now == "pass" else change.after, change.case) + _retold(change)


def _retold(change: Change) -> str:
    programs = {one.program for one in (change.before, change.after) if one is not None}
    return " (another program than before)" if len(programs) > 1 else ""


def _why(result: Result, case: Case) -> str:
    return ": ".join(filter(None, [result.kind, why(result, case)]))


def _moved(before: Result, after: Result, case: Case) -> str:
    """Say how an output is otherwise: the element that moved furthest, where the outputs are told."""
    if before.outcome != after.outcome:
        return f"{before.outcome} → {after.outcome}"
    one, other = _output(before, case), _output(after, case)
    if one is None or other is None or one.data is None or other.data is None:
        return _budget(before, after)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return f"{one.dtype} {list(one.shape)} → {other.dtype} {list(other.shape)}"
    data = list(zip(one.data, other.data, strict=True))
    moved = [number for number, (first, second) in enumerate(data) if repr(first) != repr(second)]  # −0 is not 0
    if not moved:
        return _budget(before, after)
    worst = max(moved, key=lambda number: _distance(*data[number]))
    place = ", ".join(map(str, unravel(worst, one.shape)))
    return f"{len(moved):,} of {plural(one.size, 'element')}, most at [{place}]: {data[worst][0]} → {data[worst][1]}"


def _output(result: Result, case: Case) -> Array | None:
    """Return what was returned: a file tells it where it is not the expected output, bit by bit."""
    if result.got is not None:
        return result.got
    return case.expected if result.verdict == "agree" and isinstance(case.expected, Array) else None


def _distance(one: Number, other: Number) -> float:
    """Return how far two elements are apart; NaN and infinities are furthest from everything else."""
    first, second = (SPECIALS[value] if isinstance(value, str) else value for value in (one, other))
    try:
        return float(abs(first - second)) if math.isfinite(first) and math.isfinite(second) else math.inf
    except OverflowError:  # whole numbers beyond any float
        return math.inf


def _budget(before: Result, after: Result) -> str:
    used = [f"{one.budget_used:.3g}" for one in (before, after) if one.budget_used is not None]
    return f"other bits, furthest off by {' → '.join(used)} error bounds" if len(used) > 1 else "other bits"
