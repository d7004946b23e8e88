"""Answers that a surface inherits from another surface with `like` are observed by some case."""

from collections.abc import Iterator, Mapping

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Surface
from conformance.cases.case import Case
from conformance.cases.yaml_reader import read_yaml
from conformance.catalogue.loading import load_catalogue
from conformance.translation.lowering import translate


@pytest.fixture(scope="module")
def convention_cases() -> Mapping[str, list[Case]]:
    cases: dict[str, list[Case]] = {}
    for case in load_catalogue().cases:
        if case.convention_id:
            cases.setdefault(case.convention_id, []).append(case)
    return cases


def heirs() -> list[tuple[Surface, frozenset[str]]]:
    """Return the surfaces that inherit answers, with the conventions that they answer themselves."""
    found = []
    for name in registry.backend_names():
        path = registry.declarations_path(name)
        written = read_yaml(path).data if path and path.exists() else {}
        for surface in registry.get_backend(name).surfaces:
            answers = written.get(surface.name) or {}
            if "like" in answers:
                found.append((surface, frozenset(answers)))
    return found


def unobserved(surface: Surface, conventions: frozenset[str], cases: Mapping[str, list[Case]]) -> list[str]:
    """Return the conventions of which no case has a program on the surface."""
    return sorted(
        convention
        for convention in conventions
        if not any(isinstance(translate(case, surface), Program) for case in cases[convention])
    )


@pytest.mark.parametrize(("surface", "own"), [pytest.param(*heir, id=heir[0].name) for heir in heirs()])
def test_some_case_of_an_inherited_answer_has_a_program(surface, own, convention_cases):
    """If none has, `null` in the declarations of the surface removes the answer."""
    inherited = frozenset(surface.declarations) - own
    assert inherited
    assert unobserved(surface, inherited, convention_cases) == []


def test_answers_that_no_case_observes_are_found(convention_cases):
    """The answers that surfaces remove are such answers, but for a few that are wrong there."""
    removed = [(surface, (own - set(surface.declarations)) & set(convention_cases)) for surface, own in heirs()]
    found = [convention for surface, some in removed for convention in unobserved(surface, some, convention_cases)]
    assert len(found) > sum(len(some) for _, some in removed) // 2 > 0


def unobserved_cases() -> Iterator[tuple[str, str]]:
    """Yield surfaces with the cases of which they declare an answer of their own, and that they do not support."""
    cases = {case.id: case for case in load_catalogue().cases if case.convention_id}
    for name in registry.backend_names():
        path = registry.declarations_path(name)
        written = read_yaml(path).data if path and path.exists() else {}
        for surface in registry.get_backend(name).surfaces:
            for answer in (written.get(surface.name) or {}).values():
                for case in answer.get("depends", {}).get("cases", ()) if isinstance(answer, Mapping) else ():
                    if not isinstance(translate(cases[case], surface), Program):
                        yield surface.name, case


def test_the_case_of_an_answer_has_a_program():
    """The answer of a surface in a case that it does not support was never observed."""
    assert sorted(unobserved_cases()) == []
