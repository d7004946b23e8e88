"""Adapter for Apache TVM: the ONNX frontend of Relax, with the graphs of the ONNX adapter. Channels first.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- The graph is compiled for the target llvm, and run by Relax's virtual machine.
- Sizes and scales of Resize are those of all axes: the frontend ignores the attribute `axes`.
- There are no gradients: the frontend imports graphs for inference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.normalization.recipes import PLANE_RANK, is_even
from conformance.adapters.api.resizing.rules import resized_extents
from conformance.adapters.onnx import BFLOAT16_CONVERSION, nodes
from conformance.adapters.onnx.dtypes import unsupported_by_schema, unsupported_output_padding
from conformance.adapters.onnx.runtimes import runtime_surface
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.operators import Coordinates

PACKAGES = ("tvm", "onnx", "numpy")
DISTRIBUTIONS = {"tvm": "apache-tvm"}
THREADS = """\
import os

os.environ["TVM_NUM_THREADS"] = "1"
"""
THREAD_SETTINGS = {'os.environ["TVM_NUM_THREADS"] = "1"': 'os.environ["TVM_NUM_THREADS"] = "{}"'}
SETUP = """\
import ml_dtypes
import numpy as np
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
"""
RESET = ""
SESSION = (
    'executable = tvm.compile(from_onnx(model), target="llvm")',
    "machine = relax.VirtualMachine(executable, tvm.cpu())",
    'main = machine["main"]',
    "x = main(*[tvm.runtime.tensor(array) for array in inputs.values()]).numpy()",
)
NO_INDICES = Unsupported(
    '"Missing outputs during conversion. Expected 2 but Got 1 in MaxPool."',
    "https://github.com/apache/tvm/issues/14614",
)
NO_COL2IM = Unsupported('"The following operators are not supported for frontend ONNX: Col2Im"')
MISSING_NODES: Mapping[str, Unsupported] = {
    name: Unsupported(f'"The following operators are not supported for frontend ONNX: {nodes.NODE_TYPES[name]}"')
    for name in ("quantized_conv", "conv_integer", "deform_conv")
}
NO_BOOL_REDUCTION = Unsupported('ReduceMax and ReduceMin of bool: "Cannot decide min_value for type bool"')
FLOAT32_RESIZE = Unsupported("Resize computes float64 in float32")
NO_COORDINATES: Mapping[str, Unsupported] = {
    Coordinates.HALF_PIXEL_SYMMETRIC.value: Unsupported(
        '"Unsupported coordinate_transformation_mode: half_pixel_symmetric"'
    ),
    Coordinates.TF_HALF_PIXEL_FOR_NN.value: Unsupported(
        'Resize-11 with sizes needs empty scales: "Only one of scales and sizes can be provided in Resize."'
    ),
}
NO_CROP_TO_ONE_CELL = Unsupported('a crop to one cell: "Check failed: fb->value != 0 (0 vs. 0) : Divide by zero"')
NO_GRID_RANK = Unsupported('"GridSample only supports 4D or 5D input, got 3D."')
NO_GRID_OF_ONE_CELL = Unsupported('"target spatial dims should be greater than 1 when align_corners is True"')
ROUNDED_STEPS = Unsupported("AffineGrid rounds the first coordinate and the step to float16")
FLOAT32_SAMPLES = Unsupported("the result of GridSample has the dtype float32")
NO_LRN_RANK = Unsupported('"LRN only supports 3D or 4D input, got 5D."')
NO_EVEN_SIZE = Unsupported("LRN pads both ends, so an even window gives one channel too many, which no input has")
FLOAT32_LRN = Unsupported('LRN of float32 constants: "Binary operators must have the same datatype for both operands."')
NO_BFLOAT16_POWER = Unsupported('power of bfloat16: "power only applies to float"')


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: the frontend rejects it, or the schema does not allow its dtype."""
    if step.operator == "max_pool_with_indices" and step.parameters.get("output") == "indices":
        return NO_INDICES
    if step.operator == "fold":
        return NO_COL2IM
    if step.operator in MISSING_NODES:
        return MISSING_NODES[step.operator]
    if step.operator == "lp_pool" and step.dtype == "bfloat16":
        return NO_BFLOAT16_POWER
    limit = OPERATOR_LIMITS[step.operator](step) if step.operator in OPERATOR_LIMITS else None
    return limit or unsupported_by_schema(step) or unsupported_output_padding(step)


def _resize_limit(step: Step) -> Unsupported | None:
    coordinates = step.parameters.get("coordinates")
    if coordinates == Coordinates.TF_CROP_AND_RESIZE and 1 in resized_extents(step):
        return NO_CROP_TO_ONE_CELL
    return NO_COORDINATES.get(coordinates) if coordinates is not None else None


def _lrn_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use LRN: its input, its dtype, or an even window."""
    if step.dtype != "float32":
        return FLOAT32_LRN
    # One channel is broadcast. A convention leaves the side out, and observes the call.
    is_wrong = is_even(step) and step.shape[1] > 1 and "extra_channel" in step.parameters
    return NO_LRN_RANK if step.rank > PLANE_RANK else NO_EVEN_SIZE if is_wrong else None


def _grid_limit(step: Step) -> Unsupported | None:
    if step.dtype in SHORT_FLOATS:
        return FLOAT32_SAMPLES
    return NO_GRID_RANK if step.rank < PLANE_RANK else None


def _affine_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use AffineGrid: its dtype, or an axis of one cell."""
    if step.parameters.get("align_corners") and 1 in step.parameters["grid_size"]:
        return NO_GRID_OF_ONE_CELL
    return ROUNDED_STEPS if step.dtype == "float16" else None


OPERATOR_LIMITS: Mapping[str, Callable[[Step], Unsupported | None]] = {
    "affine_grid": _affine_limit,
    "grid_sample": _grid_limit,
    "lrn": _lrn_limit,
    "resize": _resize_limit,
}


def max_pool_values(step: Step) -> Code:
    """Return the MaxPool node of values, or the reason why indices are unsupported, also in a convention."""
    return node_limit(step) or nodes.indexed_max_pool(step)


def composition_limit(step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use a composition: one of its nodes has no kernel."""
    if step.dtype == "bool" and "ReduceM" in text:
        return NO_BOOL_REDUCTION
    return NO_BFLOAT16_POWER if step.dtype == "bfloat16" and "Pow(" in text else None


OLD_RESIZE: Mapping[str, Unsupported] = {
    "Upsample(": Unsupported("Upsample: \"object of type 'NoneType' has no len()\""),
    "Resize(x, scales": Unsupported("Resize-10: \"Type <class 'NoneType'> for size is currently unsupported.\""),
    "Resize(x, roi, scales, sizes": Unsupported(
        'Resize-11 with sizes needs empty scales: "Only one of scales and sizes can be provided in Resize."'
    ),
}
SURFACES = (
    runtime_surface(
        "tvm",
        node_limit,
        SESSION,
        composition_limit=composition_limit,
        missing_nodes=OLD_RESIZE,
        unsupported_dtypes={"resize": {"float64": FLOAT32_RESIZE}},
        lowerings={
            "resize": partial(nodes.resize, all_axes=True),
            "max_pool_with_indices": max_pool_values,
        },
        bfloat16=BFLOAT16_CONVERSION,
    ),
)
