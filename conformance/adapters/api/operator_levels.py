"""The operators that surfaces of level smoke run at level standard, see Surface.operator_levels."""

from __future__ import annotations

from collections.abc import Mapping

from reports.results.vocabulary import Level

COMPLETE_OPERATORS = (
    "resize", "grid_sample", "affine_grid", "unfold", "fold", "depth_to_space", "space_to_depth", "lrn", "deform_conv",
    "dilation2d", "quantize", "dequantize", "quantized_avg_pool", "quantized_conv", "conv_integer",
)  # fmt: skip
"""A call of a compiler or an exporter takes seconds, so such surfaces have no complete run of level standard.

They have one for these operators."""
COMPLETE_LEVELS: Mapping[str, Level] = dict.fromkeys(COMPLETE_OPERATORS, Level.STANDARD)
