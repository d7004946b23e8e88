"""Several trials of one case: whether they came out the same, and what was seen where they did not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from conformance.cases.arrays import array_digest
from conformance.judging.verdict import Outcome

AGAIN = "the same again in a new process of its own"
ALONE = "then, in a new process of its own, "


def again(first: Outcome, second: Outcome) -> Outcome:
    """Return what came of a case that took its process down, and then ran once more with a process to itself."""
    if first.kind == second.kind:
        return replace(first, message=f"{first.message}; {AGAIN}")
    return replace(first, flickers=f"{_told(first)}, {ALONE}{_told(second)}")


def settled(outcomes: Sequence[Outcome], wrong: Callable[[Outcome], bool]) -> Outcome:
    """Return what came of a case that was run several times: of outcomes that are not the same, the first wrong one.

    Outcomes are the same if their kinds are and the bits of what was returned; what an exception says may change.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    runs = [(kind, list(alike)) for kind, alike in groupby(outcomes, _deed)]
    if len(runs) == 1:
        return outcomes[0]
    shown = next(filter(wrong, (alike[0] for _, alike in runs)), outcomes[0])
    told = ", then ".join(_told(alike[0]) + (f" {len(alike)} times" if len(alike) > 1 else "") for _, alike in runs)
    return replace(shown, flickers=f"of {len(outcomes)} runs: {told}")


def _deed(outcome: Outcome) -> tuple[str, str]:
    return outcome.kind, array_digest(*outcome.arrays) if outcome.arrays else ""


def _told(outcome: Outcome) -> str:
    """Say an outcome in a few words."""
    what = array_digest(*outcome.arrays) if outcome.arrays else outcome.message
    return f"{outcome.kind.replace('_', ' ')} ({what})"
