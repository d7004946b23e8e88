"""What the book's own code can do, for the surfaces that run it: "Dive into Deep Learning", section "Pooling"."""

from __future__ import annotations

import math
from collections.abc import Mapping

from conformance.adapters.api.surface import Unsupported
from conformance.cases.steps import PerAxisPairs, Step

PLANE_RANK = 2
MAX_OUTPUT_CELLS = 1000
"""Cells of an output that the loops are asked for: some take a hundredth of a second for each."""
BOOK_IMAGE_SHAPE = (4, 4)

# What the tabs show on 4 x 4: window, stride, padding. The channels-last tabs write zeros instead of padding, above and
# to the left only where the window does not reach the other side anyway.
BookExamples = tuple[tuple[tuple[int, ...], tuple[int, ...], PerAxisPairs], ...]
BOOK_EXAMPLES: BookExamples = (
    ((3, 3), (2, 2), ((1, 1), (1, 1))),
    ((2, 3), (2, 3), ((0, 0), (1, 1))),
)
CHANNELS_LAST_ZEROS: Mapping[tuple[tuple[int, ...], tuple[int, ...] | None, PerAxisPairs], PerAxisPairs] = {
    ((3, 3), (2, 2), ((1, 1), (1, 1))): ((1, 0), (1, 0)),
    ((3, 3), (2, 2), ((1, 0), (1, 0))): ((1, 0), (1, 0)),
    ((2, 3), (2, 3), ((0, 0), (1, 1))): ((0, 0), (1, 1)),
}


def shows_padded_pooling(step: Step, readers: BookExamples = ()) -> bool:
    """Whether a channels-first tab, or one of its readers, shows max pooling with this padding."""
    shown = (step.window, step.stride, step.padding) in (*BOOK_EXAMPLES, *readers)
    return step.operator == "max_pool" and shown and step.shape[2:] == BOOK_IMAGE_SHAPE and not step.dilated


def channels_last_zeros(step: Step) -> PerAxisPairs | None:
    """Return the zeros that a channels-last tab writes for this padding, None where it shows none."""
    pads = CHANNELS_LAST_ZEROS.get((step.window, step.stride, step.padding))
    return pads if step.operator == "max_pool" and step.shape[2:] == BOOK_IMAGE_SHAPE and not step.dilated else None


def unsupported_by_loops(step: Step) -> Unsupported | None:
    """Return why the book's two loops over a plane cannot do a step, None where they can."""
    if step.rank != PLANE_RANK or step.stride != (1,) * PLANE_RANK or step.padded or step.dilated:
        return Unsupported("the book's loops walk over planes with stride 1 and without padding")
    if step.parameters.get("divisor") is not None:
        return Unsupported("the book's loops divide by the number of cells")
    if math.prod(step.output) > MAX_OUTPUT_CELLS:
        return Unsupported(
            f"the book's loops take a step for each cell, and are not asked for more than {MAX_OUTPUT_CELLS:,}"
        )
    return None
