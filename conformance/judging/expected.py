"""Compute the expected result of a case: a result of the reference, a rejection, or one of these for each answer."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

import reference
from conformance import CatalogueError
from conformance.cases.arrays import Array, ArraySpec, array_digest
from conformance.cases.case import CALL_KEYS, DRAWN_KEY, Answers, Case, PrintedArray, Rejected
from conformance.cases.compositions import plan_steps
from conformance.cases.invalid import VIOLATIONS
from conformance.cases.invalid.disputed import DISPUTED_VIOLATIONS
from conformance.cases.invalid.parameters import violates
from conformance.cases.operators import OPERATORS
from conformance.judging.drawn import drawn_results
from reference import Exact, NoBound


@dataclass(frozen=True)
class Target:
    """One acceptable outcome: an exact result with its error bound, or a rejection (`exact` is None).

    printed: printed outputs that the result must match; violation: the reason for the rejection;
    print_mismatch: the position where a printed output contradicts the reference, so that no backend can pass;
    alternatives: other results that are also right, because the call draws random numbers.
    """

    exact: Exact | None = None
    bound: Array | None = None
    printed: tuple[PrintedArray, ...] = ()
    violation: str = ""
    print_mismatch: str = ""
    alternatives: tuple[Exact, ...] = ()


@dataclass(frozen=True)
class Expected:
    """The inputs of a case and its target; for a convention, one target for each answer.

    digest: of inputs and results; record_line: the record of the case in a results file, if it was cached.
    """

    inputs: Mapping[str, Array]
    target: Target | None
    answers: Mapping[str, Target] = field(default_factory=dict)
    # With a factory the class has no attribute `digest`, so that a lazy subclass can compute it in __getattr__.
    digest: str = field(default_factory=str)
    record_line: str = ""

    @property
    def targets(self) -> list[Target]:
        """All acceptable outcomes."""
        return [self.target] if self.target else list(self.answers.values())


def compute_expected(case: Case) -> Expected:
    """Compute the expected result with the reference. Raises CatalogueError for an inconsistent case."""
    try:
        inputs = {name: spec.make() for name, spec in case.inputs.items()}
        if isinstance(case.expect, Answers):
            target, answers = (
                None,
                {name: _answer_target(case, inputs, answer) for name, answer in case.expect.named.items()},
            )
            _check_distinct(answers)
        else:
            target, answers = _make_target(case, inputs), {}
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        message = str(error) if isinstance(error, (ValueError, TypeError)) else f"cannot be computed ({error!r})"
        raise CatalogueError(f"{case.location}: case {case.id}: {message}") from None
    results = [item.exact.value for item in ([target] if target else answers.values()) if item.exact is not None]
    results += [other.value for other in (target.alternatives if target else ())]
    return Expected(inputs, target, answers, array_digest(*inputs.values(), *results))


def _make_target(case: Case, inputs: Mapping[str, Array]) -> Target:
    if isinstance(case.expect, Rejected):
        return _rejection_target(case, inputs, case.expect.violation)
    if DRAWN_KEY in case.parameters:
        first, *others = drawn_results(case, inputs["x"])
        return replace(_target_with_bound(first), alternatives=tuple(others))
    exact = _apply_following(case, compute_reference(case.operator, inputs, case.parameters))
    target = _target_with_bound(exact, case.expect.printed if not isinstance(case.expect, Answers) else ())
    mismatches = (find_print_mismatch(one, exact.value, target.bound) for one in target.printed)
    return replace(target, print_mismatch=next(filter(None, mismatches), ""))


def _apply_following(case: Case, exact: Exact) -> Exact:
    """Return the result of the operators in `then` for the result of the operator of the case."""
    # The steps before these are the operator of the case or its composition.
    for step in plan_steps(case)[-len(case.then) :] if case.then else ():
        if not _is_unrounded(exact):
            # The error bound of the second operator does not include rounding errors of its input.
            raise ValueError(f"{step.operator} would read a rounded result; only exact results can be read by 'then'")
        exact = compute_reference(step.operator, {"x": exact.value, **step.constants}, step.parameters)
    return exact


def compute_reference(operator: str, inputs: Mapping[str, Array], parameters: Mapping[str, Any]) -> Exact:
    """Call the reference. If it returns several results, return the one named by the parameter `output`."""
    known = OPERATORS[operator]
    given = {name: value for name, value in parameters.items() if name not in {"output", *CALL_KEYS}}
    result = reference.OPERATORS[operator](**inputs, **given)
    exact: Exact = result[known.outputs.index(parameters["output"])] if isinstance(result, tuple) else result
    return exact


def _is_unrounded(exact: Exact) -> bool:
    if exact.high is None or exact.low is None:
        return True
    return bool((exact.low == 0).all() and (exact.value.astype(np.float64) == exact.high).all())


def _target_with_bound(exact: Exact, printed: tuple[PrintedArray, ...] = ()) -> Target:
    try:
        return Target(exact, exact.bound(), printed)
    except NoBound as error:
        raise ValueError(str(error)) from None


def _rejection_target(case: Case, inputs: Mapping[str, Array], violation: str) -> Target:
    _require_violation(case, violation, "expect")
    try:
        compute_reference(case.operator, inputs, case.parameters)
    except (ValueError, TypeError):
        return Target(violation=violation)
    raise ValueError(f"key 'expect.rejected': the reference accepts the case despite {violation}")


def _require_violation(case: Case, violation: str, key: str) -> None:
    # Only answers of a convention may name a disputed violation.
    known = VIOLATIONS if key == "expect" else {**VIOLATIONS, **DISPUTED_VIOLATIONS}
    if violation not in known:
        near = difflib.get_close_matches(violation, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else "see conformance/cases/invalid for the list"
        raise ValueError(f"key '{key}.rejected': unknown violation {violation!r}, {hint}")
    if not violates(known[violation], case):
        raise ValueError(f"key '{key}.rejected': the case does not have the violation {violation}")


def _answer_target(case: Case, inputs: Mapping[str, Array], answer: Mapping[str, Any] | ArraySpec | Rejected) -> Target:
    if isinstance(answer, Rejected):
        _require_violation(case, answer.violation, "answers")
        return Target(violation=answer.violation)
    if isinstance(answer, ArraySpec):
        value = answer.make()
        zeros = np.zeros(value.shape)
        # The array of an answer is the result itself: it has no terms, no magnitude and no rounding error.
        exact = Exact(value, None, None, zeros.astype(np.int64), zeros, 0.0, exact=True)
    else:
        exact = _apply_following(case, compute_reference(case.operator, inputs, {**case.parameters, **answer}))
    return _target_with_bound(exact)


def _check_distinct(answers: Mapping[str, Target]) -> None:
    seen: dict[str, str] = {}
    for name, target in answers.items():
        outcome = array_digest(target.exact.value) if target.exact is not None else "rejected"
        if outcome in seen:
            raise ValueError(f"key 'answers': {seen[outcome]} and {name} give the same result, so they are one answer")
        seen[outcome] = name


def find_print_mismatch(printed: PrintedArray, value: Array, bound: Array | None) -> str | None:
    """Return a message about the first difference between a printed output and a result, None if they match.

    A number matches if |value - printed| is at most half a unit of the last printed digit plus the error bound. A
    printed integer has no rounding. Extents of 1 are ignored, because printed outputs omit them.
    """
    shape, numbers = printed
    if numbers is None:
        return (
            None if shape == value.shape else f"the printed shape is {list(shape)}, the result has {list(value.shape)}"
        )
    if _squeeze_shape(shape) != _squeeze_shape(value.shape):
        return f"the printed output has shape {list(shape)}, the result {list(value.shape)}"
    found = wrong_printed_number(printed, value, bound)
    return f"printed {found.printed} at {found.position}, the result is {found.got!r}" if found else None


class WrongNumber(NamedTuple):
    """A printed number that differs from the result at its position."""

    printed: int | Decimal
    position: list[int]
    got: float


def wrong_printed_number(printed: PrintedArray, value: Array, bound: Array | None) -> WrongNumber | None:
    """Return the first printed number that differs from a result; None if all match or the shapes differ."""
    shape, numbers = printed
    if numbers is None or _squeeze_shape(shape) != _squeeze_shape(value.shape):
        return None
    bounds = np.zeros(value.size) if bound is None else bound.ravel()
    for position, (number, got, allowed) in enumerate(zip(numbers, value.ravel().tolist(), bounds, strict=True)):
        if not _print_matches(number, got, float(allowed)):
            return WrongNumber(number, [int(part) for part in np.unravel_index(position, value.shape)], got)
    return None


def _squeeze_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def _print_matches(printed: int | Decimal, got: float, bound: float) -> bool:
    decimal = Decimal(printed)
    if not decimal.is_finite() or got != got or abs(got) == float("inf"):  # noqa: PLR0124 - NaN
        return float(decimal) == got or (decimal.is_nan() and got != got)  # noqa: PLR0124 - NaN
    # Half a unit of the last printed digit: 5 in the next place.
    half = Decimal(0) if isinstance(printed, int) else Decimal(5).scaleb(int(decimal.as_tuple().exponent) - 1)
    return abs(Decimal(got) - decimal) <= half + Decimal(bound)
