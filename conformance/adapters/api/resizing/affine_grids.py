"""Grids of points from affine matrices: the call that PyTorch and PaddlePaddle share."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.source_text import call, number
from conformance.adapters.api.surface import Lowering
from conformance.cases.steps import Step


def grid_shape(step: Step) -> str:
    """Return the source text of the shape (n, 1, *grid_size) of the images that the grid is for."""
    return f"({', '.join(['len(x)', '1', *map(number, step.parameters['grid_size'])])})"


def functional_call(step: Step) -> str:
    """Return `F.affine_grid`. An argument that a convention case omits is left out."""
    align = step.parameters.get("align_corners")
    return call("F.affine_grid", "x", grid_shape(step), align_corners=None if align is None else str(align))


NOT_WRITTEN: Mapping[str, Lowering] = {
    "affine_grid": unsupported_lowering("the adapter does not write grids from affine matrices yet")
}
"""Lowering of surfaces whose frameworks may have the operator, and for which no call is written."""
