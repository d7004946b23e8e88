"""Read the answers that the surfaces of a backend declare, from `<backend>.yaml` next to its adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import CatalogueError
from conformance.adapters.api.surface import UNDOCUMENTED, Declaration, Document
from conformance.system.cache import cached_data

if TYPE_CHECKING:
    from conformance.cases.yaml_reader import Document as File

ADAPTERS = Path(__file__).parents[1]
SCHEMA = ADAPTERS / "declarations.schema.json"
LIKE = "like"
Declared = Mapping[str, Mapping[str, Declaration]]
"""For each surface its answers, by the ids of the questions."""


def declared(backend: str, surfaces: Iterable[str], home: Path) -> Declared:
    """Return what the surfaces of a backend declare; one without a file declares nothing.

    Raises CatalogueError, with file, line and key, for what is not such a file, and for a surface that there is not.
    """
    path = home / f"{backend}.yaml"
    if not path.exists():
        return {}
    if ADAPTERS not in home.parents:
        return _declared(path, surfaces)
    return cached_data([path, SCHEMA], lambda: _declared(path, surfaces))


def _declared(path: Path, surfaces: Iterable[str]) -> Declared:
    from conformance.cases.schema import problems  # noqa: PLC0415 - what is kept needs neither, and a run waits for it
    from conformance.cases.yaml_reader import read  # noqa: PLC0415 - likewise

    file, known = read(path), set(surfaces)
    faults = problems(file, SCHEMA) or [*_strangers(file, known)]
    if faults:
        raise CatalogueError("\n".join(faults))
    return {name: _answers(file, name) for name in file.data}


def _strangers(file: File, known: set[str]) -> Iterable[str]:
    for name in file.data:
        if name not in known:
            yield f"{file.place((name,))}: surface {name!r}: unknown, known are {', '.join(sorted(known))}"
        last = _last(file, name)
        if last not in file.data or LIKE in file.data[last]:
            yield f"{file.place((name, LIKE))}: surface {name!r}: key 'like': {last} has no answers of its own here"


def _last(file: File, name: str) -> str:
    """Return whose answers the first ones are, going from like to like; one that has been met where that goes round."""
    met = [name]
    while LIKE in file.data.get(met[-1], {}) and met[-1] not in met[:-1]:
        met.append(file.data[met[-1]][LIKE])
    return met[-1]


def _answers(file: File, name: str) -> dict[str, Declaration]:
    raw = file.data[name]
    others = _answers(file, raw[LIKE]) if LIKE in raw else {}
    own = {question: answer for question, answer in raw.items() if question != LIKE}
    kept = {question: answer for question, answer in others.items() if question not in own}
    return {**kept, **{question: _declaration(answer) for question, answer in own.items() if answer is not None}}


def _declaration(raw: Mapping[str, Any]) -> Declaration:
    document = Document(**raw["document"]) if "document" in raw else None
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
