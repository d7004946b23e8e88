"""ncnn: the layers PixelShuffle and Reorg, with both orders."""

from __future__ import annotations

from conformance.adapters.api import Code, Step
from conformance.adapters.api.blocks.recipes import NO_RANK, PLANE_RANK
from conformance.adapters.ncnn.pooling import layer
from conformance.cases.operators import BlockOrder

LAYERS = {"depth_to_space": "PixelShuffle", "space_to_depth": "Reorg"}


def blocks(step: Step) -> Code:
    """Return the layer. Its mode is 1 for the order dcr; the default is crd."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    mode = ["1=1"] if step.parameters.get("order") == BlockOrder.DCR else []
    return layer(LAYERS[step.operator], [f"0={step.parameters['block']}", *mode])
