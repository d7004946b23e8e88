"""MNN: linear interpolation of planes by `resize`, which takes a scale for each axis."""

from __future__ import annotations

import numpy as np

from conformance.adapters.api import Code, Step, Unsupported, call, number, too_many_axes
from conformance.adapters.api.resizing.rules import (
    ASYMMETRIC,
    has_remainder,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
    scale_of_each_axis,
)
from conformance.adapters.mnn.pooling import PLANE_RANK, as_plane, without_row
from conformance.cases.operators import ResizeMode

NO_MODE = Unsupported("F.resize has linear interpolation only")
NO_RULE = Unsupported("F.resize has the coordinates asymmetric, computed from the sizes")
NO_SIZE = Unsupported("F.resize takes a scale, and this size is not the extent times a scale")


@plain_kernels_only
def resize(step: Step) -> Code:
    """Return the call, whose first scale is that of the width."""
    if step.parameters["mode"] != ResizeMode.LINEAR:
        return NO_MODE
    scales = scale_of_each_axis(step, _extent)
    if scales is None:
        return NO_SIZE
    is_default = omits_coordinates(step) and not has_remainder(step)
    if not (is_default or has_rule(step, ASYMMETRIC, recomputes_scale=True)):
        return NO_RULE
    arguments = (*map(number, reversed(scales)), *("1.0",) * (step.rank == 1))
    resized = call("F.resize", f"F.convert({as_plane(step, 'x')}, F.NC4HW4)", *arguments)
    return too_many_axes(step, PLANE_RANK) or without_row(step, f"F.convert({resized}, F.NCHW)")


def _extent(extent: int, scale: float) -> int:
    """Return the extent of the output, the product in float32."""
    return int(np.float32(extent) * np.float32(scale))
