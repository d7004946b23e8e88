"""Cases that must be rejected: one valid case, and what to change in it for each fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.cases.case import Case
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import DERIVED_SHAPE_INPUTS, parse_case


def expand_rejects(family: Mapping[str, Any], raw: Mapping[str, Any], places: Mapping[int, str]) -> Iterator[Case]:
    """Yield the cases of one entry under `rejects`; places: file and line of each fault. Raises Faulty."""
    kept = {key: raw[key] for key in raw if key != "faults"}
    for position, fault in enumerate(raw["faults"]):
        where = ("faults", position)
        try:
            sound = parse_case(family, {**kept, "id": fault["id"]}, places[position])
        except CaseError as error:
            raise CaseError(error.key_path, _error_message(error)) from None
        try:
            changed = {key: fault[key] for key in fault if key != "rejected"}
            raw_case = {**_with_derived_shapes(kept, sound), **changed, "expect": {"rejected": fault["rejected"]}}
            case = parse_case(family, raw_case, places[position])
        except CaseError as error:
            raise CaseError((*where, *error.key_path), _error_message(error)) from None
        yield replace(case, valid_case=sound)


def _with_derived_shapes(kept: Mapping[str, Any], sound: Case) -> dict[str, Any]:
    """Write out the shapes that follow from the valid case; none may follow from a faulty one."""
    following = {name: sound.inputs[name].shape for name in DERIVED_SHAPE_INPUTS & kept.keys() & sound.inputs.keys()}
    return {**kept, **{name: {**kept[name], "shape": list(shape)} for name, shape in following.items()}}


def _error_message(error: CaseError) -> str:
    """Return what a fault says, without the key that it names."""
    text = str(error)
    return text.split(": ", 1)[1] if error.key_path else text
