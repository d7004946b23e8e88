"""Keras: resizing of planes by `keras.ops.image.resize` and the layer `Resizing`, which take a size."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.tensorflow.resizing import layer_resize, size_and_interpolation

__all__ = ["layer_resize", "ops_resize"]


def ops_resize(step: Step, engine: str) -> Code:
    """Return the call of keras.ops."""
    found = size_and_interpolation(step, engine)
    if isinstance(found, Unsupported):
        return found
    size, interpolation = found
    return f"keras.ops.image.resize(x, ({size}), interpolation={interpolation})"
