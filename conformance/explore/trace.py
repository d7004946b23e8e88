"""From a case that differs to the smallest that differs in the same way, and to what its neighbours do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from conformance.explore.lab import Lab, Seen, Tried
from conformance.explore.neighbours import around
from conformance.explore.oracles import FEARED, feared, tried
from conformance.explore.recipes import Recipe
from conformance.explore.shrink import AT_ONCE, shrunk
from conformance.explore.space import Space

ASKED = 4000
"""Recipes that may be asked about to shrink one."""
TIMES = 5
"""How often the smallest is tried again, to see whether it was that at all."""
ENOUGH = dict(zip(FEARED, (60, 20), strict=True))
"""How many may be found on the way that end a process, and that hang: those take all the time that a program has."""


@dataclass(frozen=True)
class Suspect:
    """A recipe, the surface on which it differs, and in which way; number: of the case that showed it."""

    recipe: Recipe
    surface: str
    way: str
    number: int


@dataclass(frozen=True)
class Trace:
    """Where a suspect leads: the smallest recipe, what all surfaces made of it, what the suspect's made around it."""

    smallest: Recipe
    there: Sequence[Seen]
    near: Sequence[Tried] = ()


def traced(lab: Lab, suspect: Suspect, space: Space, known: Collection[str] = ()) -> Trace:
    """Shrink a suspect, and look around the smallest unless that is a case whose id is known."""
    surface, way = suspect.surface, suspect.way
    asking = _Asking(lab, surface, way)
    smallest = shrunk(suspect.recipe, asking, 1 if feared(way) else AT_ONCE)
    there = _there(lab, suspect, smallest)
    if smallest.case.id in known:
        return Trace(smallest, there.seen)
    near = around(smallest, space)[: allowed(way) // 2]
    return Trace(smallest, there.seen, tried(lab, way, near, [surface]))


def _there(lab: Lab, suspect: Suspect, smallest: Recipe) -> Tried:
    """Try the smallest once more, and what is not the same every time until it shows."""
    for _ in range(TIMES):
        (there,) = tried(lab, suspect.way, [smallest])
        here = there.on(suspect.surface)
        if here and here.new and here.way == suspect.way:
            break
    return there


def allowed(way: str) -> int:
    """Return how many that differ in a way may be found to shrink one; half as many may be tried around it."""
    return ENOUGH.get(feared(way), ASKED)


class _Asking:
    """Whether recipes differ on a surface in a way; it stops asking when it has asked, or found, enough."""

    def __init__(self, lab: Lab, surface: str, way: str) -> None:
        self.lab, self.surface, self.way = lab, surface, way
        self.left, self.found = ASKED, 0

    def __call__(self, recipes: Sequence[Recipe]) -> list[bool]:
        some = recipes[: self.left if self.found < allowed(self.way) else 0]
        self.left -= len(some)
        seen = [one.on(self.surface) for one in tried(self.lab, self.way, some, [self.surface])] if some else []
        differ = [bool(one and one.new and one.way == self.way) for one in seen]
        self.found += sum(differ)
        return differ + [False] * (len(recipes) - len(some))
