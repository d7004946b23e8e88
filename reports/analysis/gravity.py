"""The gravity of a difference: a crash is graver than a wrong value, and a wrong value than another convention.

A crash of a call that must be rejected comes after wrong results of valid calls: no correct model makes such a call.
"""

from __future__ import annotations

from reports.analysis.summary import difference_kind
from reports.results import CaseRecord, DifferenceKind, Outcome, RecordedRejection, ResultRecord, Status
from reports.results.vocabulary import Word


class Gravity(Word):
    """The effect of a difference, gravest first."""

    CRASH = "crash"
    HANG = "hang"
    VALUE = "wrong value"
    SPECIAL = "NaN or infinity"
    FLAKY = "flaky"
    FORM = "dtype or shape"
    INVALID_CALL = "crash of an invalid call"
    REFUSES = "refuses"
    ACCEPTS = "accepts"
    CONVENTION = "convention"
    STALE = "stale"


GRAVITY_RANKS: dict[Gravity, int] = {gravity: rank for rank, gravity in enumerate(Gravity)}
GRAVITY_OF_KINDS: dict[str, Gravity] = {
    Outcome.CRASHED: Gravity.CRASH,
    Outcome.TIMED_OUT: Gravity.HANG,
    DifferenceKind.VALUE: Gravity.VALUE,
    DifferenceKind.PINNED: Gravity.VALUE,
    DifferenceKind.SPECIAL: Gravity.SPECIAL,
    Status.FLAKY: Gravity.FLAKY,
    DifferenceKind.DTYPE: Gravity.FORM,
    DifferenceKind.SHAPE: Gravity.FORM,
    DifferenceKind.REJECTED: Gravity.REFUSES,
    DifferenceKind.ACCEPTED: Gravity.ACCEPTS,
    DifferenceKind.CONVENTION: Gravity.CONVENTION,
    DifferenceKind.CHANGED: Gravity.CONVENTION,
}


def gravity_of(result: ResultRecord, case: CaseRecord) -> Gravity:
    """Return the gravity of a differing result of a case. A stale one agrees, and is the least grave."""
    if result.status == Status.STALE:
        return Gravity.STALE
    gravity = GRAVITY_OF_KINDS.get(difference_kind(result), Gravity.VALUE)
    if gravity in (Gravity.CRASH, Gravity.HANG) and isinstance(case.expected, RecordedRejection):
        return Gravity.INVALID_CALL
    return gravity
