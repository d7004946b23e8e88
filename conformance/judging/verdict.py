"""The verdict on an outcome: agree or differ, the kind of difference, and its size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from conformance.adapters.api import Declaration
from conformance.cases.arrays import FLOATING_DTYPES, Array, array_digest, dtype_name
from conformance.judging.expected import Expected, Target, find_print_mismatch
from reference import Exact
from reports.results.vocabulary import DifferenceKind, Outcome, Verdict

OTHER_ANSWER = "other"
"""Observed answer of a surface whose outcome matches no named answer."""
JUDGED_OUTCOMES = frozenset({Outcome.RETURNED, Outcome.REJECTED})
"""Kinds of outcome that are compared with the expected result."""


@dataclass(frozen=True)
class ProgramOutcome:
    """The outcome of a program on a backend.

    arrays: the returned arrays; message: the exception, the signal, the limit or the reason; flakiness: a description
    of the different outcomes if the case was run several times and they varied; slowness: a description of the runs if
    one of them exceeded the time limit and the others did not vary; changed_state: floating-point state of the process
    that the program has changed, for example "flush-to-zero".
    alone: whether no other program has run in the process before. after_others: a description of the outcome in a
    process of other programs, if it was another one. process: the id of the supervisor of the worker, 0 if none.
    evaluated: whether another implementation than the runtime of a route runs the exported model with a right result.
    """

    kind: Outcome
    arrays: tuple[Array, ...] = ()
    message: str = ""
    seconds: float = 0.0
    flakiness: str = ""
    slowness: str = ""
    changed_state: tuple[str, ...] = ()
    alone: bool = False
    after_others: str = ""
    process: int = field(default=0, compare=False)
    evaluated: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class WorstElement:
    """The element with the largest error relative to its bound."""

    index: tuple[int, ...]
    expected: Any
    got: Any
    absolute: float
    ulp: float


@dataclass(frozen=True)
class OutcomeVerdict:
    """The verdict `agree` or `differ` (None for an outcome without a verdict), the kind of difference, and its size.

    budget_used: largest error / bound; infinite for an error where the bound is 0.
    """

    verdict: Verdict | None
    kind: DifferenceKind | None = None
    budget_used: float | None = None
    worst: WorstElement | None = None
    message: str = ""


def _difference(
    kind: DifferenceKind, budget_used: float | None = None, worst: WorstElement | None = None, message: str = ""
) -> OutcomeVerdict:
    return OutcomeVerdict(Verdict.DIFFER, kind, budget_used, worst, message)


def judge_outcome(outcome: ProgramOutcome, target: Target) -> OutcomeVerdict:
    """Compare an outcome with its target."""
    if outcome.kind not in JUDGED_OUTCOMES:
        return OutcomeVerdict(None)
    if target.exact is None:
        if outcome.kind == Outcome.REJECTED:
            return OutcomeVerdict(Verdict.AGREE)
        return _difference(DifferenceKind.ACCEPTED, message=f"accepted in spite of {target.violation}")
    if outcome.kind == Outcome.REJECTED:
        return _difference(DifferenceKind.REJECTED)
    if len(outcome.arrays) != 1:
        return _difference(
            DifferenceKind.SHAPE,
            message=outcome.message or f"returned {len(outcome.arrays)} arrays, not one",
        )
    return _compare_alternatives(outcome.arrays[0], target.exact, target)


def _compare_alternatives(got: Array, exact: Exact, target: Target) -> OutcomeVerdict:
    """Compare a result with the alternative that has the most elements in common with it."""
    first = _compare_arrays(got, exact, target)
    # All alternatives have the same shape.
    if first.verdict == Verdict.AGREE or first.kind == DifferenceKind.SHAPE or not target.alternatives:
        return first
    nearest = max((exact, *target.alternatives), key=lambda one: int((one.value == got).sum()))
    verdict = _compare_arrays(got, nearest, target)
    if verdict.verdict == Verdict.AGREE:
        return verdict
    count = len(target.alternatives) + 1
    return replace(verdict, message="; ".join(filter(None, [f"none of {count} possible results", verdict.message])))


def _answer_within_bound(outcome: ProgramOutcome, expected: Expected) -> str | None:
    """Return the name of the nearest answer whose target the outcome meets, OTHER_ANSWER without a single nearest one.

    Answers that differ only in the signs of zeros are equally near, so an outcome with other signs matches none.
    """
    if outcome.kind not in JUDGED_OUTCOMES:
        return None
    verdicts = {name: judge_outcome(outcome, target) for name, target in expected.answers.items()}
    distances = {name: one.budget_used or 0.0 for name, one in verdicts.items() if one.verdict == Verdict.AGREE}
    nearest = [name for name, distance in distances.items() if distance == min(distances.values())]
    return nearest[0] if len(nearest) == 1 else OTHER_ANSWER


def _compare_arrays(got: Array, exact: Exact, target: Target) -> OutcomeVerdict:
    value = exact.value
    if got.shape != value.shape:
        return _difference(DifferenceKind.SHAPE, message=f"returned shape {list(got.shape)}, not {list(value.shape)}")
    dtype = f"returned dtype {got.dtype.name}, not {value.dtype.name}" if got.dtype != value.dtype else ""
    with np.errstate(all="ignore"):  # a number out of range of the dtype overflows, and is compared after that
        got = got.astype(value.dtype)
    used = _budget_used(got, exact, target.bound)
    largest = float(used.max(initial=0.0))
    if largest > 1:
        worst = _worst_element(got, exact, used)
        special = not (np.isfinite(float(worst.expected)) and np.isfinite(float(worst.got)))
        return _difference(DifferenceKind.SPECIAL if special else DifferenceKind.VALUE, largest, worst, dtype)
    if dtype:
        return _difference(DifferenceKind.DTYPE, largest, message=f"{dtype}; rounded to it the values agree")
    # Otherwise a backend could pass whose result is between the result of the reference and the printed one.
    if target.print_mismatch:
        return _difference(
            DifferenceKind.PINNED,
            largest,
            message=f"the reference differs from it too: {target.print_mismatch}",
        )
    for printed in target.printed:
        mismatch = find_print_mismatch(printed, got, target.bound)
        if mismatch:
            return _difference(DifferenceKind.PINNED, largest, message=mismatch)
    return OutcomeVerdict(Verdict.AGREE, budget_used=largest)


def _budget_used(got: Array, exact: Exact, bound: Array | None) -> Array:
    """Return error / bound of every element: 0 where there is no error, infinite for an error where the bound is 0."""
    if exact.exact and dtype_name(got.dtype) not in FLOATING_DTYPES:
        return np.where(got == exact.value, 0.0, np.inf)
    error = exact.distance(got)
    limit = np.zeros(error.shape) if bound is None else bound
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(error == 0, 0.0, error / limit)


def _worst_element(got: Array, exact: Exact, used: Array) -> WorstElement:
    index = np.unravel_index(int(np.argmax(used)), used.shape)
    position = tuple(int(part) for part in index)
    # Users compare with the result rounded to the dtype. The error relative to the bound is that of the exact result.
    expected, value = exact.value[index], got[index]
    if dtype_name(expected.dtype) not in FLOATING_DTYPES:
        absolute = float(abs(int(value) - int(expected)))
        return WorstElement(position, expected.item(), value.item(), absolute, absolute)
    with np.errstate(all="ignore"):
        absolute = abs(float(value) - float(expected))
        ulp = absolute / float(np.spacing(np.abs(expected)))
        return WorstElement(position, expected.item(), value.item(), absolute, ulp)


def answer_name(outcome: ProgramOutcome, expected: Expected) -> str | None:
    """Return the name of the answer that an outcome gives for a convention, OTHER_ANSWER if it matches none.

    A bitwise equal answer takes precedence, because two answers can be within each other's bounds: zeros of different
    signs, or a subnormal number and the zero to which it is flushed.
    """
    if outcome.kind == Outcome.RETURNED and len(outcome.arrays) == 1:
        got = array_digest(outcome.arrays[0])
        for name, target in expected.answers.items():
            if target.exact is not None and array_digest(target.exact.value) == got:
                return name
    return _answer_within_bound(outcome, expected)


def judge_declaration(
    observed: str, declaration: Declaration | None, conflicting: tuple[str, str] | None
) -> OutcomeVerdict:
    """Compare an observed answer with the declaration of the surface.

    A difference is of kind `changed` if the declaration was observed in a version, the new answer is a named one, and
    there is no conflicting answer. Other differences are of kind `convention`. There is no verdict if the surface
    declares nothing, and gives one named answer.

    conflicting: another answer that the surface gave for the same convention in this run, with its case.
    """
    if declaration is not None and observed == declaration.answer:
        return OutcomeVerdict(Verdict.AGREE)
    if declaration is None and conflicting is None and observed != OTHER_ANSWER:
        return OutcomeVerdict(None, message=f"answered {observed!r}; {declaration_text(None)}")
    message, kind = f"answered {observed!r}, but {declaration_text(declaration)}", DifferenceKind.CONVENTION
    if conflicting is not None:
        message += f"; the surface contradicts itself: it answered {conflicting[0]!r} in {conflicting[1]}"
    elif declaration is not None and declaration.observed and observed != OTHER_ANSWER:
        kind = DifferenceKind.CHANGED
    return _difference(kind, message=message)


def declaration_text(declaration: Declaration | None) -> str:
    """Return a clause about the declaration of a surface, for messages about a different answer."""
    if declaration is None:
        return "the surface declares no answer"
    if declaration.observed:
        return f"it answered {declaration.answer!r} in version {declaration.observed}"
    return f"the surface declares {declaration.answer!r}"


class ObservedAnswers:
    """The answers of surfaces for conventions in one run, to detect surfaces that contradict themselves."""

    def __init__(self) -> None:
        self._first_answers: dict[tuple[str, str], dict[str, str]] = {}

    def conflicting_answer(
        self, surface: str, convention: str, case: str, answer: str | None, *, record: bool = True
    ) -> tuple[str, str] | None:
        """Record the answer for a convention; return a different answer of the same surface, with its case."""
        if answer is None:
            return None
        known = self._first_answers.setdefault((surface, convention), {})
        if record:
            known.setdefault(answer, case)
        return next(((name, first) for name, first in known.items() if name != answer), None)
