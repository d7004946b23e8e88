"""PaddlePaddle: sampling at the points of a grid by `grid_sample`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.resizing.grid_sampling import functional_call
from conformance.cases.operators import ResizeMode

RANKS = (2, 3)
DTYPES = frozenset({"float32", "float64"})
NO_RANK = Unsupported("grid_sample takes two or three spatial axes")
NO_CUBIC = Unsupported("grid_sample has the modes bilinear and nearest")


def grid_sample(step: Step) -> Code:
    """Return the call, whose align_corners is True if it is not given."""
    if step.rank not in RANKS:
        return NO_RANK
    return NO_CUBIC if step.parameters.get("mode") == ResizeMode.CUBIC else functional_call(step)
