"""The words of the catalogue as types: a case, what must happen, a question and its answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from conformance.cases.arrays import ArraySpec

PrintedArray = tuple[tuple[int, ...], tuple[int | Decimal, ...] | None]
"""A printed output: its shape and its numbers in row-major order, decimals with the places that were printed.

Where only the shape was printed, it must hold to the letter; else extents of 1 do not count.
"""

FRAMEWORK_SAME = "same"
"""The padding of a question that leaves it to the framework what its own word means."""
FLAT_PADS_KEY = "flat_pads"
"""A question's pads as one flat list, in whichever order the call takes it; its answers have them as pairs."""
DEFAULTS_KEY = "defaults"
"""The parameter of a question whose call names nothing that the case does not name: no dtype, no orientation."""
LEVELS = ("smoke", "standard", "exhaustive")


@dataclass(frozen=True)
class Value:
    """The backend returns the reference's result; every printed reading must hold for both.

    inexact: why a printed number is not the correctly rounded one, where that is so.
    """

    readings: tuple[PrintedArray, ...] = ()
    inexact: str = ""


@dataclass(frozen=True)
class Rejected:
    """The backend refuses; `predicate` names the fault (see conformance.predicates)."""

    predicate: str


@dataclass(frozen=True)
class Answers:
    """The answers to a question: for each name, parameters that differ from the case's, an array, or a refusal."""

    named: Mapping[str, Mapping[str, Any] | ArraySpec | Rejected]


@dataclass(frozen=True)
class Following:
    """A further operator that reads the output of the one before."""

    operator: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """One operator, one set of parameters, inputs, and what must happen; known by its id.

    parameters: expanded, every one explicit, but for those that a question leaves out (`omitted`).
    via: the composition that every surface must write instead of the operator.
    then: operators that follow, each reading what the one before returned.
    puts: the question of the operator that the case puts, where it is not called like the case itself.
    tags: words by which surfaces choose cases beyond their level.
    sound: for a case that must be rejected, the valid case that it is but for its fault.
    """

    id: str
    operator: str
    inputs: Mapping[str, ArraySpec]
    parameters: Mapping[str, Any]
    expect: Value | Rejected | Answers = Value()
    via: tuple[str, ...] = ()
    then: tuple[Following, ...] = ()
    omitted_parameters: tuple[str, ...] = ()
    convention_name: str = ""
    level: str = "smoke"
    tags: tuple[str, ...] = ()
    about: str = ""
    source: str = ""
    location: str = ""
    valid_case: Case | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x, (n, c, *spatial)."""
        return self.inputs["x"].shape

    @property
    def dtype(self) -> str:
        """The dtype of x."""
        return self.inputs["x"].dtype

    @property
    def convention_id(self) -> str | None:
        """The id of the question that the case puts, if it puts one; several cases may put the same."""
        if not isinstance(self.expect, Answers):
            return None
        return f"{self.operator}/{self.convention_name}" if self.convention_name else self.id

    @cached_property
    def content_digest(self) -> str:
        """128 bits over all that is said of the case, but for where it stands."""
        said = json.dumps([self.canonical_text(), self.level, self.about, self.source])
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()

    def canonical_text(self) -> str:
        """Return all that gives the case its meaning, as text that equal cases share."""
        meaning: list[Any] = [
            self.id,
            self.operator,
            self.inputs,
            self.parameters,
            self.expect,
            self.via,
            self.then,
            self.omitted_parameters,
        ]
        meaning += [self.convention_name] if self.convention_name else []
        meaning += [self.valid_case.canonical_text()] if self.valid_case else []
        return json.dumps(meaning, default=_json_default, sort_keys=True)


def _json_default(thing: Any) -> Any:
    if isinstance(thing, Decimal):
        return str(thing)
    if isinstance(thing, Mapping):
        return dict(thing)
    return [type(thing).__name__, vars(thing)]
