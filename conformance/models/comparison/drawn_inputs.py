"""Inputs with which a model and its port are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from conformance.cases.arrays import Array

KINDS = ("integers", "normal", "negative", "large")
"""Kinds of inputs: whole numbers, a normal distribution, numbers below -1, and normal numbers times LARGE_FACTOR."""
MAX_WHOLE_NUMBER = 4
LARGE_FACTOR = 1000.0


def drawn_input(kind: str, shape: Sequence[int], seed: int) -> Array:
    """Return an input of a kind in float32. The same seed gives the same numbers."""
    rng = np.random.default_rng(seed)
    if kind == "integers":
        return rng.integers(-MAX_WHOLE_NUMBER, MAX_WHOLE_NUMBER + 1, shape).astype(np.float32)
    values = rng.standard_normal(shape)
    if kind == "negative":
        values = -1 - np.abs(values)
    return (values * (LARGE_FACTOR if kind == "large" else 1)).astype(np.float32)


def drawn_inputs(kind: str, shapes: Mapping[str, Sequence[int]], seed: int) -> dict[str, Array]:
    """Return the inputs of a model, by name. Each has numbers of its own."""
    return {name: drawn_input(kind, shape, seed + number) for number, (name, shape) in enumerate(shapes.items())}
