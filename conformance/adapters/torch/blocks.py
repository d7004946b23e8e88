"""PyTorch: pixel shuffle and its inverse, whose order is crd; the order dcr reshapes and permutes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.adapters.api import ALL_DTYPES, Code, Step, Unsupported, call, number
from conformance.adapters.api.blocks.recipes import BlockRecipe, planes_in_order
from conformance.adapters.torch.calls import UNSIGNED, UNSIGNED_ISSUE
from conformance.cases.operators import BlockOrder

BlockWriter = Callable[[str, str], str]
"""Takes the operator and the block, and returns the call."""
FUNCTIONS = {"depth_to_space": "pixel_shuffle", "space_to_depth": "pixel_unshuffle"}
LAYERS = {"depth_to_space": "PixelShuffle", "space_to_depth": "PixelUnshuffle"}
KERNEL_DTYPES = ALL_DTYPES - UNSIGNED
RECIPE = BlockRecipe(transpose="x.permute({})")


def functional_blocks(operator: str, block: str) -> str:
    """Return a call of a function."""
    return call(f"F.{FUNCTIONS[operator]}", "x", block)


def layer_blocks(operator: str, block: str) -> str:
    """Return a layer, created and called."""
    return call(f"nn.{LAYERS[operator]}", block) + "(x)"


def _blocks(write_call: BlockWriter, step: Step) -> Code:
    code = planes_in_order(step, BlockOrder.CRD, write_call(step.operator, number(step.parameters["block"])))
    if isinstance(code, Unsupported) or step.dtype in KERNEL_DTYPES:
        return code
    return Unsupported(f"{FUNCTIONS[step.operator]} has no kernel for {step.dtype} on the CPU", UNSIGNED_ISSUE)


FUNCTIONAL = partial(_blocks, functional_blocks)
LAYER = partial(_blocks, layer_blocks)
