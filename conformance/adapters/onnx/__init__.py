"""ONNX's own evaluator, `onnx.reference`: channels first, like the suite; opset 26.

What it changes: indices of maxima count through the tensor, and are made those of their plane. For want of a right
way, maxima with a stride of 1 are padded first, crops are slices, and a norm over the end is that of gathered cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.adapters.api.source_text import is_framework_same
from conformance.adapters.api.surface import Bfloat16Conversion, Surface, Unsupported
from conformance.adapters.onnx import nodes, windows
from conformance.adapters.onnx.dtypes import (
    ANY_CALL,
    SUPPORTED_DTYPES,
    limited_lowerings,
    unsupported_by_schema,
    unsupported_output_padding,
)
from conformance.adapters.onnx.graph import model_lines
from conformance.cases.steps import Step

PACKAGES = ("onnx", "numpy", "ml_dtypes")
THREADS = ""
SETUP = """\
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
"""
RESET = ""
BFLOAT16 = Bfloat16Conversion("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)")
NO_PADDED_STRIDE_ONE = Unsupported(
    "MaxPool reads out of bounds where it pads and steps by one cell, and takes no int8 there", rejected_call=ANY_CALL
)
NO_CROPPING = Unsupported("Pad does not crop", "https://github.com/onnx/onnx/pull/8199", rejected_call=ANY_CALL)
PLANES_ONLY = Unsupported("GlobalMaxPool reduces two axes, whatever the rank is", rejected_call=ANY_CALL)
WRONG_INDICES = Unsupported(
    "MaxPool takes the extents of its output for those of the window, to reckon indices, where it steps by one cell",
    rejected_call=ANY_CALL,
)
WRONG_OVERHANG = Unsupported(
    "what a last window lacks is written around both ends, and LpPool counts it", rejected_call=ANY_CALL
)
DROPPED_WINDOWS = Unsupported(
    "ceil_mode drops windows that start in the padding, though they fit; averages and norms still read them",
    rejected_call=ANY_CALL,
)


def _is_dense_max_pool(step: Step) -> bool:
    """Whether max pooling takes the way of the other poolings: it has neither a stride nor holes."""
    return not step.dilated and set(step.stride or (1,)) == {1}


def _is_padded_dense_max_pool(step: Step) -> bool:
    return _is_dense_max_pool(step) and (is_framework_same(step) or step.padded or step.dtype == "int8")


def _has_overhang(step: Step, cells: int) -> bool:
    """Whether the last window reaches so many cells past the padded input; of one cell, half is none."""
    return step.parameters.get("rounding") == "ceil" and max(step.windows.overhang) >= cells


# What the evaluator of 1.23.2 gets wrong, verb by verb.
INCORRECT_NODES: Mapping[str, tuple[Callable[[Step], bool], Unsupported]] = {
    "max_pool": (_is_padded_dense_max_pool, NO_PADDED_STRIDE_ONE),
    "max_pool_with_indices": (_is_dense_max_pool, WRONG_INDICES),
    "pad": (lambda step: min(map(min, step.padding)) < 0, NO_CROPPING),
    "global_max_pool": (lambda step: step.rank != 2, PLANES_ONLY),  # noqa: PLR2004 - planes
    "avg_pool": (lambda step: _has_overhang(step, 2), WRONG_OVERHANG),
    "lp_pool": (lambda step: _has_overhang(step, 1), WRONG_OVERHANG),
}


def node_limit(step: Step) -> Unsupported | None:
    """Return why a node is refused: by its schema, or because its implementation is wrong."""
    applies, wrong = INCORRECT_NODES.get(step.operator, (lambda _step: False, None))
    left_out = DROPPED_WINDOWS if step.has_windows_in_end_padding else None
    return (
        unsupported_by_schema(step)
        or unsupported_output_padding(step)
        or left_out
        or (wrong if applies(step) else None)
    )


def evaluate_lines(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build the model and evaluate it."""
    return (*model_lines(lines, names), "(x,) = ReferenceEvaluator(model).run(None, inputs)")


SURFACES = (
    Surface(
        "onnx.reference",
        limited_lowerings(node_limit),
        fallbacks=windows.fallbacks(node_limit),
        building_blocks=nodes.BUILDING_BLOCKS,
        dtypes=SUPPORTED_DTYPES,
        bfloat16=BFLOAT16,
        takes_flat_pads=True,
        wrap_program=evaluate_lines,
    ),
)
