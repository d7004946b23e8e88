"""Several trials of one case: whether they came out the same, and what was seen where they did not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from conformance.cases.arrays import array_digest
from conformance.judging.verdict import ProgramOutcome

SAME_IN_NEW_PROCESS = "the same again in a new process of its own"
THEN_IN_NEW_PROCESS = "then, in a new process of its own, "


def combine_retry(first: ProgramOutcome, second: ProgramOutcome) -> ProgramOutcome:
    """Return what came of a case that took its process down, and then ran once more with a process to itself."""
    if first.kind == second.kind:
        return replace(first, message=f"{first.message}; {SAME_IN_NEW_PROCESS}")
    return replace(first, flakiness=f"{_outcome_text(first)}, {THEN_IN_NEW_PROCESS}{_outcome_text(second)}")


def combine_repeats(outcomes: Sequence[ProgramOutcome], wrong: Callable[[ProgramOutcome], bool]) -> ProgramOutcome:
    """Return what came of a case that was run several times: of outcomes that are not the same, the first wrong one.

    Outcomes are the same if their kinds are and the bits of what was returned; what an exception says may change.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    runs = [(kind, list(alike)) for kind, alike in groupby(outcomes, _outcome_key)]
    if len(runs) == 1:
        return outcomes[0]
    shown = next(filter(wrong, (alike[0] for _, alike in runs)), outcomes[0])
    told = ", then ".join(
        _outcome_text(alike[0]) + (f" {len(alike)} times" if len(alike) > 1 else "") for _, alike in runs
    )
    return replace(shown, flakiness=f"of {len(outcomes)} runs: {told}")


def _outcome_key(outcome: ProgramOutcome) -> tuple[str, str]:
    return outcome.kind, array_digest(*outcome.arrays) if outcome.arrays else ""


def _outcome_text(outcome: ProgramOutcome) -> str:
    """Say an outcome in a few words."""
    what = array_digest(*outcome.arrays) if outcome.arrays else outcome.message
    return f"{outcome.kind.replace('_', ' ')} ({what})"
