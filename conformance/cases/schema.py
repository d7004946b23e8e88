"""Hold a catalogue document against its JSON Schema, and say in one line each what is wrong where."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import InvalidOperation, localcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.cases.yaml_reader import YamlDocument, YamlPath

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

ITEM_NAMES = {"cases": "case", "sweeps": "sweep", "questions": "question", "rejects": "valid case", "entries": "entry"}
MAX_QUOTED_VALUE_LENGTH = 60
LIMIT_TEXTS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "maxLength": "at most {} letters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
}


@lru_cache
def _validator(schema: Path) -> Any:
    # Large, and a run whose files are as they were when they were last read holds none against a schema.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415
    from jsonschema.validators import extend  # noqa: PLC0415

    def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        """JSON Schema's $ is the end of the text; Python's matches before a last line break too."""
        if isinstance(instance, str) and (instance.endswith("\n") or not re.search(pattern, instance)):
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    strict: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    return strict(json.loads(schema.read_text("utf-8")))


@dataclass(frozen=True, order=True)
class DocumentError:
    """One fault of a document: its line, what to say of it, and the path of the key.

    removable: whether the key is one too many, so that without it the rest means the same.
    """

    line: int
    message: str
    key_path: YamlPath = field(compare=False)
    is_removable: bool = field(default=False, compare=False)


def error_messages(document: YamlDocument, schema: Path) -> list[str]:
    """Return every fault of the document as `file:line: case …: key …: what is wrong`, in the order of lines."""
    return [f"{document.path}:{fault.line}: {fault.message}" for fault in document_errors(document, schema)]


def document_errors(document: YamlDocument, schema: Path) -> list[DocumentError]:
    """Return every fault of the document, in the order of lines; those of its YAML are among them."""
    with localcontext() as context:
        context.traps[InvalidOperation] = False  # a decimal NaN is below and above no limit
        errors = list(_validator(schema).iter_errors(document.data))
    unread = [
        DocumentError(
            document.line_of(where),
            f"{case_prefix(document, where)}{'' if 'key ' in text else _key_prefix(where)}{text}",
            where,
        )
        for where, text in document.errors.items()
    ]
    return sorted({*unread, *(fault for error in errors for fault in _errors_of(document, error))})


def _errors_of(document: YamlDocument, error: ValidationError) -> Iterator[DocumentError]:
    """Yield what one error of the validator stands for: one fault, or one for each unknown key."""
    place: YamlPath = tuple(error.absolute_path)
    unknown = _unknown_keys(error)
    if error.validator != "required" and not unknown and document.is_unreadable(place):
        return  # what could not be read is told already
    for where, removable in [((*place, key), True) for key in unknown] or [(place, False)]:
        sentence = f"{case_prefix(document, where)}{_document_error(error, where, where[-1] if removable else None)}"
        yield DocumentError(document.line_of(where), sentence, where, removable)


def case_prefix(document: YamlDocument, where: YamlPath) -> str:
    """Return `case <id>: ` for a place inside a case, else nothing."""
    if len(where) < 2 or where[0] not in ITEM_NAMES or not isinstance(where[1], int):  # noqa: PLR2004 - list and position
        return ""
    item = document.data[where[0]][where[1]]
    name = item.get("id") if isinstance(item, dict) else None
    readable = isinstance(name, str) and name.isprintable()
    return f"{ITEM_NAMES[str(where[0])]} {name if readable else f'number {where[1] + 1}'}: "


def _document_error(error: ValidationError, where: YamlPath, unknown: str | int | None) -> str:
    key = _key_prefix(where)
    if unknown is not None:
        return f"{key}unknown key{_nearest_key(str(unknown), error.schema)}"
    if error.validator == "required":
        instance: Any = error.instance
        required: Any = error.validator_value
        missing = [name for name in required if name not in instance]
        return f"{key}needs the key {' and '.join(map(repr, missing))}"
    return f"{key}{shorten(error.instance)} is not {_expected_type(error)}{_suggestion(error)}"


def _key_prefix(where: YamlPath) -> str:
    """Return `key …: ` for a path, as seen from its case."""
    keys = where[2:] if where and where[0] in ITEM_NAMES else where
    return f"key {'.'.join(map(str, keys))!r}: " if keys else ""


def _unknown_keys(error: ValidationError) -> list[str]:
    if error.validator != "additionalProperties":
        return []
    instance: Any = error.instance
    schema: Any = error.schema
    return [key for key in instance if key not in schema.get("properties", {})]


def _nearest_key(key: str, schema: Any) -> str:
    near = difflib.get_close_matches(key, schema.get("properties", {}), 1)
    return f", did you mean {near[0]!r}?" if near else f", known are {', '.join(sorted(schema['properties']))}"


def _expected_type(error: ValidationError) -> str:
    """What the schema calls the thing that should stand here."""
    schema: Any = error.schema
    return str(schema.get("title") or error.message if isinstance(schema, dict) else error.message)


def _suggestion(error: ValidationError) -> str:
    """Return the word that was meant, or the limit that a number or a list is beyond, where one can tell."""
    parts = [error, *_alternative_errors(error)]
    words = {str(word) for part in parts if part.validator == "enum" for word in _or_list(part)}
    near = difflib.get_close_matches(error.instance, sorted(words), 1) if isinstance(error.instance, str) else []
    if near:
        return f", did you mean {near[0]!r}?"
    limits = [part for part in parts if part.validator in LIMIT_TEXTS]
    # The title may say it already.
    told = not limits or str(limits[0].validator_value) in _expected_type(error)
    return "" if told else f", {LIMIT_TEXTS[str(limits[0].validator)].format(limits[0].validator_value)}"


def _alternative_errors(error: ValidationError) -> Iterator[ValidationError]:
    """Yield why each alternative does not hold, and their alternatives."""
    for part in error.context or ():
        yield part
        yield from _alternative_errors(part)


def _or_list(error: ValidationError) -> list[Any]:
    choices: Any = error.validator_value
    return list(choices)


def shorten(value: Any) -> str:
    """Return the value as text of a bearable length."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= MAX_QUOTED_VALUE_LENGTH else f"{text[:MAX_QUOTED_VALUE_LENGTH]}…"


PACKAGE = Path(__file__).parents[1]


def catalogue_folder() -> Path:
    """Return the folder of the suite's own catalogue: inside an installed package, or beside it in a checkout."""
    installed = PACKAGE / "_cases"
    return installed if installed.is_dir() else PACKAGE.parent / "cases"
