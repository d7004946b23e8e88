"""LiteRT: DEPTH_TO_SPACE and SPACE_TO_DEPTH, whose order is dcr."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, number
from conformance.adapters.api.blocks.recipes import planes_in_order
from conformance.adapters.litert.options import node
from conformance.cases.operators import BlockOrder

OPTIONS = {"depth_to_space": "DepthToSpaceOptionsT", "space_to_depth": "SpaceToDepthOptionsT"}


def blocks(step: Step) -> Code:
    """Return the operator."""
    options = f"schema.{OPTIONS[step.operator]}({number(step.parameters['block'])})"
    return planes_in_order(step, BlockOrder.DCR, node(step.operator.upper(), ["x"], options))
