"""ncnn: the layer GridSample of planes and volumes, which takes the grid as a second input."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported
from conformance.cases.operators import ResizeMode

MODES: Mapping[str, int] = {ResizeMode.LINEAR.value: 1, ResizeMode.NEAREST.value: 2, ResizeMode.CUBIC.value: 3}
PADDING_MODES: Mapping[str, int] = {"zeros": 1, "border": 2, "reflection": 3}
PLANE_RANK = 2
NO_ROWS = Unsupported("GridSample samples planes and volumes")
NO_CUBIC_VOLUMES = Unsupported("GridSample has no bicubic interpolation of volumes")


def grid_sample(step: Step) -> Code:
    """Return the layer. Numbers that a convention leaves out have their defaults."""
    given = step.parameters
    if step.rank < PLANE_RANK:
        return NO_ROWS
    if given.get("mode") == ResizeMode.CUBIC and step.rank != PLANE_RANK:
        return NO_CUBIC_VOLUMES
    numbers = {
        0: MODES[given["mode"]] if "mode" in given else None,
        1: PADDING_MODES[given["padding_mode"]] if "padding_mode" in given else None,
        2: int(given["align_corners"]) if "align_corners" in given else None,
    }
    parameters = " ".join(f"{name}={value}" for name, value in numbers.items() if value is not None)
    return f'compute(network("GridSample", "{parameters}", inputs=("x", "grid")), x, grid)'
