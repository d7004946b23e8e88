"""Adapter for onnx2torch, which converts ONNX graphs to PyTorch modules, with the graphs of the ONNX adapter.

Differences from a direct translation:

- The graphs have opset 17: onnx2torch converts no padding and no reduction of opset 18 or newer, and no pooling and no
  convolution of opset 22 or newer.
- Kernels and biases are constants of the graph, which it requires.
- There are no gradients: PyTorch computes them, after the conversion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    ALL_DTYPES,
    Code,
    Lowering,
    Step,
    Unsupported,
    is_framework_same,
    too_many_axes,
)
from conformance.adapters.api.normalization.recipes import is_even
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP,
    FLOOR,
    HALF_PIXEL,
    has_plain_kernel,
    has_rule,
    omits_coordinates,
)
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import ANY_CALL
from conformance.adapters.onnx.runtimes import missing_kernel, runtime_surface
from conformance.adapters.onnx.windows import BYTE_INTEGERS
from conformance.cases.operators import BlockOrder, PadMode, ResizeMode

PACKAGES = ("onnx2torch", "torch", "onnx", "numpy")
# onnx2torch imports torchvision for NonMaxSuppression and RoiAlign, which no program of the suite has. The package
# index has a torchvision for PyTorch with CUDA. Next to PyTorch for CPUs, its import raises RuntimeError: "operator
# torchvision::nms does not exist". Empty modules then take its place, which no graph of the suite reads.
THREADS = """\
import sys
from types import ModuleType

import torch

torch.set_num_threads(1)
try:
    import torchvision
except RuntimeError:
    torchvision = sys.modules["torchvision"] = ModuleType("torchvision")
    torchvision.ops = sys.modules["torchvision.ops"] = ModuleType("torchvision.ops")
    torchvision.ops.roi_align = None
"""
THREAD_SETTINGS = {"torch.set_num_threads(1)": "torch.set_num_threads({})"}
# As in the adapter of PyTorch: ATen, oneDNN and MKL each have a variable of their own.
INSTRUCTION_VARIABLES = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
SETUP = """\
import numpy as np
import onnx2torch
import torch
from onnx import TensorProto, helper, numpy_helper
"""
RESET = ""
OPSET_VERSION = 17
PLANE_RANK, VOLUME_RANK = 2, 3
SESSION = (
    "module = onnx2torch.convert(model)",
    "x = module(*[torch.tensor(array) for array in inputs.values()]).detach().numpy()",
)
FLOATS = frozenset({"float16", "float32", "float64"})
# The types that the schemas of opset 17 allow, of the nodes that onnx2torch converts.
NODE_DTYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.NODE_LOWERINGS, FLOATS),
    **dict.fromkeys(("max_pool", "max_pool_with_indices"), FLOATS | BYTE_INTEGERS),
    **dict.fromkeys(
        ("lp_pool", "max_unpool", "global_max_pool", "fold", "grid_sample", "affine_grid", "deform_conv"),
        frozenset[str](),
    ),
    **dict.fromkeys(("quantize", "dequantize", "quantized_conv", "conv_integer"), frozenset[str]()),
    "resize": FLOATS | {"uint8"},
    "pad": ALL_DTYPES - {"bfloat16"},
    "space_to_depth": frozenset(),
    "relu": FLOATS | {"int8", "int16", "int32", "int64"},
}
WINDOW_OPERATORS = nodes.POOLING_OPERATORS | {"conv", "conv_transpose"}
NO_BFLOAT16 = Unsupported("the module gets NumPy arrays, and NumPy has no bfloat16")
NO_SAME = Unsupported('"SAME_UPPER auto_pad is not implemented"')
NO_UPSAMPLE = Unsupported('"Converter is not implemented" for Upsample')
NO_INDICES = Unsupported("a second output of MaxPool is replaced by the first", rejected_call=ANY_CALL)
NO_DILATED_AVERAGE = Unsupported("AveragePool has no dilations before opset 19")
NO_WRAP = Unsupported("Pad has no mode wrap before opset 19")
NO_AXES = Unsupported("Pad has no axes before opset 18")
NO_DCR = Unsupported('"DepthToSpace for mode other than CRD is not implemented"')
NO_NEAREST_RULE = Unsupported("with a warning, the mode nearest copies the cell at the corner")
NO_RULE = Unsupported("with a warning, other coordinates than align_corners are replaced by half_pixel")
NO_REGION = Unsupported('"roi logic is not implemented."')
NO_FILTER = Unsupported("Resize is converted to interpolate without antialias, whose ends are repeated")
NO_CUBIC = Unsupported("bicubic interpolation is for planes, and with a warning its parameter is -0.75")
CUBIC_A = -0.75
UNEQUAL_PADDING: Mapping[str, Unsupported] = {
    "avg_pool": Unsupported('"AvgPool with non symmetrical padding is not implemented."', rejected_call=ANY_CALL),
    "conv_transpose": Unsupported(
        '"ConvTranspose with non symmetrical padding is not implemented."', rejected_call=ANY_CALL
    ),
}
NO_PADDED_INTEGERS = Unsupported(
    "unequal padding is a module that pads with minus infinity, which integers do not have", rejected_call=ANY_CALL
)
NO_INTEGERS_IN_ONE_DIMENSION = Unsupported("nn.MaxPool1d has no kernel for 8-bit integers", rejected_call=ANY_CALL)
NO_LARGE_PADDING = Unsupported('"pad should be smaller than or equal to half of kernel size"', rejected_call=ANY_CALL)
NO_HALF_VOLUMES = Unsupported('"avg_pool3d_out_frame" not implemented for "Half"', rejected_call=ANY_CALL)
NO_HALF_LRN = Unsupported('"avg_pool3d_out_frame" not implemented for "Half"')
EVEN_IS_BEFORE = Unsupported("LRN is converted to nn.LocalResponseNorm, whose even window has its extra channel before")
# Nodes of compositions that onnx2torch does not convert, or that have other inputs in opset 17.
MISSING_NODES: Mapping[str, Unsupported] = {
    **{
        f"Reduce{name}(": Unsupported(f"Reduce{name} takes no axes as an input before opset 18")
        for name in ("Max", "Min", "Mean", "L1", "L2")
    },
    **{
        f"{name}(": Unsupported(f'"Converter is not implemented" for {name}')
        for name in ("ScatterElements", "CastLike", "GlobalMaxPool", "LpPool", "MaxUnpool")
    },
    **{
        f"to=TensorProto.{name})": Unsupported(f'Cast to {name}: "Conversion to {number} is not implemented"')
        for name, number in (("UINT16", 4), ("UINT32", 12), ("UINT64", 13))
    },
    "batch_dims=": Unsupported('"GatherND for batch_dims != 0 is not implemented"'),
    ', "", axes)': NO_AXES,
}


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: onnx2torch does not convert it, or opset 17 does not have it."""
    if step.dtype == "bfloat16":
        return NO_BFLOAT16
    unsupported = missing_kernel(NODE_DTYPES, _unconverted, step)
    if unsupported is None and step.operator == "depth_to_space" and step.parameters.get("order") != BlockOrder.CRD:
        return NO_DCR
    if unsupported is None and step.operator == "resize":
        return _resize_limit(step)
    if unsupported is None and step.operator == "lrn":
        return _lrn_limit(step)
    if unsupported or step.operator not in {*WINDOW_OPERATORS, "pad"}:
        return unsupported
    return _pad_limit(step) if step.operator == "pad" else _window_limit(step)


def _lrn_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use LRN: the layer of PyTorch has no kernel, or its even window is another one."""
    if step.dtype == "float16" and step.rank > 1:
        return NO_HALF_LRN
    return EVEN_IS_BEFORE if is_even(step) and "extra_channel" in step.parameters else None


def _unconverted(node: str, dtype: str) -> Unsupported:
    if node == "Resize":
        return Unsupported(f"interpolate has no kernel for {dtype}")
    if node in ("LpPool", "MaxUnpool", "GlobalMaxPool", "SpaceToDepth", "GridSample"):
        return Unsupported(f'"Converter is not implemented" for {node}')
    return Unsupported(f"the schema of {node} in opset {OPSET_VERSION} does not allow {dtype}")


def _resize_limit(step: Step) -> Unsupported | None:
    """Return the reason if the rule of PyTorch that replaces the rule of the node has another meaning."""
    given = step.parameters
    if given.get("coordinates") == CROP:
        return NO_REGION
    if not has_plain_kernel(step):
        return NO_FILTER
    if given["mode"] == ResizeMode.CUBIC and (step.rank != PLANE_RANK or given.get("cubic_a", CUBIC_A) != CUBIC_A):
        return NO_CUBIC
    if omits_coordinates(step):
        return None
    if given["mode"] == ResizeMode.NEAREST:
        return None if has_rule(step, ASYMMETRIC, FLOOR) else NO_NEAREST_RULE
    rule = ALIGN_CORNERS if given["coordinates"] == ALIGN_CORNERS else HALF_PIXEL
    return None if has_rule(step, rule) else NO_RULE


def _pad_limit(step: Step) -> Unsupported | None:
    return NO_WRAP if step.parameters["mode"] == PadMode.WRAP else None


def _window_limit(step: Step) -> Unsupported | None:
    if is_framework_same(step):
        return NO_SAME
    is_unequal = any(before != after for before, after in step.padding)
    if step.operator in UNEQUAL_PADDING:
        unsupported = UNEQUAL_PADDING[step.operator] if is_unequal else None
    elif step.operator in ("max_pool", "max_pool_with_indices"):
        unsupported = _maximum_limit(step, is_unequal=is_unequal)
    else:
        unsupported = None
    return unsupported or _pooling_limit(step, is_unequal=is_unequal) or too_many_axes(step)


def _maximum_limit(step: Step, *, is_unequal: bool) -> Unsupported | None:
    if step.parameters.get("output") == "indices":
        return NO_INDICES
    if step.dtype not in BYTE_INTEGERS:
        return None
    if is_unequal:
        return NO_PADDED_INTEGERS
    return NO_INTEGERS_IN_ONE_DIMENSION if step.rank == 1 else None


def _pooling_limit(step: Step, *, is_unequal: bool) -> Unsupported | None:
    if step.operator not in nodes.POOLING_OPERATORS:
        return None
    if not is_unequal and any(2 * pads[0] > cells for pads, cells in zip(step.padding, step.window, strict=False)):
        return NO_LARGE_PADDING
    if step.operator != "avg_pool":
        return None
    if step.dilated:
        return NO_DILATED_AVERAGE
    return NO_HALF_VOLUMES if step.dtype == "float16" and step.rank == VOLUME_RANK else None


def composition_limit(_step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use a composition: one of its nodes is missing."""
    return next((unsupported for part, unsupported in MISSING_NODES.items() if part in text), None)


def _without_same(lowering: Lowering, step: Step) -> Code:
    code = lowering(step)
    return NO_SAME if 'auto_pad="SAME' in str(code) else code


SURFACE = runtime_surface(
    "onnx2torch",
    node_limit,
    SESSION,
    lowerings={"resize": partial(nodes.resize, all_axes=True)},
    composition_limit=composition_limit,
    missing_nodes={"Upsample(": NO_UPSAMPLE},
    unsupported_dtypes={"": {"bfloat16": NO_BFLOAT16}},
    opset_version=OPSET_VERSION,
)
SURFACES = (
    replace(
        SURFACE, words={operator: partial(_without_same, lowering) for operator, lowering in SURFACE.words.items()}
    ),
)
