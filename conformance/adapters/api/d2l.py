"""Limits of the pooling code in the book "Dive into Deep Learning", for the surfaces that run this code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from conformance.adapters.api.surface import Code, Surface, Unsupported
from conformance.cases.steps import PerAxisPairs, Step
from reports.results.vocabulary import Level

PLANE_RANK = 2
MAX_OUTPUT_CELLS = 1000
"""Maximum number of output cells for the loops; in some frameworks a cell takes 10 milliseconds."""
BOOK_IMAGE_SHAPE = (4, 4)

# Examples in the book's tabs on a 4 x 4 input: window, stride, padding. The channels-last tabs write zeros instead of
# padding. Where no window reaches the last row and column of the padding, they write zeros above and to the left only.
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


def book_surface(name: str, pool: Callable[[str, Step], Code], **fields: Any) -> Surface:
    """Return a surface of the book's programs for max and average pooling.

    pool: writes the program, from "max" or "mean" and the step. fields: further fields of the surface.
    """
    lowerings = {"max_pool": partial(pool, "max"), "avg_pool": partial(pool, "mean")}
    # A composition would be a program that the book does not print.
    return Surface(name, lowerings, allows_compositions=False, max_level=Level.SMOKE, **fields)


def shows_padded_pooling(step: Step, extra_examples: BookExamples = ()) -> bool:
    """Whether a channels-first tab, or one of the extra examples, shows max pooling with this padding."""
    shown = (step.window, step.stride, step.padding) in (*BOOK_EXAMPLES, *extra_examples)
    return step.operator == "max_pool" and shown and step.shape[2:] == BOOK_IMAGE_SHAPE and not step.dilated


def channels_last_zeros(step: Step) -> PerAxisPairs | None:
    """Return the pads of zeros that a channels-last tab writes for this padding, None if no tab shows it."""
    pads = CHANNELS_LAST_ZEROS.get((step.window, step.stride, step.padding))
    return pads if step.operator == "max_pool" and step.shape[2:] == BOOK_IMAGE_SHAPE and not step.dilated else None


def unsupported_by_loops(step: Step) -> Unsupported | None:
    """Return why the book's two loops over a plane cannot compute a step, None if they can."""
    if step.rank != PLANE_RANK or step.stride != (1,) * PLANE_RANK or step.padded or step.dilated:
        return Unsupported("the book's loops support only planes, stride 1 and no padding")
    if step.parameters.get("divisor") is not None:
        return Unsupported("the book's loops support no divisor except the number of cells")
    if math.prod(step.output) > MAX_OUTPUT_CELLS:
        return Unsupported(f"the book's loops are too slow for more than {MAX_OUTPUT_CELLS:,} output cells")
    return None


def channels_last_loop(step: Step, zeros: str, assign: str) -> Code:
    """Return the loop over the cells of the output, as the channels-last tabs print it, or why it is unsupported.

    zeros: an expression with `{shape}` for the output. assign: a statement that sets its cell (n, i, j, c) to the
    reduced `{cells}` of the window.
    """
    unsupported = unsupported_by_loops(step)
    if unsupported:
        return unsupported
    (height, width), (n, c, *size) = step.window, step.output
    shape, cells = (n, *size, c), f"x[n, i:i + {height}, j:j + {width}, c]"
    return (
        f"y = {zeros.format(shape=shape)}",
        f"for n, i, j, c in np.ndindex({shape}):",
        f"    {assign.format(cells=cells)}",
        "x = y",
    )
