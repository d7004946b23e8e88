"""Arrays and expectations as a results file writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reports.results.fields import SPECIALS, Fields, Json, Number, RecordError, shown

NUMBERS = {int, float, bool}


@dataclass(frozen=True)
class Array:
    """An array as written: data flat in row-major order, None where it has more elements than a file keeps."""

    dtype: str
    shape: tuple[int, ...]
    data: tuple[Number, ...] | None

    @classmethod
    def parse(cls, value: Json, name: str) -> Array:
        """Parse an array and hold its number of elements to its shape."""
        if not isinstance(value, dict):
            raise RecordError(f"{name} is {shown(value)}, not an array")
        fields = Fields(value)
        shape = fields.get("shape", list)
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise RecordError(f"{name} has the shape {shown(shape)}")
        data = fields.optional("data", list)
        if data is not None and len(data) != math.prod(shape):
            raise RecordError(f"{name} has {len(data)} elements, its shape {shape} has {math.prod(shape)}")
        if data is not None and not _are_numbers(data):
            raise RecordError(f"{name} has an element that is no number")
        return cls(fields.get("dtype", str), tuple(shape), None if data is None else tuple(data))

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def _are_numbers(values: Sequence[Json]) -> bool:
    """Whether all are numbers or the words for special ones; quick, as a file holds millions."""
    kinds = set(map(type, values))
    if str in kinds:
        return all(value in SPECIALS for value in values if isinstance(value, str)) and kinds <= {*NUMBERS, str}
    return kinds <= NUMBERS


@dataclass(frozen=True)
class Rejected:
    """The expectation that the parameters are refused, for a named reason."""

    predicate: str


@dataclass(frozen=True)
class Answers:
    """The named answers that a question allows."""

    answers: Mapping[str, Array | Rejected]


Expected: TypeAlias = "Array | Rejected | Answers"


def _parse_answer(value: Json, name: str) -> Array | Rejected:
    if isinstance(value, dict) and "rejected" in value:
        return Rejected(Fields(value).get("rejected", str))
    return Array.parse(value, name)


def parse_expected(value: Json) -> Expected:
    """Parse what must happen: an array, a rejection or the answers of a question."""
    if isinstance(value, dict) and "answers" in value:
        answers = Fields(value).get("answers", dict)
        return Answers({name: _parse_answer(answer, f"answer {name!r}") for name, answer in answers.items()})
    return _parse_answer(value, "'expected'")
