"""Sampling at the points of a grid: words that several frameworks share."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.source_text import call
from conformance.adapters.api.surface import Lowering
from conformance.cases.operators import ResizeMode
from conformance.cases.steps import Step

MODES: Mapping[str, str] = {
    ResizeMode.NEAREST.value: "nearest",
    ResizeMode.LINEAR.value: "bilinear",
    ResizeMode.CUBIC.value: "bicubic",
}
"""The modes by the names that calls for planes have. Those for three axes often have the same names."""
PLANE_RANK = 2


def functional_call(step: Step) -> str:
    """Return `F.grid_sample`, as in PyTorch and PaddlePaddle. Parameters that a convention case omits are left out."""
    given = step.parameters
    padding, align = given.get("padding_mode"), given.get("align_corners")
    return call(
        "F.grid_sample",
        "x",
        "grid",
        mode=f'"{MODES[given["mode"]]}"' if "mode" in given else None,
        padding_mode=None if padding is None else f'"{padding}"',
        align_corners=None if align is None else str(align),
    )


NOT_WRITTEN: Mapping[str, Lowering] = {
    "grid_sample": unsupported_lowering("the adapter does not write sampling at the points of a grid yet")
}
"""Lowering of surfaces whose frameworks have the operator, and for which no call is written."""
