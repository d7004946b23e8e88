"""Cases that must be rejected: one valid case, and what to change in it for each fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.cases.case import Case
from conformance.cases.parameters import Faulty
from conformance.cases.parsing import FOLLOWING, expand


def rejects(family: Mapping[str, Any], raw: Mapping[str, Any], places: Mapping[int, str]) -> Iterator[Case]:
    """Yield the cases of one entry under `rejects`; places: file and line of each fault. Raises Faulty."""
    kept = {key: raw[key] for key in raw if key != "faults"}
    for position, fault in enumerate(raw["faults"]):
        where = ("faults", position)
        try:
            sound = expand(family, {**kept, "id": fault["id"]}, places[position])
        except Faulty as error:
            raise Faulty(error.where, _words(error)) from None
        try:
            changed = {key: fault[key] for key in fault if key != "rejected"}
            raw_case = {**_with_shapes(kept, sound), **changed, "expect": {"rejected": fault["rejected"]}}
            case = expand(family, raw_case, places[position])
        except Faulty as error:
            raise Faulty((*where, *error.where), _words(error)) from None
        yield replace(case, sound=sound)


def _with_shapes(kept: Mapping[str, Any], sound: Case) -> dict[str, Any]:
    """Write out the shapes that follow from the valid case; none may follow from a faulty one."""
    following = {name: sound.inputs[name].shape for name in FOLLOWING & kept.keys() & sound.inputs.keys()}
    return {**kept, **{name: {**kept[name], "shape": list(shape)} for name, shape in following.items()}}


def _words(error: Faulty) -> str:
    """Return what a fault says, without the key that it names."""
    text = str(error)
    return text.split(": ", 1)[1] if error.where else text
