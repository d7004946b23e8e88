"""Limits of the number of spatial axes. Most frameworks pool and convolve along one to three of them."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.steps import Step

MAX_WINDOW_AXES = 3
"""Largest number of spatial axes of pooling, convolution and padding layers in most frameworks."""


def too_many_axes(step: Step, most: int = MAX_WINDOW_AXES) -> Unsupported | None:
    """Return the reason if the step has more than `most` spatial axes, otherwise None."""
    # No rejected call: names such as max_pool4d do not exist, so there is no call that could be rejected.
    return Unsupported(f"more than {most} spatial axes are not supported") if step.rank > most else None


def limit_axes(lowerings: Mapping[str, Lowering], most: int = MAX_WINDOW_AXES) -> Mapping[str, Lowering]:
    """Return lowerings that do not support steps with more than `most` spatial axes."""
    return {operator: _limited(lowering, most) for operator, lowering in lowerings.items()}


def _limited(lowering: Lowering, most: int) -> Lowering:
    def lower(step: Step) -> Code:
        return too_many_axes(step, most) or lowering(step)

    return lower
