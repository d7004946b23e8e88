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
    depends_on: the condition that the answer depends on; empty if all cases of the convention have the same answer.
    by_case: the answers in the other cases, by the id of the case. by_case_and_cpu: their answers on other processors.
    """

    answer: str
    source: str = UNDOCUMENTED
    observed: str | None = None
    issue: str | None = None
    note: str = ""
    document: Citation | None = None
    cpu: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)
    depends_on: str = ""
    by_case: Mapping[str, str] = field(default_factory=dict)
    by_case_and_cpu: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def answers(self) -> tuple[str, ...]:
        """The answer, followed by the answers on other processors and devices and in other cases."""
        return (self.answer, *self.cpu.values(), *self.device.values(), *self.case_answers)

    @property
    def case_answers(self) -> tuple[str, ...]:
        """The answers in other cases, on every processor."""
        return (*self.by_case.values(), *(one for cpu in self.by_case_and_cpu.values() for one in cpu.values()))

    @property
    def summary(self) -> str:
        """The answer for readers: its name, or the condition that it depends on."""
        return f"depends on {self.depends_on}" if self.depends_on else self.answer

    def answers_in(self, case_id: str) -> tuple[str, ...]:
        """Return the answers in one case of the convention, on every processor."""
        return (self.for_case(case_id).answer, *self.by_case_and_cpu.get(case_id, {}).values())

    def for_case(self, case_id: str) -> Declaration:
        """Return the declaration for one case of the convention."""
        return replace(self, answer=self.by_case[case_id]) if case_id in self.by_case else self

    def for_processor(self, features: Collection[str]) -> Declaration:
        """Return the declaration for a processor with these features."""
        cases = {case: _processor_answer(cpu, features, "") for case, cpu in self.by_case_and_cpu.items()}
        return replace(
            self,
            answer=_processor_answer(self.cpu, features, self.answer),
            cpu={},
            by_case={**self.by_case, **{case: answer for case, answer in cases.items() if answer}},
            by_case_and_cpu={},
        )

    def for_device(self, device: str) -> Declaration:
        """Return the declaration for a device other than the CPU; processor features do not apply to it."""
        return replace(self, answer=self.device.get(device, self.answer), cpu={})

    @property
    def documented(self) -> bool:
        """Whether a document gives the answer."""
        return self.source != UNDOCUMENTED


def _processor_answer(cpu: Mapping[str, str], features: Collection[str], default: str) -> str:
    return next((answer for feature, answer in cpu.items() if feature in features), default)


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
        depends_on=raw.get("depends", {}).get("on", ""),
        by_case={case: answer["answer"] for case, answer in _case_answers(raw) if "answer" in answer},
        by_case_and_cpu={case: answer["cpu"] for case, answer in _case_answers(raw) if "cpu" in answer},
    )


def _case_answers(raw: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the answers in other cases, each as a mapping with the keys `answer` and `cpu`."""
    cases = raw.get("depends", {}).get("cases", {})
    return [(case, {"answer": one} if isinstance(one, str) else one) for case, one in cases.items()]
