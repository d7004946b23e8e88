"""Allowlist for the parts of a case that become program text: names and words from closed lists, and numbers.

The schema of the YAML files enforces the same rules. An exported catalogue is JSON from outside, so it is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.cases.case import (
    ARRAYS_KEY,
    DEFAULTS_KEY,
    DRAWN_KEY,
    FLAT_PADS_KEY,
    FRAMEWORK_SAME,
    MIXED_KEY,
    SEED_KEY,
    WORDS_KEY,
    Answers,
    ArrayUse,
    Case,
    DrawnRegions,
    MixedDtype,
    Rejected,
)
from conformance.cases.compositions import COMPOSITIONS
from conformance.cases.operators import OPERATORS, PARAMETERS, Operator, PaddingWord, Parameter, ParameterKind

CASE_ID = re.compile(r"[a-z0-9_]+(/[a-z0-9][a-z0-9.-]*)+")
VIOLATION_NAME = re.compile(r"[A-Z][A-Za-z]*")
MAX_WHOLE_NUMBER = 2**63
"""Maximum absolute value of integer parameters, except those of any number."""
MAX_PAD = 1_000_000
"""Maximum number of cells that a pad adds. Unlike a stride or a negative pad, a large pad needs memory."""
PAD_KINDS = frozenset({ParameterKind.PADDING, ParameterKind.PAIRS})
ALLOWED_TYPES: Mapping[ParameterKind, tuple[type, ...]] = {
    ParameterKind.NUMBER: (int, float),
    ParameterKind.SCALES: (int, float),
    ParameterKind.CHANNEL_NUMBERS: (int, float),
    ParameterKind.FLAG: (bool,),
    ParameterKind.CHOICE: (str,),
    ParameterKind.OUTPUT: (str,),
}
"""Types of scalar parameters. All others are integers, lists of integers or None."""
MAX_NESTING: Mapping[ParameterKind, int] = {
    ParameterKind.SIZES: 1,
    ParameterKind.SCALES: 1,
    ParameterKind.CHANNEL_NUMBERS: 1,
    ParameterKind.CHANNEL_COUNTS: 1,
    ParameterKind.PADDING: 2,
    ParameterKind.PAIRS: 2,
}
"""Maximum depth of nested lists; 0 for all other kinds."""
CALL_PARAMETERS: Mapping[str, Parameter] = {
    FLAT_PADS_KEY: Parameter(FLAT_PADS_KEY, ParameterKind.SIZES, None, "Pads as one flat list."),
    DEFAULTS_KEY: Parameter(DEFAULTS_KEY, ParameterKind.FLAG, None, "Whether the call passes no other arguments."),
    WORDS_KEY: Parameter(WORDS_KEY, ParameterKind.FLAG, None, "Whether the call contains the framework's own words."),
    MIXED_KEY: Parameter(
        MIXED_KEY, ParameterKind.CHOICE, None, "The 16-bit dtype of mixed precision.", choices=tuple(MixedDtype)
    ),
    DRAWN_KEY: Parameter(
        DRAWN_KEY, ParameterKind.CHOICE, None, "Regions that the call draws at random.", choices=tuple(DrawnRegions)
    ),
    SEED_KEY: Parameter(SEED_KEY, ParameterKind.COUNT, None, "The seed of the random numbers."),
    ARRAYS_KEY: Parameter(
        ARRAYS_KEY, ParameterKind.CHOICE, None, "How the program passes its arrays.", choices=tuple(ArrayUse)
    ),
}
"""Parameters that describe the call and that no operator has."""


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
        if not set(OPERATORS[following.operator].inputs).issuperset(following.inputs):
            raise ValueError(f"{following.operator} has no inputs {', '.join(following.inputs)}")
    named = case.expect.named.values() if isinstance(case.expect, Answers) else [case.expect]
    for answer in named:
        if isinstance(answer, Mapping):
            _check_parameters(operator, answer, (FRAMEWORK_SAME, *PaddingWord))
    _check_texts(case)
    for violation in (answer.violation for answer in named if isinstance(answer, Rejected)):
        if not (isinstance(violation, str) and VIOLATION_NAME.fullmatch(violation)):
            raise ValueError(f"{violation!r} is not the name of a violation")


def _check_parameters(
    operator: Operator, parameters: Mapping[str, Any], padding_words: Iterable[str] = (FRAMEWORK_SAME,)
) -> None:
    """Raise ValueError for an unknown parameter or a value that is not allowed.

    padding_words: the words that are allowed for padding.
    """
    for name, value in parameters.items():
        if name not in operator.defaults and name not in CALL_PARAMETERS:
            raise ValueError(f"{operator.name} has no parameter {name!r}")
        parameter = CALL_PARAMETERS.get(name) or PARAMETERS[name]
        if _nesting_depth(value) > MAX_NESTING.get(parameter.kind, 0):
            raise ValueError(f"{value!r} is not a valid value of the parameter {name!r}")
        is_padding, is_output = parameter.kind is ParameterKind.PADDING, parameter.kind is ParameterKind.OUTPUT
        words = padding_words if is_padding else operator.outputs if is_output else parameter.choices
        for leaf in _leaf_values(value):
            if not (leaf in words if isinstance(leaf, str) else _is_allowed_number(parameter, leaf)):
                raise ValueError(f"{leaf!r} is not a valid value of the parameter {name!r}")


def _is_allowed_number(parameter: Parameter, value: Any) -> bool:
    # type(), because isinstance would accept a boolean as an integer.
    if value is not None and type(value) not in ALLOWED_TYPES.get(parameter.kind, (int,)):
        return False
    unlimited = parameter.kind is ParameterKind.NUMBER and parameter.limits is None
    highest = MAX_PAD if parameter.kind in PAD_KINDS else MAX_WHOLE_NUMBER
    return unlimited or not isinstance(value, int) or -MAX_WHOLE_NUMBER <= value <= highest


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
