"""Check a catalogue document against its JSON Schema and report each error with file, line and key."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.cases.operators import OPERATORS
from conformance.cases.schema_predicate import compile_definition
from conformance.cases.yaml_reader import YamlDocument, YamlPath
from conformance.system.error_lines import first_errors

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

CASE_LISTS, CASE_KEY_DEPTH = ("cases", "questions"), 3
"""Keys of the lists of cases, and the length of the path to a key of a case: list, position and key."""
ITEM_NAMES = {"cases": "case", "sweeps": "sweep", "questions": "question", "rejects": "valid case", "entries": "entry"}
"""Name of an item in error messages, by the key of its list."""
MAX_QUOTED_VALUE_LENGTH = 60
"""Maximum number of characters of a value in an error message."""
LIMIT_TEXTS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
}


@lru_cache
def _validator(schema: Path) -> Any:
    # Imported here because the import is slow, and a run with a cached catalogue validates no file.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415
    from jsonschema.validators import extend  # noqa: PLC0415

    def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        """Match `$` at the end of the text only, as JSON Schema does; Python also matches it before a final newline."""
        if isinstance(instance, str) and (instance.endswith("\n") or not re.search(pattern, instance)):
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    def _items(validator: Any, items: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        """Validate the items of a list, except those that the fast predicate accepts."""
        is_valid = predicate_of(items["$ref"]) if "$ref" in items else None
        for position, item in enumerate(instance if isinstance(instance, list) else ()):
            if is_valid is None or not is_valid(item):
                yield from validator.descend(item, items, path=position)

    data = json.loads(schema.read_text("utf-8"))
    predicate_of = lru_cache(None)(partial(compile_definition, data))
    strict: Any = extend(Draft202012Validator, {"pattern": _pattern, "items": _items})  # type: ignore[no-untyped-call]
    return strict(data)


@dataclass(frozen=True)
class DocumentError:
    """One error of a document: its line, its message, and the path of the key.

    is_removable: whether the key is unknown, so that removing it does not change the meaning of the others.
    """

    line: int
    message: str
    key_path: YamlPath
    is_removable: bool = field(default=False, compare=False)


def error_messages(document: YamlDocument, schema: Path) -> list[str]:
    """Return the first errors of the document as `file:line: case …: key …: message`, in the order of lines."""
    return first_errors(f"{document.path}:{error.line}: {error.message}" for error in document_errors(document, schema))


def document_errors(document: YamlDocument, schema: Path, limit: int | None = None) -> list[DocumentError]:
    """Return the errors of the document, in the order of lines, including errors of its YAML.

    limit: number of errors of the schema after which the check of the document stops.
    """
    with localcontext() as context:
        # By default a comparison with a decimal NaN raises; without the trap it is False, as for a float.
        context.traps[InvalidOperation] = False
        errors = list(islice(_validator(schema).iter_errors(document.data), limit))
    unreadable = [
        DocumentError(
            document.line_of(path),
            f"{case_prefix(document, path)}{'' if 'key ' in text else _key_prefix(path)}{text}",
            path,
        )
        for path, text in document.errors.items()
    ]
    # Two items in one line can have the same error, and both must be known as invalid.
    found = dict.fromkeys([*unreadable, *(one for error in errors for one in _errors_of(document, error))])
    return sorted(found, key=lambda one: (one.line, one.message))


def _errors_of(document: YamlDocument, error: ValidationError) -> Iterator[DocumentError]:
    """Convert an error of the validator: yield one error, or one for each key if keys are unknown."""
    parent: YamlPath = tuple(error.absolute_path)
    unknown = _unknown_keys(error)
    if error.validator != "required" and not unknown and document.is_unreadable(parent):
        # The value is None in its place, which the validator rejects a second time.
        return  # already reported as a YAML error
    for path, removable in [((*parent, key), True) for key in unknown] or [(parent, False)]:
        text = _unknown_key_text(document, error, path) if removable else _error_text(error)
        message = f"{case_prefix(document, path)}{_key_prefix(path)}{text}"
        yield DocumentError(document.line_of(path), message, path, removable)


def case_prefix(document: YamlDocument, path: YamlPath) -> str:
    """Return `case <id>: ` for a path inside a case, "" for any other."""
    if len(path) < 2 or path[0] not in ITEM_NAMES or not isinstance(path[1], int):  # noqa: PLR2004 - list and position
        return ""
    item = document.data[path[0]][path[1]]
    name = item.get("id") if isinstance(item, dict) else None
    readable = isinstance(name, str) and name.isprintable()
    return f"{ITEM_NAMES[str(path[0])]} {name if readable else f'number {path[1] + 1}'}: "


def _error_text(error: ValidationError) -> str:
    if error.validator == "required":
        instance: Any = error.instance
        required: Any = error.validator_value
        missing = [name for name in required if name not in instance]
        return f"needs the key {' and '.join(map(repr, missing))}"
    return f"{shorten(error.instance)} is not {_expected_type(error)}{_suggestion(error)}"


def _key_prefix(path: YamlPath) -> str:
    """Return `key …: ` with the path of the key relative to its case."""
    keys = path[2:] if path and path[0] in ITEM_NAMES else path
    return f"key {'.'.join(map(str, keys))!r}: " if keys else ""


def _unknown_keys(error: ValidationError) -> list[str]:
    if error.validator != "additionalProperties":
        return []
    instance: Any = error.instance
    schema: Any = error.schema
    return [key for key in instance if key not in schema.get("properties", {})]


def _unknown_key_text(document: YamlDocument, error: ValidationError, path: YamlPath) -> str:
    """Return that a key is unknown, with the nearest known one, or with all known keys if none is near."""
    schema: Any = error.schema
    known = {*schema.get("properties", {})}
    if path[0] in CASE_LISTS and len(path) == CASE_KEY_DEPTH:
        known -= _keys_of_other_operators(document.data.get("operator"))
    near = difflib.get_close_matches(str(path[-1]), sorted(known), 1)
    return f"unknown key, did you mean {near[0]!r}?" if near else f"unknown key; known keys: {', '.join(sorted(known))}"


def _keys_of_other_operators(operator: Any) -> set[str]:
    """Return the parameters and inputs of all operators that this one has not; empty for an unknown operator."""
    if not isinstance(operator, str) or operator not in OPERATORS:
        return set()
    keys = {name: {*one.defaults, *one.inputs, *one.optional_inputs} for name, one in OPERATORS.items()}
    return set().union(*keys.values()) - keys[operator]


def _expected_type(error: ValidationError) -> str:
    """Return the schema's title of the expected value."""
    schema: Any = error.schema
    return str(schema.get("title") or error.message if isinstance(schema, dict) else error.message)


def _suggestion(error: ValidationError) -> str:
    """Return the closest allowed word, or the limit that a number or a list exceeds; "" if there is neither."""
    parts = [error, *_alternative_errors(error)]
    choices: list[Any] = [part.validator_value for part in parts if part.validator == "enum"]
    words = {str(word) for allowed in choices for word in allowed}
    near = difflib.get_close_matches(error.instance, sorted(words), 1) if isinstance(error.instance, str) else []
    if near:
        return f", did you mean {near[0]!r}?"
    limits = [part for part in parts if part.validator in LIMIT_TEXTS]
    # The title may already contain the limit.
    stated = not limits or str(limits[0].validator_value) in _expected_type(error)
    return "" if stated else f", {LIMIT_TEXTS[str(limits[0].validator)].format(limits[0].validator_value)}"


def _alternative_errors(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the errors of each alternative of an `anyOf` or `oneOf`, recursively."""
    for part in error.context or ():
        yield part
        yield from _alternative_errors(part)


def shorten(value: Any) -> str:
    """Return the value as text of limited length."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=_readable)
    return text if len(text) <= MAX_QUOTED_VALUE_LENGTH else f"{text[:MAX_QUOTED_VALUE_LENGTH]}…"


def _readable(value: Any) -> Any:
    """Return a decimal number as a float, which is written without quotes."""
    return float(value) if isinstance(value, Decimal) else str(value)


PACKAGE = Path(__file__).parents[1]


def catalogue_folder() -> Path:
    """Return the folder of the built-in catalogue: in the package if installed, in the repository if in a checkout."""
    installed = PACKAGE / "_cases"
    return installed if installed.is_dir() else PACKAGE.parent / "cases"
