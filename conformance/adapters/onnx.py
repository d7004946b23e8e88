"""ONNX's own reference implementation in Python, `onnx.reference`: channels first, like the suite.

What it changes: indices of maxima count through the whole tensor, and are made those of their plane.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapter import Surface, Words
from conformance.adapters import onnx_nodes as nodes
from conformance.adapters import onnx_windows as windows
from conformance.adapters.onnx_graph import model
from conformance.adapters.onnx_shared import TAKEN, beside_schema, limited

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


def evaluated(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build the model and evaluate it."""
    return (*model(lines, names), "(x,) = ReferenceEvaluator(model).run(None, inputs)")


SURFACES = (
    Surface(
        "onnx.reference",
        limited(beside_schema),
        composed=windows.COMPOSED,
        around=nodes.AROUND,
        dtypes=TAKEN,
        words=WORDS,
        flat_pads=True,
        wrap=evaluated,
    ),
)
