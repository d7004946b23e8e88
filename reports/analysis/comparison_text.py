"""Texts shared by all views of a comparison: groups of changes, the summary sentence, descriptions of changes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from reports.analysis.comparison import ChangeKind, FailOn, ReportDifference, ResultChange
from reports.analysis.deviation import failure_reason, move_size_text, unravel_index
from reports.analysis.summary import STATUS_RANKS, STATUS_SIGNS, STATUS_TEXTS, count_text
from reports.results import SPECIAL_NUMBERS, CaseRecord, JsonNumber, RecordedArray, ResultRecord, Verdict
from reports.results.vocabulary import AGREEING_STATUSES

KIND_HEADINGS = {
    ChangeKind.VALUE: "different values, same status",
    ChangeKind.ANSWER: "different answer to a convention",
    ChangeKind.REDEFINED: "different case with the same id, not compared",
    ChangeKind.REMOVED: "removed",
    ChangeKind.ADDED: "new",
}
KIND_COUNT_TEXTS = {
    ChangeKind.STATUS: "changed status",
    ChangeKind.VALUE: "changed value",
    ChangeKind.ANSWER: "changed the answer to a convention",
    ChangeKind.REDEFINED: "not compared because the case changed",
    ChangeKind.REMOVED: "removed",
    ChangeKind.ADDED: "new",
}

FAILING_TEXTS = {
    FailOn.REGRESSION: "Something changed; regressions: {}",
    FailOn.VALUE: "Something changed; regressions and different values: {}",
}

MIXED_FILE_TEXTS = {
    "catalogue": "The catalogues differ: {fact.before} and {fact.after}. Cases that changed are not compared.",
    "ledger": "The ledgers differ: {fact.before} and {fact.after}. Differences known to one may be new in the other.",
}


@dataclass(frozen=True)
class ChangeGroup:
    """Changes with the same kind, statuses, backend and operator; the smallest case first."""

    kind: ChangeKind
    backend: str
    operator: str
    changes: tuple[ResultChange, ...]

    @property
    def heading(self) -> str:
        """The kind of change as text."""
        first = self.changes[0]
        if first.kind != ChangeKind.STATUS:
            return KIND_HEADINGS[first.kind]
        return " → ".join(
            f"{STATUS_SIGNS[status]} {STATUS_TEXTS[status]}" for status in (first.old_text, first.new_text) if status
        )


def change_groups(difference: ReportDifference) -> list[ChangeGroup]:
    """Group the changes: new failures before fixed ones, then values, answers, removed and new results."""
    changes_by_key: dict[tuple[str, ...], list[ResultChange]] = {}
    for change in difference.changes:
        statuses = (change.old_text or "", change.new_text or "") if change.kind == ChangeKind.STATUS else ()
        changes_by_key.setdefault((change.kind, change.backend, change.case.operator, *statuses), []).append(change)
    groups = [
        ChangeGroup(changes[0].kind, key[1], key[2], tuple(sorted(changes, key=_case_size)))
        for key, changes in changes_by_key.items()
    ]
    return sorted(groups, key=_group_rank)


def _case_size(change: ResultChange) -> tuple[int, str, str]:
    return change.case.size, change.case.case, change.surface


def _group_rank(group: ChangeGroup) -> tuple[int, tuple[int, ...], str, int, str]:
    first = group.changes[0]
    statuses = (
        [STATUS_RANKS[status] for status in (first.new_text, first.old_text) if status]
        if group.kind == ChangeKind.STATUS
        else []
    )
    return list(ChangeKind).index(group.kind), tuple(statuses), group.backend, first.case.size, group.operator


def counts_by_kind(difference: ReportDifference) -> dict[ChangeKind, int]:
    """Count the changes by kind; only kinds that occur."""
    counted = Counter(change.kind for change in difference.changes)
    return {kind: counted[kind] for kind in ChangeKind if counted[kind]}


def difference_headline(difference: ReportDifference, fail_on: FailOn = FailOn.ANY) -> str:
    """Return the result of a comparison in a few words."""
    if not difference.is_significant:
        return "The comparison is incomplete" if difference.problems else "Nothing changed"
    failing = len(difference.failing_changes(fail_on))
    text = "Something changed" if fail_on == FailOn.ANY else FAILING_TEXTS[fail_on].format(failing or "no")
    return text + (", and the comparison is incomplete" if difference.problems else "")


def difference_sentence(difference: ReportDifference) -> str:
    """Return a sentence with the numbers of compared and changed results."""
    names = ", ".join(pair.name for pair in difference.pairs)
    parts = [f"{number:,} {KIND_COUNT_TEXTS[kind]}" for kind, number in counts_by_kind(difference).items()]
    parts += [f"{difference.missing_count:,} waiting for a run to finish"] if difference.missing_count else []
    compared = count_text(difference.compared_count, "result")
    return f"{compared} compared ({names}): {', '.join(parts) or 'all are the same'}."


def difference_notes(difference: ReportDifference) -> list[str]:
    """Return further notes about a comparison, one sentence each."""
    if not difference.program_changed_count:
        return []
    return [f"The program changed for {count_text(difference.program_changed_count, 'compared result')}."]


def comparison_warnings(difference: ReportDifference) -> list[str]:
    """Return the warnings about a comparison: incomplete runs, and differing catalogues or ledgers."""
    mixed = [fact for fact in difference.facts if fact.name in MIXED_FILE_TEXTS]
    return difference.problems + [MIXED_FILE_TEXTS[fact.name].format(fact=fact) for fact in mixed]


def change_text(change: ResultChange) -> str:
    """Describe the change of a result in a few words."""
    if change.kind == ChangeKind.ANSWER:
        return f"{change.case.question}: {change.old_text or 'none'} → {change.new_text or 'none'}"
    if change.before is None or change.after is None:
        return " ".join(STATUS_TEXTS[status] for status in (change.old_text, change.new_text) if status)
    if change.kind == ChangeKind.VALUE:
        return _output_change_text(change.before, change.after, change.case) + _program_change_text(change)
    if change.kind == ChangeKind.REDEFINED:
        return " → ".join(STATUS_TEXTS[status] for status in (change.old_text, change.new_text) if status)
    wrong = change.before if change.new_text in AGREEING_STATUSES else change.after
    return _result_reason(wrong, change.case) + _program_change_text(change)


def _program_change_text(change: ResultChange) -> str:
    programs = {one.program for one in (change.before, change.after) if one is not None}
    return " (the program changed)" if len(programs) > 1 else ""


def _result_reason(result: ResultRecord, case: CaseRecord) -> str:
    return ": ".join(filter(None, [result.kind, failure_reason(result, case)]))


def _output_change_text(before: ResultRecord, after: ResultRecord, case: CaseRecord) -> str:
    """Describe the change of an output: the element that changed most, if both outputs are recorded."""
    if before.outcome != after.outcome:
        return f"{before.outcome} → {after.outcome}"
    old, new = _output_array(before, case), _output_array(after, case)
    if old is None or new is None or old.data is None or new.data is None:
        return _budget_change_text(before, after)
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return f"{old.dtype} {list(old.shape)} → {new.dtype} {list(new.shape)}"
    data = list(zip(old.data, new.data, strict=True))
    # Compare the text of the elements: -0.0 and 0.0 are different values.
    changed = [position for position, (first, second) in enumerate(data) if repr(first) != repr(second)]
    if not changed:
        return _budget_change_text(before, after)
    worst = max(changed, key=lambda position: _element_distance(*data[position]))
    index = ", ".join(map(str, unravel_index(worst, old.shape)))
    one, other = data[worst]
    size = move_size_text(_element_distance(one, other), max(map(_magnitude, data[worst])), old.dtype, case.bound)
    elements = count_text(old.size, "element")
    return f"{len(changed):,} of {elements}, most at [{index}]: {one} → {other}" + (f" ({size})" if size else "")


def _output_array(result: ResultRecord, case: CaseRecord) -> RecordedArray | None:
    """Return the output of a result. Files record it only if it is not bitwise equal to the expected output."""
    if result.got is not None:
        return result.got
    return case.expected if result.verdict == Verdict.AGREE and isinstance(case.expected, RecordedArray) else None


def _element_distance(one: JsonNumber, other: JsonNumber) -> float:
    """Return the absolute difference of two elements; infinite if one of them is NaN or infinite."""
    first, second = map(_json_number, (one, other))
    try:
        return float(abs(first - second)) if math.isfinite(first) and math.isfinite(second) else math.inf
    except OverflowError:  # integers above the range of float
        return math.inf


def _json_number(value: JsonNumber) -> float | int:
    return SPECIAL_NUMBERS[value] if isinstance(value, str) else value


def _magnitude(value: JsonNumber) -> float:
    return abs(_json_number(value))


def _budget_change_text(before: ResultRecord, after: ResultRecord) -> str:
    used = [f"{one.budget_used:.3g}" for one in (before, after) if one.budget_used is not None]
    return f"different bits, largest error {' → '.join(used)} error bounds" if len(used) > 1 else "different bits"
