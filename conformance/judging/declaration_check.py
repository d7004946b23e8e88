"""Check the declarations of a backend against the conventions of a catalogue."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import Backend, Declaration
from conformance.cases.case import Answers, Case
from conformance.cases.operators import OPERATORS
from conformance.judging.verdict import OTHER_ANSWER
from conformance.system.error_lines import first_errors

if TYPE_CHECKING:
    from conformance.cases.yaml_reader import YamlDocument

AnswersByConvention = Mapping[str, Collection[str]]
"""For each convention the names of its answers."""
CasesByConvention = Mapping[str, Collection[str]]
"""For each convention the ids of its cases."""


def answers_by_convention(cases: Iterable[Case]) -> AnswersByConvention:
    """Return the conventions that cases observe, with the names of their answers."""
    return {
        case.convention_id: case.expect.named.keys()
        for case in cases
        if case.convention_id and isinstance(case.expect, Answers)
    }


def _cases_by_convention(cases: Iterable[Case]) -> CasesByConvention:
    found: dict[str, set[str]] = {}
    for case in cases:
        if case.convention_id:
            found.setdefault(case.convention_id, set()).add(case.id)
    return found


def check_declarations(backend: Backend, cases: Iterable[Case], *, whole_catalogue: bool) -> None:
    """Raise CatalogueError, with one line for each of the first errors, for unknown conventions and answers.

    whole_catalogue: whether the cases are the built-in catalogue. Otherwise only the answers of their conventions are
    checked.
    """
    errors = first_errors(declaration_errors(backend, cases, whole_catalogue=whole_catalogue))
    if errors:
        raise CatalogueError("\n".join(errors))


def declaration_errors(backend: Backend, cases: Iterable[Case], *, whole_catalogue: bool = True) -> Iterator[str]:
    """Yield a message for each unknown convention and answer, with file and line if the backend has a file."""
    operators, observing = set[str](), []
    for case in cases:  # once, because reading the cases of a large catalogue takes long
        operators.add(case.operator)
        observing += [case] if case.convention_id else []
    known, ids = answers_by_convention(observing), _cases_by_convention(observing)
    # An operator without cases is not in this catalogue. A misspelled operator is an error.
    absent = OPERATORS.keys() - operators
    checked = _operators_of(backend) - absent if whole_catalogue else set()
    seen: set[tuple[str, str, str]] = set()
    document: YamlDocument | None = None
    for surface in backend.surfaces:
        for convention, declaration in sorted(surface.declarations.items()):
            is_checked = convention.partition("/")[0] in checked
            problems = _problems(convention, declaration, known, whole_catalogue=is_checked)
            for problem in (*problems, *_unknown_cases(declaration, ids.get(convention), checked=is_checked)):
                # Read for errors only, and once: it takes a tenth of a second.
                document = document or _read_declarations(backend)
                at, origin = _origin(document, surface.name, convention)
                # Surfaces that inherit an answer with `like` repeat its error.
                if (origin, convention, problem) not in seen:
                    seen.add((origin, convention, problem))
                    yield f"{at}surface {origin}: key {convention!r}: {problem}"


def _operators_of(backend: Backend) -> set[str]:
    """Return the first parts of the conventions that a backend declares, which may be misspelled."""
    return {name.partition("/")[0] for surface in backend.surfaces for name in surface.declarations}


def _problems(
    convention: str, declaration: Declaration, known: AnswersByConvention, *, whole_catalogue: bool
) -> Iterator[str]:
    if convention not in known:
        if whole_catalogue:
            yield f"not a convention{_nearest(convention, known) or ' (conformance conventions lists all)'}"
        return
    for answer in dict.fromkeys(declaration.answers):
        if answer not in known[convention] and not (answer == OTHER_ANSWER and answer in declaration.case_answers):
            allowed = ", ".join(known[convention])
            yield f"{answer!r} is not an answer (the answers are {allowed}){_nearest(answer, known[convention])}"


def _unknown_cases(declaration: Declaration, known: Collection[str] | None, *, checked: bool) -> Iterator[str]:
    for case in (*declaration.by_case, *declaration.by_case_and_cpu):
        if checked and known is not None and case not in known:
            yield f"{case} is no case of the convention"


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f", did you mean {near[0]!r}?" if near else ""


def _read_declarations(backend: Backend) -> YamlDocument:
    """Return the file with the declarations of a backend; an empty document if it has none."""
    from conformance.cases.yaml_reader import YamlDocument, read_yaml  # noqa: PLC0415 - slow, and needed for errors only

    path: Path | None = registry.declarations_path(backend.name.partition("@")[0])
    return YamlDocument(Path("-"), {}) if path is None or not path.exists() else read_yaml(path)


def _origin(document: YamlDocument, surface: str, convention: str) -> tuple[str, str]:
    """Return the place of an answer as `file:line: `, and the surface that it is written for, which others inherit."""
    origin = surface
    while convention not in document.data.get(origin, {}) and "like" in document.data.get(origin, {}):
        origin = document.data[origin]["like"]
    if convention not in document.data.get(origin, {}):
        return "", surface
    return f"{document.location_of((origin, convention))}: ", origin
