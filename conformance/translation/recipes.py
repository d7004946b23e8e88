"""What to write in place of a call that a route changes or refuses."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import Code, Recipe, Step, Surface, Unsupported
from conformance.cases.case import DRAWN_KEY, WORDS_KEY, Case, Value
from conformance.cases.steps import case_step

SUFFIX = ", instead"
"""Ends the name of a surface whose programs are replacements."""


def recipe_surface(case: Case, surface: Surface) -> Surface | None:
    """Return the surface of a route that writes the replacement for the call of a case.

    None if the call survives the route, or if the suite has no replacement. Only a case with an expected value has one,
    because conventions ask about the call itself, and none that names parameters by the framework's words.
    """
    if not isinstance(case.expect, Value) or {WORDS_KEY, DRAWN_KEY} & {*case.parameters}:
        return None
    recipe = surface.route.recipes.get(case.operator) if surface.route else None
    native = surface.lowerings.get(case.operator)
    if recipe is None or native is None or not recipe.applies(case_step(case)):
        return None

    def lower(step: Step) -> Code:
        return _replacement(recipe, step) if recipe.applies(step) else native(step)

    assert surface.route  # noqa: S101 - it has a recipe
    return replace(
        surface,
        name=f"{surface.name}{SUFFIX}",
        lowerings={**surface.lowerings, case.operator: lower},
        route=replace(surface.route, recipes={case.operator: recipe}),
    )


def recipe_remark(surface: Surface) -> str:
    """Return why the programs of a surface replace a call, "" for other surfaces."""
    if not (surface.route and surface.name.endswith(SUFFIX)):
        return ""
    (recipe,) = surface.route.recipes.values()
    return f"write this before the export, because {recipe.reason}"


def _replacement(recipe: Recipe, step: Step) -> Code:
    return recipe.lowering(step) if recipe.lowering else Unsupported(recipe.reason)
