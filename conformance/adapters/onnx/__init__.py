"""Adapter for ONNX's reference evaluator, `onnx.reference`, with opset 26. Channels first, like the suite.

Differences from a direct translation:

- Indices of max pooling count through the whole tensor. They are converted to indices in each channel.
- Some nodes give wrong results, see INCORRECT_NODES. Max pooling with stride 1 is padded explicitly first, cropping is
  Slice, and Lp pooling with a partial last window gathers the elements of each window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from conformance.adapters.api import (
    Bfloat16Conversion,
    Step,
    Surface,
    Unsupported,
    is_framework_same,
    too_many_axes,
)
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import ANY_CALL, unsupported_by_schema, unsupported_output_padding
from conformance.adapters.onnx.graph import OPSET_VERSION
from conformance.adapters.onnx.runtimes import runtime_surface
from conformance.cases.operators import Coordinates, OutsideMode, Requantization, ResizeMode, Rounding

PACKAGES = ("onnx", "numpy", "ml_dtypes")
THREADS = ""
SETUP = """\
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
"""
RESET = ""
# The evaluator computes with NumPy arrays of ml_dtypes.
BFLOAT16_CONVERSION = Bfloat16Conversion("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)")
NO_PADDED_STRIDE_ONE = Unsupported(
    "MaxPool with padding and stride 1 reads out of bounds, and it takes no int8 with stride 1", rejected_call=ANY_CALL
)
NO_CROPPING = Unsupported("Pad does not crop", "https://github.com/onnx/onnx/pull/8199", rejected_call=ANY_CALL)
PLANES_ONLY = Unsupported("GlobalMaxPool always reduces two axes, also for other ranks", rejected_call=ANY_CALL)
NO_BOOL_RESIZE = Unsupported("\"data type <class 'numpy.bool'> not inexact\"")
NO_OLD_COORDINATES = Unsupported("\"Invalid coordinate_transformation_mode: 'tf_half_pixel_for_nn'\"")
NO_MIRROR_OF_ONE_CELL = Unsupported(
    'GridSample divides by the distance between the mirrors: "cannot convert float infinity to integer"'
)
CLAMPED_COORDINATES = Unsupported("GridSample moves coordinates to the border, not cells, also in the mode cubic")
ONE_CHANNEL_PER_ITEM = Unsupported(
    "LRN normalizes as many channels as the batch has items, and copies the others",
    "https://github.com/onnx/onnx/issues/7805",
)
NO_LRN_RANK = Unsupported('"LRN only applies on 4D tensors"')
FLOAT32_ATTRIBUTES = Unsupported("LRN divides alpha by the size in float32, also for float64")
FLOAT32_COORDINATES = Unsupported("GridSample rounds coordinates of float64 to float32")
FLOAT32_GRID = Unsupported("AffineGrid returns float32 for every dtype")
WRONG_INDICES = Unsupported(
    "MaxPool with stride 1 computes indices with its output size in place of its window size",
    rejected_call=ANY_CALL,
)
WRONG_OVERHANG = Unsupported(
    "padding for a partial last window is added at both ends, and LpPool counts it", rejected_call=ANY_CALL
)
DROPPED_WINDOWS = Unsupported(
    "ceil_mode drops complete windows that start in the padding; averages and norms still read them",
    rejected_call=ANY_CALL,
)


def _is_dense_max_pool(step: Step) -> bool:
    """Whether max pooling has stride 1 and dilation 1, which the evaluator computes with the code of other poolings."""
    return not step.dilated and set(step.stride or (1,)) == {1}


def _has_overhang(step: Step, minimum: int) -> bool:
    """Whether the last window extends at least `minimum` elements past the padded input."""
    return step.parameters.get("rounding") == Rounding.CEIL and max(step.windows.overhang) >= minimum


# Nodes that the evaluator of ONNX 1.23.2 computes incorrectly: for which steps, and why.
INCORRECT_NODES: Mapping[str, tuple[Callable[[Step], bool], Unsupported]] = {
    "max_pool": (
        lambda step: _is_dense_max_pool(step) and (is_framework_same(step) or step.padded or step.dtype == "int8"),
        NO_PADDED_STRIDE_ONE,
    ),
    "max_pool_with_indices": (_is_dense_max_pool, WRONG_INDICES),
    "pad": (lambda step: min(map(min, step.padding)) < 0, NO_CROPPING),
    "resize": (lambda step: step.dtype == "bool", NO_BOOL_RESIZE),
    "lrn": (lambda step: step.shape[0] != step.shape[1], ONE_CHANNEL_PER_ITEM),
    "affine_grid": (lambda step: step.dtype != "float32", FLOAT32_GRID),
    "global_max_pool": (lambda step: step.rank != 2, PLANES_ONLY),  # noqa: PLR2004 - two spatial axes
    # The evaluator halves the overhang to split it between both ends, so an overhang of 1 has no effect on averages.
    "avg_pool": (lambda step: _has_overhang(step, 2), WRONG_OVERHANG),
    "lp_pool": (lambda step: _has_overhang(step, 1), WRONG_OVERHANG),
}


def _grid_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use GridSample: its coordinates are float32, or its cells are wrong at an end."""
    given = step.parameters
    mode, outside = given.get("mode"), given.get("padding_mode")
    if outside == OutsideMode.REFLECTION and given.get("align_corners") and 1 in step.shape[2:]:
        return NO_MIRROR_OF_ONE_CELL
    if mode == ResizeMode.CUBIC and outside == OutsideMode.BORDER:
        return CLAMPED_COORDINATES
    return FLOAT32_COORDINATES if step.dtype == "float64" and mode != ResizeMode.NEAREST else None


def _unsupported_rank(step: Step) -> Unsupported | None:
    """Return the reason if a node lacks an implementation for more than three spatial axes."""
    # Dense max pooling uses the code of averages, which works for any number of axes.
    lacks = step.operator == "max_unpool" or (step.operator.startswith("max_pool") and not _is_dense_max_pool(step))
    return too_many_axes(step) if lacks else None


def _lrn_limit(step: Step) -> Unsupported | None:
    if step.rank != 2:  # noqa: PLR2004 - two spatial axes
        return NO_LRN_RANK
    return FLOAT32_ATTRIBUTES if step.dtype == "float64" else None


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: its schema rejects it, or its implementation is wrong or missing."""
    applies, wrong = INCORRECT_NODES.get(step.operator, (lambda _step: False, None))
    dropped = DROPPED_WINDOWS if step.has_windows_in_end_padding else None
    return (
        unsupported_by_schema(step)
        or _unsupported_rank(step)
        or unsupported_output_padding(step)
        or (_grid_limit(step) if step.operator == "grid_sample" else None)
        or (_lrn_limit(step) if step.operator == "lrn" else None)
        or (NO_OLD_COORDINATES if step.parameters.get("coordinates") == Coordinates.TF_HALF_PIXEL_FOR_NN else None)
        or dropped
        or (wrong if applies(step) else None)
    )


MISSING_NODES: Mapping[str, Unsupported] = {
    "Resize(x, scales": Unsupported('Resize-10: "output_size is None and scale_factors is None."'),
    'Upsample(x, scales, mode="linear"': Unsupported("Upsample: \"Not implemented for mode='linear'\""),
}


def surfaces_with_opset(opset_version: int) -> tuple[Surface, ...]:
    """Return the surface with graphs of an opset."""
    surface = runtime_surface(
        "onnx.reference",
        node_limit,
        # The evaluator runs nodes as NumPy functions one by one, so there is no session to configure.
        ("(x,) = ReferenceEvaluator(model).run(None, inputs)",),
        lowerings={"quantized_conv": partial(nodes.quantized_conv, Requantization.FLOAT64)},
        constant_weights=False,
        opset_version=opset_version,
        bfloat16=BFLOAT16_CONVERSION,
        missing_nodes=MISSING_NODES,
    )
    return (surface,)


SURFACES = surfaces_with_opset(OPSET_VERSION)
