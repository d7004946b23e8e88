"""OpenVINO: `lrn`, which divides alpha by the size, and whose window has an odd number of channels."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.normalization.recipes import alpha_of, is_even

NARROWER = Unsupported("an even size is one channel less than the window, without a change of the divisor of alpha")


def lrn(step: Step) -> Code:
    """Return the call. Its window is along the channels, axis 1. Numbers that a convention leaves out have defaults."""
    given = step.parameters
    numbers = {"alpha": alpha_of(step, divides=True), "beta": given.get("beta"), "bias": given.get("k")}
    floats = {name: None if value is None else number(float(value)) for name, value in numbers.items()}
    text = call("ops.lrn", "x", "np.array([1])", **floats, size=number(given["local_size"]))
    # A convention leaves the side out, and observes the call.
    return NARROWER if is_even(step) and "extra_channel" in given else text
