"""Look up cases and surfaces by name, with a suggestion for a misspelled name."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import Dialect, Surface
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from conformance.catalogue import describe, loading
from conformance.catalogue.describe import BackendSurface
from conformance.catalogue.sweep_rows import row_id_prefix
from conformance.system.suggestions import suggestion
from reports.results.vocabulary import Level


def find_case(paths: Sequence[Path], name: str) -> Case:
    """Return the case with an id. Raises ConformanceError if there is none."""
    if name in OPERATORS:
        raise ConformanceError(
            f"{name} is an operator, not a case (conformance list --operator {name} lists its cases)"
        )
    # Every id begins with the name of an operator, so the suite's catalogue, which is large, is not read for others.
    operator = name.partition("/")[0]
    if operator not in OPERATORS and not paths:
        meant = suggestion(operator, OPERATORS)
        raise ConformanceError(f"{name!r}: no such case or operator{meant or LIST_ALL_HINT}")
    found = loading.load_catalogue(paths)
    if name not in found.by_id and name.startswith(tuple(map(row_id_prefix, found.unloaded_sweeps))):
        # Exhaustive sweeps are expanded only on demand; load the one that can contain this id.
        found = loading.load_catalogue(paths, level=Level.EXHAUSTIVE, globs=[name])
    if name not in found.by_id:
        meant = suggestion(name, found.by_id)
        raise ConformanceError(f"case {name!r}: not in the catalogue{meant or LIST_ALL_HINT}")
    return found.by_id[name]


LIST_ALL_HINT = " (conformance list --level exhaustive shows all)"
LIST_SURFACES_HINT = " (conformance surfaces lists all)"
MAX_SUGGESTIONS = 3
"""Maximum number of surfaces that an error message suggests."""


def matches_any_glob(name: str, globs: Iterable[str]) -> bool:
    """Whether a name matches at least one glob."""
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def find_surface(name: str) -> BackendSurface:
    """Return the surface with a name, and its backend. Raises ConformanceError if there is none."""
    known = describe.surfaces_by_name()
    if name not in known:
        raise ConformanceError(f"surface {name!r}: unknown{_surfaces_hint(name, known)}{LIST_SURFACES_HINT}")
    return known[name]


def check_surface_globs(globs: Iterable[str], further: Iterable[str] = ()) -> None:
    """Raise ConformanceError for a glob that matches no surface. further: names with labels, as in results."""
    known = [*describe.surfaces_by_name(), *further]
    for glob in globs:
        if not fnmatch.filter(known, glob):
            find_surface(glob)


def _surfaces_hint(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of the surfaces whose names begin with a name, or else of those with similar names."""
    import difflib  # noqa: PLC0415 - needed for errors only

    names = list(known)
    # The name of a framework stands for one of its surfaces, so it may be meant too.
    similar = difflib.get_close_matches(name, dict.fromkeys([*map(_framework_of, names), *names]))
    near = [one for one in names if name and one.startswith(name)] or similar
    return f", did you mean {', '.join(map(repr, near[:MAX_SUGGESTIONS]))}?" if near else ""


def frameworks_of(backend: str, surface: str) -> set[str]:
    """Return the names of frameworks that a surface belongs to: its backend, and the first part of its own name."""
    return {backend, surface.partition(".")[0], surface.partition("-")[0]}


def _framework_surfaces(name: str) -> list[BackendSurface]:
    """Return the surfaces of a framework without secondary ones, which wrap or repeat the calls of others."""
    # Programs in other languages repeat no calls, although they are secondary.
    others = [one for one in describe.surfaces_by_name().values() if one[1].language]
    return [one for one in [*describe.primary_surfaces(), *others] if name in frameworks_of(one[0].name, one[1].name)]


def find_framework_surface(name: str) -> Surface:
    """Return the surface with a name, or the first surface of a framework.

    A framework is the name of a backend or the first part of the names of surfaces. Raises ConformanceError if there
    is no such surface, or if several backends have surfaces of the framework.
    """
    if name not in describe.surfaces_by_name():
        matches = _framework_surfaces(name)
        if len({backend.name for backend, _ in matches}) > 1:
            names = ", ".join(surface.name for _, surface in matches)
            raise ConformanceError(f"surface {name!r}: several backends have it, name one of {names}")
        if matches:
            return matches[0][1]
    return find_surface(name)[1]


def find_surfaces(globs: Sequence[str]) -> list[BackendSurface]:
    """Return the surfaces that match any of the globs; without globs, the primary surfaces.

    The name of a framework stands for the first surface of each of its backends. Raises ConformanceError for a glob
    that matches nothing.
    """
    known = describe.surfaces_by_name()
    if not globs:
        return describe.primary_surfaces()
    selected = {name for glob in globs for name in _selected_surfaces(glob, known)}
    return [entry for name, entry in known.items() if name in selected]


def _selected_surfaces(glob: str, known: Iterable[str]) -> list[str]:
    found = fnmatch.filter(known, glob)
    if not found:
        # The last entry of a backend in a dictionary would win, so the order is reversed.
        first = {backend.name: surface.name for backend, surface in reversed(_framework_surfaces(glob))}
        found = list(first.values())
    if not found:
        find_surface(glob)  # raises the error for an unknown name, with a suggestion
    return found


def find_dialects(name: str) -> list[Dialect]:
    """Return the dialects for a surface, for all surfaces of a framework, or for a module that users import.

    Raises ConformanceError for another name, and for a module of several frameworks.
    """
    known = registry.dialects()
    if name in known:
        return [known[name]]
    backend_of = {surface: backend.name for surface, (backend, _) in describe.surfaces_by_name().items()}
    of_framework = [one for surface, one in known.items() if name in frameworks_of(backend_of[surface], surface)]
    # The engines of a framework share their dialects, so each is listed once.
    found = {id(one): one for one in of_framework or known.values() if of_framework or name in one.prefixes}
    if not of_framework and len(found) > 1:
        names = sorted({_framework_of(surface) for surface, one in known.items() if name in one.prefixes})
        raise ConformanceError(f"--from {name}: a module of several frameworks, name one of {', '.join(names)}")
    if not found:
        hint = suggestion(name, [*dialect_frameworks(), *known])
        raise ConformanceError(
            f"--from {name}: unknown{hint or ','} known frameworks are {', '.join(dialect_frameworks())}"
        )
    return list(found.values())


def surfaces_of_dialects(dialects: Iterable[Dialect]) -> list[Surface]:
    """Return the surfaces that have these dialects."""
    wanted, known = {*map(id, dialects)}, describe.surfaces_by_name()
    return [known[name][1] for name, one in registry.dialects().items() if id(one) in wanted]


def _framework_of(surface: str) -> str:
    return surface.partition(".")[0].partition("-")[0]


def dialect_frameworks() -> list[str]:
    """Return the names of the frameworks whose layers can be parsed."""
    return sorted(set(map(_framework_of, registry.dialects())))
