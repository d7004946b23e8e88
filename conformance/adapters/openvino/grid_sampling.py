"""OpenVINO: sampling at the points of a grid by `grid_sample`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call
from conformance.adapters.api.resizing.grid_sampling import MODES, PLANE_RANK

NO_RANK = Unsupported("grid_sample takes two spatial axes")
# Values of attributes that are not written.
DEFAULTS = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": False}


def grid_sample(step: Step) -> Code:
    """Return the call, whose attributes are a dictionary."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    given = step.parameters
    attributes = {
        "mode": MODES[given["mode"]],
        "padding_mode": given.get("padding_mode", "zeros"),
        "align_corners": given.get("align_corners", False),
    }
    written = {name: value for name, value in attributes.items() if value != DEFAULTS[name]}
    return call("ops.grid_sample", "x", "grid", str(written))
