"""Answers to conventions that surfaces declare, and the files `<backend>.yaml` that contain them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import CatalogueError
from conformance.system.cache import cached_data

if TYPE_CHECKING:
    from conformance.cases.yaml_reader import YamlDocument as File

ADAPTERS = Path(__file__).parents[1]
SCHEMA_FILE = ADAPTERS / "declarations.schema.json"
LIKE_KEY = "like"
"""Key of a surface whose value names another surface with the same answers."""
UNDOCUMENTED = "undocumented"


@dataclass(frozen=True)
class Citation:
    """The document that gives an answer: the page, the version that it describes, the quoted sentence."""

    url: str
    version: str
    sentence: str

    def __str__(self) -> str:
        """Return all three as one text, in the form that results files contain."""
        return f'{self.url} ({self.version}): "{self.sentence}"'


@dataclass(frozen=True)
class Declaration:
    """The answer of a surface to a convention: documented, or observed in one version.

    source: the document as text, or "undocumented".
    observed: the version in which an undocumented answer was observed.
    issue: URL of a discussion. note: additional information for readers.
    cpu: other answers, by the Linux name of a processor feature. The first feature that the processor has applies.
    device: other answers, by the name of the device.
    """

    answer: str
    source: str = UNDOCUMENTED
    observed: str | None = None
    issue: str | None = None
    note: str = ""
    document: Citation | None = None
    cpu: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> tuple[str, ...]:
        """The answer, followed by the answers on other processors and devices."""
        return (self.answer, *self.cpu.values(), *self.device.values())

    def for_processor(self, features: Collection[str]) -> Declaration:
        """Return the declaration for a processor with these features."""
        others = (other for feature, other in self.cpu.items() if feature in features)
        return replace(self, answer=next(others, self.answer), cpu={})

    def for_device(self, device: str) -> Declaration:
        """Return the declaration for a device other than the CPU; processor features do not apply to it."""
        return replace(self, answer=self.device.get(device, self.answer), cpu={})

    @property
    def documented(self) -> bool:
        """Whether a document gives the answer."""
        return self.source != UNDOCUMENTED


DeclarationsBySurface = Mapping[str, Mapping[str, Declaration]]
"""For each surface its answers, by the ids of the conventions."""


def load_declarations(backend: str, surfaces: Iterable[str], folder: Path) -> DeclarationsBySurface:
    """Return the declarations of a backend's surfaces; empty if there is no file.

    Raises CatalogueError, with file, line and key, for an invalid file and for an unknown surface.
    """
    path = folder / f"{backend}.yaml"
    if not path.exists():
        return {}
    # The cache is for files of this project; those of other packages may change at any time.
    if ADAPTERS not in folder.parents:
        return read_declarations(path, surfaces)
    return cached_data([path, SCHEMA_FILE], lambda: read_declarations(path, surfaces), (Declaration, Citation))


def read_declarations(path: Path, surfaces: Iterable[str]) -> DeclarationsBySurface:
    """Return the declarations in a file, for some surfaces. Raises CatalogueError as `load_declarations` does."""
    from conformance.cases.schema import error_messages  # noqa: PLC0415 - slow, and not needed for cached files
    from conformance.cases.yaml_reader import read_yaml  # noqa: PLC0415 - the same

    file, known = read_yaml(path), set(surfaces)
    # The references between surfaces are checked only in files that follow the schema.
    errors = error_messages(file, SCHEMA_FILE) or [*_surface_errors(file, known)]
    if errors:
        raise CatalogueError("\n".join(errors))
    return {name: _surface_declarations(file, name) for name in file.data}


def _surface_errors(file: File, known: set[str]) -> Iterable[str]:
    """Yield an error for each unknown surface, and for each `like` chain that ends at a surface without answers."""
    for name in file.data:
        if name not in known:
            yield f"{file.location_of((name,))}: surface {name!r}: unknown, known are {', '.join(sorted(known))}"
        last = _end_of_like_chain(file, name)
        if last not in file.data or LIKE_KEY in file.data[last]:
            at = file.location_of((name, LIKE_KEY))
            yield f"{at}: surface {name!r}: key 'like': {last} has no answers in this file"


def _end_of_like_chain(file: File, name: str) -> str:
    """Follow `like` from surface to surface and return the last one; in a cycle, one that was visited before."""
    visited = [name]
    while LIKE_KEY in file.data.get(visited[-1], {}) and visited[-1] not in visited[:-1]:
        visited.append(file.data[visited[-1]][LIKE_KEY])
    return visited[-1]


def _surface_declarations(file: File, name: str) -> dict[str, Declaration]:
    raw = file.data[name]
    others = _surface_declarations(file, raw[LIKE_KEY]) if LIKE_KEY in raw else {}
    own = {convention: answer for convention, answer in raw.items() if convention != LIKE_KEY}
    # null removes an answer inherited through `like`.
    inherited = {convention: answer for convention, answer in others.items() if convention not in own}
    parsed = {convention: _parse_declaration(answer) for convention, answer in own.items() if answer is not None}
    return {**inherited, **parsed}


def _parse_declaration(raw: Mapping[str, Any]) -> Declaration:
    document = Citation(**raw["document"]) if "document" in raw else None
    source = str(document) if document else UNDOCUMENTED
    return Declaration(
        raw["answer"],
        source,
        observed=raw.get("observed"),
        issue=raw.get("issue"),
        note=raw.get("note", ""),
        document=document,
        cpu=raw.get("cpu", {}),
        device=raw.get("device", {}),
    )
