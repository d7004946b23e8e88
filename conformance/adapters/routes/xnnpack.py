"""XNNPACK in ExecuTorch: pooling of int8, between calls that dequantize and quantize.

The partitioner of ExecuTorch 1.5.1 selects what XNNPACK computes, in backends/xnnpack/partition/config/
generic_node_configs.py:

- `MaxPool2dConfig` and `MeanDimConfig` have the precision STATIC_QUANT: the three calls become one operator of int8.
- `AvgPoolingConfig` has FP32 only: XNNPACK converts int8 to float32, averages, and converts back. Averages with
  ceil_mode, counted padding or a divisor are left to the portable kernels.
"""

from __future__ import annotations

import math

import numpy as np

from conformance.adapters import torch
from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.quantization.formulas import LIMITS
from conformance.adapters.torch.quantization import decomposed
from conformance.cases.operators import Formula, Rounding, RoundMode
from reference import quantize

PLANE_RANK = 2
DTYPE = "int8"
# The formulas of all sums are compared. This many cells have a million of them.
MAX_COMPARED_CELLS = 2**12
NO_VOLUMES = Unsupported("ExecuTorch has no average of volumes")


def max_pool(step: Step) -> Code:
    """Return the maximum, for XNNPACK's operator of int8 between a call that dequantizes and one that quantizes.

    The portable kernels compute other dtypes, axes that are no plane, and strides larger than the window.
    """
    lowering = torch.FUNCTIONAL_LOWERINGS["max_pool"]
    # The default stride is the window.
    is_dense = all(stride <= window for stride, window in zip(step.stride or (), step.window, strict=False))
    is_quantized = step.dtype == DTYPE and step.rank == PLANE_RANK and is_dense
    return decomposed.max_pool(lowering, step) if is_quantized else lowering(step)


def avg_pool(step: Step) -> Code:
    """Return the average of int8: the mean of a plane if its formula is that of the step, otherwise of float32."""
    if step.rank > PLANE_RANK:
        return NO_VOLUMES
    if _is_mean_of_plane(step) and _has_formula_of_mean(step):
        return decomposed.between(step, "F.adaptive_avg_pool2d(x, 1)", 1, step.parameters["x_zero_point"])
    given = step.parameters
    is_portable = (
        given["rounding"] == Rounding.CEIL
        or given["divisor"] is not None
        or (given["count_include_pad"] and step.padded)
    )
    formula, name = (Formula.QUOTIENT, "the portable kernel") if is_portable else (Formula.RECIPROCAL, "XNNPACK")
    return decomposed.avg_pool(torch.FUNCTIONAL_LOWERINGS["avg_pool"], step, formula, name)


def _is_mean_of_plane(step: Step) -> bool:
    """Whether one window has all cells of a plane and no others."""
    return (
        step.rank == PLANE_RANK
        and not step.padded
        and not step.dilated
        and step.window == step.shape[2:]
        and step.parameters["divisor"] is None
    )


def _has_formula_of_mean(step: Step) -> bool:
    """Whether XNNPACK's mean of int8 is the result of the formula of the step, for every sum of the cells.

    With the sum T of n cells, the zero point z and the reciprocal r of n, XNNPACK rounds T · r + (z − nz · r), where
    each operation is one of float32.
    """
    given, cells = step.parameters, math.prod(step.window)
    if "formula" not in given or given.get("round_mode") != RoundMode.HALF_EVEN or cells > MAX_COMPARED_CELLS:
        return False
    zero_point, (least, most) = given["x_zero_point"], LIMITS[DTYPE]
    totals = np.arange(least * cells, most * cells + 1)
    differences = (totals - cells * zero_point).astype(np.float32)
    expected = quantize(
        differences[None, None],
        y_scale=cells,
        y_zero_point=zero_point,
        output_dtype=DTYPE,
        round_mode=given["round_mode"],
        formula=given["formula"],
    )
    reciprocal = np.float32(1) / np.float32(cells)
    offset = np.float32(zero_point) - np.float32(cells * zero_point) * reciprocal
    means = np.rint(totals.astype(np.float32) * reciprocal + offset)
    return bool((np.clip(means, least, most) == expected).all())
