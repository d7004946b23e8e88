"""All faults of a case, where `expand` stops at the first: what is at fault is put aside, and the rest tried again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.cases.operators import OPERATORS, Operator
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import DERIVED_SHAPE_INPUTS, parse_case
from conformance.cases.yaml_reader import YamlPath

RawCase = dict[str, Any]
KnownError = tuple[YamlPath, bool]

# Without these the rest of a case means what it meant.
OPTIONAL_KEYS = {"about", "source", "level", "tags", "also", "inexact", "via", "then", "bias"}
OPTIONAL_KEYS |= {"count_include_pad", "divisor", "groups", "mode", "value", "p", "ties", "output"}
# One number for each axis: what is wrong with these may be due to the rank of another.
PER_AXIS_KEYS = {"window", "stride", "padding", "dilation", "output_size", "output_padding"}
PLACEHOLDER_INPUT = {"values": "arange", "shape": [1, 1, 1]}


def all_errors(
    family: Mapping[str, Any], raw: Any, place: str, known_errors: Iterable[KnownError] = ()
) -> list[CaseError]:
    """Return all faults of a case beside those known; none if `expand` takes it.

    known: the path of each key that is at fault, and whether it is merely one too many. What may be wrong only because
    of another fault is left out.
    """
    operator, rest, sure, doubtful = OPERATORS[family["operator"]], raw, True, set[str]()
    if not isinstance(raw, dict):
        return []
    for where, extra in sorted(known_errors, key=lambda fault: not fault[1]):
        if extra and (len(where) == 1 or where[0] in operator.inputs):
            rest = _without_key(rest, where)
            doubtful |= {str(where[0])} & set(operator.inputs)
            # The key that is one too many may be the one that is missing.
            sure = sure and not (_required_keys(operator) - rest.keys())
        elif not where:
            sure = sure and "x" in rest  # or else it is the id that is missing
        else:
            sure = sure and _is_optional(operator, rest, where)
            rest = _without_path(rest, where)
    rest = {"id": "unnamed", **rest}
    found = [
        *_find_errors(family, rest if sure else _permissive_case(operator, rest), place, sure=sure, doubtful=doubtful)
    ]
    pinned = {"id": "unnamed"} | {key: rest[key] for key in ("expect", "also", "inexact") if key in rest}
    # A loose case expects nothing; what it expected can be looked at by itself.
    found += _find_errors(
        family, {**_permissive_case(operator, pinned), "expect": None, **pinned}, place, sure=True, doubtful=doubtful
    )
    return list({(fault.key_path, str(fault)): fault for fault in found}.values())


def _find_errors(
    family: Mapping[str, Any], rest: RawCase, place: str, *, sure: bool, doubtful: set[str]
) -> Iterator[CaseError]:
    """Yield the fault that `expand` stops at, then those of the rest without it.

    sure: whether nothing was put aside that a fault may be due to; doubtful: keys whose faults say nothing new.
    """
    operator, before = OPERATORS[family["operator"]], RawCase()
    while rest != before:
        before = rest
        try:
            parse_case(family, rest, place)
        except CaseError as fault:
            where = fault.key_path
            stuck = not sure and (
                not where or where[0] in PER_AXIS_KEYS or (len(where) == 1 and where[0] in DERIVED_SHAPE_INPUTS)
            )
            if not stuck and not doubtful & {*where[:1]}:
                yield fault
            rest, sure = _without_path(rest, where), sure and bool(where) and _is_optional(operator, rest, where)
            # Stuck at the walk, the arrays are sound, so that they can be put aside too.
            rest = rest if sure else _permissive_case(operator, rest, bare=stuck)


def _required_keys(operator: Operator) -> set[str]:
    """Return the keys without which there is no case of the operator."""
    return {*operator.inputs, *operator.required_parameters} - set(operator.optional_inputs)


def _is_optional(operator: Operator, rest: RawCase, where: YamlPath) -> bool:
    """Whether the case means the same without the key."""
    key = where[0] if where else ""
    if key == "expect":
        return not isinstance(rest.get("expect"), dict)
    return key in OPTIONAL_KEYS or (key not in {*operator.defaults, *operator.inputs, "", "answers"})


def _without_key(rest: RawCase, where: YamlPath) -> RawCase:
    """Return a case without one key, however deep in mappings."""
    key, *deeper = where
    if deeper:
        return {**rest, str(key): _without_key(rest[str(key)], tuple(deeper))}
    return {name: value for name, value in rest.items() if name != key}


def _without_path(rest: RawCase, where: YamlPath) -> RawCase:
    """Return a case without the key that a path starts with; a printed output stays one, for the sake of others."""
    kept = {name: value for name, value in rest.items() if name not in where[:1]}
    return {**kept, "expect": 0} if where[:1] == ("expect",) and {"also", "inexact"} & kept.keys() else kept


def _permissive_case(operator: Operator, rest: RawCase, *, bare: bool = False) -> RawCase:
    """Return a case whose windows always fit, for whatever else is wrong with it; bare: with no arrays of its own."""
    walked = (PER_AXIS_KEYS | {"rounding"}) & operator.defaults.keys()
    kept = {key: value for key, value in rest.items() if key not in walked | {"answers", "also", "inexact"}}
    arrays = {
        name: PLACEHOLDER_INPUT
        for name in operator.inputs
        if bare or name not in rest | dict.fromkeys(operator.optional_inputs)
    }
    stand_ins: RawCase = {
        name: [[0, 0]] if name == "pads" else 1 for name in _required_keys(operator) - {*operator.inputs} - {*kept}
    }
    return {**kept, **arrays, **stand_ins, "expect": {"rejected": "Anything"}}
