"""What the book's own code can do, for the surfaces that run it: "Dive into Deep Learning", section "Pooling"."""

from __future__ import annotations

import math
from collections.abc import Mapping

from conformance.adapters.api.surface import Unsupported
from conformance.cases.steps import Pairs, Step

PLANE = 2
CELLS = 1000
"""Cells of an output that the loops are asked for: some take a hundredth of a second for each."""
IMAGE = (4, 4)

# What the tabs show on 4 x 4: window, stride, padding. The channels-last tabs write zeros instead of padding, above and
# to the left only where the window does not reach the other side anyway.
Shown = tuple[tuple[tuple[int, ...], tuple[int, ...], Pairs], ...]
SHOWN: Shown = (
    ((3, 3), (2, 2), ((1, 1), (1, 1))),
    ((2, 3), (2, 3), ((0, 0), (1, 1))),
)
WRITTEN: Mapping[tuple[tuple[int, ...], tuple[int, ...] | None, Pairs], Pairs] = {
    ((3, 3), (2, 2), ((1, 1), (1, 1))): ((1, 0), (1, 0)),
    ((3, 3), (2, 2), ((1, 0), (1, 0))): ((1, 0), (1, 0)),
    ((2, 3), (2, 3), ((0, 0), (1, 1))): ((0, 0), (1, 1)),
}


def shows_padding(step: Step, readers: Shown = ()) -> bool:
    """Whether a channels-first tab, or one of its readers, shows max pooling with this padding."""
    shown = (step.window, step.stride, step.padding) in (*SHOWN, *readers)
    return step.verb == "max_pool" and shown and step.shape[2:] == IMAGE and not step.dilated


def written_zeros(step: Step) -> Pairs | None:
    """Return the zeros that a channels-last tab writes for this padding, None where it shows none."""
    pads = WRITTEN.get((step.window, step.stride, step.padding))
    return pads if step.verb == "max_pool" and step.shape[2:] == IMAGE and not step.dilated else None


def beyond_the_loops(step: Step) -> Unsupported | None:
    """Return why the book's two loops over a plane cannot do a step, None where they can."""
    if step.rank != PLANE or step.stride != (1,) * PLANE or step.padded or step.dilated:
        return Unsupported("the book's loops walk over planes with stride 1 and without padding")
    if step.parameters.get("divisor") is not None:
        return Unsupported("the book's loops divide by the number of cells")
    if math.prod(step.output) > CELLS:
        return Unsupported(f"the book's loops take a step for each cell, and are not asked for more than {CELLS:,}")
    return None
