"""Look up cases and surfaces by name, with a suggestion for a misspelled name."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from conformance.catalogue import describe, loading
from conformance.catalogue.describe import BackendSurface
from conformance.catalogue.sweep_rows import row_id_prefix
from conformance.system.suggestions import suggestion, unknown_name_text
from reports.results.vocabulary import Level


def find_case(paths: Sequence[Path], name: str, *, operators: bool = False) -> Case:
    """Return the case with an id. Raises ConformanceError if there is none.

    operators: suggest names of operators too, for commands that accept either.
    """
    found = loading.load_catalogue(paths)
    # Exhaustive sweeps are expanded only on demand, if one of them can contain this id.
    if name not in found.by_id and name.startswith(tuple(map(row_id_prefix, found.unloaded_sweeps))):
        found = loading.load_catalogue(paths, level=Level.EXHAUSTIVE, globs=[name])
    if name not in found.by_id:
        raise ConformanceError(f"case {name!r}: {_missing_case_text(name, found.by_id, operators=operators)}")
    return found.by_id[name]


LIST_ALL_HINT = " (conformance list --level exhaustive shows all)"


def _missing_case_text(name: str, known: Iterable[str], *, operators: bool) -> str:
    if name in OPERATORS and not operators:
        return f"this is an operator (conformance list --operator {name} lists its cases)"
    # Without a slash, an operator is meant and not one of 6,000 cases.
    meant = nearest_name_hint(name, known if "/" in name else OPERATORS)
    return f"not in the catalogue{meant or LIST_ALL_HINT}"


def nearest_name_hint(name: str, known: Iterable[str]) -> str:
    """Return a "did you mean" suggestion for a misspelled name; an empty string if no known name is similar."""
    return suggestion(name, known)


def matches_any_glob(name: str, globs: Iterable[str]) -> bool:
    """Whether a name matches at least one glob."""
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def find_surface(name: str) -> BackendSurface:
    """Return the surface with a name, and its backend. Raises ConformanceError if there is none."""
    known = describe.surfaces_by_name()
    if name not in known:
        raise ConformanceError(f"surface {name!r}: {unknown_name_text(name, known, 'conformance backends')}")
    return known[name]


def check_surface_globs(globs: Iterable[str], further: Iterable[str] = ()) -> None:
    """Raise ConformanceError for a glob that matches no surface. further: names with labels, as in results."""
    known = [*describe.surfaces_by_name(), *further]
    for glob in globs:
        if not fnmatch.filter(known, glob):
            find_surface(glob)


def find_framework_surface(name: str) -> Surface:
    """Return the surface with a name, or the first surface of a framework.

    A framework is the name of a backend or the first part of the names of surfaces. Raises ConformanceError if there
    is no such surface, or if several backends have surfaces of the framework.
    """
    known = describe.surfaces_by_name()
    if name not in known:
        # Secondary surfaces wrap or repeat the calls of others, so they do not stand for a framework.
        matches = [
            (backend.name, surface)
            for backend, surface in describe.primary_surfaces()
            if name in {backend.name, surface.name.partition(".")[0], surface.name.partition("-")[0]}
        ]
        if len({backend for backend, _ in matches}) > 1:
            names = ", ".join(surface.name for _, surface in matches)
            raise ConformanceError(f"surface {name!r}: several backends have it, name one of {names}")
        if matches:
            return matches[0][1]
    return find_surface(name)[1]


def find_surfaces(globs: Sequence[str]) -> list[BackendSurface]:
    """Return the surfaces that match any of the globs; without globs, the primary surfaces."""
    known = describe.surfaces_by_name()
    if not globs:
        return describe.primary_surfaces()
    check_surface_globs(globs)
    return [entry for name, entry in known.items() if matches_any_glob(name, globs)]
