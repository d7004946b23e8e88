"""PyTorch: sampling at the points of a grid by `grid_sample`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.resizing.grid_sampling import PLANE_RANK, functional_call
from conformance.cases.operators import ResizeMode

RANKS = (2, 3)
NO_RANK = Unsupported("grid_sample takes two or three spatial axes")
NO_CUBIC = Unsupported("bicubic interpolation is for planes")


def grid_sample(step: Step) -> Code:
    """Return the call. Parameters that a convention case omits are left out."""
    if step.rank not in RANKS:
        return NO_RANK
    return (
        NO_CUBIC
        if step.parameters.get("mode") == ResizeMode.CUBIC and step.rank != PLANE_RANK
        else functional_call(step)
    )
