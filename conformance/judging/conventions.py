"""The questions of convention with what every surface declares, and what it was seen to answer."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api.surface import Declaration, Surface, without_label
from conformance.cases.arrays import ArraySpec, json_value
from conformance.cases.case import Answers, Case, Rejected

CONVENTIONS_FORMAT = 1
CONTRADICTORY_ANSWERS = "contradicts-itself"
"""What is said of a surface that gave several answers to one question."""


@dataclass(frozen=True)
class SurfaceAnswer:
    """What a surface answers to a question: what it declares, and what it was seen to do, case by case."""

    declaration: Declaration | None = None
    observations: Mapping[str, str] = field(default_factory=dict)

    @property
    def observed(self) -> str | None:
        """The answer that was seen, None where the question was not put; one word for several."""
        found = set(self.observations.values())
        return next(iter(found)) if len(found) == 1 else CONTRADICTORY_ANSWERS if found else None

    @property
    def matches_declaration(self) -> bool | None:
        """Whether every answer that was seen is the declared one, None where none was seen."""
        if not self.observations:
            return None
        return self.declaration is not None and self.observed in self.declaration.answers


@dataclass(frozen=True)
class Convention:
    """A question with the cases that put it, the one called like it first, and the answers of surfaces."""

    cases: tuple[Case, ...]
    answers_by_surface: Mapping[str, SurfaceAnswer]

    @property
    def id(self) -> str:
        """Its name: operator and question."""
        return str(self.cases[0].convention_id)

    @property
    def operator(self) -> str:
        """The operator that it is about."""
        return self.cases[0].operator

    @property
    def answer_texts(self) -> dict[str, str]:
        """Each answer with what it means, in words."""
        asked = self.cases[0].expect
        return {name: _answer_text(what) for name, what in asked.named.items()} if isinstance(asked, Answers) else {}


def find_conventions(
    cases: Iterable[Case],
    observations: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
    *,
    globs: Iterable[str] = (),
    surfaces: Iterable[str] = (),
) -> list[Convention]:
    """Return the questions that match any glob, with the surfaces that match any; none given match all.

    seen: for each question and surface the answers that results hold, by case.
    """
    asked: dict[str, list[Case]] = {}
    for case in cases:
        if case.convention_id and _matches_glob(case.convention_id, globs):
            asked.setdefault(case.convention_id, []).append(case)
    known = _surfaces_by_name(name for _, name in observations or ())
    found = []
    for name in sorted(asked):
        answers = {
            key: SurfaceAnswer(surface.declarations.get(name), (observations or {}).get((name, key), {}))
            for key, surface in known.items()
            if _matches_glob(key, surfaces)
        }
        ordered = sorted(asked[name], key=lambda case: case.id != name)
        found.append(
            Convention(tuple(ordered), {key: answer for key, answer in answers.items() if _is_consistent(answer)})
        )
    return found


def _surfaces_by_name(seen: Iterable[str]) -> dict[str, Surface]:
    """Return every surface by name, and once more under each labelled name that was seen."""
    known = {one.name: one for name in registry.backend_names() for one in registry.get_backend(name).surfaces}
    return known | {name: known[without_label(name)] for name in sorted({*seen}) if without_label(name) in known}


def _matches_glob(name: str, globs: Iterable[str]) -> bool:
    patterns = list(globs)
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _is_consistent(answer: SurfaceAnswer) -> bool:
    return answer.declaration is not None or bool(answer.observations)


def _answer_text(answer: Mapping[str, Any] | ArraySpec | Rejected) -> str:
    if isinstance(answer, Rejected):
        return f"the call is refused ({answer.predicate})"
    if isinstance(answer, ArraySpec):
        return f"the result is {_numbers_text(answer)}"
    if not answer:
        return "the result is that of the parameters as they stand"
    return "as if the call said " + ", ".join(f"{key} {_json_value(value)}" for key, value in answer.items())


def _numbers_text(spec: ArraySpec) -> str:
    values = spec.make().ravel().tolist()
    shown = ", ".join(_number_text(value) for value in values[:MAX_SHOWN_NUMBERS])
    return f"[{shown}{', …' if len(values) > MAX_SHOWN_NUMBERS else ''}]" + (
        f" in {spec.dtype}" if spec.dtype != "float32" else ""
    )


MAX_SHOWN_NUMBERS = 12


def _number_text(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _json_value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_json_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def conventions_record(found: Sequence[Convention]) -> dict[str, Any]:
    """Return the questions as JSON has them; docs/conventions.schema.json describes it."""
    return {"format": CONVENTIONS_FORMAT, "questions": [_convention_record(question) for question in found]}


def _convention_record(convention: Convention) -> dict[str, Any]:
    first = convention.cases[0]
    return {
        "id": convention.id,
        "about": first.about,
        "source": first.source,
        "answers": convention.answer_texts,
        "cases": [case.id for case in convention.cases],
        "surfaces": {name: _answer_record(answer) for name, answer in convention.answers_by_surface.items()},
    }


def _answer_record(answer: SurfaceAnswer) -> dict[str, Any]:
    declaration = answer.declaration
    document = declaration.document if declaration else None
    return {
        "declared": declaration.answer if declaration else None,
        "cpu": dict(declaration.cpu) if declaration else {},
        "documented": bool(declaration and declaration.documented),
        "source": vars(document) if document else None,
        "pinned": declaration.observed if declaration else None,
        "issue": declaration.issue if declaration else None,
        "note": declaration.note if declaration else "",
        "observed": answer.observed,
        "seen": json_value(answer.observations),
        "agrees": answer.matches_declaration,
    }


def conventions_by_operator(found: Iterable[Convention]) -> Iterator[tuple[str, list[Convention]]]:
    """Yield each operator with its questions."""
    groups: dict[str, list[Convention]] = {}
    for question in found:
        groups.setdefault(question.operator, []).append(question)
    yield from groups.items()
