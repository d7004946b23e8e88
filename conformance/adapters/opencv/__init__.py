"""Adapter for the module dnn of OpenCV, with the graphs of the ONNX adapter. Channels first, like the suite.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- The output has a type and a shape, which the reader requires and ignores.
- There are no gradients: the module runs inference only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import ALL_DTYPES, Code, Step, Unsupported
from conformance.adapters.api.normalization.recipes import is_even
from conformance.adapters.api.quantization.formulas import (
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
    QUANTIZED_POOLING_DTYPES,
    unsupported_quantization,
)
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import ANY_CALL
from conformance.adapters.onnx.quantization import AVERAGE_OPERANDS, DOMAIN, average_lines
from conformance.adapters.onnx.runtimes import missing_kernel, runtime_surface
from conformance.cases.operators import Coordinates, Formula, Requantization, ResizeMode, Rounding

PACKAGES = ("cv2", "onnx", "numpy")
DISTRIBUTIONS = {"cv2": "opencv-python-headless"}
THREADS = ""
THREAD_SETTINGS = {"cv2.setNumThreads(1)": "cv2.setNumThreads({})"}
# OpenCV selects kernels by processor features. With AVX-VNNI it selects another kernel for convolutions of int8.
INSTRUCTION_VARIABLES = {"OPENCV_CPU_DISABLE": "AVX512-SKX,AVX_VNNI"}
SETUP = """\
import cv2
import numpy as np
from onnx import TensorProto, helper, numpy_helper

cv2.setNumThreads(1)
"""
RESET = ""
SESSION = (
    "net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))",
    "for name, array in inputs.items():",
    "    net.setInput(array, name)",
    'x = net.forward("y")',
)
# Observed with OpenCV 5.0.0.
KERNEL_DTYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.NODE_LOWERINGS, frozenset({"float32"})),
    **dict.fromkeys(("lp_pool", "max_unpool", "fold", "deform_conv"), frozenset[str]()),
    "resize": frozenset({"float32", "int8", "uint8"}),
    "pad": ALL_DTYPES,
    **QUANTIZE_DTYPES,
    **QUANTIZED_CONVOLUTION_DTYPES,
    "conv_integer": frozenset(),
    "relu": frozenset({"float32", "float64"}),
}
GLOBAL_OPERATORS = frozenset({"global_max_pool", "global_avg_pool"})
MOST_AXES = PLANE_RANK = 2
NO_EMPTY_RESULT = Unsupported("Net.forward returns None in place of an array without elements")
NO_VOLUMES = Unsupported("global pooling takes at most two spatial axes")
NO_INDICES_RANK = Unsupported("MaxPool with indices takes two spatial axes", rejected_call=ANY_CALL)
NO_RESIZE_RANK = Unsupported("Resize takes two spatial axes", rejected_call=ANY_CALL)
NO_EVEN_SIZE = Unsupported('LRN: "size % 2 == 1 && size > 0"', rejected_call=ANY_CALL)
NO_LRN_RANK = Unsupported("LRN takes two spatial axes")
GRID_RANKS = (2, 3)
NO_GRID_RANK = Unsupported('GridSample: "x.size() == 4 || x.size() == 5"')
NO_CUBIC_VOLUMES = Unsupported('"GridSample bicubic mode is not supported for 5D inputs"')
FLOAT32_GRID = Unsupported("AffineGrid returns float32 for every dtype")
FLOAT32_RESIZE = Unsupported("Resize computes float64 in float32")
# Not run: neither a verdict nor a ledger entry could be stable.
NO_CROP = Unsupported('(-215:Assertion failed) interp_mode != "tf_crop_and_resize"')
OVERWRITTEN_MEMORY = Unsupported("AffineGrid of several volumes with a size below 1 writes past its allocation")
UNSTABLE_RESIZE = Unsupported("linear interpolation of one row returns other numbers in each run")
NO_VOLUME_AVERAGES = Unsupported("QLinearAveragePool has at most two spatial axes, and no dilation")
ROUNDED_UP = Unsupported("QLinearAveragePool rounds the output size up")
COUNTED_PADDING = Unsupported("QLinearAveragePool counts padding")
NO_WIDE_VALUE = Unsupported("Pad takes no value of uint64", rejected_call=ANY_CALL)


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: a missing layer or kernel, or its attributes."""
    unsupported = missing_kernel(KERNEL_DTYPES, _no_kernel, step) or _without_cells(step)
    if unsupported is None and step.operator in OPERATOR_LIMITS:
        return OPERATOR_LIMITS[step.operator](step)
    if unsupported is None and step.operator in GLOBAL_OPERATORS and step.rank > MOST_AXES:
        return NO_VOLUMES
    if unsupported or step.operator != "pad":
        return unsupported
    return NO_WIDE_VALUE if step.dtype == "uint64" and step.parameters.get("value") else None


def _no_kernel(node: str, dtype: str) -> Unsupported:
    if node in ("LpPool", "MaxUnpool"):
        return Unsupported(f'"the model cannot be loaded: Unsupported operations: {node}"')
    if node in {"Col2Im", "DeformConv"}:
        return Unsupported(f'"Can\'t create layer of type {node}"')
    if node == "AffineGrid":
        return FLOAT32_GRID
    if node == "Resize" and dtype == "float64":
        return FLOAT32_RESIZE
    return Unsupported(f"{node} has no kernel for {dtype}")


def _resize_limit(step: Step) -> Unsupported | None:
    if step.parameters.get("coordinates") == Coordinates.TF_CROP_AND_RESIZE:
        return NO_CROP
    if step.rank != PLANE_RANK:
        return NO_RESIZE_RANK
    return UNSTABLE_RESIZE if step.parameters["mode"] == ResizeMode.LINEAR and step.shape[2] == 1 else None


def _lrn_limit(step: Step) -> Unsupported | None:
    if step.rank != PLANE_RANK:
        return NO_LRN_RANK
    # A convention leaves the side out, and observes the call.
    return NO_EVEN_SIZE if is_even(step) and "extra_channel" in step.parameters else None


def _affine_grid_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use AffineGrid for invalid sizes, with which the process may end later."""
    sizes = step.parameters["grid_size"]
    is_overwritten = len(sizes) > PLANE_RANK and min(sizes) < 1 < step.shape[0]
    return OVERWRITTEN_MEMORY if is_overwritten else None


def _grid_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use GridSample, whose layer is for planes and volumes."""
    if step.rank not in GRID_RANKS:
        return NO_GRID_RANK
    is_cubic = step.parameters.get("mode") == ResizeMode.CUBIC
    return NO_CUBIC_VOLUMES if is_cubic and step.rank != PLANE_RANK else None


def _indices_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use MaxPool for indices, which are those of planes."""
    return NO_INDICES_RANK if step.parameters.get("output") == "indices" and step.rank != PLANE_RANK else None


def _quantized_conv_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use QLinearConv: a kernel larger than the padded input on some axis."""
    axes = zip(step.window, step.dilation, step.shape[2:], step.padding, strict=False)
    is_larger = any(distance * (cells - 1) + 1 > size + sum(pads) for cells, distance, size, pads in axes)
    return NO_EMPTY_RESULT if is_larger else None


OPERATOR_LIMITS: Mapping[str, Callable[[Step], Unsupported | None]] = {
    "affine_grid": _affine_grid_limit,
    "grid_sample": _grid_limit,
    "lrn": _lrn_limit,
    "max_pool_with_indices": _indices_limit,
    "quantized_conv": _quantized_conv_limit,
    "resize": _resize_limit,
}


def _without_cells(step: Step) -> Unsupported | None:
    return NO_EMPTY_RESULT if 0 in step.shape else None


# Nodes of compositions that reject a dtype or compute it in another one.
REJECTED_NODES: Mapping[str, tuple[str, Unsupported]] = {
    "uint64": ("ReduceM", Unsupported("ReduceMax and ReduceMin have no kernel for uint64")),
    "uint32": ("TensorProto.UINT32", Unsupported("Cast to uint32 returns float64")),
}
DOUBLE_NODES: Mapping[str, Unsupported] = {
    "Pow(": Unsupported("Pow computes float64 in float32"),
    "Softmax(": Unsupported("Softmax has no kernel for float64"),
    "GatherND(": Unsupported("GatherND has no kernel for float64"),
    "ScatterElements(": Unsupported("ScatterElements has no kernel for float64"),
    "Pool(": Unsupported("pooling has no kernel for float64"),
}


def composition_limit(step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use a composition: it returns nothing, or a node rejects the dtype."""
    node, unsupported = REJECTED_NODES.get(step.dtype, (None, None))
    if step.dtype == "float64":
        node, unsupported = next((one for one in DOUBLE_NODES.items() if one[0] in text), (None, None))
    return _without_cells(step) or (unsupported if node and node in text else None)


def quantized_avg_pool(step: Step) -> Code:
    """Return QLinearAveragePool, which rounds the output size up and counts padding."""
    given = step.parameters
    if step.rank > MOST_AXES or step.dilated:
        return NO_VOLUME_AVERAGES
    if any(step.windows.overhang) or (given["rounding"] == Rounding.FLOOR and _is_rounded_down(step)):
        return ROUNDED_UP
    if step.padded and not given["count_include_pad"]:
        return COUNTED_PADDING
    unsupported = unsupported_quantization(step, Formula.RECIPROCAL_PLUS_ZERO_POINT, "QLinearAveragePool")
    node = unsupported or nodes.avg_pool(step, "QLinearAveragePool", AVERAGE_OPERANDS, domain=DOMAIN)
    return node if isinstance(node, Unsupported) else average_lines(step, node)


def _is_rounded_down(step: Step) -> bool:
    """Whether the stride leaves cells after the last window."""
    axes = zip(step.shape[2:], step.padding, step.window, step.stride or step.window, strict=True)
    return any((size + sum(pads) - cells) % stride for size, pads, cells, stride in axes)


SHORT_FLOATS = Unsupported("16-bit floats are computed in float32, and the result is float32")
NO_LINEAR_UPSAMPLE = Unsupported(
    'Upsample: \'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"\''
)
_SURFACE = runtime_surface(
    "opencv",
    node_limit,
    SESSION,
    lowerings={
        "quantized_conv": partial(nodes.quantized_conv, Requantization.FUSED),
        "resize": partial(nodes.resize, all_axes=True, names_mode=True),
    },
    composition_limit=composition_limit,
    missing_nodes={'Upsample(x, scales, mode="linear"': NO_LINEAR_UPSAMPLE},
    unsupported_dtypes={"": dict.fromkeys(("float16", "bfloat16"), SHORT_FLOATS)},
    output='helper.make_tensor_value_info("y", TensorProto.FLOAT, [])',
)
SURFACES = (
    replace(
        _SURFACE,
        lowerings={**_SURFACE.lowerings, "quantized_avg_pool": quantized_avg_pool},
        dtypes={**_SURFACE.dtypes, **QUANTIZED_POOLING_DTYPES},
    ),
)
