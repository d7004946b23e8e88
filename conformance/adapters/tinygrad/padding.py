"""tinygrad: padding in every mode."""

from __future__ import annotations

from conformance.adapters.api import (
    REPLICATE_AND_CIRCULAR_NAMES,
    Code,
    Step,
    Unsupported,
    call,
    crops,
    flat_pads,
    number,
    rejected_by_extent,
)
from conformance.cases.operators import PadMode

NO_SYMMETRIC = Unsupported("Tensor.pad has no symmetric mode")


def pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode, value = step.parameters["mode"], step.parameters["value"]
    if mode == PadMode.SYMMETRIC:
        return NO_SYMMETRIC
    if mode == PadMode.CONSTANT:
        # A number as the value would convert a bool array to integers.
        text = str(bool(value)) if step.dtype == "bool" else number(value)
        return call("x.pad", flat_pads(step), value=text if value or step.dtype == "bool" else None)
    text = call("x.pad", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES[mode]}"')
    # In the catalogue, negative pads crop before the mode applies.
    if crops(step):
        return Unsupported("negative pads are applied first, as a crop", rejected_call=text)
    return rejected_by_extent(step, text) or text
