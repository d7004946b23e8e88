"""The severity of a difference: a crash is more severe than a wrong value, and a wrong value than another convention.

A crash of a call that must be rejected comes after wrong results of valid calls: no correct model makes such a call.
"""

from __future__ import annotations

from reports.analysis.summary import difference_kind
from reports.results import CaseRecord, DifferenceKind, Outcome, RecordedRejection, ResultRecord, Status
from reports.results.vocabulary import Word


class Severity(Word):
    """The effect of a difference, most severe first."""

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


SEVERITY_RANKS: dict[Severity, int] = {severity: rank for rank, severity in enumerate(Severity)}
SEVERITY_OF_KINDS: dict[str, Severity] = {
    Outcome.CRASHED: Severity.CRASH,
    Outcome.TIMED_OUT: Severity.HANG,
    DifferenceKind.VALUE: Severity.VALUE,
    DifferenceKind.PINNED: Severity.VALUE,
    DifferenceKind.SPECIAL: Severity.SPECIAL,
    Status.FLAKY: Severity.FLAKY,
    DifferenceKind.DTYPE: Severity.FORM,
    DifferenceKind.SHAPE: Severity.FORM,
    DifferenceKind.REJECTED: Severity.REFUSES,
    DifferenceKind.ACCEPTED: Severity.ACCEPTS,
    DifferenceKind.CONVENTION: Severity.CONVENTION,
    DifferenceKind.CHANGED: Severity.CONVENTION,
}


def severity_of(result: ResultRecord, case: CaseRecord) -> Severity:
    """Return the severity of a differing result of a case. A stale one agrees, and is the least severe."""
    if result.status == Status.STALE:
        return Severity.STALE
    severity = SEVERITY_OF_KINDS.get(difference_kind(result), Severity.VALUE)
    if severity in (Severity.CRASH, Severity.HANG) and isinstance(case.expected, RecordedRejection):
        return Severity.INVALID_CALL
    return severity
