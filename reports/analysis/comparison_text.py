"""What all views of a difference say alike: its groups, the sentence, and what happened to a result in a few words."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from reports.analysis.comparison import CHANGE_KINDS, ReportDifference, ResultChange
from reports.analysis.deviation import failure_reason, unravel_index
from reports.analysis.summary import STATUS_SIGNS, STATUS_TEXTS, count_text
from reports.results.arrays import RecordedArray
from reports.results.fields import SPECIAL_NUMBERS, JsonNumber
from reports.results.records import STATUSES, CaseRecord, ResultRecord

KIND_HEADINGS = {
    "value": "other values, though judged the same",
    "answer": "another answer to a question",
    "redefined": "another case under the same id, not compared",
    "removed": "gone",
    "added": "new",
}
KIND_COUNT_TEXTS = {
    "status": "changed status",
    "value": "changed value",
    "answer": "changed the answer to a question",
    "redefined": "cannot be compared: the case is another one",
    "removed": "gone",
    "added": "new",
}

MIXED_FILE_TEXTS = {
    "catalogue": "The catalogues are mixed: {fact.before} and {fact.after}; what is another case is not compared.",
    "ledger": "Judged by different ledgers, {fact.before} and {fact.after}: what one knows may be new in the other.",
}


@dataclass(frozen=True)
class ChangeGroup:
    """Changes of one kind, between the same two statuses, of one backend and operator; the smallest case first."""

    kind: str
    backend: str
    operator: str
    changes: tuple[ResultChange, ...]

    @property
    def heading(self) -> str:
        """What happened, in words."""
        first = self.changes[0]
        if first.kind != "status":
            return KIND_HEADINGS[first.kind]
        return " → ".join(
            f"{STATUS_SIGNS[status]} {STATUS_TEXTS[status]}" for status in (first.old_text, first.new_text) if status
        )


def change_groups(difference: ReportDifference) -> list[ChangeGroup]:
    """Group the changes: what fails now before what passes now, then values, answers, what is gone and what is new."""
    found: dict[tuple[str, ...], list[ResultChange]] = {}
    for change in difference.changes:
        between = (change.old_text or "", change.new_text or "") if change.kind == "status" else ()
        found.setdefault((change.kind, change.backend, change.case.operator, *between), []).append(change)
    made = [
        ChangeGroup(key[0], key[1], key[2], tuple(sorted(changes, key=_case_size))) for key, changes in found.items()
    ]
    return sorted(made, key=_group_rank)


def _case_size(change: ResultChange) -> tuple[int, str, str]:
    return change.case.size, change.case.case, change.surface


def _group_rank(group: ChangeGroup) -> tuple[int, tuple[int, ...], str, int, str]:
    first = group.changes[0]
    between = (
        [STATUSES.index(status) for status in (first.new_text, first.old_text) if status]
        if group.kind == "status"
        else []
    )
    return CHANGE_KINDS.index(group.kind), tuple(between), group.backend, first.case.size, group.operator


def counts_by_kind(difference: ReportDifference) -> dict[str, int]:
    """Count the changes by kind; only kinds that occur."""
    counted = Counter(change.kind for change in difference.changes)
    return {kind: counted[kind] for kind in CHANGE_KINDS if counted[kind]}


def difference_headline(difference: ReportDifference) -> str:
    """Say in a few words what came of it."""
    if difference.is_significant:
        return "Something changed" + (", and the comparison is incomplete" if difference.problems else "")
    return "The comparison is incomplete" if difference.problems else "Nothing changed"


def difference_sentence(difference: ReportDifference) -> str:
    """Say how much was compared, and how much changed in which way."""
    names = ", ".join(pair.name for pair in difference.pairs)
    parts = [f"{number:,} {KIND_COUNT_TEXTS[kind]}" for kind, number in counts_by_kind(difference).items()]
    parts += [f"{difference.missing_count:,} wait for the end of a run"] if difference.missing_count else []
    return f"{count_text(difference.compared_count, 'result')} compared ({names}): {', '.join(parts) or 'all are the same'}."


def difference_notes(difference: ReportDifference) -> list[str]:
    """Say what a reader should know besides."""
    if not difference.program_changed_count:
        return []
    return [f"{count_text(difference.program_changed_count, 'result')} compared are of another program than before."]


def comparison_warnings(difference: ReportDifference) -> list[str]:
    """Say what must be known before anything is read out of a comparison: why it is not whole, what was mixed."""
    mixed = [fact for fact in difference.facts if fact.name in MIXED_FILE_TEXTS]
    return difference.problems + [MIXED_FILE_TEXTS[fact.name].format(fact=fact) for fact in mixed]


def change_text(change: ResultChange) -> str:
    """Say what happened to a result in a few words."""
    if change.kind == "answer":
        return f"{change.case.question}: {change.old_text or 'none'} → {change.new_text or 'none'}"
    if change.before is None or change.after is None:
        return " ".join(STATUS_TEXTS[status] for status in (change.old_text, change.new_text) if status)
    if change.kind == "value":
        return _output_change_text(change.before, change.after, change.case) + _is_program_change(change)
    if change.kind == "redefined":
        return " → ".join(STATUS_TEXTS[status] for status in (change.old_text, change.new_text) if status)
    return _result_reason(
        change.before if change.new_text == "pass" else change.after, change.case
    ) + _is_program_change(change)


def _is_program_change(change: ResultChange) -> str:
    programs = {one.program for one in (change.before, change.after) if one is not None}
    return " (another program than before)" if len(programs) > 1 else ""


def _result_reason(result: ResultRecord, case: CaseRecord) -> str:
    return ": ".join(filter(None, [result.kind, failure_reason(result, case)]))


def _output_change_text(before: ResultRecord, after: ResultRecord, case: CaseRecord) -> str:
    """Say how an output is otherwise: the element that moved furthest, where the outputs are told."""
    if before.outcome != after.outcome:
        return f"{before.outcome} → {after.outcome}"
    one, other = _output_array(before, case), _output_array(after, case)
    if one is None or other is None or one.data is None or other.data is None:
        return _budget_change_text(before, after)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return f"{one.dtype} {list(one.shape)} → {other.dtype} {list(other.shape)}"
    data = list(zip(one.data, other.data, strict=True))
    moved = [number for number, (first, second) in enumerate(data) if repr(first) != repr(second)]  # −0 is not 0
    if not moved:
        return _budget_change_text(before, after)
    worst = max(moved, key=lambda number: _element_distance(*data[number]))
    place = ", ".join(map(str, unravel_index(worst, one.shape)))
    return (
        f"{len(moved):,} of {count_text(one.size, 'element')}, most at [{place}]: {data[worst][0]} → {data[worst][1]}"
    )


def _output_array(result: ResultRecord, case: CaseRecord) -> RecordedArray | None:
    """Return what was returned: a file tells it where it is not the expected output, bit by bit."""
    if result.got is not None:
        return result.got
    return case.expected if result.verdict == "agree" and isinstance(case.expected, RecordedArray) else None


def _element_distance(one: JsonNumber, other: JsonNumber) -> float:
    """Return how far two elements are apart; NaN and infinities are furthest from everything else."""
    first, second = (SPECIAL_NUMBERS[value] if isinstance(value, str) else value for value in (one, other))
    try:
        return float(abs(first - second)) if math.isfinite(first) and math.isfinite(second) else math.inf
    except OverflowError:  # whole numbers beyond any float
        return math.inf


def _budget_change_text(before: ResultRecord, after: ResultRecord) -> str:
    used = [f"{one.budget_used:.3g}" for one in (before, after) if one.budget_used is not None]
    return f"other bits, furthest off by {' → '.join(used)} error bounds" if len(used) > 1 else "other bits"
