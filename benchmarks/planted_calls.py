"""Call the operators of the planted backend in this process, and judge the results as a run does.

A program of the planted backend is one call for each step of a case, so no worker process is needed. A call that would
abort the process or sleep raises an exception instead.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import numpy as np

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.arrays import array_digest
from conformance.cases.case import ARRAYS_KEY, ArrayUse, Case, Rejected
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import unsupported_by_oracle
from conformance.exploration.evaluation import CandidateResult, SurfaceResult
from conformance.exploration.oracles import _expected_for as expected_for
from conformance.exploration.symptoms import Symptom, fatal_symptom, normalise_message
from conformance.judging.expected import Expected
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.array_use import array_statements
from conformance.translation.lowering import translate
from reports.results.vocabulary import DifferenceKind, How, Outcome, Status, Verdict

PACKAGE = Path(__file__).parent.parent / "tests" / "support" / "planted_package"
NONE = "none"
"""Name of the surface without a bug."""


class Fatal(Exception):
    """Raised in place of a crash or a hang; kind: the outcome that a worker process would have."""

    def __init__(self, kind: Outcome) -> None:
        super().__init__(kind)
        self.kind = kind


def _raising(kind: Outcome) -> Any:
    def stop(*_: object) -> NoReturn:
        raise Fatal(kind)

    return stop


@contextmanager
def _without_fatal_calls() -> Iterator[None]:
    """Let calls that abort the process or sleep raise `Fatal`."""
    with (
        mock.patch.object(os, "abort", _raising(Outcome.CRASHED)),
        mock.patch.object(time, "sleep", _raising(Outcome.TIMED_OUT)),
    ):
        yield


def planted_bugs() -> dict[str, Any]:
    """Import the package of planted bugs from the tests folder; return the bugs by name."""
    if str(PACKAGE) not in sys.path:
        sys.path.insert(0, str(PACKAGE))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
    import conformance_planted  # noqa: PLC0415

    return dict(conformance_planted.BUGS)


def outcome_of(name: str, case: Case) -> ProgramOutcome:
    """Return the outcome of a case on a surface; name: without `planted.`."""
    import conformance_planted  # noqa: PLC0415

    names = [one for one in OPERATORS[case.operator].inputs if one in case.inputs]
    passed = {one: case.inputs[one].make() for one in names}
    for statement in array_statements(case, use := case.parameters.get(ARRAYS_KEY)):
        exec(statement, {"np": np}, passed)  # noqa: S102 - a statement of the suite's programs
    try:
        with _without_fatal_calls():
            for _ in range(2 if use == ArrayUse.TWICE else 1):
                result = tuple(passed[one] for one in names)
                for operator, parameters in _calls(case):
                    result = (conformance_planted.call(name, operator, *result, **parameters),)
    except Fatal as error:
        return ProgramOutcome(error.kind, message=f"planted: {error.kind}")
    except (ArithmeticError, AttributeError, ValueError, IndexError, TypeError, MemoryError) as error:
        return ProgramOutcome(Outcome.REJECTED, message=f"{type(error).__name__}: {error}")
    if use == ArrayUse.OVERWRITTEN:
        for array in passed.values():
            array[...] = 0
    # As a worker process does, which sends arrays in the usual byte order.
    return ProgramOutcome(
        Outcome.RETURNED, tuple(one.astype(one.dtype.newbyteorder("="), copy=False) for one in result)
    )


def _calls(case: Case) -> list[tuple[str, dict[str, Any]]]:
    """Return the operator and the parameters of each call of a case."""
    outputs = {"output"} if case.operator.startswith("conv") else set()
    known = OPERATORS[case.operator].defaults.keys() | outputs
    if isinstance(case.expect, Rejected):
        return [(case.operator, {key: value for key, value in case.parameters.items() if key in known})]
    first, *following = plan_steps(case)
    given = {**first.parameters, "output": case.parameters.get("output")}
    calls = [(case.operator, {key: value for key, value in given.items() if key in known})]
    return [*calls, *((step.operator, dict(step.parameters)) for step in following)]


def same_outcomes(one: ProgramOutcome, other: ProgramOutcome) -> bool:
    """Whether two outcomes have the same arrays, or the same message."""
    return (one.kind, one.message, *map(array_digest, one.arrays)) == (
        other.kind, other.message, *map(array_digest, other.arrays),
    )  # fmt: skip


def evaluate_in_process(candidate: Candidate, names: Any) -> CandidateResult:
    """Check a candidate against the reference on surfaces, as `ReferenceOracle` does; names: with `planted.`."""
    expected = expected_for(candidate)
    if expected is None or expected.target is None or not _can_check(candidate):
        return CandidateResult(candidate)
    if isinstance(candidate.case.expect, Rejected):
        names = [name for name in names if _validates(name)]
    return CandidateResult(candidate, [_judged(name, candidate, expected) for name in names])


def _validates(surface: str) -> bool:
    """Whether a surface checks its arguments. Others are not run with calls that must be rejected."""
    return bool(planted_bugs()[surface.removeprefix("planted.")].program.validates)


def _can_check(candidate: Candidate) -> bool:
    """Whether the surface without a bug runs the case and declares the answer of the reference to its conventions."""
    if isinstance(candidate.case.expect, Rejected):
        return True
    (surface,) = [one for one in registry.get_backend("planted").surfaces if one.name == f"planted.{NONE}"]
    program = translate(candidate.case, surface)
    if not isinstance(program, Program):
        return False
    return unsupported_by_oracle(candidate, surface, program, lambda _case: False) is None


def _judged(name: str, candidate: Candidate, expected: Expected) -> SurfaceResult:
    outcome = outcome_of(name.removeprefix("planted."), candidate.case)
    if fatal := fatal_symptom(outcome):
        return SurfaceResult(name, Status(outcome.kind), fatal, How.NATIVE, str(fatal), outcome.message)
    verdict = judge_outcome(outcome, expected.target)  # type: ignore[arg-type]
    if verdict.verdict == Verdict.AGREE:
        return SurfaceResult(name, Status.PASS, how=How.NATIVE, kind="agree")
    message = normalise_message(outcome.message) if verdict.kind == DifferenceKind.REJECTED else None
    return SurfaceResult(
        name, Status.FAIL, Symptom(verdict.kind, message), How.NATIVE, str(verdict.kind), verdict.message
    )


def differs(surface: str, candidate: Candidate) -> bool:
    """Check whether a bug changes the outcome of a case. Other cases need not be judged.

    Without the bug the surface agrees with the reference on the whole catalogue. The surface without a bug does not
    check its arguments, so for a call that must be rejected the answer is True if the surface checks them.
    """
    name = surface.removeprefix("planted.")
    if isinstance(candidate.case.expect, Rejected):
        return _validates(surface)
    return not same_outcomes(outcome_of(name, candidate.case), _correct_outcome(candidate))


_last_correct: list[Any] = [None, None]
"""The last candidate and its outcome on the surface without a bug: a candidate is compared with many surfaces."""


def _correct_outcome(candidate: Candidate) -> ProgramOutcome:
    if _last_correct[0] is not candidate:
        _last_correct[:] = candidate, outcome_of(NONE, candidate.case)
    outcome: ProgramOutcome = _last_correct[1]
    return outcome
