"""Arrays and expected results, as recorded in results files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reports.results.fields import SPECIAL_NUMBERS, Json, JsonFields, JsonNumber, RecordError, quoted_value

NUMBER_TYPES = {int, float, bool}


@dataclass(frozen=True)
class RecordedArray:
    """A recorded array. data: flat, in row-major order; None for large arrays, whose elements are not recorded."""

    dtype: str
    shape: tuple[int, ...]
    data: tuple[JsonNumber, ...] | None

    @classmethod
    def parse(cls, value: Json, name: str) -> RecordedArray:
        """Parse an array and check its number of elements against its shape. name: used in error messages."""
        if not isinstance(value, dict):
            raise RecordError(f"{name} is {quoted_value(value)}, not an array")
        fields = JsonFields(value)
        shape = fields.get("shape", list)
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise RecordError(f"{name} has the shape {quoted_value(shape)}")
        data = fields.optional("data", list)
        if data is not None and len(data) != math.prod(shape):
            raise RecordError(f"{name} has {len(data)} elements, its shape {shape} has {math.prod(shape)}")
        if data is not None and not _is_number_list(data):
            raise RecordError(f"{name} has an element that is not a number")
        return cls(fields.get("dtype", str), tuple(shape), None if data is None else tuple(data))

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def _is_number_list(values: Sequence[Json]) -> bool:
    """Whether all values are numbers or the strings for NaN and infinities."""
    # Compare the set of types instead of checking each value: a file contains millions of elements.
    kinds = set(map(type, values))
    if str in kinds:
        return all(value in SPECIAL_NUMBERS for value in values if isinstance(value, str)) and kinds <= {
            *NUMBER_TYPES,
            str,
        }
    return kinds <= NUMBER_TYPES


@dataclass(frozen=True)
class RecordedRejection:
    """The expectation that the call is rejected. predicate: name of the violation."""

    predicate: str


@dataclass(frozen=True)
class RecordedAnswers:
    """The named answers to a convention."""

    answers: Mapping[str, RecordedArray | RecordedRejection]


ExpectedRecord: TypeAlias = "RecordedArray | RecordedRejection | RecordedAnswers"


def _parse_answer(value: Json, name: str) -> RecordedArray | RecordedRejection:
    if isinstance(value, dict) and "rejected" in value:
        return RecordedRejection(JsonFields(value).get("rejected", str))
    return RecordedArray.parse(value, name)


def parse_expected(value: Json) -> ExpectedRecord:
    """Parse the expected result: an array, a rejection or the answers to a convention."""
    if isinstance(value, dict) and "answers" in value:
        answers = JsonFields(value).get("answers", dict)
        return RecordedAnswers({name: _parse_answer(answer, f"answer {name!r}") for name, answer in answers.items()})
    return _parse_answer(value, "'expected'")
