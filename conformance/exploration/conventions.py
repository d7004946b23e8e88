"""Rules for checking candidates that observe a convention.

A convention is a point on which documents differ. The reference implements one of its named answers, and computes
others with other parameters. A candidate that observes a convention is checked on a surface only if the surface
declares such an answer and runs the case as one native call. It is compared with that answer (`expected_on`). A surface
that declares an answer which the reference cannot compute follows a convention and has no bug, a surface without a
declaration has not been tested, and code that an adapter writes around a call says nothing about the framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from conformance import CatalogueError
from conformance.adapters.api import Declaration, Program, Surface, Unsupported
from conformance.cases.arrays import array_digest
from conformance.cases.case import Answers, Case, Rejected
from conformance.catalogue import loading
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import CONVENTION_DOMAINS, conventions_of
from conformance.judging.expected import Expected, Target, compute_expected, compute_reference
from reports.results.vocabulary import How

NON_SPATIAL_AXES = 2
"""Number of axes that are not spatial: batch and channels."""


CONVENTION = "the result depends on {}, on which documents differ"
"""Begin of the reasons why a candidate is not checked; `{}` is the id of a convention."""
CHECKED_REJECTIONS = frozenset({"PadsBeyondTheExtent"})
"""Violations of conventions for which a surface that declares a rejection must reject every call."""


def make_checkable_task(run: Run, candidate: Candidate, surface: Surface) -> Task:
    """Return the task of a candidate on a surface. Requires started workers.

    It has no program if the surface may follow an answer to a convention that the reference cannot compute.
    """
    task = run.make_task(candidate.case, surface)
    # Some answers are declared for processors with certain instructions only.
    on_processor = surface.for_processor(run.pool.environment["cpu"])
    unsupported = unsupported_by_oracle(
        candidate, on_processor, task.program, lambda case: bool(run.judge.ledger_entry(replace(task, case=case)))
    )
    return replace(task, program=unsupported) if unsupported else task


def unsupported_by_oracle(
    candidate: Candidate, surface: Surface, program: Program | Unsupported, known: Callable[[Case], bool]
) -> Unsupported | None:
    """Return the reason why the reference cannot check a candidate on a surface; None if it can.

    surface: with the declarations for the processor of the worker. program: runs the candidate.
    known: whether the ledger has an entry for a catalogue case on the surface.
    """
    observed = conventions_of(candidate)
    if observed and isinstance(program, Program) and program.how != How.NATIVE:
        return Unsupported(
            f"{CONVENTION.format(observed[0])}; it is checked for single calls, and this program has several"
        )
    for convention_id in observed:
        declared = surface.declarations.get(convention_id)
        if declared is None:
            return Unsupported(f"{CONVENTION.format(convention_id)}; the answer of {surface.name} is not known")
        is_own = declared.answer == reference_answer(convention_id)
        if declared.depends_on or not (is_own or _reading(convention_id, declared.answer) is not None):
            return Unsupported(f"{CONVENTION.format(convention_id)}; {surface.name} answers {declared.summary}")
        if any(map(known, _cases_of_convention(convention_id, candidate.rank))):
            # The declaration is for all ranks together; the ledger records that this rank deviates from it.
            where = f"{candidate.rank} spatial axes"
            return Unsupported(f"{CONVENTION.format(convention_id)}; {surface.name} has another answer for {where}")
    expect = candidate.case.expect
    return _unsupported_rejection(candidate.operator, surface, expect, known) if isinstance(expect, Rejected) else None


def is_checkable_violation(operator: str, violation: str) -> bool:
    """Whether the catalogue requires that an operator rejects a violation, or has a convention about it."""
    return bool(_cases_with_violation(operator, violation) or _conventions_about(operator, violation))


def _unsupported_rejection(
    operator: str, surface: Surface, expect: Rejected, known: Callable[[Case], bool]
) -> Unsupported | None:
    """Return the reason why a surface need not reject a violation; None if it must."""
    cases, conventions = (
        _cases_with_violation(operator, expect.violation),
        _conventions_about(operator, expect.violation),
    )
    if not cases and not conventions:
        return Unsupported(f"no case of the catalogue requires that {operator} rejects {expect.violation}")
    for case, answer in {} if cases else conventions.items():
        declared = surface.declarations.get(case.id)
        if declared is None or declared.depends_on or declared.answer != answer:
            return Unsupported(f"the surface does not declare for {case.id} that it rejects the call")
    if any(map(known, (*cases, *conventions))):
        return Unsupported(f"the ledger lists a call with the violation {expect.violation} that the surface accepts")
    return None


def expected_on(candidate: Candidate, surface: Surface, expected: Expected) -> Expected:
    """Return the expected result on a surface: that of the reference under the answers that the surface declares.

    expected: the result of the reference under its own answers.
    """
    readings = [
        _reading(convention_id, declared.answer)
        for convention_id in conventions_of(candidate)
        if (declared := surface.declarations.get(convention_id)) and declared.answer is not None
    ]
    for reading in readings:
        if isinstance(reading, Rejected):
            return Expected(expected.inputs, Target(violation=reading.violation))
    changed = {name: value for reading in readings if isinstance(reading, Mapping) for name, value in reading.items()}
    if not changed or expected.target is None:
        return expected
    return compute_expected(replace(candidate.case, parameters={**candidate.case.parameters, **changed}))


@cache
def _reading(convention_id: str, answer: str) -> Mapping[str, Any] | Rejected | None:
    """Return the parameters with which the reference computes an answer, or the rejection; None for other answers.

    A rejection is checked if only one thing can cause it, which no other limit of a surface explains.
    """
    case = convention_case(convention_id)
    assert isinstance(case.expect, Answers)  # noqa: S101 - the case of a convention
    named = case.expect.named.get(answer)
    if isinstance(named, Rejected):
        return named if named.violation in CHECKED_REJECTIONS else None
    return named if isinstance(named, Mapping) else None


@cache
def _cases_of_convention(convention_id: str, rank: int) -> tuple[Case, ...]:
    """Return the cases that observe a convention in a rank; the case of the convention itself if no other does."""
    cases = [case for case in _convention_cases(_operator_of(convention_id)) if case.convention_id == convention_id]
    of_rank = tuple(case for case in cases if len(case.shape) - NON_SPATIAL_AXES == rank)
    return of_rank or tuple(case for case in cases if case.id == convention_id)


def declaration_for(declaration: Declaration, convention_id: str, candidate: Candidate) -> Declaration:
    """Return the declaration of a surface for a candidate.

    An answer that depends on a condition becomes one answer if all cases of the convention that have the rank and the
    dtype of the candidate have it. Without such cases the condition remains.
    """
    cases = [case for case in _convention_cases(_operator_of(convention_id)) if case.convention_id == convention_id]
    rank, dtype = len(candidate.case.shape), candidate.case.dtype
    like = [case for case in cases if len(case.shape) == rank and case.dtype == dtype]
    answers = {answer for case in like for answer in declaration.answers_in(case.id)}
    if not declaration.depends_on or len(answers) != 1:
        return declaration
    return replace(declaration, answer=answers.pop(), depends_on="", by_case={}, by_case_and_cpu={})


MAX_DRAWN_WINDOW = 1_000_000
"""Maximum extent of a window in drawn cases."""


@cache
def _cases_by_violation() -> Mapping[tuple[str, str], tuple[Case, ...]]:
    """Return the cases of the catalogue that must be rejected, by operator and violation. Reading it takes seconds."""
    found: dict[tuple[str, str], tuple[Case, ...]] = {}
    for case in loading.load_catalogue().cases:
        if isinstance(case.expect, Rejected):
            key = case.operator, case.expect.violation
            found[key] = (*found.get(key, ()), case)
    return found


def _cases_with_violation(operator: str, violation: str) -> tuple[Case, ...]:
    """Return the cases of the catalogue in which an operator must reject a violation."""
    return _cases_by_violation().get((operator, violation), ())


@cache
def _conventions_about(operator: str, violation: str) -> Mapping[Case, str]:
    """Return the cases of the conventions of an operator with the answer that rejects a violation, and this answer.

    Conventions about sizes that no draw has are not included.
    """
    return {
        case: name
        for case in _convention_cases(operator)
        if case.id == case.convention_id and isinstance(case.expect, Answers)
        if max(map(abs, case.parameters.get("window", ())), default=0) <= MAX_DRAWN_WINDOW
        for name, answer in case.expect.named.items()
        if answer == Rejected(violation)
    }


@cache
def _convention_cases(operator: str) -> tuple[Case, ...]:
    """Return the cases of the catalogue that observe a convention of an operator."""
    return loading.load_convention_cases(operator)


def _operator_of(convention_id: str) -> str:
    return convention_id.partition("/")[0]


def convention_case(convention_id: str) -> Case:
    """Return the case of a convention."""
    (case,) = [one for one in _convention_cases(_operator_of(convention_id)) if one.id == convention_id]
    return case


@cache
def reference_answers() -> Mapping[str, str]:
    """Return the answer of the reference for each convention that has a domain, by id of the convention."""
    ids = {convention_id for domain in CONVENTION_DOMAINS for convention_id in domain.conventions.values()}
    return {convention_id: reference_answer(convention_id) for convention_id in ids}


@cache
def reference_answer(convention_id: str) -> str:
    """Return the named answer that equals the result of the reference. Raises CatalogueError if no answer does."""
    case = convention_case(convention_id)
    assert isinstance(case.expect, Answers)  # noqa: S101 - the case of a convention
    expected = compute_expected(case)
    own = array_digest(compute_reference(case.operator, expected.inputs, case.parameters).value)
    for name, target in expected.answers.items():
        if target.exact is not None and array_digest(target.exact.value) == own:
            return name
    raise CatalogueError(f"{case.location}: case {case.id}: the result of the reference is not one of the answers")
