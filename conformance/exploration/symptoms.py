"""Symptoms: how a result differs, and the oracle that shows it. Results files contain their texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.execution.task import FATAL_OUTCOMES
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from conformance.judging.verdict import ProgramOutcome
from reports.results.exploration import OracleKind
from reports.results.vocabulary import PROGRAM_ERROR_PREFIX, DifferenceKind, Outcome, Status, Word

MAX_MESSAGE_LENGTH = 80
"""Maximum number of characters of a normalised message."""


@dataclass(frozen=True)
class OracleName:
    """The name of an oracle; relation: the only metamorphic relation that is checked, "" for all of them."""

    kind: OracleKind
    relation: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.kind, self.relation)))


WRONG_OUTPUTS = frozenset({DifferenceKind.VALUE, DifferenceKind.SPECIAL, DifferenceKind.SHAPE})
"""Kinds of differences that one wrong computation shows, depending on the case."""
REFERENCE = OracleName(OracleKind.REFERENCE)
OTHER_SURFACES = OracleName(OracleKind.SURFACES)


@dataclass(frozen=True)
class Symptom:
    """How a result differs; equal for candidates that may have the same cause. `str` gives the text in results files.

    failure: kind of the difference, crash or hang, or flaky; None for a violated relation.
    detail: normalised message of a rejected call or a crash; None for other failures.
    oracle: the oracle that shows the symptom. A crash of the candidate itself always has the reference as its oracle,
    because every oracle runs the candidate. A crash in another call of a relation has the relation.
    """

    failure: Word | None
    detail: str | None = None
    oracle: OracleName = REFERENCE

    def __str__(self) -> str:
        words = [*filter(None, (str(self.oracle), self.failure))]
        return ": ".join(words if self.detail is None else [*words, self.detail])

    @property
    def is_fatal(self) -> bool:
        """Whether it is a crash or a hang, after which the framework must be started again."""
        return self.failure in FATAL_OUTCOMES

    def may_cause(self, other: Symptom) -> bool:
        """Whether the cause of this symptom may be that of another one.

        A wrong computation shows as other numbers, as NaN or as another shape. If the reference shows it, relations may
        be violated too. Messages of rejected calls, crashes and hangs have causes of their own.
        """
        if self == other:
            return True
        covers = self.oracle in {REFERENCE, other.oracle}
        return covers and self._is_wrong_output and other._is_wrong_output

    @property
    def _is_wrong_output(self) -> bool:
        return self.failure is None or self.failure in WRONG_OUTPUTS

    @property
    def description(self) -> str:
        """The symptom as a clause of a sentence."""
        relation, text = self.oracle.relation, self._failure_text
        if self.oracle.kind is OracleKind.RELATION:
            if text:
                return f"in another call of the metamorphic relation {relation} {text}"
            return f"the metamorphic relation {relation} is violated"
        return f"the surfaces of the backend disagree ({text})" if self.oracle == OTHER_SURFACES else text

    def description_with(self, message: str) -> str:
        """The description with the message of one result instead of the normalised one, which omits names."""
        first = message.removesuffix(f"; {SAME_IN_NEW_PROCESS}").strip().partition("\n")[0][:MAX_MESSAGE_LENGTH]
        return replace(self, detail=first).description if self.detail is not None and first else self.description

    @property
    def _failure_text(self) -> str:
        if self.failure is None:
            return ""
        if self.failure == Outcome.CRASHED and self.detail and self.detail.startswith(PROGRAM_ERROR_PREFIX):
            return f"the program of the adapter is wrong ({self.detail.removeprefix(PROGRAM_ERROR_PREFIX)})"
        text = (DISAGREEMENT_TEXTS if self.oracle == OTHER_SURFACES else FAILURE_TEXTS).get(self.failure)
        return text.format(self.detail) if text else str(self)


FAILURE_TEXTS: Mapping[str, str] = {
    DifferenceKind.VALUE: "numbers are wrong by more than rounding allows",
    DifferenceKind.SPECIAL: "NaN or infinity appears instead of a number, or a number instead of NaN or infinity",
    DifferenceKind.SHAPE: "the output has a wrong shape",
    DifferenceKind.DTYPE: "the output has a wrong dtype",
    DifferenceKind.REJECTED: "the call is rejected ({})",
    Outcome.CRASHED: "the process crashes ({})",
    Outcome.TIMED_OUT: "the call exceeds the time limit",
    Status.FLAKY: "the outcome differs between runs",
}
DISAGREEMENT_TEXTS: Mapping[str, str] = {
    DifferenceKind.VALUE: "numbers differ by more than rounding allows",
    DifferenceKind.SHAPE: "outputs differ in shape",
    DifferenceKind.DTYPE: "outputs differ in dtype",
}


def fatal_symptom(outcome: ProgramOutcome) -> Symptom | None:
    """Return the symptom of a crash or a hang; None for other outcomes."""
    if outcome.kind != Outcome.CRASHED:
        return Symptom(outcome.kind) if outcome.kind in FATAL_OUTCOMES else None
    # The symptom is the same whether or not the program was run twice.
    return Symptom(outcome.kind, normalise_message(outcome.message.removesuffix(f"; {SAME_IN_NEW_PROCESS}")))


def normalise_message(message: str) -> str:
    """Return the first line of a message without numbers, quoted names and brackets: equal for the same cause."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    words = re.sub(
        r"\x1b\[[0-9;]*m|['\"][^'\"]*['\"]|\{\{[^}]*\}\}|\[[^\]]*\]|\([^)]*\)|0x[0-9a-f]+|-?\d[\d.e+]*", "#", first
    )
    return re.sub(r"[#\s]*#[#\s]*", " # ", words).strip()[:MAX_MESSAGE_LENGTH]
