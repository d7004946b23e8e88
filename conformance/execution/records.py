"""Records of results files: results, conventions, cases and the environment."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any

import numpy as np

from conformance import __version__
from conformance.adapters.api.surface import Backend, Program, Surface, Unsupported
from conformance.cases.arrays import Array, array_digest
from conformance.cases.case import Case
from conformance.cases.cost import operator_cost
from conformance.execution.results_file import array_record, record_line
from conformance.judging.expected import Expected
from conformance.judging.ledger import LedgerEntry
from conformance.judging.verdict import OutcomeVerdict, ProgramOutcome

NO_BOUND_REASON = "no bound: so many roundings to 16 bits may leave anything"


def result_status(outcome: str, verdict: OutcomeVerdict, entry: LedgerEntry | None, *, flaky: bool = False) -> str:
    """Return the status of a result. outcome: kind of the outcome; entry: matching entry of the ledger."""
    if flaky:
        return "known" if entry and "flaky" in entry.kinds else "flaky"
    if outcome == "unsupported" or verdict.message == NO_BOUND_REASON:
        return "unsupported"
    if verdict.verdict == "agree":
        return "stale" if entry and not entry.is_flaky else "pass"
    shown = verdict.kind if verdict.verdict == "differ" else outcome
    if entry and shown in entry.kinds:
        return "known"
    return "fail" if verdict.verdict == "differ" else outcome


def result_record(
    case: Case,
    surface: Surface,
    program: Program | Unsupported,
    outcome: ProgramOutcome,
    *,
    verdict: OutcomeVerdict,
    expected: Expected | None,
    entry: LedgerEntry | None,
) -> dict[str, Any]:
    """Return the record of the result of a case on a surface.

    program: the program, or the reason why there is no program; expected: the expected result, None if the outcome
    was not judged; entry: the matching entry of the ledger.
    """
    written = program if isinstance(program, Program) else None
    status = result_status(outcome.kind, verdict, entry, flaky=bool(outcome.flakiness))
    record: dict[str, Any] = {
        "case": case.id,
        "surface": surface.name,
        "status": status,
        "outcome": outcome.kind,
        "verdict": verdict.verdict,
        "kind": verdict.kind,
        "how": written.how if written else None,
        "program": written.digest if written else None,
        "budget_used": verdict.budget_used,
        "seconds": round(outcome.seconds, 6),
        "digest": array_digest(*outcome.arrays) if outcome.arrays else None,
    }
    if len(outcome.arrays) == 1 and not _is_expected_array(outcome.arrays[0], record["digest"], expected):
        record["got"] = array_record(outcome.arrays[0])
    if outcome.flakiness:
        record["flaky"] = True
    if verdict.worst:
        record["worst"] = asdict(verdict.worst)
    outcome_message = outcome.flakiness or outcome.message
    # The message of an unsupported outcome is the reason, which has its own key.
    message = "; ".join(filter(None, [verdict.message, outcome_message if written else ""]))
    if message:
        record["message"] = message
    return record | _reason_and_issue(program, status, entry)


def _reason_and_issue(program: Program | Unsupported, status: str, entry: LedgerEntry | None) -> dict[str, Any]:
    """Return the reason and issue of an unsupported, known or stale result, otherwise an empty dictionary."""
    if isinstance(program, Unsupported):
        return {"reason": program.reason, "issue": program.issue}
    if status == "unsupported":
        return {"reason": NO_BOUND_REASON, "issue": None}
    if entry and status in {"known", "stale"}:
        return {"reason": entry.reason, "issue": entry.issue}
    return {}


def _is_expected_array(got: Array, digest: str, expected: Expected | None) -> bool:
    """Whether an array equals the expected one bit by bit, apart from the bits of NaNs."""
    if expected is None or expected.target is None or expected.target.exact is None:
        return False
    value = expected.target.exact.value
    same = got.dtype == value.dtype and got.shape == value.shape
    return same and (got.tobytes() == value.tobytes() or digest == array_digest(value))


def declaration_record(surface: Surface, convention_id: str) -> dict[str, Any]:
    """Return the declaration of a surface on a convention, as part of a convention record."""
    declaration = surface.declarations.get(convention_id)
    return {
        "surface": surface.name,
        "declared": declaration.answer if declaration else None,
        "source": declaration.source if declaration else "undocumented",
    }


def case_record_line(case: Case, expected: Expected) -> str:
    """Return the record of a case as a line of a results file."""
    return record_line({"record": "case", "case": case.id, **case_record(case, expected)})


def case_record(case: Case, expected: Expected) -> dict[str, Any]:
    """Return the record of a case, without the keys `record` and `case`."""
    cost = operator_cost(case)
    parameters = dict(case.parameters)
    if case.then:
        parameters["then"] = [{"operator": item.operator, **item.parameters} for item in case.then]
    exacts = [target.exact for target in expected.targets if target.exact is not None]
    bounds = [target.bound for target in expected.targets if target.bound is not None]
    return {
        "operator": case.operator,
        "level": case.level,
        "about": case.about,
        "source": case.source,
        "via": list(case.via),
        "question": case.convention_id,
        "parameters": parameters,
        "inputs": {name: array_record(array) for name, array in expected.inputs.items()},
        "cost": cost.record() if cost else None,
        "expected": _expected_record(expected),
        "digest": expected.digest,
        "pinned": sum(len(target.printed) for target in expected.targets),
        "terms": max(chain((int(exact.terms.max(initial=0)) for exact in exacts), [0])),
        "bound": max(chain((float(bound.max(initial=0)) for bound in bounds), [0.0])),
    }


def _expected_record(expected: Expected) -> Mapping[str, Any]:
    def target_record(target: Any) -> Mapping[str, Any]:
        return array_record(target.exact.value) if target.exact is not None else {"rejected": target.violation}

    if expected.target is not None:
        return target_record(expected.target)
    return {"answers": {name: target_record(target) for name, target in expected.answers.items()}}


def environment_record(backend: Backend, surfaces: Iterable[Surface], worker: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment of a run for the header. worker: the environment that a worker has reported."""
    return {
        "python": worker["python"],
        "platform": platform.platform(),
        "suite": {"nn-conformance": __version__, "numpy": np.__version__},
        "packages": worker["packages"],
        "cpu": worker["cpu"],
        "instructions": backend.instructions,
        **worker["device"],
        "setup": {surface.name: backend.threads + backend.setup for surface in surfaces},
        "threads": 1,
    }
