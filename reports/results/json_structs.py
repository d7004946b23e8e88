"""Typed JSON objects: a base class, and decoding with errors that name the key."""

from __future__ import annotations

import json
import math
import re
from json import JSONDecodeError
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar

from msgspec import DecodeError, Struct, ValidationError, convert, field, to_builtins
from msgspec.json import Decoder

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonNumber: TypeAlias = "int | float | str"  # a string is "nan", "inf" or "-inf"
DecodedType = TypeVar("DecodedType")

SPECIAL_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

if TYPE_CHECKING:
    Measure = float
else:
    # A file may contain NaN and infinities as strings. The structs convert them with `measure`.
    Measure = float | Literal["nan", "inf", "-inf"]

_ERROR_PATH = re.compile(r" - at (?:`key` in )?`\$\.?([^`]*)`")


class RecordError(ValueError):
    """A record that does not follow docs/results.md. The message names the key and the error."""


class JsonStruct(Struct, frozen=True, omit_defaults=True, gc=False):
    """Base of all parts of records. Fields with a default may be absent in files and are not written then."""

    def json_values(self) -> dict[str, Any]:
        """Return the JSON object, in which NaN and infinities are still floats."""
        values: dict[str, Any] = to_builtins(self)
        return values


def nullable() -> Any:
    """Return the default None of a field that may be absent in files, but is always written, as null."""
    # The option `omit_defaults` omits plain defaults only.
    return field(default_factory=NoneType)


def measure(number: float | str | None) -> float | None:
    """Convert the strings for NaN and infinities to floats."""
    return SPECIAL_NUMBERS[number] if isinstance(number, str) else number


def decode(content: bytes, decoder: Decoder[DecodedType]) -> DecodedType:
    """Return the decoded JSON. Raises RecordError with a message of one line, which begins with the path of the key."""
    try:
        try:
            return decoder.decode(content)
        except ValidationError:
            raise
        except DecodeError:
            # Python accepts lone surrogates, which messages of frameworks may contain.
            parsed = json.loads(content.decode(), parse_constant=_reject_constant)
            # Releases of msgspec differ in the annotation of `decoder.type`.
            converted: DecodedType = convert(parsed, decoder.type)
            return converted
    except ValidationError as error:
        raise RecordError(_validation_text(str(error))) from None
    except JSONDecodeError as error:
        raise RecordError(f"not JSON: {error.msg} at column {error.colno}") from None
    except UnicodeDecodeError:
        raise RecordError(f"not UTF-8 at byte {_first_invalid_byte(content)}") from None
    except UnicodeEncodeError as error:
        # msgspec cannot compare a lone surrogate with the words of an enum or with the names of record types.
        raise RecordError(f"unknown value {error.object!r}") from None
    except RecursionError:
        raise RecordError("not readable JSON: nested too deeply") from None


def _first_invalid_byte(content: bytes) -> int:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start  # the error of msgspec counts from the start of a string in the line
    return 0


def _reject_constant(name: str) -> NoReturn:
    raise RecordError(f'not JSON: {name} must be written as a string such as "nan"')


def _validation_text(text: str) -> str:
    """Put the path of the key in front. An error inside a nested decoder has one path for each decoder."""
    path = ".".join(part for part in reversed(_ERROR_PATH.findall(text)) if part)
    problem = _ERROR_PATH.sub("", text).replace("Invalid enum value", "unknown value").replace("Invalid", "unknown")
    return ": ".join(filter(None, [path, problem[:1].lower() + problem[1:]]))
