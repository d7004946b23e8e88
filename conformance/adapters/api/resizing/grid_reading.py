"""Sampling at the points of a grid: signatures of calls, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import choice_argument, modes_argument
from conformance.adapters.api.layers import BoundCall, LayerSignature
from conformance.adapters.api.resizing.grid_sampling import MODES, PLANE_RANK
from conformance.cases.operators import GRID_OUTSIDE_MODES

MODES_BY_NAME: Mapping[str, str] = {name: mode for mode, name in MODES.items()}
FLAGS: Mapping[Any, bool] = {True: True, False: False, None: False}
ANY_EXTENT = 8
"""Extent of the output for a layer without a shape: programs do not depend on the number of points."""


def grid_sampling_layer(
    signature: str,
    *,
    arrays: tuple[str, ...] = (),
    modes: Mapping[str, str] = MODES_BY_NAME,
    flags: Mapping[Any, bool] = FLAGS,
) -> LayerSignature:
    """Return a call with the arguments mode, padding_mode and align_corners.

    arrays: the arguments that are the input and the grid, for functions. modes, flags: the modes and
    `align_corners` by what is written.
    """
    return LayerSignature(
        signature,
        "grid_sample",
        {
            "mode": choice_argument("mode", modes),
            "padding_mode": modes_argument("padding_mode", *map(str, GRID_OUTSIDE_MODES)),
            "align_corners": choice_argument("align_corners", flags),
        },
        array_arguments=arrays,
        adjust=_with_points,
    )


def _with_points(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size of the output, which is that of the grid. A grid has as many points as the input has cells."""
    return {"output_size": call.shape[2:] if call.shape else (ANY_EXTENT,) * PLANE_RANK}
