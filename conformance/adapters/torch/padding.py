"""PyTorch: padding in every mode."""

from __future__ import annotations

from conformance.adapters.api import (
    FLOATING,
    REPLICATE_AND_CIRCULAR_NAMES,
    Code,
    Step,
    Unsupported,
    call,
    crops,
    flat_pads,
    number,
    rejected_by_extent,
    text_unless_default,
)
from conformance.adapters.torch.calls import INTEGERS, LAYER_NAMES, UNSIGNED_ISSUE
from conformance.cases.operators import PadMode

NO_SYMMETRIC = Unsupported("PyTorch has no symmetric padding", "https://github.com/pytorch/pytorch/issues/189236")
# padding layers and modes other than constant are written for 1d, 2d and 3d; constant F.pad takes any number of axes.
MAX_PADDED_AXES = 3


def functional_pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    if mode == PadMode.CONSTANT:
        return call("F.pad", "x", flat_pads(step), value=text_unless_default(0, step.parameters["value"]))
    return _call_within_limits(
        step, call("F.pad", "x", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES.get(mode)}"')
    )


def layer_pad(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    if step.rank > MAX_PADDED_AXES:
        return Unsupported("padding layers support one to three axes")
    value = number(step.parameters["value"]) if mode == PadMode.CONSTANT else None
    text = call(f"nn.{LAYER_NAMES.get(mode)}{step.rank}d", flat_pads(step), value) + "(x)"
    return text if mode == PadMode.CONSTANT else _call_within_limits(step, text)


def _call_within_limits(step: Step, text: str) -> Code:
    """Return the call if PyTorch accepts the pads, the dtype and the number of axes, or why not."""
    mode = step.parameters["mode"]
    if mode == PadMode.SYMMETRIC:
        return NO_SYMMETRIC
    if step.rank > MAX_PADDED_AXES:
        return Unsupported("padding in modes other than constant supports one to three axes")
    # Circular padding copies slices of x, so it needs no kernel of its own and supports every dtype.
    if mode != PadMode.WRAP and step.dtype not in FLOATING | INTEGERS:
        return Unsupported(
            f"padding in mode {REPLICATE_AND_CIRCULAR_NAMES[mode]} has no kernel for {step.dtype} on the CPU",
            UNSIGNED_ISSUE,
        )
    if crops(step):
        return Unsupported("the call mirrors before it crops", rejected_call=text)
    return rejected_by_extent(step, text) or text
