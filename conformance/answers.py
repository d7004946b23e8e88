"""Answers to questions: which one an outcome gives, and whether it is the one that the surface declares."""

from __future__ import annotations

from conformance import judge
from conformance.adapter import Declaration
from conformance.expected import Expected
from conformance.judge import Outcome, Verdict
from conformance.values import array_digest

OTHER = "other"
"""What a surface answers that gives none of the named answers."""


def answered(outcome: Outcome, expected: Expected) -> str | None:
    """Return the name of the answer that an outcome gives to a question, "other" for none of them.

    One that is equal bit for bit comes first: two zeros of different signs, or a subnormal and what is left of it where
    it is flushed, lie within the bounds of each other.
    """
    if outcome.kind == "returned" and len(outcome.arrays) == 1:
        got = array_digest(outcome.arrays[0])
        for name, target in expected.answers.items():
            if target.exact is not None and array_digest(target.exact.value) == got:
                return name
    return judge.answered(outcome, expected)


def declared_verdict(observed: str, declaration: Declaration | None, elsewhere: tuple[str, str] | None) -> Verdict:
    """Hold an answer against the declaration.

    Against a document, or not among the named answers: `convention`. Against what was observed in a version before:
    `changed`. elsewhere: another answer that the surface gave to the same question, with its case; a surface that
    contradicts itself has not changed.
    """
    if declaration is not None and observed == declaration.answer:
        return Verdict("agree")
    message, kind = f"answered {observed!r}, but {declares(declaration)}", "convention"
    if elsewhere is not None:
        message += f"; the surface contradicts itself: it answered {elsewhere[0]!r} to {elsewhere[1]}"
    elif declaration is not None and declaration.observed and observed != OTHER:
        kind = "changed"
    return Verdict("differ", kind, message=message)


def declares(declaration: Declaration | None) -> str:
    """Return what a surface declares as part of a sentence, which stands in the message of a contrary answer."""
    if declaration is None:
        return "the surface declares no answer"
    if declaration.observed:
        return f"it was seen to answer {declaration.answer!r} in version {declaration.observed}"
    return f"the surface declares {declaration.answer!r}"


class Answered:
    """What surfaces have answered to questions in one run, so that one that contradicts itself is found out."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], dict[str, str]] = {}

    def other(self, surface: str, question: str, case: str, answer: str | None) -> tuple[str, str] | None:
        """Note an answer; return another one that the surface gave to the same question, with its case."""
        if answer is None:
            return None
        known = self._first.setdefault((surface, question), {})
        known.setdefault(answer, case)
        return next(((name, first) for name, first in known.items() if name != answer), None)
