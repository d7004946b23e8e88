"""Apache MXNet: sampling at the points of a grid by `BilinearSampler`, which takes `mxnet.nd` arrays only."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call
from conformance.adapters.mxnet.calls import ArrayApi
from conformance.cases.operators import OutsideMode, ResizeMode

PLANE_RANK = 2
NO_RANK = Unsupported("BilinearSampler samples planes only")
LINEAR_ONLY = Unsupported("BilinearSampler has linear interpolation only")
ZEROS_ONLY = Unsupported("BilinearSampler reads zeros outside of x")
NO_EDGES = Unsupported("-1 and 1 are the centres of the first and the last cell in BilinearSampler")


def grid_sample(step: Step, api: ArrayApi) -> Code:
    """Return the call. Its grid has the coordinates on the second axis."""
    given = step.parameters
    if step.rank != PLANE_RANK:
        return NO_RANK
    if given.get("mode", ResizeMode.LINEAR) != ResizeMode.LINEAR:
        return LINEAR_ONLY
    if given.get("padding_mode", OutsideMode.ZEROS) != OutsideMode.ZEROS:
        return ZEROS_ONLY
    if not given.get("align_corners", True):
        return NO_EDGES
    grid = f"grid{api.to_framework}.transpose((0, 3, 1, 2))"
    return f"{call('mx.nd.BilinearSampler', f'x{api.to_framework}', grid)}{api.to_numpy}"
