"""Records of results files: results, conventions, cases and the environment."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from conformance import __version__
from conformance.adapters.api import Backend, Program, Surface, Unsupported
from conformance.cases.arrays import Array, array_digest, json_value
from conformance.cases.case import Case
from conformance.cases.cost import operator_cost
from conformance.cases.features.case_features import case_features
from conformance.judging.expected import Expected, Target
from conformance.judging.ledger import LedgerEntry
from conformance.judging.verdict import JUDGED_OUTCOMES, OutcomeVerdict, ProgramOutcome
from reports.results import (
    CaseRecord,
    ConventionRecord,
    DifferenceKind,
    Environment,
    ExpectedRecord,
    How,
    Level,
    Outcome,
    Part,
    ProgramRecord,
    RecordedAnswers,
    RecordedArray,
    RecordedRejection,
    ResultRecord,
    Status,
    Verdict,
    WorstElementRecord,
    encode_line,
)

MAX_RECORDED_ELEMENTS = 4096
"""Maximum number of elements of an array that are written; a larger array has only dtype and shape."""
NO_BOUND_REASON = "no bound: so many roundings to 16 bits may leave anything"


def result_status(
    outcome: Outcome,
    verdict: OutcomeVerdict,
    entry: LedgerEntry | None,
    *,
    flaky: bool = False,
    slow: bool = False,
    part: Part | None = None,
) -> Status:
    """Return the status of a result.

    outcome: kind of the outcome; entry: matching entry of the ledger; part: the part of a route that changes it.
    """
    if flaky:
        return Status.KNOWN if entry and Status.FLAKY in entry.kinds else Status.FLAKY
    if outcome == Outcome.UNSUPPORTED or verdict.message == NO_BOUND_REASON:
        return Status.UNSUPPORTED
    if verdict.verdict is None and outcome in JUDGED_OUTCOMES:
        # The answer to a convention for which the surface declares none.
        return Status.KNOWN if entry and DifferenceKind.CONVENTION in entry.kinds else Status.UNDECLARED
    if verdict.verdict == Verdict.AGREE:
        is_stale = entry is not None and not entry.is_flaky
        return Status.STALE if is_stale else Status.SLOW if slow else Status.PASS
    shown = verdict.kind if verdict.verdict == Verdict.DIFFER else outcome
    if entry and shown in entry.kinds:
        return Status.KNOWN
    is_refused = outcome == Outcome.REJECTED and part not in {None, Part.SOURCE}
    differing = Status.REFUSED if is_refused else Status.FAIL
    return differing if verdict.verdict == Verdict.DIFFER else Status(outcome)


def result_record(
    case: Case,
    surface: Surface,
    program: Program | Unsupported,
    outcome: ProgramOutcome,
    *,
    verdict: OutcomeVerdict,
    expected: Expected | None,
    entry: LedgerEntry | None,
    part: Part | None = None,
) -> ResultRecord:
    """Return the record of the result of a case on a surface.

    program: the program, or the reason why there is no program; expected: the expected result, None if the outcome
    was not judged; entry: the matching entry of the ledger; part: the part of a route that changes the result.
    """
    written = program if isinstance(program, Program) else None
    flaky, slow = bool(outcome.flakiness), bool(outcome.slowness)
    status = result_status(outcome.kind, verdict, entry, flaky=flaky, slow=slow, part=part)
    digest = array_digest(*outcome.arrays) if outcome.arrays else None
    is_recorded = len(outcome.arrays) == 1 and not _is_expected_array(outcome.arrays[0], digest, expected)
    # The message of an unsupported outcome is the reason, which has its own key.
    described = [outcome.flakiness or outcome.message, outcome.slowness] if written else []
    message = "; ".join(filter(None, [verdict.message, *described]))
    reason, issue = _reason_and_issue(program, status, entry)
    if status == Status.REFUSED:
        reason = refusal_reason(part, outcome.message)
    return ResultRecord(
        case=case.id,
        surface=surface.name,
        status=status,
        outcome=Outcome(outcome.kind),
        verdict=None if verdict.verdict is None else Verdict(verdict.verdict),
        kind=None if verdict.kind is None else DifferenceKind(verdict.kind),
        how=How(written.how) if written else None,
        program=written.digest if written else None,
        budget_used=verdict.budget_used,
        seconds=round(outcome.seconds, 6),
        digest=digest,
        got=recorded_array(outcome.arrays[0]) if is_recorded else None,
        flaky=flaky,
        slow=slow,
        worst=WorstElementRecord(**vars(verdict.worst)) if verdict.worst else None,
        message=message or None,
        reason=reason,
        issue=issue,
        changed_state=outcome.changed_state or None,
        after_others=outcome.after_others or None,
        changed_by=part,
    )


def _reason_and_issue(
    program: Program | Unsupported, status: Status, entry: LedgerEntry | None
) -> tuple[str | None, str | None]:
    """Return the reason and issue of an unsupported, known or stale result, otherwise None."""
    if isinstance(program, Unsupported):
        return program.reason, program.issue
    if status == Status.UNSUPPORTED:
        return NO_BOUND_REASON, None
    return ledger_reason(status, entry)


def refusal_reason(part: Part | None, message: str | None) -> str:
    """Return the reason of a result that the exporter or the runtime of a route refuses. message: its exception."""
    return f"refused by the {part}: {message or ''}"


def ledger_reason(status: Status, entry: LedgerEntry | None) -> tuple[str | None, str | None]:
    """Return the reason and issue of the ledger entry of a known or stale result, otherwise None."""
    return (entry.reason, entry.issue) if entry and status in {Status.KNOWN, Status.STALE} else (None, None)


def _is_expected_array(got: Array, digest: str | None, expected: Expected | None) -> bool:
    """Whether an array equals the expected one bit by bit, apart from the bits of NaNs."""
    if expected is None or expected.target is None or expected.target.exact is None:
        return False
    value = expected.target.exact.value
    # The digest is the same for all bit patterns of NaN. It is computed only if the bits differ.
    same = got.dtype == value.dtype and got.shape == value.shape
    return same and (got.tobytes() == value.tobytes() or digest == array_digest(value))


def recorded_array(array: Array) -> RecordedArray:
    """Return the record of an array. `data` is None for arrays of more than MAX_RECORDED_ELEMENTS elements."""
    data = array.ravel().tolist() if array.size <= MAX_RECORDED_ELEMENTS else None
    if data and array.dtype.kind in "fV" and not np.isfinite(array).all():
        data = json_value(data)
    return RecordedArray(array.dtype.name, array.shape, None if data is None else tuple(data))


def convention_record(case: Case, surface: Surface, observed: str | None) -> ConventionRecord:
    """Return the record of the answer of a surface to the convention that a case observes."""
    convention_id = case.convention_id or case.id
    declared, source = declared_answer(surface, convention_id, case.id)
    return ConventionRecord(
        case=case.id,
        about=case.about,
        question=convention_id,
        surface=surface.name,
        declared=declared,
        source=source,
        observed=observed,
    )


def declared_answer(surface: Surface, convention_id: str, case_id: str) -> tuple[str | None, str]:
    """Return the declared answer of a surface to a convention in one of its cases, if any, and its source."""
    declaration = surface.declaration_for(convention_id, case_id)
    return (declaration.answer, declaration.source) if declaration else (None, "undocumented")


def case_record_line(case: Case, expected: Expected) -> str:
    """Return the record of a case as a line of a results file."""
    return encode_line(case_record(case, expected))


def case_record(case: Case, expected: Expected) -> CaseRecord:
    """Return the record of a case."""
    cost = operator_cost(case)
    parameters = dict(case.parameters)
    if case.then:
        parameters["then"] = [
            {"operator": item.operator, **item.parameters, **{name: one.shape for name, one in item.inputs.items()}}
            for item in case.then
        ]
    exacts = [target.exact for target in expected.targets if target.exact is not None]
    bounds = [target.bound for target in expected.targets if target.bound is not None]
    return CaseRecord(
        case=case.id,
        operator=case.operator,
        level=Level(case.level),
        about=case.about,
        source=case.source,
        via=tuple(case.via),
        question=case.convention_id,
        parameters=parameters,
        inputs={name: recorded_array(array) for name, array in expected.inputs.items()},
        cost=cost.record() if cost else None,
        expected=_expected_record(expected),
        digest=expected.digest,
        pinned=sum(len(target.printed) for target in expected.targets),
        terms=max(chain((int(exact.terms.max(initial=0)) for exact in exacts), [0])),
        bound=max(chain((float(bound.max(initial=0)) for bound in bounds), [0.0])),
        features=case_features(case, expected.inputs),
    )


def _expected_record(expected: Expected) -> ExpectedRecord:
    if expected.target is not None:
        return _target_record(expected.target)
    return RecordedAnswers({name: _target_record(target) for name, target in expected.answers.items()})


def _target_record(target: Target) -> RecordedArray | RecordedRejection:
    if target.exact is not None:
        return recorded_array(target.exact.value)
    return RecordedRejection(predicate=target.violation or "")


def program_record(program: Program) -> ProgramRecord:
    """Return the record of a program."""
    how, mode = How(program.how), program.mode.rstrip()
    return ProgramRecord(program=program.digest, surface=program.surface, how=how, text=program.text, mode=mode)


def environment_record(backend: Backend, surfaces: Iterable[Surface], worker: Mapping[str, Any]) -> Environment:
    """Return the environment of a run for the header. worker: the environment that a worker has reported."""
    return Environment(
        python=worker["python"],
        platform=platform.platform(),
        suite={"nn-conformance": __version__, "numpy": np.__version__},
        packages=worker["packages"],
        cpu=tuple(worker["cpu"]),
        instructions=backend.instructions,
        **worker["device"],
        setup={surface.name: backend.threads + backend.setup for surface in surfaces},
        threads=backend.thread_count,
    )
