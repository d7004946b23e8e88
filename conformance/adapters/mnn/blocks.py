"""MNN: `depth_to_space` and `space_to_depth`, whose order is dcr."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, call, number
from conformance.adapters.api.blocks.recipes import planes_in_order
from conformance.cases.operators import BlockOrder


def blocks(step: Step) -> Code:
    """Return the call. It names the block `axis`."""
    text = call(f"F.{step.operator}", "x", number(step.parameters["block"]))
    return planes_in_order(step, BlockOrder.DCR, text)
