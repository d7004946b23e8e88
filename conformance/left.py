"""What a question leaves to the framework, besides the parameters that it does not give at all."""

from __future__ import annotations

from conformance.cases import DEFAULTS, FLAT, SAME
from conformance.steps import Step


def own_same(step: Step) -> bool:
    """Whether the padding is whatever the framework's own word for `same` means."""
    return step.parameters.get("padding") == SAME


def by_default(step: Step) -> bool:
    """Whether the call names nothing that the case does not name: no dtype of a layer, no orientation of a kernel."""
    return bool(step.parameters.get(DEFAULTS))


def flat_pads(step: Step) -> tuple[int, ...] | None:
    """Return the pads as one list in the call's own order, None where they are pairs."""
    return step.parameters.get(FLAT)
