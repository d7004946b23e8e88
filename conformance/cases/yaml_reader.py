"""YAML reader that records line numbers and preserves the digits of decimals.

It accepts mappings, sequences, strings, numbers, booleans and null. It rejects tags, aliases (a few lines of aliases
can expand to gigabytes) and duplicate keys.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
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
"""Maximum number of collections inside each other. `_construct` is recursive."""
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
        _check_expansion(path, text)
        node = yaml.compose(text, Loader=YAML_LOADER)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise CatalogueError(f"{path}:{line}: {error.reason}") from None
    except yaml.YAMLError as error:
        raise CatalogueError(_yaml_message(path, error)) from None
    if node is not None:
        document.data = _construct(document, node, ())
    return document


def _check_expansion(path: Path, text: str) -> None:
    """Reject aliases and deep nesting while scanning events, before any value is constructed."""
    depth = 0
    for event in yaml.parse(text, Loader=YAML_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise CatalogueError(f"{path}:{line}: an alias (*{event.anchor}) is not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING_DEPTH:
            raise CatalogueError(f"{path}:{line}: nested more than {MAX_NESTING_DEPTH} levels deep")


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


YAML_PROBLEMS = {
    "but found another document": "a second YAML document begins here; a file contains one",
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


def _construct(document: YamlDocument, node: yaml.Node, key_path: YamlPath) -> Any:
    if node.start_mark:
        document.lines[key_path] = node.start_mark.line + 1
    if node.tag not in (COLLECTION_TAGS if isinstance(node, yaml.CollectionNode) else SCALAR_CONSTRUCTORS):
        return _add_error(document, key_path, f"values of type {node.tag} are not allowed")
    if isinstance(node, yaml.MappingNode):
        return dict(_construct_items(document, node, key_path))
    if isinstance(node, yaml.SequenceNode):
        return [_construct(document, child, (*key_path, index)) for index, child in enumerate(node.value)]
    try:
        return SCALAR_CONSTRUCTORS[node.tag](node.value)
    except (ValueError, ArithmeticError):
        return _add_error(document, key_path, f"{node.value[:40]!r} cannot be read as a number")


def _add_error(document: YamlDocument, key_path: YamlPath, text: str) -> None:
    document.errors[key_path] = text


def _construct_items(document: YamlDocument, node: yaml.MappingNode, parent: YamlPath) -> Iterator[tuple[str, Any]]:
    seen = set()
    for key_node, value_node in node.value:
        key, line = key_node.value, key_node.start_mark.line + 1
        if not isinstance(key, str) or key in seen:
            # The path of a rejected key contains its position, so that it is unique and has a line.
            rejected = (*parent, f"line {line}, column {key_node.start_mark.column + 1}")
            document.lines[rejected] = line
            _add_error(document, rejected, f"duplicate key {key!r}" if isinstance(key, str) else "a key must be a word")
            continue
        seen.add(key)
        key_path = (*parent, key)
        value = _construct(document, value_node, key_path)
        # The line of the key replaces the line of the value.
        document.lines[key_path] = line
        yield key, value


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


COLLECTION_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
SCALAR_CONSTRUCTORS: Mapping[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": _construct_integer,
    "tag:yaml.org,2002:float": _construct_decimal,
    "tag:yaml.org,2002:bool": lambda text: text.lower() in {"true", "yes", "on"},
    "tag:yaml.org,2002:null": lambda _text: None,
}
