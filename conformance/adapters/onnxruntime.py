"""ONNX Runtime on the CPU: channels first, like the suite.

What it changes: indices of maxima count through the whole tensor, and are made those of their plane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.adapter import Surface, Unsupported
from conformance.adapters import onnx_nodes as nodes
from conformance.adapters import onnx_windows as windows
from conformance.adapters.onnx_graph import model
from conformance.adapters.onnx_shared import EVERYTHING, TAKEN, beside_schema, limited

PACKAGES = ("onnxruntime", "onnx", "numpy")
THREADS = ""
SETUP = """\
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
"""
RESET = ""
# What the CPU has kernels for, of what the schemas let in.
KERNELS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.VERBS, frozenset({"float16", "float32"})),
    "max_pool": frozenset({"float16", "float32", "float64", "int8", "uint8"}),
    "max_pool_with_indices": frozenset({"float16", "float32", "float64", "int8", "uint8"}),
    "pad": EVERYTHING - {"bfloat16", "int16", "uint16"},
    "relu": frozenset({"float16", "float32", "float64", "int8", "int32"}),
}
NO_WORDS = Unsupported(
    'the session gives no bfloat16 to NumPy: "No corresponding Numpy type for Tensor Type. bfloat16"'
)


def no_kernel(verb: str, dtype: str) -> str:
    """Return why a node is refused: by its schema, or for want of a kernel."""
    absent = f'"NOT_IMPLEMENTED : Could not find an implementation for {nodes.KINDS[verb]}" in {dtype}'
    return beside_schema(verb, dtype) or ("" if dtype in KERNELS[verb] else absent)


def run(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build the model and run it in a session."""
    return (
        *model(lines, names),
        'session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])',
        "(x,) = session.run(None, inputs)",
    )


SURFACES = (
    Surface(
        "onnxruntime",
        limited(no_kernel),
        composed=windows.COMPOSED,
        around=nodes.AROUND,
        dtypes={verb: dtypes - {"bfloat16"} for verb, dtypes in TAKEN.items()},
        refuses={"": {"bfloat16": NO_WORDS}},
        flat_pads=True,
        wrap=run,
    ),
)
