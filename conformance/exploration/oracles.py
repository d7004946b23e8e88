"""What a backend is held to: the reference, laws of the operators, its own surfaces. A way of differing says which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance import CatalogueError
from conformance.exploration import cross_surface
from conformance.exploration.candidate import Recipe
from conformance.exploration.cross_surface import SURFACES
from conformance.exploration.evaluation import Lab, Seen, Tried
from conformance.exploration.metamorphic import LAW, Court
from conformance.judging.expected import expected

REFERENCE = ""
FEARED = ("crashed", "timed_out")
"""What an end or a hang of the process is called: a start of the framework for each that is tried."""


def oracle(said: str) -> str:
    """Return what a way of differing, or the kind of what was seen, was held to: a law, SURFACES or REFERENCE."""
    if said.startswith(LAW):
        return ": ".join(said.split(": ")[:2])
    return SURFACES if said.startswith(SURFACES) else REFERENCE


def feared(way: str) -> str:
    """Return which of FEARED a way of differing is, be it in a call of a law; "" if it is none."""
    said = way.removeprefix(f"{oracle(way)}: ")
    return next((word for word in FEARED if said.startswith(word)), "")


@dataclass(frozen=True)
class Held:
    """A recipe, and what it is held to: the reference, the laws or, with SURFACES, other surfaces."""

    recipe: Recipe
    oracle: str = REFERENCE


def sane(recipe: Recipe) -> bool:
    """Whether the reference takes a recipe, though it may say nothing of its numbers."""
    try:
        return bool(expected(recipe.case).inputs)
    except CatalogueError:
        return False


def tried(lab: Lab, way: str, recipes: Sequence[Recipe], surfaces: Sequence[str] = ()) -> list[Tried]:
    """Try recipes as whatever shows this way of differing does: against a law, other surfaces or the reference."""
    fatal = bool(feared(way))
    if way.startswith(LAW):
        return Court(lab).tried(recipes, surfaces, oracle(way).removeprefix(LAW), fatal=fatal)
    if way.startswith(SURFACES):
        return cross_surface.tried(lab, recipes)
    return lab.tried(recipes, surfaces, fatal=fatal)


def answers(lab: Lab, asked: Sequence[Held]) -> list[Sequence[Seen]]:
    """Return for each recipe, in order, what its oracle says of every surface.

    Of what the reference says nothing of, surfaces are held against each other.
    """
    found: dict[int, Sequence[Seen]] = {}
    for oracle in dict.fromkeys(one.oracle for one in asked):
        some = [number for number, one in enumerate(asked) if one.oracle == oracle]
        outcomes = tried(lab, oracle, [asked[number].recipe for number in some])
        found |= {number: one.seen for number, one in zip(some, outcomes, strict=True)}
    silent = [n for n, one in enumerate(asked) if one.oracle == REFERENCE and not found[n] and sane(one.recipe)]
    outcomes = cross_surface.tried(lab, [asked[number].recipe for number in silent])
    found |= {number: one.seen for number, one in zip(silent, outcomes, strict=True)}
    return [found[number] for number in range(len(asked))]
