"""What a backend is held to: the reference, and the laws of the operators. A way of differing says which it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.explore.lab import Lab, Seen, Tried
from conformance.explore.laws import LAW, Court
from conformance.explore.recipes import Recipe

REFERENCE = ""


@dataclass(frozen=True)
class Held:
    """A recipe, and what it is held to: the reference or, if that is LAW, the laws."""

    recipe: Recipe
    oracle: str = REFERENCE


def tried(lab: Lab, way: str, recipes: Sequence[Recipe], surfaces: Sequence[str] = ()) -> list[Tried]:
    """Try recipes as whatever shows this way of differing does: against the reference, or against a law."""
    if way.startswith(LAW):
        return Court(lab).tried(recipes, surfaces, way.removeprefix(LAW))
    return lab.tried(recipes, surfaces)


def answers(lab: Lab, asked: Sequence[Held]) -> list[Sequence[Seen]]:
    """Return for each recipe, in order, what its oracle says of every surface."""
    found: dict[int, Sequence[Seen]] = {}
    for oracle in dict.fromkeys(one.oracle for one in asked):
        some = [number for number, one in enumerate(asked) if one.oracle == oracle]
        outcomes = tried(lab, oracle, [asked[number].recipe for number in some])
        found |= {number: one.seen for number, one in zip(some, outcomes, strict=True)}
    return [found[number] for number in range(len(asked))]
