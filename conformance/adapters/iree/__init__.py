"""Adapter for IREE, with the graphs of the ONNX adapter. Channels first, like the suite.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- The importer reads the type and shape of each tensor from the graph, so onnx infers them first.
- The graph is compiled for the target llvm-cpu, and run in the calling thread.
- There are no gradients: the importer reads graphs for inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.adapters.api import COMPLETE_LEVELS, INDENT
from conformance.adapters.iree.limits import NO_BFLOAT16, OLD_RESIZE, node_limit
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.runtimes import runtime_surface
from reports.results.vocabulary import Level

PACKAGES = ("iree.compiler", "iree.runtime", "onnx", "numpy")
DISTRIBUTIONS = {"iree.compiler": "iree-base-compiler", "iree.runtime": "iree-base-runtime"}
THREADS = ""
VERSIONS = """\
import iree.compiler.version
import iree.runtime.version

# The packages have no attribute __version__, which the results record.
iree.compiler.__version__ = iree.compiler.version.VERSION
iree.runtime.__version__ = iree.runtime.version.VERSION
"""
SETUP = f"""\
import iree.compiler
import iree.runtime
import numpy as np
from iree.compiler import ir
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper, numpy_helper, shape_inference

{VERSIONS}"""
RESET = ""
# The instructions of any processor of the architecture.
TARGET = "--iree-llvmcpu-target-cpu=generic"
# By default, IREE computes float64 in float32.
KEEP_FLOAT64 = "--iree-input-demote-f64-to-f32=false"


def compile_lines(text: str, input_type: str, flags: str) -> Sequence[str]:
    """Return lines that assign `module`, a compiled model.

    text, flags: the expressions of its MLIR of an input type, and of a list of flags of the compiler.
    """
    return (
        "binary = iree.compiler.compile_str(",
        f'{INDENT}{text}, target_backends=["llvm-cpu"], input_type="{input_type}",',
        f"{INDENT}extra_args={flags},",
        ")",
        'module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")',
    )


SESSION = (
    "imported = onnx_importer.ModelInfo(shape_inference.infer_shapes(model, data_prop=True))",
    "with ir.Context() as context:",
    f"{INDENT}operation = imported.create_module(context=context).operation",
    f"{INDENT}onnx_importer.NodeImporter.define_function(imported.main_graph, operation).import_all()",
    f"{INDENT}text = operation.get_asm()",
    # Programs of integers may compute in float64. The compiler refuses some maxima of float32 with the second flag.
    f'flags = ["{TARGET}"]',
    "if not all(array.dtype in (np.float16, np.float32) for array in inputs.values()):",
    f'{INDENT}flags.append("{KEEP_FLOAT64}")',
    *compile_lines("text", "onnx", "flags"),
    "x = np.array(module.graph(*inputs.values()))",
)

SURFACES = (
    runtime_surface(
        "iree",
        node_limit,
        SESSION,
        lowerings={"resize": partial(nodes.resize, all_axes=True)},
        missing_nodes=OLD_RESIZE,
        unsupported_dtypes={"": {"bfloat16": NO_BFLOAT16}},
        # The compiler takes 1 to 6 s for each graph.
        max_level=Level.SMOKE,
        operator_levels=COMPLETE_LEVELS,
    ),
)
