"""Conventions, with the declared and the observed answers of every surface."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api import Declaration, Surface, without_label
from conformance.cases.arrays import ArraySpec, json_value
from conformance.cases.case import Answers, Case, Rejected
from conformance.judging.tested_values import describe_values
from reports.results.vocabulary import CONTRADICTORY_ANSWERS

CONVENTIONS_FORMAT = 1
"""Version of the format in docs/conventions.schema.json."""
MAX_SHOWN_NUMBERS = 12
"""Maximum number of elements of an array in the description of an answer."""


@dataclass(frozen=True)
class SurfaceAnswer:
    """The declared answer of a surface for a convention, and the observed answers by case."""

    declaration: Declaration | None = None
    observations: Mapping[str, str] = field(default_factory=dict)

    @property
    def observed(self) -> str | None:
        """The observed answer; None without observations, CONTRADICTORY_ANSWERS for several different ones."""
        answers = set(self.observations.values())
        return next(iter(answers)) if len(answers) == 1 else CONTRADICTORY_ANSWERS if answers else None

    @property
    def name(self) -> str:
        """The name of the answer: the observed one, without observations the declared one; "" without an answer."""
        return self.observed or (self.declaration.summary if self.declaration else "")

    @property
    def matches_declaration(self) -> bool | None:
        """Whether the observed answer is a declared one; None without observations."""
        if not self.observations:
            return None
        if self.declaration is None:
            return False
        if self.declaration.depends_on:
            return all(one in self.declaration.answers_in(case) for case, one in self.observations.items())
        return self.observed in self.declaration.answers


@dataclass(frozen=True)
class Convention:
    """A convention, with the cases that observe it and the answers of surfaces.

    cases: the case that has the name of the convention comes first.
    """

    cases: tuple[Case, ...]
    answers_by_surface: Mapping[str, SurfaceAnswer]

    @property
    def id(self) -> str:
        """The id of the convention, `<operator>/<name>`."""
        return str(self.cases[0].convention_id)

    @property
    def operator(self) -> str:
        """The operator of the convention."""
        return self.cases[0].operator

    @property
    def answer_texts(self) -> dict[str, str]:
        """A description of each answer, by its name."""
        expect = self.cases[0].expect
        if not isinstance(expect, Answers):
            return {}
        return {name: _answer_text(answer) for name, answer in expect.named.items()}


def find_conventions(
    cases: Iterable[Case],
    observations: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
    *,
    globs: Iterable[str] = (),
    surfaces: Iterable[str] = (),
) -> list[Convention]:
    """Return the conventions whose id matches a glob, with the surfaces that match a glob; no globs match all.

    Routes need a glob: their answers are compared with those of their sources on another page.
    observations: for each convention and surface, the observed answers by case.
    """
    cases_by_id: dict[str, list[Case]] = {}
    for case in cases:
        if case.convention_id and _matches_glob(case.convention_id, globs):
            cases_by_id.setdefault(case.convention_id, []).append(case)
    known = _surfaces_by_name(name for _, name in observations or ())
    found = []
    for name in sorted(cases_by_id):
        answers = {
            key: SurfaceAnswer(surface.declarations.get(name), (observations or {}).get((name, key), {}))
            for key, surface in known.items()
            if (_matches_glob(key, surfaces) if surfaces else surface.route is None)
        }
        given = {key: answer for key, answer in answers.items() if answer.declaration or answer.observations}
        # The sort is stable, and False comes before True: the case with the name of the convention becomes the first.
        ordered = sorted(cases_by_id[name], key=lambda case: case.id != name)
        found.append(Convention(tuple(ordered), given))
    return found


def _surfaces_by_name(observed: Iterable[str]) -> dict[str, Surface]:
    """Return every surface by its name, and also under each observed name with a label."""
    known = {one.name: one for name in registry.backend_names() for one in registry.get_backend(name).surfaces}
    # A label is chosen for a run, so no adapter lists the surfaces with labels.
    return known | {name: known[without_label(name)] for name in sorted({*observed}) if without_label(name) in known}


def processor_answers(surfaces: Iterable[str]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the declared answers on other processors: {surface: {convention: {processor feature: answer}}}."""
    names = list(surfaces)
    known = _surfaces_by_name(names)
    declared = {name: known[name].declarations for name in names if name in known}
    return {
        name: {convention: dict(sorted(one.cpu.items())) for convention, one in answers.items() if one.cpu}
        for name, answers in declared.items()
    }


def _matches_glob(name: str, globs: Iterable[str]) -> bool:
    patterns = list(globs)
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _answer_text(answer: Mapping[str, Any] | ArraySpec | Rejected) -> str:
    if isinstance(answer, Rejected):
        return f"the call is rejected ({answer.violation})"
    if isinstance(answer, ArraySpec):
        return f"the result is {_numbers_text(answer)}"
    if not answer:
        return "the result with the given parameters"
    return "the result with " + ", ".join(f"{key} {_parameter_text(value)}" for key, value in answer.items())


def _numbers_text(spec: ArraySpec) -> str:
    values = spec.make().ravel().tolist()
    shown = ", ".join(
        f"{value:.8g}" if isinstance(value, float) else str(value) for value in values[:MAX_SHOWN_NUMBERS]
    )
    return f"[{shown}{', …' if len(values) > MAX_SHOWN_NUMBERS else ''}]" + (
        f" in {spec.dtype}" if spec.dtype != "float32" else ""
    )


def _parameter_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_parameter_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def conventions_record(found: Sequence[Convention]) -> dict[str, Any]:
    """Return the conventions as JSON data; docs/conventions.schema.json describes the format."""
    return {"format": CONVENTIONS_FORMAT, "questions": [_convention_record(convention) for convention in found]}


def _convention_record(convention: Convention) -> dict[str, Any]:
    first = convention.cases[0]
    return {
        "id": convention.id,
        "about": first.about,
        "source": first.source,
        "answers": convention.answer_texts,
        "cases": [case.id for case in convention.cases],
        "tested": describe_values(convention.cases),
        "surfaces": {name: _answer_record(answer) for name, answer in convention.answers_by_surface.items()},
    }


def _answer_record(answer: SurfaceAnswer) -> dict[str, Any]:
    declaration = answer.declaration
    document = declaration.document if declaration else None
    return {
        "declared": declaration.answer if declaration else None,
        "cpu": dict(declaration.cpu) if declaration else {},
        "depends_on": declaration.depends_on if declaration else "",
        "by_case": _case_answers(declaration) if declaration else {},
        "documented": bool(declaration and declaration.documented),
        "source": vars(document) if document else None,
        "pinned": declaration.observed if declaration else None,
        "issue": declaration.issue if declaration else None,
        "note": declaration.note if declaration else "",
        "observed": answer.observed,
        "seen": json_value(answer.observations),
        "agrees": answer.matches_declaration,
    }


def _case_answers(declaration: Declaration) -> dict[str, list[str]]:
    """Return the declared answers in other cases: the answer on any processor first, then those on some processors."""
    cases = (*declaration.by_case, *declaration.by_case_and_cpu)
    return {case: list(dict.fromkeys(declaration.answers_in(case))) for case in dict.fromkeys(cases)}


def conventions_by_operator(found: Iterable[Convention]) -> Iterator[tuple[str, list[Convention]]]:
    """Yield each operator with its conventions."""
    groups: dict[str, list[Convention]] = {}
    for convention in found:
        groups.setdefault(convention.operator, []).append(convention)
    yield from groups.items()
