"""Deformable convolution: the limits that several frameworks share."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.surface import Lowering, Unsupported
from conformance.cases.operators import OutsideMode
from conformance.cases.steps import Step

PLANE_RANK = 2
NOT_WRITTEN: Mapping[str, Lowering] = {
    "deform_conv": unsupported_lowering("the adapter does not write deformable convolution for inputs of any size yet")
}
"""Lowering of surfaces whose calls have arrays of several sizes."""
NOT_OBSERVED: Mapping[str, Lowering] = {
    "deform_conv": unsupported_lowering("the adapter does not write deformable convolution yet")
}
"""Lowering of surfaces whose frameworks may have the operator, and for which no call is written."""


def plane_limit(step: Step, name: str, *outside: OutsideMode) -> Unsupported | None:
    """Return the reason if a call cannot express the step: for another rank, or other cells outside of x.

    name: of the call; outside: the modes that it has.
    """
    if step.rank != PLANE_RANK:
        return Unsupported(f"{name} takes two spatial axes")
    mode = step.parameters.get("padding_mode")
    if mode is None or mode in outside:
        return None
    return Unsupported(
        f"{name} interpolates zeros outside of x"
        if mode == OutsideMode.INSIDE
        else f"{name} has the value 0 at points outside of x"
    )


def output_limit(step: Step, reason: str) -> Unsupported | None:
    """Return the reason if the offset groups do not divide the output channels."""
    return Unsupported(reason) if step.kernel[0] % max(step.parameters.get("offset_groups", 1), 1) else None


def symmetric_limit(step: Step, name: str) -> Unsupported | None:
    """Return the reason if the padding before and after an axis differ."""
    return Unsupported(f"{name} pads both ends of an axis equally") if step.symmetric is None else None
