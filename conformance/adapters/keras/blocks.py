"""Keras: `keras.ops.depth_to_space` and its inverse; the other order reshapes and transposes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance.adapters.api import BLOCK_OPERATORS, Code, Lowering, Step, Unsupported, call, number
from conformance.adapters.api.blocks.recipes import BlockRecipe, call_or_recipe, least_block_of_two, planes_in_order
from conformance.adapters.keras.engines import Engine
from conformance.cases.operators import BlockOrder

# keras.ops.reshape and keras.ops.transpose convert their input, and space_to_depth does too.
WIDENED_DTYPES = {"torch": ("uint16", "uint32")}
"""Dtypes that an engine returns as a wider one."""
NO_UNSIGNED = Unsupported("keras.ops.reshape on PyTorch returns int32 for uint16, and int64 for uint32")
BLOCK_OF_ONE = '"`block_size` must be at least 2."'
RECIPE = BlockRecipe("keras.ops.reshape(x, ({}))", "keras.ops.transpose(x, ({}))", channels_last=True)
FIRST_ORDERS = {"tensorflow": BlockOrder.DCR}
"""The order of the call with channels first, by engine; crd on the others. With channels last it is dcr on all."""


def blocks(step: Step) -> Code:
    """Return the call with channels last."""
    text = call(f"keras.ops.{step.operator}", "x", number(step.parameters["block"]))
    return least_block_of_two(step, planes_in_order(step, BlockOrder.DCR, text), BLOCK_OF_ONE)


def layer_lowerings(engine: Engine) -> Mapping[str, Lowering]:
    """Return the call with channels first. Keras has no layer for it: models with either layout call the operation."""
    if not engine.has_channels_first:
        return {}
    order = FIRST_ORDERS.get(engine.name, BlockOrder.CRD)

    def lower(step: Step) -> Code:
        block, layout = number(step.parameters["block"]), engine.data_format
        text = call(f"keras.ops.{step.operator}", "x", block, data_format=layout)
        return least_block_of_two(step, planes_in_order(step, order, text), BLOCK_OF_ONE)

    return dict.fromkeys(BLOCK_OPERATORS, lower)


BLOCKS_OR_RECIPE: Lowering = partial(call_or_recipe, blocks, RECIPE)
