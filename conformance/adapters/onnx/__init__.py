"""ONNX's own evaluator, `onnx.reference`: channels first, like the suite; opset 26.

What it changes: indices of maxima count through the tensor, and are made those of their plane. For want of a right
way, maxima with a stride of 1 are padded first, crops are slices, and a norm over the end is that of gathered cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.adapters.api.source_text import own_same
from conformance.adapters.api.surface import Surface, Unsupported, Words
from conformance.adapters.onnx import nodes, windows
from conformance.adapters.onnx.dtypes import ASKED, TAKEN, beside_schema, large_output, limited
from conformance.adapters.onnx.graph import model
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
WORDS = Words("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)")
PADDED_BY_ONE_STEP = Unsupported(
    "MaxPool reads out of bounds where it pads and steps by one cell, and takes no int8 there", refused=ASKED
)
CROPS = Unsupported("Pad does not crop", "https://github.com/onnx/onnx/pull/8199", refused=ASKED)
PLANES = Unsupported("GlobalMaxPool reduces two axes, whatever the rank is", refused=ASKED)
INDICES = Unsupported(
    "MaxPool takes the extents of its output for those of the window, to reckon indices, where it steps by one cell",
    refused=ASKED,
)
PARTIAL = Unsupported("what a last window lacks is written around both ends, and LpPool counts it", refused=ASKED)
LEFT_OUT = Unsupported(
    "ceil_mode drops windows that start in the padding, though they fit; averages and norms still read them",
    refused=ASKED,
)


def _by_one_step(step: Step) -> bool:
    """Whether max pooling takes the way of the other poolings: it has neither a stride nor holes."""
    return not step.dilated and set(step.stride or (1,)) == {1}


def _padded_by_one_step(step: Step) -> bool:
    return _by_one_step(step) and (own_same(step) or step.padded or step.dtype == "int8")


def _lacks(step: Step, cells: int) -> bool:
    """Whether the last window reaches so many cells past the padded input; of one cell, half is none."""
    return step.parameters.get("rounding") == "ceil" and max(step.walk.overhang) >= cells


# What the evaluator of 1.23.2 gets wrong, verb by verb.
WRONG: Mapping[str, tuple[Callable[[Step], bool], Unsupported]] = {
    "max_pool": (_padded_by_one_step, PADDED_BY_ONE_STEP),
    "max_pool_with_indices": (_by_one_step, INDICES),
    "pad": (lambda step: min(map(min, step.padding)) < 0, CROPS),
    "global_max_pool": (lambda step: step.rank != 2, PLANES),  # noqa: PLR2004 - planes
    "avg_pool": (lambda step: _lacks(step, 2), PARTIAL),
    "lp_pool": (lambda step: _lacks(step, 1), PARTIAL),
}


def limit(step: Step) -> Unsupported | None:
    """Return why a node is refused: by its schema, or because its implementation is wrong."""
    applies, wrong = WRONG.get(step.verb, (lambda _step: False, None))
    left_out = LEFT_OUT if step.padded_beyond else None
    return beside_schema(step) or large_output(step) or left_out or (wrong if applies(step) else None)


def evaluated(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build the model and evaluate it."""
    return (*model(lines, names), "(x,) = ReferenceEvaluator(model).run(None, inputs)")


SURFACES = (
    Surface(
        "onnx.reference",
        limited(limit),
        composed=windows.composed(limit),
        around=nodes.AROUND,
        dtypes=TAKEN,
        words=WORDS,
        flat_pads=True,
        wrap=evaluated,
    ),
)
