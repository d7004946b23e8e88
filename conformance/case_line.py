"""A case as results files tell it: what it asks, its inputs, what it costs and what must happen."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from conformance.cases import Case
from conformance.cost import cost
from conformance.expected import Expected
from conformance.results import array_record, line


def case_line(case: Case, wanted: Expected) -> str:
    """Return the record of a case as a line of a results file."""
    return line({"record": "case", "case": case.id, **case_record(case, wanted)})


def case_record(case: Case, wanted: Expected) -> dict[str, Any]:
    """Return the record of a case, as the format has it."""
    price = cost(case)
    parameters = dict(case.parameters)
    if case.then:
        parameters["then"] = [{"operator": item.operator, **item.parameters} for item in case.then]
    exacts = [target.exact for target in wanted.targets if target.exact is not None]
    bounds = [target.bound for target in wanted.targets if target.bound is not None]
    return {
        "operator": case.operator,
        "level": case.level,
        "about": case.about,
        "source": case.source,
        "via": list(case.via),
        "question": case.question,
        "parameters": parameters,
        "inputs": {name: array_record(array) for name, array in wanted.inputs.items()},
        "cost": price.record() if price else None,
        "expected": _expected_record(wanted),
        "digest": wanted.digest,
        "pinned": sum(len(target.readings) for target in wanted.targets),
        "terms": max(chain((int(exact.terms.max(initial=0)) for exact in exacts), [0])),
        "bound": max(chain((float(bound.max(initial=0)) for bound in bounds), [0.0])),
    }


def _expected_record(wanted: Expected) -> Mapping[str, Any]:
    def one(target: Any) -> Mapping[str, Any]:
        return array_record(target.exact.value) if target.exact is not None else {"rejected": target.rejected}

    if wanted.target is not None:
        return one(wanted.target)
    return {"answers": {name: one(target) for name, target in wanted.answers.items()}}
