"""What the surfaces of a backend declare: data beside the adapters, in `conformance/declarations/<backend>.yaml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.adapter import UNDOCUMENTED, Declaration, Document
from conformance.errors import CatalogueError
from conformance.schema import problems
from conformance.yaml_reader import Document as File
from conformance.yaml_reader import read

HOME = Path(__file__).parent / "declarations"
LIKE = "like"
Declared = Mapping[str, Mapping[str, Declaration]]
"""For each surface its answers, by the ids of the questions."""


def declared(backend: str, surfaces: Iterable[str], home: Path = HOME) -> Declared:
    """Return what the surfaces of a backend declare; one without a file declares nothing.

    Raises CatalogueError, with file, line and key, for what is not such a file, and for a surface that there is not.
    """
    path = home / f"{backend}.yaml"
    if not path.exists():
        return {}
    file, known = read(path), set(surfaces)
    faults = problems(file, HOME / "schema.json") or [*_strangers(file, known)]
    if faults:
        raise CatalogueError("\n".join(faults))
    return {name: _answers(file, name) for name in file.data}


def _strangers(file: File, known: set[str]) -> Iterable[str]:
    for name, answers in file.data.items():
        if name not in known:
            yield f"{file.place((name,))}: surface {name!r}: unknown, known are {', '.join(sorted(known))}"
        if LIKE in answers and not _ends(file, name):
            like = answers[LIKE]
            yield f"{file.place((name, LIKE))}: surface {name!r}: key 'like': {like} has no answers of its own here"


def _ends(file: File, name: str) -> bool:
    """Whether one surface after the other is like one that is there, and the last is like none."""
    passed: set[str] = set()
    while name in file.data and name not in passed and LIKE in file.data[name]:
        passed.add(name)
        name = file.data[name][LIKE]
    return name in file.data and name not in passed


def _answers(file: File, name: str) -> dict[str, Declaration]:
    raw = file.data[name]
    own = {question: _declaration(answer) for question, answer in raw.items() if question != LIKE}
    return {**(_answers(file, raw[LIKE]) if LIKE in raw else {}), **own}


def _declaration(raw: Mapping[str, Any]) -> Declaration:
    document = Document(**raw["document"]) if "document" in raw else None
    source = str(document) if document else UNDOCUMENTED
    return Declaration(raw["answer"], source, raw.get("observed"), raw.get("issue"), raw.get("note", ""), document)
