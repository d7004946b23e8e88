"""Apache MXNet: `mx.nd.depth_to_space` and its inverse, whose order is dcr; other arrays and orders transpose."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, call, number
from conformance.adapters.api.blocks import BlockRecipe, planes_in_order
from conformance.cases.operators import BlockOrder

RECIPE = BlockRecipe()


def nd_blocks(step: Step) -> Code:
    """Return the call of mxnet.nd."""
    text = call(f"mx.nd.{step.operator}", "x", number(step.parameters["block"]))
    return planes_in_order(step, BlockOrder.DCR, text)
