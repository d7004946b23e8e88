"""YAML as plain data that remembers its lines, and keeps the places of printed decimals.

Only mappings, sequences, strings, numbers, booleans and null; no tags, no aliases (a few lines of aliases can
expand to gigabytes), no key twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from conformance import CatalogueError

YamlPath = tuple[str | int, ...]
MAX_YAML_BYTES = 1_000_000
MAX_NESTING_DEPTH = 40
MAX_DIGITS = 400
YAML_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where it was built in, which takes a tenth of the time."""


@dataclass
class YamlDocument:
    """The data of one file, and the line of each of its parts by its path of keys and positions.

    faults: for each part that could not be read, and stands as None, what is wrong with it.
    """

    path: Path
    data: Any = None
    lines: dict[YamlPath, int] = field(default_factory=dict)
    errors: dict[YamlPath, str] = field(default_factory=dict)

    def line_of(self, where: YamlPath) -> int:
        """Return the line of the part, or of the nearest part around it."""
        while where not in self.lines and where:
            where = where[:-1]
        return self.lines.get(where, 1)

    def location_of(self, where: YamlPath) -> str:
        """Return `file:line` of the part."""
        return f"{self.path}:{self.line_of(where)}"

    def is_unreadable(self, where: YamlPath) -> bool:
        """Whether the part, something in it or something around it could not be read."""
        return any(part[: len(where)] == where[: len(part)] for part in self.errors)


def read_yaml(path: Path) -> YamlDocument:
    """Read one file. Raises CatalogueError with a line for each fault, naming file and line."""
    document = read_yaml_with_errors(path)
    if document.errors:
        raise CatalogueError(
            "\n".join(f"{document.location_of(where)}: {text}" for where, text in document.errors.items())
        )
    return document


def read_yaml_with_errors(path: Path) -> YamlDocument:
    """Read one file past what can be left out; the document names it. Raises CatalogueError for what cannot."""
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
    """Refuse what a few bytes can make expensive, event by event, before anything is built."""
    depth = 0
    for event in yaml.parse(text, Loader=YAML_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise CatalogueError(f"{path}:{line}: an alias (*{event.anchor}) is not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING_DEPTH:
            raise CatalogueError(f"{path}:{line}: nested more than {MAX_NESTING_DEPTH} levels deep")


def read_text(path: Path) -> str:
    """Return the text of a file. Raises CatalogueError if it has none, or too much."""
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            raise CatalogueError(f"{path}: {path.stat().st_size} bytes, more than the limit of {MAX_YAML_BYTES}")
        return path.read_text("utf-8")
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CatalogueError(f"{path}:{line}: not UTF-8 at byte {error.start}") from None


def _yaml_message(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    return f"{path}:{mark.line + 1}: {problem}" if mark else f"{path}: {problem}"


def _construct(document: YamlDocument, node: yaml.Node, where: YamlPath) -> Any:
    if node.start_mark:
        document.lines[where] = node.start_mark.line + 1
    if node.tag not in (COLLECTION_TAGS if isinstance(node, yaml.CollectionNode) else SCALAR_CONSTRUCTORS):
        return _report_invalid(document, where, f"values of type {node.tag} are not allowed")
    if isinstance(node, yaml.MappingNode):
        return dict(_construct_items(document, node, where))
    if isinstance(node, yaml.SequenceNode):
        return [_construct(document, child, (*where, index)) for index, child in enumerate(node.value)]
    try:
        return SCALAR_CONSTRUCTORS[node.tag](node.value)
    except (ValueError, ArithmeticError):
        return _report_invalid(document, where, f"{node.value[:40]!r} is not a number that can be read")


def _report_invalid(document: YamlDocument, where: YamlPath, text: str) -> None:
    document.errors[where] = text


def _construct_items(document: YamlDocument, node: yaml.MappingNode, where: YamlPath) -> Iterator[tuple[str, Any]]:
    seen = set()
    for key_node, value_node in node.value:
        key, line = key_node.value, key_node.start_mark.line + 1
        # A key that is refused has a path that no other has, and its own line.
        refused = (*where, f"line {line}, column {key_node.start_mark.column + 1}")
        if not isinstance(key, str) or key in seen:
            document.lines[refused] = line
            _report_invalid(
                document, refused, f"key {key!r} stands twice" if isinstance(key, str) else "a key must be a word"
            )
            continue
        seen.add(key)
        place = (*where, key)
        value = _construct(document, value_node, place)
        document.lines[place] = line
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
    if number.is_snan():  # which no float can be made of
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
