"""Sampling at the points of a grid: words that several frameworks share."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.surface import Lowering
from conformance.cases.operators import ResizeMode

MODES: Mapping[str, str] = {
    ResizeMode.NEAREST.value: "nearest",
    ResizeMode.LINEAR.value: "bilinear",
    ResizeMode.CUBIC.value: "bicubic",
}
"""The modes by the names that calls for planes have. Those for three axes often have the same names."""
PLANE_RANK = 2
NOT_WRITTEN: Mapping[str, Lowering] = {
    "grid_sample": unsupported_lowering("the adapter does not write sampling at the points of a grid yet")
}
"""Lowering of surfaces whose frameworks have the operator, and for which no call is written."""
