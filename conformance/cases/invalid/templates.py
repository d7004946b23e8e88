"""Expansion of `rejects` entries of a case file into cases that must be rejected.

An entry has one valid case and a list of violations, with the change that causes each. It expands to one case per
violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.cases.case import Case
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import DERIVED_SHAPE_INPUTS, parse_case


def expand_rejects(family: Mapping[str, Any], raw: Mapping[str, Any], locations: Mapping[int, str]) -> Iterator[Case]:
    """Yield the cases of one `rejects` entry. Raises CaseError.

    locations: file and line of each violation, by its position in the list.
    """
    shared = {key: raw[key] for key in raw if key != "faults"}
    for position, violation in enumerate(raw["faults"]):
        key_path = ("faults", position)
        try:
            valid = parse_case(family, {**shared, "id": violation["id"]}, locations[position])
        except CaseError as error:
            raise CaseError(error.key_path, _error_message(error)) from None
        try:
            changed = {key: violation[key] for key in violation if key != "rejected"}
            raw_case = {**_with_derived_shapes(shared, valid), **changed, "expect": {"rejected": violation["rejected"]}}
            case = parse_case(family, raw_case, locations[position])
        except CaseError as error:
            raise CaseError((*key_path, *error.key_path), _error_message(error)) from None
        yield replace(case, valid_case=valid)


def _with_derived_shapes(shared: Mapping[str, Any], valid: Case) -> dict[str, Any]:
    """Add the input shapes derived from the valid case; an invalid case does not define them."""
    derived = {name: valid.inputs[name].shape for name in DERIVED_SHAPE_INPUTS & shared.keys() & valid.inputs.keys()}
    return {**shared, **{name: {**shared[name], "shape": list(shape)} for name, shape in derived.items()}}


def _error_message(error: CaseError) -> str:
    """Return the message of an error without the key that it names."""
    text = str(error)
    return text.split(": ", 1)[1] if error.key_path else text
