"""What of a case may enter the text of a program: names and words from closed lists, and numbers.

The schema of the catalogue's YAML says the same. An exported catalogue comes as JSON, and is held to it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.cases import DEFAULTS, FLAT, SAME, Answers, Case, Rejected
from conformance.operators import OPERATORS, Operator

ID = re.compile(r"[a-z0-9_]+(/[a-z0-9][a-z0-9.-]*)+")
FAULT = re.compile(r"[A-Z][A-Za-z]*")
LARGEST = 1_000_000
"""Of whole numbers, but for the value that padding writes."""
WORDS: Mapping[str, frozenset[str]] = {
    "mode": frozenset({"constant", "edge", "reflect", "symmetric", "wrap"}),
    "rounding": frozenset({"floor", "ceil", "full"}),
    "padding": frozenset({SAME}),
    "ties": frozenset({"first", "last", "all", "split"}),
}


def check(case: Case) -> None:
    """Raise ValueError for an id, an input, a parameter or a word that no case of the catalogue can have."""
    operator = OPERATORS[case.operator]
    if not (isinstance(case.id, str) and ID.fullmatch(case.id)):
        raise ValueError(f"{case.id!r} is no id")
    if [*case.inputs] != [name for name in operator.inputs if name in case.inputs] or "x" not in case.inputs:
        raise ValueError(f"the inputs are {', '.join(operator.inputs)}, in this order, not {[*case.inputs]!r}")
    _check_parameters(operator, case.parameters)
    for following in case.then:
        _check_parameters(OPERATORS[following.operator], following.parameters)
    named = case.expect.named.values() if isinstance(case.expect, Answers) else [case.expect]
    for refused in (answer.predicate for answer in named if isinstance(answer, Rejected)):
        if not (isinstance(refused, str) and FAULT.fullmatch(refused)):
            raise ValueError(f"{refused!r} is no name of a fault")


def _check_parameters(operator: Operator, parameters: Mapping[str, Any]) -> None:
    for name, value in parameters.items():
        if name not in operator.defaults and name not in {FLAT, DEFAULTS}:
            raise ValueError(f"{operator.name} has no parameter {name!r}")
        allowed = operator.outputs if name == "output" else WORDS.get(name, ())
        for leaf in _leaves(value):
            if isinstance(leaf, str):
                known = leaf in allowed
            elif isinstance(leaf, int):
                known = name == "value" or abs(leaf) <= LARGEST
            else:
                known = leaf is None or isinstance(leaf, float)
            if not known:
                raise ValueError(f"{leaf!r} is no value of the parameter {name!r}")


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, tuple) else [value]
