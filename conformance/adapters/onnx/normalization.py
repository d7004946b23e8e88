"""ONNX: the LRN node, which divides alpha by the size; an even window has its extra channel after."""

from __future__ import annotations

import numpy as np

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.normalization.recipes import EVEN_IS_AFTER, alpha_of, is_opposite
from conformance.cases.operators import ExtraChannel

ROUNDED_ATTRIBUTE = Unsupported("an attribute is float32, also for float64, and rounds the number")


def lrn(step: Step) -> Code:
    """Return the node. An attribute that a convention leaves out has its default."""
    if is_opposite(step, ExtraChannel.AFTER):
        return EVEN_IS_AFTER
    given = step.parameters
    attributes = {"alpha": alpha_of(step, divides=True), "beta": given.get("beta"), "bias": given.get("k")}
    given_numbers = [value for value in attributes.values() if value is not None]
    if step.dtype == "float64" and any(float(np.float32(value)) != value for value in given_numbers):
        return ROUNDED_ATTRIBUTE
    # An attribute of type float cannot be a Python integer.
    floats = {name: None if value is None else number(float(value)) for name, value in attributes.items()}
    return call("LRN", "x", **floats, size=number(given["local_size"]))
