"""Combination of several runs of one case, to detect flaky outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from conformance.cases.arrays import array_digest
from conformance.judging.verdict import JUDGED_OUTCOMES, ProgramOutcome
from reports.results.vocabulary import Outcome

SAME_IN_NEW_PROCESS = "the same again in a separate process"
THEN_IN_NEW_PROCESS = "then, in a separate process, "


def combine_retry(first: ProgramOutcome, second: ProgramOutcome) -> ProgramOutcome:
    """Return the combined outcome of a case that ended its process and was run again in a separate process.

    If only the first run exceeded the time limit, the second outcome counts, and is marked as slow.
    """
    if first.kind == second.kind:
        return replace(first, message=f"{first.message}; {SAME_IN_NEW_PROCESS}")
    history = f"{outcome_text(first)}, {THEN_IN_NEW_PROCESS}{outcome_text(second)}"
    if first.kind == Outcome.TIMED_OUT and second.kind in JUDGED_OUTCOMES:
        return replace(second, slowness=history)
    return replace(first, flakiness=history)


def combine_repeats(outcomes: Sequence[ProgramOutcome], is_wrong: Callable[[ProgramOutcome], bool]) -> ProgramOutcome:
    """Return the combined outcome of a case that was run several times; if the outcomes vary, the first wrong one.

    Outcomes are equal if they have the same kind and the same returned bits. Messages of exceptions may vary. If a
    single run exceeded the time limit and the others are equal, their outcome counts, and is marked as slow.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    # Only equal outcomes of consecutive runs form a group, so that the message has the order of the runs.
    groups = [list(group) for _, group in groupby(outcomes, _outcome_key)]
    if len(groups) == 1:
        return outcomes[0]
    history = f"of {len(outcomes)} runs: " + ", then ".join(
        outcome_text(group[0]) + (f" {len(group)} times" if len(group) > 1 else "") for group in groups
    )
    in_time = [outcome for outcome in outcomes if outcome.kind != Outcome.TIMED_OUT]
    if len(in_time) == len(outcomes) - 1 and len({*map(_outcome_key, in_time)}) == 1:
        return replace(in_time[0], slowness=history)
    shown = next(filter(is_wrong, (group[0] for group in groups)), outcomes[0])
    return replace(shown, flakiness=history)


def _outcome_key(outcome: ProgramOutcome) -> tuple[str, str]:
    return outcome.kind, array_digest(*outcome.arrays) if outcome.arrays else ""


def is_same_outcome(one: ProgramOutcome, other: ProgramOutcome) -> bool:
    """Whether two outcomes have the same kind and the same returned bits. Messages of exceptions may vary."""
    return _outcome_key(one) == _outcome_key(other) and bool(one.flakiness) == bool(other.flakiness)


def outcome_text(outcome: ProgramOutcome) -> str:
    """Return a short description of an outcome: its kind, and the digest of the arrays or the message."""
    detail = array_digest(*outcome.arrays) if outcome.arrays else outcome.message
    return f"{outcome.kind.replace('_', ' ')} ({detail})"
