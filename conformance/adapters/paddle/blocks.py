"""PaddlePaddle: pixel shuffle and its inverse, whose order is crd; the order dcr reshapes and transposes."""

from __future__ import annotations

from conformance.adapters.api import FLOATS, Code, Step, Unsupported, call, number
from conformance.adapters.api.blocks.recipes import BlockRecipe, planes_in_order
from conformance.adapters.paddle.calls import no_kernel
from conformance.cases.operators import BlockOrder

FUNCTIONS = {"depth_to_space": "pixel_shuffle", "space_to_depth": "pixel_unshuffle"}
LAYERS = {"depth_to_space": "PixelShuffle", "space_to_depth": "PixelUnshuffle"}
NEVER_RETURNS = Unsupported("pixel_shuffle with a negative factor does not return")
RECIPE = BlockRecipe("x.reshape([{}])", "x.transpose([{}])")


def blocks(step: Step, *, layer: bool) -> Code:
    """Return the call, or the layer created and called."""
    block = number(step.parameters["block"])
    if step.operator == "depth_to_space" and step.parameters["block"] < 0:
        return NEVER_RETURNS
    name = (LAYERS if layer else FUNCTIONS)[step.operator]
    text = f"{call(f'nn.{name}', block)}(x)" if layer else call(f"F.{name}", "x", block)
    code = planes_in_order(step, BlockOrder.CRD, text)
    if isinstance(code, Unsupported) or step.dtype in FLOATS:
        return code
    return no_kernel(FUNCTIONS[step.operator], step.dtype)
