"""Apache MXNet: grids of points by `GridGenerator`, which takes `mxnet.nd` arrays only."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.mxnet.calls import ArrayApi

PLANE_AXES = 2
NO_AXES = Unsupported("GridGenerator has grids in planes only")
NO_EDGES = Unsupported("-1 and 1 are the centres of the first and the last cell in GridGenerator")
NO_DTYPE = Unsupported('GridGenerator takes float32 only: "Other DTypes are not supported!"')


def affine_grid(step: Step, api: ArrayApi) -> Code:
    """Return the call. Its matrices are rows of six numbers, and its grid has the coordinates on the second axis."""
    given = step.parameters
    if len(given["grid_size"]) != PLANE_AXES:
        return NO_AXES
    if not given.get("align_corners", True):
        return NO_EDGES
    if step.dtype != "float32":
        return NO_DTYPE
    rows = f"x{api.to_framework}.reshape((0, -1))"
    grid = call("mx.nd.GridGenerator", rows, transform_type='"affine"', target_shape=tuple_of(given["grid_size"]))
    return f"{grid}.transpose((0, 2, 3, 1)){api.to_numpy}"
