"""LiteRT: LOCAL_RESPONSE_NORMALIZATION of planes, with alpha as it is and an odd window 2 * radius + 1."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, as_lines, call, number
from conformance.adapters.api.normalization.recipes import ONLY_ODD, PLANE_RANK, alpha_of, is_even
from conformance.adapters.litert.options import integers, node

NO_RANK = Unsupported("LOCAL_RESPONSE_NORMALIZATION takes planes")
NO_DEFAULTS = Unsupported("the schema has no default numbers: a model without them has zeros")


def _text(step: Step) -> str:
    given = step.parameters
    numbers = {"bias": given["k"], "alpha": alpha_of(step, divides=False), "beta": given["beta"]}
    options = {name: number(float(value or 0)) for name, value in numbers.items()}
    # The size 0 has no radius: -1 is the nearest number that must be rejected.
    radius = number((given["local_size"] - 1) // 2)
    return node(
        "LOCAL_RESPONSE_NORMALIZATION",
        ["x"],
        call("schema.LocalResponseNormalizationOptionsT", radius, **options),
    )


def _unsupported(step: Step) -> Unsupported | None:
    if not {"k", "alpha", "beta"} <= step.parameters.keys():
        return NO_DEFAULTS
    return ONLY_ODD if is_even(step) else None


def lrn(step: Step) -> Code:
    """Return the operator."""
    return _unsupported(step) or (_text(step) if step.rank == PLANE_RANK else NO_RANK)


def fallback(step: Step) -> Code:
    """Return the operator for an input with one row for all cells."""
    batch, channels, *extents = step.shape
    shapes = ([batch, 1, math.prod(extents), channels], [batch, *extents, channels])
    before, after = (f"x = {node('RESHAPE', ['x', integers(shape)])}" for shape in shapes)
    return _unsupported(step) or (before, *as_lines(_text(step)), after)
