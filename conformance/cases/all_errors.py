"""Find all errors of a case in a YAML file.

`parse_case` stops at the first error. To find the others, `all_errors` removes the key with the error and parses the
rest again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.cases.case import ARRAYS_KEY
from conformance.cases.generators import GeneratorName
from conformance.cases.operators import OPERATORS, PARAMETERS, WINDOW_PARAMETERS, Operator, ParameterKind
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import DERIVED_SHAPE_INPUTS, parse_case
from conformance.cases.yaml_reader import YamlPath

RawCase = dict[str, Any]
KnownError = tuple[YamlPath, bool]

# Keys with a number for each axis. Errors in these may be caused by the wrong rank of another key.
PER_AXIS_KEYS = {one.name for one in PARAMETERS.values() if one.kind in {ParameterKind.SIZES, ParameterKind.PADDING}}
# Keys that determine the windows together with the per-axis keys.
WINDOW_KEYS = {*PER_AXIS_KEYS, *WINDOW_PARAMETERS}
# Keys that can be removed without changing the meaning of the others.
OPTIONAL_KEYS = {"about", "source", "level", "tags", "also", "inexact", "via", "then", "bias", ARRAYS_KEY}
OPTIONAL_KEYS |= {one.name for one in PARAMETERS.values() if not one.is_per_axis} - WINDOW_KEYS
PLACEHOLDER_INPUT = {"values": GeneratorName.ARANGE.value, "shape": [1, 1, 1]}


def all_errors(
    family: Mapping[str, Any], raw: Any, location: str, known_errors: Iterable[KnownError] = ()
) -> list[CaseError]:
    """Return all errors of a case except the known ones; an empty list if the case is valid.

    known_errors: for each error that was already found, the path of the key, and whether the key is unknown.
    Errors that may be consequences of other errors are omitted.
    """
    operator, rest = OPERATORS[family["operator"]], raw
    # Whether no removed key can have caused the errors that follow, and inputs whose further errors are omitted.
    all_relevant, ignored_inputs = True, set[str]()
    if not isinstance(raw, dict):
        return []
    # Unknown keys first: removing them does not affect other keys.
    for key_path, unknown in sorted(known_errors, key=lambda known: not known[1]):
        if unknown and (len(key_path) == 1 or key_path[0] in operator.inputs):
            rest = _without_key(rest, key_path)
            ignored_inputs |= {str(key_path[0])} & set(operator.inputs)
            # The unknown key may be a misspelling of a missing one.
            all_relevant = all_relevant and not (_required_keys(operator) - rest.keys())
        elif not key_path:
            all_relevant = all_relevant and "x" in rest  # if x is present, the missing key is the id
        else:
            all_relevant = all_relevant and _is_optional(operator, rest, key_path)
            rest = _without_path(rest, key_path)
    rest = {"id": "unnamed", **rest}
    first = rest if all_relevant else _permissive_case(operator, rest)
    errors = [*_find_errors(family, first, location, all_relevant=all_relevant, ignored_inputs=ignored_inputs)]
    pinned = {"id": "unnamed"} | {key: rest[key] for key in ("expect", "also", "inexact") if key in rest}
    # A permissive case has no printed output, so the printed output is checked in a separate case.
    second = {**_permissive_case(operator, pinned), "expect": None, **pinned}
    errors += _find_errors(family, second, location, all_relevant=True, ignored_inputs=ignored_inputs)
    return list({(error.key_path, str(error)): error for error in errors}.values())


def _find_errors(
    family: Mapping[str, Any], rest: RawCase, location: str, *, all_relevant: bool, ignored_inputs: set[str]
) -> Iterator[CaseError]:
    """Yield the first error of a case, then the errors of the case without that key.

    all_relevant: whether no removed key can have caused an error; ignored_inputs: inputs whose errors are not reported.
    """
    operator, before = OPERATORS[family["operator"]], RawCase()
    # A case that stays the same has an error without a key to remove, and no further error can be found.
    while rest != before:
        before = rest
        try:
            parse_case(family, rest, location)
        except CaseError as error:
            key_path = error.key_path
            # If keys were removed, errors in per-axis parameters and derived shapes may be consequences of the removal.
            consequence = not all_relevant and (
                not key_path
                or key_path[0] in PER_AXIS_KEYS
                or (len(key_path) == 1 and key_path[0] in DERIVED_SHAPE_INPUTS)
            )
            if not consequence and not ignored_inputs & {*key_path[:1]}:
                yield error
            all_relevant = all_relevant and bool(key_path) and _is_optional(operator, rest, key_path)
            rest = _without_path(rest, key_path)
            # Inputs are parsed before per-axis parameters, so they have no further errors and can be replaced.
            rest = rest if all_relevant else _permissive_case(operator, rest, placeholder_inputs=consequence)


def _required_keys(operator: Operator) -> set[str]:
    """Return the keys that every case of the operator must have."""
    return {*operator.inputs, *operator.required_parameters} - set(operator.optional_inputs)


def _is_optional(operator: Operator, rest: RawCase, key_path: YamlPath) -> bool:
    """Whether the key can be removed without changing the meaning of the others."""
    key = key_path[0] if key_path else ""
    if key == "expect":
        return not isinstance(rest.get("expect"), dict)
    return key in OPTIONAL_KEYS or (key not in {*operator.defaults, *operator.inputs, "", "answers"})


def _without_key(rest: RawCase, key_path: YamlPath) -> RawCase:
    """Return a case without one key of a possibly nested mapping."""
    key, *deeper = key_path
    if deeper:
        return {**rest, str(key): _without_key(rest[str(key)], tuple(deeper))}
    return {name: value for name, value in rest.items() if name != key}


def _without_path(rest: RawCase, key_path: YamlPath) -> RawCase:
    """Return a case without the first key of a path; `expect` becomes a placeholder if `also` or `inexact` needs it."""
    remaining = {name: value for name, value in rest.items() if name not in key_path[:1]}
    needs_output = key_path[:1] == ("expect",) and {"also", "inexact"} & remaining.keys()
    return {**remaining, "expect": 0} if needs_output else remaining


def _permissive_case(operator: Operator, rest: RawCase, *, placeholder_inputs: bool = False) -> RawCase:
    """Return a case without per-axis parameters and rounding, to find errors in the other keys.

    The case is parsed as one that must be rejected, so the windows need not fit the input.

    placeholder_inputs: replace all inputs, not only the missing ones.
    """
    geometry = WINDOW_KEYS & operator.defaults.keys()
    remaining = {key: value for key, value in rest.items() if key not in geometry | {"answers", "also", "inexact"}}
    arrays = {
        name: PLACEHOLDER_INPUT
        for name in operator.inputs
        if placeholder_inputs or name not in rest | dict.fromkeys(operator.optional_inputs)
    }
    placeholders: RawCase = {
        name: [[0, 0]] if name == "pads" else 1 for name in _required_keys(operator) - {*operator.inputs} - {*remaining}
    }
    return {**remaining, **arrays, **placeholders, "expect": {"rejected": "Anything"}}
