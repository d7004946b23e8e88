"""Adapter for tract, with the graphs of the ONNX adapter. Channels first, like the suite.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- The package reads models from files only, so the graph is written to a temporary file.
- There are no gradients: tract runs inference only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance.adapters.api import Step, Unsupported
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import ANY_CALL, SCHEMA_DTYPES
from conformance.adapters.onnx.runtimes import missing_kernel, runtime_surface
from conformance.cases.operators import PadMode, Requantization

PACKAGES = ("tract", "onnx", "numpy")
THREADS = ""
SETUP = """\
import tempfile

import numpy as np
import tract
from onnx import TensorProto, helper, numpy_helper
"""
RESET = ""
SESSION = (
    'with tempfile.NamedTemporaryFile(suffix=".onnx") as file:',
    "    file.write(model.SerializeToString())",
    "    file.flush()",
    "    plan = tract.onnx().load(file.name).into_model().into_runnable()",
    "x = plan.run([*inputs.values()])[0].to_numpy()",
)
NODE_DTYPES: Mapping[str, frozenset[str]] = {
    **SCHEMA_DTYPES,
    **dict.fromkeys(("lp_pool", "max_unpool", "fold", "affine_grid", "deform_conv"), frozenset[str]()),
}
NO_BFLOAT16 = Unsupported('"Unknown DatumType Bfloat16"')
FLOAT32_RESIZE = Unsupported("Resize computes float64 in float32")
FLOAT32_SAMPLES = Unsupported("GridSample computes float64 in float32")
NO_LARGE_WINDOW = Unsupported("the time of pooling grows with the window: 18 s for 10 ** 8 cells over an input of 2")
LARGEST_WINDOW = 10**8
INT64_LIMIT = 1 << 63
NO_WRAP = Unsupported('"Unsupported mode wrap"', rejected_call=ANY_CALL)
NO_CROPPING = Unsupported("Pad with a negative number ends the process")
NO_WORDS = Unsupported('a cast to uint32 of a padded int64 tensor: "TDim is not a number"')
# Nodes of compositions without a kernel, by dtype.
REDUCTIONS = {"bool": Unsupported('"Bool is not a number"'), "uint64": Unsupported('"U64 is not a number"')}


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: tract does not implement it, or not with these attributes."""
    unsupported = missing_kernel(NODE_DTYPES, _unimplemented, step) or _never_run(step)
    if unsupported or step.operator != "pad":
        return unsupported
    if any(min(pair) < 0 for pair in step.padding):
        return NO_CROPPING
    return NO_WRAP if step.parameters["mode"] == PadMode.WRAP else None


def _never_run(step: Step) -> Unsupported | None:
    """Return the reason not to run a call: it lasts minutes, or has no dtype."""
    if step.dtype == "bfloat16":
        return NO_BFLOAT16
    # A window of 2 ** 63 cells cannot be written, so the call is rejected without delay.
    return NO_LARGE_WINDOW if LARGEST_WINDOW < max(step.window, default=0) < INT64_LIMIT else None


def _unimplemented(node: str, _dtype: str) -> Unsupported:
    return Unsupported(f'tract has no {node}: "Unimplemented({node}) ToTypedTranslator"')


def composition_limit(step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use a composition: one of its nodes has no kernel."""
    if step.dtype == "uint32" and "Pad(" in text:
        return NO_WORDS
    return REDUCTIONS.get(step.dtype) if "ReduceM" in text else None


FLOAT32_OPERATORS: Mapping[str, Mapping[str, Unsupported]] = {
    "resize": {"float64": FLOAT32_RESIZE},
    "grid_sample": {"float64": FLOAT32_SAMPLES},
}
SURFACES = (
    runtime_surface(
        "tract",
        node_limit,
        SESSION,
        lowerings={
            "quantized_conv": partial(nodes.quantized_conv, Requantization.EXACT),
        },
        composition_limit=composition_limit,
        missing_nodes={"Upsample(": _unimplemented("Upsample", "")},
        unsupported_dtypes={"": {"bfloat16": NO_BFLOAT16}, **FLOAT32_OPERATORS},
    ),
)
