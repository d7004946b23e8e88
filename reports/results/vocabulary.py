"""The words of results files: level, how a program is written, outcome, verdict, kind of difference, status."""

from __future__ import annotations

from enum import Enum

ROUTE_ARROW = "→"
"""Between the exporter and the runtime in the name of a route."""
WITH_PROGRAMS = "-with-"
"""In the label of a release that has run the programs of an older one: "1.21.1-with-1.20.1"."""
CONTRADICTORY_ANSWERS = "contradicts-itself"
"""Observed answer of a surface that gave several answers for one convention."""


class Word(str, Enum):
    """A member of a fixed set of words; equal to its text. `enum.StrEnum` does the same from Python 3.11 on."""

    __str__ = str.__str__
    __format__ = str.__format__  # type: ignore[assignment]  # Enum would format the name of the member


class Level(Word):
    """How many cases a run covers; each level includes the one before it."""

    SMOKE = "smoke"
    STANDARD = "standard"
    EXHAUSTIVE = "exhaustive"


class How(Word):
    """How a program expresses a case: one call, explicit padding before the call, or several operators."""

    NATIVE = "native"
    PADDED = "padded"
    COMPOSED = "composed"


class Outcome(Word):
    """What a backend did with a program."""

    RETURNED = "returned"
    REJECTED = "rejected"  # it raised an exception
    UNSUPPORTED = "unsupported"  # there is no program
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"


class Part(Word):
    """A part of a route from a source framework to a runtime."""

    SOURCE = "source"
    EXPORTER = "exporter"
    RUNTIME = "runtime"
    EXPORTER_OR_RUNTIME = "exporter or runtime"  # no evaluator of the exported model could decide


class Verdict(Word):
    """The comparison of an outcome with the expected result."""

    AGREE = "agree"
    DIFFER = "differ"


class DifferenceKind(Word):
    """What differs, if the verdict is `differ`."""

    SHAPE = "shape"
    DTYPE = "dtype"
    VALUE = "value"
    SPECIAL = "special"  # a NaN or an infinity, expected or returned
    PINNED = "pinned"  # a printed output of the case
    ACCEPTED = "accepted"  # returned instead of rejected
    REJECTED = "rejected"  # rejected instead of returned
    CONVENTION = "convention"  # an answer that the surface does not declare
    CHANGED = "changed"  # an answer that was observed in another version


class Status(Word):
    """The status of a result, worst first."""

    FAIL = "fail"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    FLAKY = "flaky"
    STALE = "stale"  # the ledger expects a difference, but the results agree
    KNOWN = "known"  # the ledger describes the difference
    UNDECLARED = "undeclared"  # an answer to a convention for which the surface declares none
    REFUSED = "refused"  # the exporter or the runtime of a route raised an exception for a valid case
    SLOW = "slow"  # it exceeded the time limit once, and agreed in a second run
    UNSUPPORTED = "unsupported"
    PASS = "pass"  # noqa: S105 - not a password


AGREEING_STATUSES = frozenset({Status.PASS, Status.SLOW})
"""Statuses of results that agree with the expected one."""
PROGRAM_ERROR_PREFIX = "error in the program: "
"""Start of the message of a result whose program is wrong. Its outcome is `crashed`, but the process did not end."""
