"""YAML reader that records line numbers and preserves the digits of decimals.

It accepts mappings, sequences, strings, numbers, booleans and null. It rejects tags, aliases (a few lines of aliases
can expand to gigabytes) and duplicate keys.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from conformance import CatalogueError

YamlPath = tuple[str | int, ...]
MAX_YAML_BYTES = 1_000_000
"""Maximum size of a file."""
MAX_NESTING_DEPTH = 40
"""Maximum number of collections inside each other. `_Constructor` is recursive."""
MAX_DIGITS = 400
"""Maximum number of characters of a number."""
YAML_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader of libyaml if available, which takes a tenth of the time."""


@dataclass
class YamlDocument:
    """The data of one file.

    lines: the line of each value, by its path of keys and positions; errors: a message for each value that could not
    be read, by its path. Such values are None in the data.
    """

    path: Path
    data: Any = None
    lines: dict[YamlPath, int] = field(default_factory=dict)
    errors: dict[YamlPath, str] = field(default_factory=dict)

    def line_of(self, key_path: YamlPath) -> int:
        """Return the line of a value, or of the innermost value around it that has a line."""
        while key_path not in self.lines and key_path:
            key_path = key_path[:-1]
        return self.lines.get(key_path, 1)

    def location_of(self, key_path: YamlPath) -> str:
        """Return `file:line` of a value."""
        return f"{self.path}:{self.line_of(key_path)}"

    def is_unreadable(self, key_path: YamlPath) -> bool:
        """Whether a value, a value inside it or a value around it could not be read."""
        return any(other[: len(key_path)] == key_path[: len(other)] for other in self.errors)


def read_yaml(path: Path) -> YamlDocument:
    """Read one file. Raises CatalogueError with a line for each error, naming file and line."""
    document = read_yaml_with_errors(path)
    if document.errors:
        raise CatalogueError(
            "\n".join(f"{document.location_of(key_path)}: {text}" for key_path, text in document.errors.items())
        )
    return document


def read_yaml_with_errors(path: Path) -> YamlDocument:
    """Read one file; record errors of single values in the document. Raises CatalogueError for errors of the file."""
    document = YamlDocument(path)
    try:
        text = read_text(path)
        _Constructor(document, text).read_document()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise CatalogueError(f"{path}:{line}: {error.reason}") from None
    except yaml.YAMLError as error:
        raise CatalogueError(_yaml_message(path, error)) from None
    return document


def read_text(path: Path) -> str:
    """Return the text of a file. Raises CatalogueError if it cannot be read, is not UTF-8 or is too large."""
    try:
        status = path.stat()
        if status.st_size > MAX_YAML_BYTES:
            raise CatalogueError(f"{path}: {status.st_size} bytes, more than the limit of {MAX_YAML_BYTES}")
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):  # reading it could last without end
            raise CatalogueError(f"{path}: not a regular file")
        return path.read_text("utf-8")
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CatalogueError(f"{path}:{line}: not UTF-8 at byte {error.start}") from None


SECOND_DOCUMENT = "a second YAML document begins here; a file contains one"
YAML_PROBLEMS = {
    "did not find expected <document start>": "text after the end of the YAML document",
    "expected '<document start>', but found '{'": "text after the end of the YAML document",
    # PyYAML 6.0.4 has a limit, too.
    "exceeded maximum nesting depth": f"nested more than {MAX_NESTING_DEPTH} levels deep",
}
"""Complete sentences for messages of PyYAML that are parts of a sentence."""


def _yaml_message(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    problem = YAML_PROBLEMS.get(problem, problem)
    return f"{path}:{mark.line + 1}: {problem}" if mark else f"{path}: {problem}"


class _Constructor:
    """Constructs the data of a document from the events of the parser, so that no value is read twice."""

    def __init__(self, document: YamlDocument, text: str) -> None:
        self.document = document
        loader = YAML_LOADER(text)
        self.next_event: Callable[[], Any] = loader.get_event
        self.resolve: Callable[..., str] = loader.resolve

    def read_document(self) -> None:
        """Set the data of the document. Raises YAMLError or CatalogueError."""
        self.next_event()  # the start of the stream
        if isinstance(self.next_event(), yaml.StreamEndEvent):
            return
        self.document.data = self.construct(self.next_event(), (), 0)
        self.next_event()  # the end of the document
        after = self.next_event()
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._error(after, SECOND_DOCUMENT)

    def construct(self, event: Any, key_path: YamlPath, depth: int) -> Any:
        """Return the value that begins with an event. depth: the number of collections around it."""
        self.document.lines[key_path] = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, key_path)
        if isinstance(event, yaml.AliasEvent):
            raise self._error(event, f"an alias (*{event.anchor}) is not allowed")
        if depth == MAX_NESTING_DEPTH:
            raise self._error(event, f"nested more than {MAX_NESTING_DEPTH} levels deep")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        read, expected = (self._mapping, MAPPING_TAG) if is_mapping else (self._sequence, SEQUENCE_TAG)
        # An implicit tag is None; the explicit tag `!` also means the tag of the kind of collection.
        if event.tag in {None, "!", expected}:
            return read(key_path, depth + 1)
        with self._discarded():
            read(key_path, depth + 1)
        return self._reject_tag(event.tag, key_path)

    def _scalar(self, event: yaml.ScalarEvent, key_path: YamlPath) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag not in SCALAR_CONSTRUCTORS:
            return self._reject_tag(tag, key_path)
        try:
            return SCALAR_CONSTRUCTORS[tag](event.value)
        except (ValueError, ArithmeticError):
            self.document.errors[key_path] = f"{event.value[:40]!r} cannot be read as a number"
            return None

    def _reject_tag(self, tag: str, key_path: YamlPath) -> None:
        self.document.errors[key_path] = f"values of type {tag} are not allowed"

    def _sequence(self, parent: YamlPath, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self.next_event(), yaml.SequenceEndEvent):
            items.append(self.construct(event, (*parent, len(items)), depth))
        return items

    def _mapping(self, parent: YamlPath, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := self.next_event(), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.ScalarEvent) and event.value not in items:
                key_path = (*parent, event.value)
                items[event.value] = self.construct(self.next_event(), key_path, depth)
                # The line of the key replaces the line of the value.
                self.document.lines[key_path] = line
                continue
            # The path of a rejected key contains its position, so that it is unique and has a line.
            rejected = (*parent, f"line {line}, column {event.start_mark.column + 1}")
            with self._discarded():
                self.construct(event, (), depth)
                self.construct(self.next_event(), (), depth)
            self.document.lines[rejected] = line
            is_word = isinstance(event, yaml.ScalarEvent)
            self.document.errors[rejected] = f"duplicate key {event.value!r}" if is_word else "a key must be a word"
        return items

    @contextmanager
    def _discarded(self) -> Iterator[None]:
        """Read values that are not part of the document."""
        document, self.document = self.document, YamlDocument(self.document.path)
        yield
        self.document = document

    def _error(self, event: Any, text: str) -> CatalogueError:
        return CatalogueError(f"{self.document.path}:{event.start_mark.line + 1}: {text}")


def _construct_integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(text)
    return int(text)


def _construct_decimal(text: str) -> Decimal:
    special = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}
    if len(text) > MAX_DIGITS:
        raise ValueError(text)
    number = Decimal(special.get(text.lower(), text))
    if number.is_snan():  # a signalling NaN cannot be converted to a float
        raise ValueError(text)
    return number


MAPPING_TAG = "tag:yaml.org,2002:map"
SEQUENCE_TAG = "tag:yaml.org,2002:seq"
SCALAR_CONSTRUCTORS: Mapping[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": _construct_integer,
    "tag:yaml.org,2002:float": _construct_decimal,
    "tag:yaml.org,2002:bool": lambda text: text.lower() in {"true", "yes", "on"},
    "tag:yaml.org,2002:null": lambda _text: None,
}
