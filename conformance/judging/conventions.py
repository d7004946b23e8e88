"""The questions of convention with what every surface declares, and what it was seen to answer."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api.surface import Declaration, Surface, plain
from conformance.cases.arrays import ArraySpec, encoded
from conformance.cases.case import Answers, Case, Rejected

FORMAT = 1
CONTRADICTION = "contradicts-itself"
"""What is said of a surface that gave several answers to one question."""


@dataclass(frozen=True)
class Answer:
    """What a surface answers to a question: what it declares, and what it was seen to do, case by case."""

    declaration: Declaration | None = None
    seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def observed(self) -> str | None:
        """The answer that was seen, None where the question was not put; one word for several."""
        found = set(self.seen.values())
        return next(iter(found)) if len(found) == 1 else CONTRADICTION if found else None

    @property
    def agrees(self) -> bool | None:
        """Whether every answer that was seen is the declared one, None where none was seen."""
        if not self.seen:
            return None
        return self.declaration is not None and self.observed in self.declaration.answers


@dataclass(frozen=True)
class Question:
    """A question with the cases that put it, the one called like it first, and the answers of surfaces."""

    cases: tuple[Case, ...]
    surfaces: Mapping[str, Answer]

    @property
    def id(self) -> str:
        """Its name: operator and question."""
        return str(self.cases[0].question)

    @property
    def operator(self) -> str:
        """The operator that it is about."""
        return self.cases[0].operator

    @property
    def answers(self) -> dict[str, str]:
        """Each answer with what it means, in words."""
        asked = self.cases[0].expect
        return {name: _meaning(what) for name, what in asked.named.items()} if isinstance(asked, Answers) else {}


def questions(
    cases: Iterable[Case],
    seen: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
    *,
    globs: Iterable[str] = (),
    surfaces: Iterable[str] = (),
) -> list[Question]:
    """Return the questions that match any glob, with the surfaces that match any; none given match all.

    seen: for each question and surface the answers that results hold, by case.
    """
    asked: dict[str, list[Case]] = {}
    for case in cases:
        if case.question and _matches(case.question, globs):
            asked.setdefault(case.question, []).append(case)
    known = _known(name for _, name in seen or ())
    found = []
    for name in sorted(asked):
        answers = {
            key: Answer(surface.declares.get(name), (seen or {}).get((name, key), {}))
            for key, surface in known.items()
            if _matches(key, surfaces)
        }
        ordered = sorted(asked[name], key=lambda case: case.id != name)
        found.append(Question(tuple(ordered), {key: answer for key, answer in answers.items() if _is_one(answer)}))
    return found


def _known(seen: Iterable[str]) -> dict[str, Surface]:
    """Return every surface by name, and once more under each labelled name that was seen."""
    known = {one.name: one for name in registry.names() for one in registry.backend(name).surfaces}
    return known | {name: known[plain(name)] for name in sorted({*seen}) if plain(name) in known}


def _matches(name: str, globs: Iterable[str]) -> bool:
    patterns = list(globs)
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _is_one(answer: Answer) -> bool:
    return answer.declaration is not None or bool(answer.seen)


def _meaning(answer: Mapping[str, Any] | ArraySpec | Rejected) -> str:
    if isinstance(answer, Rejected):
        return f"the call is refused ({answer.predicate})"
    if isinstance(answer, ArraySpec):
        return f"the result is {_numbers(answer)}"
    if not answer:
        return "the result is that of the parameters as they stand"
    return "as if the call said " + ", ".join(f"{key} {_plain(value)}" for key, value in answer.items())


def _numbers(spec: ArraySpec) -> str:
    values = spec.make().ravel().tolist()
    shown = ", ".join(_number(value) for value in values[:MOST])
    return f"[{shown}{', …' if len(values) > MOST else ''}]" + (f" in {spec.dtype}" if spec.dtype != "float32" else "")


MOST = 12


def _number(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def record(found: Sequence[Question]) -> dict[str, Any]:
    """Return the questions as JSON has them; docs/conventions.schema.json describes it."""
    return {"format": FORMAT, "questions": [_record(question) for question in found]}


def _record(question: Question) -> dict[str, Any]:
    first = question.cases[0]
    return {
        "id": question.id,
        "about": first.about,
        "source": first.source,
        "answers": question.answers,
        "cases": [case.id for case in question.cases],
        "surfaces": {name: _answer(answer) for name, answer in question.surfaces.items()},
    }


def _answer(answer: Answer) -> dict[str, Any]:
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
        "seen": encoded(answer.seen),
        "agrees": answer.agrees,
    }


def by_operator(found: Iterable[Question]) -> Iterator[tuple[str, list[Question]]]:
    """Yield each operator with its questions."""
    groups: dict[str, list[Question]] = {}
    for question in found:
        groups.setdefault(question.operator, []).append(question)
    yield from groups.items()
