"""Predicates of JSON Schemas: a fast check that accepts valid data, without error messages for other data.

`jsonschema` takes 0.2 milliseconds for a valid case, and a predicate takes 0.01. A predicate returns False if the data
are invalid, and also if it cannot decide: for classes that the YAML reader does not create, and for keywords that are
not in KEYWORDS.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Predicate = Callable[[Any], bool]
Compile = Callable[[Any], Predicate]
"""Compile a subschema, which may refer to definitions of the whole schema."""

ANNOTATIONS = {"title", "description", "$schema", "$defs", "examples", "default"}
"""Keywords that do not restrict the data."""
TYPES: Mapping[str, Predicate] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in {int, float, Decimal},
    "null": lambda value: value is None,
}
"""The predicate of each type, for the classes of the values in a YAML document."""


def compile_definition(schema: Mapping[str, Any], reference: str) -> Predicate:
    """Return the predicate of a definition in a schema. reference: as in `$ref`, for example "#/$defs/case"."""
    return _Compiler(schema)({"$ref": reference})


class _Compiler:
    """Compiles subschemas. Each definition is compiled once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._definitions: dict[str, Predicate] = {}

    def __call__(self, schema: Any) -> Predicate:
        if not isinstance(schema, dict) or not schema.keys() <= KEYWORDS.keys() | ANNOTATIONS | {"$ref"}:
            return _undecided
        predicates = [self._of_reference(schema["$ref"])] if "$ref" in schema else []
        # Several keywords may share a compiler, which is called once.
        compilers = dict.fromkeys(KEYWORDS[key] for key in schema if key in KEYWORDS)
        return _all_of(predicates + [compiler(schema, self) for compiler in compilers])

    def _of_reference(self, reference: str) -> Predicate:
        if reference not in self._definitions:
            # Set before the definition is compiled, because it may refer to itself.
            self._definitions[reference] = lambda value: self._definitions[reference](value)  # noqa: PLW0108 - replaced below
            definition: Any = self._schema
            for key in reference.removeprefix("#/").split("/"):
                definition = definition[key]
            self._definitions[reference] = self(definition)
        return self._definitions[reference]


def _undecided(_value: Any) -> bool:
    return False


def _all_of(predicates: list[Predicate]) -> Predicate:
    if len(predicates) == 1:
        return predicates[0]

    def check(value: Any) -> bool:
        for predicate in predicates:  # noqa: SIM110 - `all` with a generator takes twice as long
            if not predicate(value):
                return False
        return True

    return check


def _compile_type(schema: Mapping[str, Any], _compile: Compile) -> Predicate:
    return TYPES.get(schema["type"], _undecided) if isinstance(schema["type"], str) else _undecided


def _compile_choices(schema: Mapping[str, Any], _compile: Compile) -> Predicate:
    """Compile `enum` and `const`. The class is compared too, because True == 1 in Python, but not in JSON Schema."""
    choices = {(type(value), value) for value in schema.get("enum", [schema.get("const")]) if type(value) in {str, int}}
    return lambda value: type(value) in {str, int} and (type(value), value) in choices


def _compile_any_of(schema: Mapping[str, Any], compile_part: Compile) -> Predicate:
    parts = [compile_part(part) for part in schema["anyOf"]]
    return lambda value: any(part(value) for part in parts)


def _compile_number(schema: Mapping[str, Any], _compile: Compile) -> Predicate:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)

    def check(value: Any) -> bool:
        is_number = type(value) is int or (type(value) is Decimal and value.is_finite())
        return is_number and low <= value <= high

    return check


def _compile_text(schema: Mapping[str, Any], _compile: Compile) -> Predicate:
    limit, pattern = schema.get("maxLength", math.inf), re.compile(schema["pattern"]) if "pattern" in schema else None

    def check(value: Any) -> bool:
        if type(value) is not str or len(value) > limit:
            return False
        # `$` matches the end of the text only in JSON Schema, and also before a final newline in Python.
        return pattern is None or (value[-1:] != "\n" and pattern.search(value) is not None)

    return check


def _compile_array(schema: Mapping[str, Any], compile_part: Compile) -> Predicate:
    low, high = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    item = compile_part(schema["items"]) if "items" in schema else None

    def check(value: Any) -> bool:
        if type(value) is not list or not low <= len(value) <= high:
            return False
        return item is None or all(map(item, value))

    return check


def _compile_unique(_schema: Mapping[str, Any], _compile: Compile) -> Predicate:
    def check(value: Any) -> bool:
        return type(value) is list and {*map(type, value)} <= {str} and len({*value}) == len(value)

    return check


def _compile_object(schema: Mapping[str, Any], compile_part: Compile) -> Predicate:
    required, least = frozenset(schema.get("required", ())), schema.get("minProperties", 0)
    of_name = compile_part(schema["propertyNames"]) if "propertyNames" in schema else None
    properties = {name: compile_part(part) for name, part in schema.get("properties", {}).items()}
    further = schema.get("additionalProperties", True)
    other = None if further is True else _undecided if further is False else compile_part(further)

    def check(value: Any) -> bool:
        if type(value) is not dict or len(value) < least or not required <= value.keys():
            return False
        for key, part in value.items():
            predicate = properties.get(key, other)
            if predicate is not None and not predicate(part):
                return False
        return of_name is None or all(map(of_name, value))

    return check


KEYWORDS: Mapping[str, Callable[[Mapping[str, Any], Compile], Predicate]] = {
    "type": _compile_type,
    "enum": _compile_choices,
    "const": _compile_choices,
    "anyOf": _compile_any_of,
    **dict.fromkeys(("minimum", "maximum"), _compile_number),
    **dict.fromkeys(("maxLength", "pattern"), _compile_text),
    **dict.fromkeys(("items", "minItems", "maxItems"), _compile_array),
    "uniqueItems": _compile_unique,
    **dict.fromkeys(
        ("required", "properties", "additionalProperties", "propertyNames", "minProperties"), _compile_object
    ),
}
"""For each supported keyword, the function that compiles it together with its related keywords."""
