"""Typed access to one JSON object of a results file; errors name the key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonNumber: TypeAlias = "int | float | str"  # a string is "nan", "inf" or "-inf"
ValueType = TypeVar("ValueType")

MAX_QUOTED_JSON_LENGTH = 40  # characters

SPECIAL_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class RecordError(ValueError):
    """A record that does not follow docs/results.md. The message names the key and the error."""


class JsonFields:
    """Typed access to the keys of one JSON object; errors name the key."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        self.values = values

    def get(self, key: str, kind: type[ValueType]) -> ValueType:
        """Return the value of a required key. Raises RecordError if it is missing or has another type."""
        if key not in self.values:
            raise RecordError(f"lacks the key {key!r}")
        value = self.values[key]
        if kind is float and isinstance(value, int):
            value = float(value)
        # A bool is an int in Python, but not in JSON.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise RecordError(f"{key!r} is {quoted_value(value)}, not {_TYPE_NAMES[kind]}")
        return value

    def optional(self, key: str, kind: type[ValueType]) -> ValueType | None:
        """Return the value of a key that may be absent or null."""
        return None if self.values.get(key) is None else self.get(key, kind)

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Return a string that must be one of the choices."""
        value = self.get(key, str)
        if value not in choices:
            raise RecordError(f"{key!r} is {value!r}, not one of {', '.join(choices)}")
        return value

    def optional_choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        """Return one of the choices, or None if the key is absent or null."""
        return None if self.values.get(key) is None else self.choice(key, choices)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        value = self.get(key, list)
        if not all(isinstance(text, str) for text in value):
            raise RecordError(f"{key!r} is not a list of strings")
        return tuple(value)

    def table(self, key: str) -> dict[str, str]:
        """Return an object whose values are all strings."""
        value = self.get(key, dict)
        if not all(isinstance(text, str) for text in value.values()):
            raise RecordError(f"{key!r} is not an object of strings")
        return dict(value)

    def fields(self, key: str) -> JsonFields:
        """Return a nested object."""
        return JsonFields(self.get(key, dict))

    def objects(self, key: str) -> list[JsonFields]:
        """Return a list of nested objects."""
        value = self.get(key, list)
        if not all(isinstance(one, dict) for one in value):
            raise RecordError(f"{key!r} is not a list of objects")
        return [JsonFields(one) for one in value]

    def measure(self, key: str) -> float | None:
        """Return a number, or None. The number may be written as "nan", "inf" or "-inf"."""
        value = self.values.get(key)
        return (
            SPECIAL_NUMBERS[value] if isinstance(value, str) and value in SPECIAL_NUMBERS else self.optional(key, float)
        )


_TYPE_NAMES: dict[type, str] = {
    str: "a string", int: "an integer", float: "a number", dict: "an object", list: "a list", bool: "true or false",
}  # fmt: skip


def quoted_value(value: Json) -> str:
    """Return a value as quoted in error messages, shortened to MAX_QUOTED_JSON_LENGTH characters."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED_JSON_LENGTH else text[: MAX_QUOTED_JSON_LENGTH - 1] + "…"
