"""Hold a catalogue document against its JSON Schema, and say in one line each what is wrong where."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from decimal import InvalidOperation, localcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from conformance.yaml_reader import Document, KeyPath

LISTS = {"cases": "case", "sweeps": "sweep", "questions": "question", "entries": "entry"}
LONGEST = 60


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """JSON Schema's $ is the end of the text; Python's matches before a last line break too."""
    if isinstance(instance, str) and (instance.endswith("\n") or not re.search(pattern, instance)):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@lru_cache
def _validator(schema: Path) -> Any:
    strict: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    return strict(json.loads(schema.read_text("utf-8")))


def problems(document: Document, schema: Path) -> list[str]:
    """Return every fault of the document as `file:line: case …: key …: what is wrong`, in the order of lines."""
    found = set()
    with localcontext() as context:
        context.traps[InvalidOperation] = False  # a decimal NaN is below and above no limit
        errors = list(_validator(schema).iter_errors(document.data))
    for error in errors:
        unknown = _unknown_key(error)
        where = (*error.absolute_path, *([unknown] if unknown else []))
        found.add((document.line(where), f"{subject(document, where)}{_fault(error, where, unknown)}"))
    return [f"{document.path}:{line}: {sentence}" for line, sentence in sorted(found)]


def subject(document: Document, where: KeyPath) -> str:
    """Return `case <id>: ` for a place inside a case, else nothing."""
    if len(where) < 2 or where[0] not in LISTS:  # noqa: PLR2004 - the list and the position in it
        return ""
    item = document.data[where[0]][where[1]]
    name = item.get("id") if isinstance(item, dict) else None
    readable = isinstance(name, str) and name.isprintable()
    return f"{LISTS[str(where[0])]} {name if readable else f'number {int(where[1]) + 1}'}: "


def _fault(error: ValidationError, where: KeyPath, unknown: str | None) -> str:
    keys = where[2:] if where and where[0] in LISTS else where
    key = f"key {'.'.join(map(str, keys))!r}: " if keys else ""
    if unknown:
        return f"{key}unknown key{_nearest(unknown, error.schema)}"
    if error.validator == "required":
        instance: Any = error.instance
        required: Any = error.validator_value
        missing = [name for name in required if name not in instance]
        return f"{key}needs the key {' and '.join(map(repr, missing))}"
    return f"{key}{shortened(error.instance)} is not {_wanted(error)}"


def _unknown_key(error: ValidationError) -> str | None:
    if error.validator != "additionalProperties":
        return None
    instance: Any = error.instance
    schema: Any = error.schema
    return next((key for key in instance if key not in schema.get("properties", {})), None)


def _nearest(key: str, schema: Any) -> str:
    near = difflib.get_close_matches(key, schema.get("properties", {}), 1)
    return f", did you mean {near[0]!r}?" if near else f", known are {', '.join(sorted(schema['properties']))}"


def _wanted(error: ValidationError) -> str:
    """What the schema calls the thing that should stand here."""
    schema: Any = error.schema
    return str(schema.get("title") or error.message if isinstance(schema, dict) else error.message)


def shortened(value: Any) -> str:
    """Return the value as text of a bearable length."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
