"""TensorFlow: `tf.nn.depth_to_space` and its inverse, whose order is dcr; the order crd reshapes and transposes."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, call, number
from conformance.adapters.api.blocks.recipes import BlockRecipe, least_block_of_two, planes_in_order
from conformance.cases.operators import BlockOrder

BLOCK_OF_ONE = "\"Value for attr 'block_size' of 1 must be at least minimum 2\""
RECIPE = BlockRecipe("tf.reshape(x, [{}])", "tf.transpose(x, [{}])", channels_last=True)


def blocks(step: Step) -> Code:
    """Return the call."""
    text = call(f"tf.nn.{step.operator}", "x", number(step.parameters["block"]))
    return least_block_of_two(step, planes_in_order(step, BlockOrder.DCR, text), BLOCK_OF_ONE)
