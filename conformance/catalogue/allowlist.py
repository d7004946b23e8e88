"""Allowlist for the parts of a case that become program text: names and words from closed lists, and numbers.

The schema of the YAML files enforces the same rules. An exported catalogue is JSON from outside, so it is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.cases.case import DEFAULTS_KEY, FLAT_PADS_KEY, FRAMEWORK_SAME, Answers, Case, Rejected
from conformance.cases.compositions import COMPOSITIONS
from conformance.cases.operators import OPERATORS, Operator

CASE_ID = re.compile(r"[a-z0-9_]+(/[a-z0-9][a-z0-9.-]*)+")
VIOLATION_NAME = re.compile(r"[A-Z][A-Za-z]*")
MAX_WHOLE_NUMBER = 1_000_000
"""Maximum absolute value of integer parameters, except `value`."""
PARAMETER_WORDS: Mapping[str, frozenset[str]] = {
    "mode": frozenset({"constant", "edge", "reflect", "symmetric", "wrap"}),
    "rounding": frozenset({"floor", "ceil", "full"}),
    "padding": frozenset({FRAMEWORK_SAME}),
    "ties": frozenset({"first", "last", "all", "split"}),
}
PADDING_WORDS = frozenset({"valid", "same_upper", "same_lower"})
"""Words for padding that are allowed in an answer only. The reference knows them, but no program contains them."""
PARAMETER_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("value", "p"), (int, float)),
    **dict.fromkeys(("count_include_pad", DEFAULTS_KEY), (bool,)),
    **dict.fromkeys(("mode", "rounding", "ties", "output"), (str,)),
}
"""Types of scalar parameters. All other parameters are integers, lists of integers or None."""
MAX_NESTING: Mapping[str, int] = {"padding": 2, "pads": 2}
"""Maximum depth of nested lists; the default is 1, and 0 for the parameters in PARAMETER_TYPES."""


def check_allowed(case: Case) -> None:
    """Raise ValueError for an id, an input, a parameter or a word that is not allowed in a case."""
    operator = OPERATORS[case.operator]
    if not (isinstance(case.id, str) and CASE_ID.fullmatch(case.id)):
        raise ValueError(f"{case.id!r} is not a valid id")
    if [*case.inputs] != [name for name in operator.inputs if name in case.inputs] or "x" not in case.inputs:
        raise ValueError(f"the inputs are {', '.join(operator.inputs)}, in this order, not {[*case.inputs]!r}")
    _check_parameters(operator, case.parameters)
    for following in case.then:
        _check_parameters(OPERATORS[following.operator], following.parameters)
    named = case.expect.named.values() if isinstance(case.expect, Answers) else [case.expect]
    for answer in named:
        if isinstance(answer, Mapping):
            _check_parameters(operator, answer, PADDING_WORDS)
    _check_texts(case)
    for violation in (answer.predicate for answer in named if isinstance(answer, Rejected)):
        if not (isinstance(violation, str) and VIOLATION_NAME.fullmatch(violation)):
            raise ValueError(f"{violation!r} is not the name of a violation")


def _check_parameters(
    operator: Operator, parameters: Mapping[str, Any], padding_words: frozenset[str] = frozenset()
) -> None:
    """Raise ValueError for an unknown parameter or a value that is not allowed.

    padding_words: further words that are allowed for padding.
    """
    for name, value in parameters.items():
        if name not in operator.defaults and name not in {FLAT_PADS_KEY, DEFAULTS_KEY}:
            raise ValueError(f"{operator.name} has no parameter {name!r}")
        allowed = (
            operator.outputs
            if name == "output"
            else PARAMETER_WORDS.get(name, frozenset()) | (padding_words if name == "padding" else set())
        )
        if _nesting_depth(value) > (0 if name in PARAMETER_TYPES else MAX_NESTING.get(name, 1)):
            raise ValueError(f"{value!r} is not a valid value of the parameter {name!r}")
        for leaf in _leaf_values(value):
            if isinstance(leaf, str):
                valid = leaf in allowed
            else:
                # type(), because isinstance would accept a boolean as an integer.
                valid = leaf is None or type(leaf) in PARAMETER_TYPES.get(name, (int,))
                valid &= not isinstance(leaf, int) or name == "value" or abs(leaf) <= MAX_WHOLE_NUMBER
            if not valid:
                raise ValueError(f"{leaf!r} is not a valid value of the parameter {name!r}")


def _check_texts(case: Case) -> None:
    """Raise ValueError unless descriptions, tags, omitted parameters and the composition are valid text."""
    texts = (case.about, case.source, case.convention_name, case.level, *case.tags, *case.omitted_parameters, *case.via)
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"{text!r} is not text")
    if case.convention_name and not CASE_ID.fullmatch(f"{case.operator}/{case.convention_name}"):
        raise ValueError(f"{case.convention_name!r} is not the name of a convention")
    if case.via and case.via not in {names for name, names in COMPOSITIONS if name == case.operator}:
        raise ValueError(f"{case.operator} has no composition of {', '.join(case.via)}")


def _nesting_depth(value: Any) -> int:
    return 1 + max(map(_nesting_depth, value), default=0) if isinstance(value, tuple) else 0


def _leaf_values(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaf_values(part)] if isinstance(value, tuple) else [value]
