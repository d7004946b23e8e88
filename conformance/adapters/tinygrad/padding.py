"""tinygrad: padding in every mode."""

from __future__ import annotations

from conformance.adapters.api import (
    REPLICATE_AND_CIRCULAR_NAMES,
    Code,
    Step,
    Unsupported,
    call,
    crops,
    exceeds_extent,
    flat_pads,
    number,
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
    name = REPLICATE_AND_CIRCULAR_NAMES[mode]
    text = call("x.pad", flat_pads(step), mode=f'"{name}"')
    # In the catalogue, negative pads crop before the mode applies.
    if crops(step):
        return Unsupported("negative pads are applied first, as a crop", rejected_call=text)
    if exceeds_extent(step, {"reflect": 1, "wrap": 0}):
        limit = "less than" if mode == PadMode.REFLECT else "at most"
        return Unsupported(f"pads in mode {name} must be {limit} the extent", rejected_call=text)
    return text
