"""Apache MXNet: `mx.nd.depth_to_space` and its inverse, whose order is dcr; other arrays and orders transpose."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.blocks.recipes import BlockRecipe, planes_in_order
from conformance.cases.operators import BlockOrder

RECIPE = BlockRecipe(transpose="x.transpose(({}))")
MAX_RECIPE_RANK = 2
NO_VOLUMES = Unsupported("transposing takes at most six axes")


def recipe(step: Step) -> Code:
    """Return the recipe for one or two axes."""
    return RECIPE(step) if step.rank <= MAX_RECIPE_RANK else NO_VOLUMES


def nd_blocks(step: Step) -> Code:
    """Return the call of mxnet.nd."""
    text = call(f"mx.nd.{step.operator}", "x", number(step.parameters["block"]))
    return planes_in_order(step, BlockOrder.DCR, text)
