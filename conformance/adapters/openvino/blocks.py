"""OpenVINO: `depth_to_space` and `space_to_depth` for any number of axes. The order has no default."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.cases.operators import BlockOrder

MODES = {BlockOrder.DCR: "blocks_first", BlockOrder.CRD: "depth_first"}
NO_DEFAULT = Unsupported("the call requires a mode")


def blocks(step: Step) -> Code:
    """Return the call."""
    if "order" not in step.parameters:
        return NO_DEFAULT
    mode = MODES[BlockOrder(step.parameters["order"])]
    return call(f"ops.{step.operator}", "x", f'"{mode}"', number(step.parameters["block"]))
