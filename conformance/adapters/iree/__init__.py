"""Adapter for IREE: its ONNX importer and its compiler, with the graphs of the ONNX adapter. Channels first, like the suite.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- The importer reads the type and shape of each tensor from the graph, so onnx infers them first.
- There are no gradients: the importer takes graphs for inference.
"""

from __future__ import annotations

from functools import partial

from conformance.adapters.api import INDENT, Level, Step, Unsupported
from conformance.adapters.iree.compilation import IMPORTS, VERSIONS, load_lines
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import unsupported_by_schema
from conformance.adapters.onnx.runtimes import runtime_surface

PACKAGES = ("iree.compiler", "iree.runtime", "onnx", "numpy")
DISTRIBUTIONS = {"iree.compiler": "iree-base-compiler", "iree.runtime": "iree-base-runtime"}
THREADS = ""
SETUP = f"""\
{IMPORTS}\
import numpy as np
from iree.compiler import ir
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper, numpy_helper, shape_inference

{VERSIONS}"""
RESET = ""
SESSION = (
    "model_info = onnx_importer.ModelInfo(shape_inference.infer_shapes(model, data_prop=True))",
    "with ir.Context() as context:",
    f"{INDENT}imported = model_info.create_module(context=context)",
    f"{INDENT}importer = onnx_importer.NodeImporter.define_function(model_info.main_graph, imported.operation)",
    f"{INDENT}importer.import_all()",
    f"{INDENT}text = str(imported)",
    *load_lines("text", "onnx"),
    "x = np.asarray(module.graph(*inputs.values()))",
)
NO_BFLOAT16 = Unsupported("the runtime takes NumPy arrays, and NumPy has no bfloat16")


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: its schema does not allow the dtype."""
    return unsupported_by_schema(step)


SURFACES = (
    runtime_surface(
        "iree",
        node_limit,
        SESSION,
        unsupported_dtypes={"": {"bfloat16": NO_BFLOAT16}},
        # Every graph is compiled, which takes seconds.
        max_level=Level.SMOKE,
        slow_tag="compiled",
    ),
)
