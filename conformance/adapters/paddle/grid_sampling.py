"""PaddlePaddle: sampling at the points of a grid by `grid_sample`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call
from conformance.adapters.api.resizing.grid_sampling import MODES
from conformance.cases.operators import ResizeMode

RANKS = (2, 3)
DTYPES = frozenset({"float32", "float64"})
NO_RANK = Unsupported("grid_sample takes two or three spatial axes")
NO_CUBIC = Unsupported("grid_sample has the modes bilinear and nearest")


def grid_sample(step: Step) -> Code:
    """Return the call, whose align_corners is True if it is not given."""
    given = step.parameters
    if step.rank not in RANKS:
        return NO_RANK
    if given.get("mode") == ResizeMode.CUBIC:
        return NO_CUBIC
    padding, align = given.get("padding_mode"), given.get("align_corners")
    return call(
        "F.grid_sample",
        "x",
        "grid",
        mode=f'"{MODES[given["mode"]]}"' if "mode" in given else None,
        padding_mode=None if padding is None else f'"{padding}"',
        align_corners=None if align is None else str(align),
    )
