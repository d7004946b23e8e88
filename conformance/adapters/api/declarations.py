"""Read the answers that the surfaces of a backend declare, from `<backend>.yaml` next to its adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import CatalogueError
from conformance.adapters.api.surface import UNDOCUMENTED, Citation, Declaration
from conformance.system.cache import cached_data

if TYPE_CHECKING:
    from conformance.cases.yaml_reader import YamlDocument as File

ADAPTERS = Path(__file__).parents[1]
SCHEMA_FILE = ADAPTERS / "declarations.schema.json"
LIKE_KEY = "like"
DeclarationsBySurface = Mapping[str, Mapping[str, Declaration]]
"""For each surface its answers, by the ids of the questions."""


def load_declarations(backend: str, surfaces: Iterable[str], home: Path) -> DeclarationsBySurface:
    """Return what the surfaces of a backend declare; one without a file declares nothing.

    Raises CatalogueError, with file, line and key, for what is not such a file, and for a surface that there is not.
    """
    path = home / f"{backend}.yaml"
    if not path.exists():
        return {}
    if ADAPTERS not in home.parents:
        return _read_declarations(path, surfaces)
    return cached_data([path, SCHEMA_FILE], lambda: _read_declarations(path, surfaces))


def _read_declarations(path: Path, surfaces: Iterable[str]) -> DeclarationsBySurface:
    from conformance.cases.schema import error_messages  # noqa: PLC0415 - what is kept needs neither, and a run waits for it
    from conformance.cases.yaml_reader import read_yaml  # noqa: PLC0415 - likewise

    file, known = read_yaml(path), set(surfaces)
    faults = error_messages(file, SCHEMA_FILE) or [*_unknown_surfaces(file, known)]
    if faults:
        raise CatalogueError("\n".join(faults))
    return {name: _surface_declarations(file, name) for name in file.data}


def _unknown_surfaces(file: File, known: set[str]) -> Iterable[str]:
    for name in file.data:
        if name not in known:
            yield f"{file.location_of((name,))}: surface {name!r}: unknown, known are {', '.join(sorted(known))}"
        last = _end_of_like_chain(file, name)
        if last not in file.data or LIKE_KEY in file.data[last]:
            yield f"{file.location_of((name, LIKE_KEY))}: surface {name!r}: key 'like': {last} has no answers of its own here"


def _end_of_like_chain(file: File, name: str) -> str:
    """Return whose answers the first ones are, going from like to like; one that has been met where that goes round."""
    met = [name]
    while LIKE_KEY in file.data.get(met[-1], {}) and met[-1] not in met[:-1]:
        met.append(file.data[met[-1]][LIKE_KEY])
    return met[-1]


def _surface_declarations(file: File, name: str) -> dict[str, Declaration]:
    raw = file.data[name]
    others = _surface_declarations(file, raw[LIKE_KEY]) if LIKE_KEY in raw else {}
    own = {question: answer for question, answer in raw.items() if question != LIKE_KEY}
    kept = {question: answer for question, answer in others.items() if question not in own}
    return {**kept, **{question: _parse_declaration(answer) for question, answer in own.items() if answer is not None}}


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
