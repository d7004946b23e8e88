"""Arrays and expected results, as recorded in results files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta, ValidationError, convert, field

from reports.results.json_structs import JsonNumber, JsonStruct, nullable

if TYPE_CHECKING:
    Element: TypeAlias = JsonNumber
else:
    # Strings are allowed for NaN and infinities only.
    Element = bool | int | float | Literal["nan", "inf", "-inf"]


class RecordedArray(JsonStruct, frozen=True):
    """A recorded array. data: flat, in row-major order; None for large arrays, whose elements are not recorded."""

    dtype: str
    shape: tuple[Annotated[int, Meta(ge=0)], ...]
    data: tuple[Element, ...] | None = nullable()

    def __post_init__(self) -> None:
        """Check the number of elements."""
        if self.data is not None and len(self.data) != self.size:
            raise ValueError(f"{len(self.data)} elements, but the shape {list(self.shape)} has {self.size}")

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class RecordedRejection(JsonStruct, frozen=True):
    """The expectation that the call is rejected. predicate: name of the violation."""

    predicate: str = field(name="rejected")


class RecordedAnswers(JsonStruct, frozen=True):
    """The named answers to a convention."""

    answers: Mapping[str, RecordedArray | RecordedRejection]


if TYPE_CHECKING:
    ExpectedRecord: TypeAlias = RecordedArray | RecordedRejection | RecordedAnswers
else:
    # The objects have no common key that names their type. Structs that contain one convert it with `parse_expected`.
    ExpectedRecord = Any


def parse_expected(value: Any) -> ExpectedRecord:
    """Convert the JSON object of an expected result. Raises ValueError."""
    answers = value.get("answers") if isinstance(value, dict) else None
    if isinstance(answers, dict):
        return RecordedAnswers({name: _parse_answer(answer) for name, answer in answers.items()})
    return _parse_answer(value)


def _parse_answer(value: Any) -> RecordedArray | RecordedRejection:
    is_rejection = isinstance(value, dict) and "rejected" in value
    try:
        return convert(value, RecordedRejection) if is_rejection else convert(value, RecordedArray)
    except ValidationError as error:
        # msgspec adds the path of the containing object to a ValueError only.
        raise ValueError(f"{error} - at `$.expected`") from None
