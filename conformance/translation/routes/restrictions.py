"""Restrictions of routes: calls that an exporter or a runtime changes or refuses, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

import msgspec

from conformance import ConformanceError
from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.cases.operators import FORWARD_OPERATORS
from conformance.cases.yaml_reader import read_yaml

RESTRICTIONS_FILE = Path(__file__).with_name("restrictions.yaml")


class Restriction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that does not survive some routes.

    source: name of the framework. routes: globs of the names of routes. operators, dtypes, ranks: the calls that it is
    about, () for all; ranks are numbers of spatial axes. has_recipe: the adapter has a recipe, whose program is
    printed. call, happens, instead: texts in which backticks mark code; instead is "" if nothing is known.
    """

    source: str
    routes: tuple[str, ...]
    call: str
    happens: str
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    instead: str = ""
    has_recipe: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for an operator that does not exist."""
        unknown = {*self.operators} - {*FORWARD_OPERATORS}
        if unknown:
            raise ValueError(f"operators: unknown name {min(unknown)!r}")

    def applies_to(self, case: Case, surface: str) -> bool:
        """Whether the restriction is about the operator, the dtype and the rank of a case, and about a route."""
        facts = ((self.operators, case.operator), (self.dtypes, case.dtype), (self.ranks, len(case.shape) - 2))
        return self.is_of_route(surface) and all(not names or fact in names for names, fact in facts)

    def is_of_route(self, surface: str) -> bool:
        """Whether the restriction is about a route."""
        return any(fnmatchcase(surface, glob) for glob in self.routes)

    @property
    def text(self) -> str:
        """The restriction as one sentence without a point."""
        instead = f"; write instead: {self.instead}" if self.instead else ""
        return f"restriction of the route, {self.call}: {self.happens}{instead}"


def read_restrictions(path: Path = RESTRICTIONS_FILE) -> tuple[Restriction, ...]:
    """Read restrictions. Raises ConformanceError with one line that names the file and the key."""
    try:
        return msgspec.convert(read_yaml(path).data, tuple[Restriction, ...])
    except msgspec.ValidationError as error:
        raise ConformanceError(f"{path}: {error}") from None


@lru_cache
def _all_restrictions() -> Sequence[Restriction]:
    return read_restrictions()


def restrictions_of(case: Case, surface: Surface) -> Iterator[Restriction]:
    """Yield the restrictions of a route for calls such as that of a case; nothing for other surfaces.

    Those with a recipe are left out: the recipe knows whether the call needs it, and its program is printed.
    """
    if surface.route is not None:
        listed = (one for one in _all_restrictions() if not one.has_recipe)
        yield from (one for one in listed if one.applies_to(case, surface.name))
