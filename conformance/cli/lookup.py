"""Look up cases and surfaces by name, with a suggestion for a misspelled name."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from conformance.catalogue import describe, loading
from conformance.catalogue.describe import BackendSurface
from reports.results.vocabulary import Level


def find_case(paths: Sequence[Path], name: str, *, operators: bool = False) -> Case:
    """Return the case with an id. Raises ConformanceError if there is none.

    operators: suggest names of operators too, for commands that accept either.
    """
    found = loading.load_catalogue(paths)
    if name not in found.by_id and found.unloaded_sweeps:
        # Exhaustive sweeps are expanded only on demand; load those that can contain this id.
        found = loading.load_catalogue(paths, level=Level.EXHAUSTIVE, globs=[name])
    if name not in found.by_id:
        meant = nearest_name_hint(name, [*(OPERATORS if operators else ()), *found.by_id])
        raise ConformanceError(f"case {name!r}: not in the catalogue{meant or LIST_ALL_HINT}")
    return found.by_id[name]


LIST_ALL_HINT = " (conformance list --level exhaustive shows all)"


def nearest_name_hint(name: str, known: Iterable[str]) -> str:
    """Return a "did you mean" suggestion for a misspelled name; an empty string if no known name is similar."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f", did you mean {near[0]!r}?" if near else ""


def matches_any_glob(name: str, globs: Iterable[str]) -> bool:
    """Whether a name matches at least one glob."""
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def find_surface(name: str) -> BackendSurface:
    """Return the surface with a name, and its backend. Raises ConformanceError if there is none."""
    known = describe.surfaces_by_name()
    if name not in known:
        raise ConformanceError(
            f"surface {name!r}: unknown, known are {', '.join(known)}{nearest_name_hint(name, known)}"
        )
    return known[name]


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
    for glob in globs:
        if not fnmatch.filter(known, glob):
            find_surface(glob)  # raises the error for an unknown name, with a suggestion
    return [entry for name, entry in known.items() if matches_any_glob(name, globs)]
