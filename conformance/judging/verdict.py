"""The judgement of an outcome: agree or differ, in which way, by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.adapters.api.surface import Declaration
from conformance.cases.arrays import Array, array_digest
from conformance.judging.expected import Expected, Target, find_print_mismatch
from reference import Exact

JUDGED_OUTCOMES = frozenset({"returned", "rejected"})
"""Outcomes that are held against what must happen."""


@dataclass(frozen=True)
class ProgramOutcome:
    """What a backend did with a program.

    kind: `returned`, `rejected` (it raised), `unsupported`, `crashed` or `timed_out`;
    arrays: what it returned; message: the exception, the signal, the limit or the reason; flickers: what was seen
    instead of one outcome, where the case was run several times and they were not the same.
    """

    kind: str
    arrays: tuple[Array, ...] = ()
    message: str = ""
    seconds: float = 0.0
    flakiness: str = ""


@dataclass(frozen=True)
class WorstElement:
    """The element that is furthest off, in units of its bound."""

    index: tuple[int, ...]
    expected: Any
    got: Any
    absolute: float
    ulp: float


@dataclass(frozen=True)
class OutcomeVerdict:
    """`agree` or `differ` (None where there was nothing to judge), the kind of a difference, and its size.

    budget_used: largest error / bound; infinite for an error where the bound is 0.
    """

    verdict: str | None
    kind: str | None = None
    budget_used: float | None = None
    worst: WorstElement | None = None
    message: str = ""


def judge_outcome(outcome: ProgramOutcome, target: Target) -> OutcomeVerdict:
    """Hold an outcome against what must happen."""
    if outcome.kind not in JUDGED_OUTCOMES:
        return OutcomeVerdict(None)
    if target.exact is None:
        agrees = outcome.kind == "rejected"
        return (
            OutcomeVerdict("agree")
            if agrees
            else OutcomeVerdict("differ", "accepted", message=f"accepted in spite of {target.violation}")
        )
    if outcome.kind == "rejected":
        return OutcomeVerdict("differ", "rejected")
    if len(outcome.arrays) != 1:
        return OutcomeVerdict(
            "differ", "shape", message=outcome.message or f"returned {len(outcome.arrays)} arrays, not one"
        )
    return _compare_arrays(outcome.arrays[0], target.exact, target)


def _first_agreeing(outcome: ProgramOutcome, expected: Expected) -> str | None:
    """Return the name of the answer that an outcome gives to a question, "other" for none of them."""
    if outcome.kind not in JUDGED_OUTCOMES:
        return None
    agreeing = (name for name, target in expected.answers.items() if judge_outcome(outcome, target).verdict == "agree")
    return next(agreeing, "other")


def _compare_arrays(got: Array, exact: Exact, target: Target) -> OutcomeVerdict:
    wanted = exact.value
    if got.shape != wanted.shape:
        return OutcomeVerdict("differ", "shape", message=f"returned shape {list(got.shape)}, not {list(wanted.shape)}")
    dtype = f"returned dtype {got.dtype.name}, not {wanted.dtype.name}" if got.dtype != wanted.dtype else ""
    with np.errstate(all="ignore"):  # a number that the dtype cannot hold becomes another one, and is judged as such
        got = got.astype(wanted.dtype)
    used = _budget_used(got, exact, target.bound)
    largest = float(used.max(initial=0.0))
    if largest > 1:
        worst = _worst_element(got, exact, used)
        special = not (np.isfinite(float(worst.expected)) and np.isfinite(float(worst.got)))
        return OutcomeVerdict("differ", "special" if special else "value", largest, worst, dtype)
    if dtype:
        return OutcomeVerdict("differ", "dtype", largest, message=f"{dtype}; rounded to it the values agree")
    if target.print_mismatch:
        return OutcomeVerdict(
            "differ", "pinned", largest, message=f"the reference says otherwise too: {target.print_mismatch}"
        )
    for reading in target.printed:
        fault = find_print_mismatch(reading, got, target.bound)
        if fault:
            return OutcomeVerdict("differ", "pinned", largest, message=fault)
    return OutcomeVerdict("agree", budget_used=largest)


def _budget_used(got: Array, exact: Exact, bound: Array | None) -> Array:
    """Return error / bound of every element: 0 where there is no error, infinite where none is allowed."""
    if exact.exact and got.dtype.kind in "iub":
        return np.where(got == exact.value, 0.0, np.inf)
    error = exact.distance(got)
    limit = np.zeros(error.shape) if bound is None else bound
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(error == 0, 0.0, error / limit)


def _worst_element(got: Array, exact: Exact, used: Array) -> WorstElement:
    index = np.unravel_index(int(np.argmax(used)), used.shape)
    position = tuple(int(part) for part in index)
    wanted, value = exact.value[index], got[index]
    if wanted.dtype.kind in "iub":
        absolute = float(abs(int(value) - int(wanted)))
        return WorstElement(position, wanted.item(), value.item(), absolute, absolute)
    with np.errstate(all="ignore"):
        absolute = abs(float(value) - float(wanted))
        return WorstElement(
            position, wanted.item(), value.item(), absolute, absolute / float(np.spacing(np.abs(wanted)))
        )


OTHER_ANSWER = "other"
"""What a surface answers that gives none of the named answers."""


def answer_name(outcome: ProgramOutcome, expected: Expected) -> str | None:
    """Return the name of the answer that an outcome gives to a question, "other" for none of them.

    One that is equal bit for bit comes first: two zeros of different signs, or a subnormal and what is left of it where
    it is flushed, lie within the bounds of each other.
    """
    if outcome.kind == "returned" and len(outcome.arrays) == 1:
        got = array_digest(outcome.arrays[0])
        for name, target in expected.answers.items():
            if target.exact is not None and array_digest(target.exact.value) == got:
                return name
    return _first_agreeing(outcome, expected)


def judge_declaration(
    observed: str, declaration: Declaration | None, elsewhere: tuple[str, str] | None
) -> OutcomeVerdict:
    """Hold an answer against the declaration.

    Against a document, or not among the named answers: `convention`. Against what was observed in a version before:
    `changed`. elsewhere: another answer that the surface gave to the same question, with its case; a surface that
    contradicts itself has not changed.
    """
    if declaration is not None and observed == declaration.answer:
        return OutcomeVerdict("agree")
    message, kind = f"answered {observed!r}, but {declaration_text(declaration)}", "convention"
    if elsewhere is not None:
        message += f"; the surface contradicts itself: it answered {elsewhere[0]!r} to {elsewhere[1]}"
    elif declaration is not None and declaration.observed and observed != OTHER_ANSWER:
        kind = "changed"
    return OutcomeVerdict("differ", kind, message=message)


def declaration_text(declaration: Declaration | None) -> str:
    """Return what a surface declares as part of a sentence, which stands in the message of a contrary answer."""
    if declaration is None:
        return "the surface declares no answer"
    if declaration.observed:
        return f"it was seen to answer {declaration.answer!r} in version {declaration.observed}"
    return f"the surface declares {declaration.answer!r}"


class ObservedAnswers:
    """What surfaces have answered to questions in one run, so that one that contradicts itself is found out."""

    def __init__(self) -> None:
        self._first_answers: dict[tuple[str, str], dict[str, str]] = {}

    def conflicting_answer(self, surface: str, question: str, case: str, answer: str | None) -> tuple[str, str] | None:
        """Note an answer; return another one that the surface gave to the same question, with its case."""
        if answer is None:
            return None
        known = self._first_answers.setdefault((surface, question), {})
        known.setdefault(answer, case)
        return next(((name, first) for name, first in known.items() if name != answer), None)
