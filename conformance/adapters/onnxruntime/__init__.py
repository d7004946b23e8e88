"""Adapter for ONNX Runtime with opset 26, which it supports from 1.31 on. Channels first, like the suite.

Differences from a direct translation:

- Indices of max pooling count through the whole tensor. They are converted to indices in each channel.
- Integer types that pooling does not take are cast to a wider type.
- Averages, norms and unpooling in float64 gather the elements of each window.
- There are no gradients: an inference session computes the graph only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    DeviceSupport,
    Level,
    Sizes,
    Step,
    Surface,
    Unsupported,
    too_many_axes,
    unsupported_lowering,
)
from conformance.adapters.api.normalization.recipes import is_even
from conformance.adapters.api.quantization.formulas import (
    CONV_INTEGER_DTYPES,
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
    QUANTIZED_POOLING_DTYPES,
    is_listed,
)
from conformance.adapters.api.resizing import grid_sampling
from conformance.adapters.onnx import dequantized, nodes
from conformance.adapters.onnx.dtypes import ANY_CALL, unsupported_output_padding
from conformance.adapters.onnx.graph import OPSET_VERSION, model_lines
from conformance.adapters.onnx.runtimes import missing_kernel, runtime_surface
from conformance.adapters.onnx.windows import sliced_pool
from conformance.adapters.onnxruntime import quantized_pooling
from conformance.cases.operators import Requantization, ResizeMode

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
THREAD_SETTINGS = {"options.intra_op_num_threads = 1": "options.intra_op_num_threads = {}"}
# Of the types that the schemas allow, those for which the CPU provider has kernels.
KERNEL_DTYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.NODE_LOWERINGS, frozenset({"float16", "float32"})),
    # Observed with ONNX Runtime 1.31 and 1.32.
    "max_pool": frozenset({"float16", "float32", "float64", "int8", "uint8"}),
    "max_pool_with_indices": frozenset({"float16", "float32", "float64", "int8", "uint8"}),
    "pad": ALL_DTYPES - {"bfloat16", "int16", "uint16"},
    "resize": frozenset({"float16", "float32", "int8", "uint8", "int32"}),
    "grid_sample": frozenset({"float16", "float32", "float64"}),
    "affine_grid": frozenset({"float32", "float64"}),
    "deform_conv": frozenset({"float16", "float32", "float64"}),
    **QUANTIZE_DTYPES,
    **QUANTIZED_CONVOLUTION_DTYPES,
    **CONV_INTEGER_DTYPES,
    **dict.fromkeys(BLOCK_OPERATORS, frozenset({"float16", "float32", "float64", "int8", "uint8"})),
    "fold": frozenset({"float32"}),
    "relu": frozenset({"float16", "float32", "float64", "int8", "int32"}),
}
POOLING_KERNELS = nodes.POOLING_OPERATORS | {"max_unpool", "global_max_pool", "global_avg_pool"}
NO_BFLOAT16 = Unsupported(
    'the session returns no bfloat16 array: "No corresponding Numpy type for Tensor Type. bfloat16"'
)
PLANE_RANK = 2
NO_LRN_RANK = Unsupported('LRN: "X_shape.NumDimensions() == 4 was false"')
NO_EVEN_SIZE = Unsupported('LRN: "size_ % 2 == 1 was false"', rejected_call=ANY_CALL)
NO_FACTOR_OF_ZERO = Unsupported('LRN: "alpha_ > 0.0f was false", and the same of beta')
NO_CUBIC_RANK = Unsupported(
    "\"'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs\"", rejected_call=ANY_CALL
)
NO_UNSIGNED_WEIGHTS = Unsupported(
    '"Could not find an implementation for QLinearConv" of int8 with weights of uint8', rejected_call=ANY_CALL
)
NO_ZERO_POINTS = Unsupported('ConvInteger: "Non per-tensor quantization is not supported now."', rejected_call=ANY_CALL)
GRID_RANKS = (2, 3)
NO_GRID_RANK = Unsupported('"Only 4-D or 5-D tensor is supported"')
NO_CUBIC_GRID_RANK = Unsupported('"Only support GridSample Cubic mode in 4-D cases."')
NO_SHORT_GRID = Unsupported(
    'AffineGrid of float16 is computed by other nodes, of which Split fails: "axis 1 is not in valid range [-1,0]"'
)
NO_LARGE_PADS = Unsupported('"Pad should be smaller than kernel."', rejected_call=ANY_CALL)
# The contents differ at each run, so neither a verdict nor a ledger entry could be stable.
NO_EMPTY_SUM = Unsupported(
    "a convolution over 0 channels does not write its output, which contains uninitialized memory"
)


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: its schema, a missing kernel, or its attributes."""
    unsupported = missing_kernel(KERNEL_DTYPES, _no_kernel, step)
    if unsupported or step.operator in OWN_LIMITS:
        return unsupported or OWN_LIMITS[step.operator](step)
    if step.operator == "resize" and step.parameters["mode"] == ResizeMode.CUBIC and step.rank != PLANE_RANK:
        return NO_CUBIC_RANK
    # "Unsupported pooling size.": the pooling kernels have one to three axes; those of convolutions have any number.
    if step.operator in POOLING_KERNELS and too_many_axes(step):
        return too_many_axes(step)
    # The limit is the same for averages and norms, and dilation does not extend it.
    if step.operator in nodes.POOLING_OPERATORS:
        return NO_LARGE_PADS if nodes.padding_covers_window(step) else None
    # Not a rejected call: the session returns memory of other programs, so no answer can be observed.
    if step.kernel and not step.shape[1]:
        return NO_EMPTY_SUM
    has_unsigned_weights = step.dtype == "int8" and step.kernel_dtype == "uint8"
    return NO_UNSIGNED_WEIGHTS if has_unsigned_weights else unsupported_output_padding(step)


def _lrn_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use LRN, whose kernel is for planes, an odd size and a positive factor and power."""
    if step.rank != PLANE_RANK:
        return NO_LRN_RANK
    if is_even(step):
        return NO_EVEN_SIZE
    return NO_FACTOR_OF_ZERO if 0 in {step.parameters.get("alpha"), step.parameters.get("beta")} else None


def _grid_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use GridSample, whose kernel is for planes and volumes."""
    if step.rank not in GRID_RANKS:
        return NO_GRID_RANK
    is_cubic = step.parameters.get("mode") == ResizeMode.CUBIC
    return NO_CUBIC_GRID_RANK if is_cubic and step.rank != PLANE_RANK else None


def _conv_integer_limit(step: Step) -> Unsupported | None:
    return NO_ZERO_POINTS if is_listed(step.parameters.get("w_zero_point")) else None


OWN_LIMITS: Mapping[str, Callable[[Step], Unsupported | None]] = {
    "grid_sample": _grid_limit,
    "lrn": _lrn_limit,
    "conv_integer": _conv_integer_limit,
}
"""The limits of nodes that have no limit of others."""


def _no_kernel(node_type: str, dtype: str) -> Unsupported:
    if node_type == nodes.NODE_TYPES["affine_grid"]:
        return NO_SHORT_GRID
    return Unsupported(f'"NOT_IMPLEMENTED : Could not find an implementation for {node_type}" in {dtype}')


def session_lines(providers: str) -> Sequence[str]:
    """Return lines that run the model in a session."""
    return (
        f"session = onnxruntime.InferenceSession(model.SerializeToString(), options, {providers})",
        "(x,) = session.run(None, inputs)",
    )


CPU_SESSION = session_lines('["CPUExecutionProvider"]')


def dynamic_surface(surface: Surface, sizes: Sizes, opset_version: int = OPSET_VERSION) -> Surface:
    """Return the surface with models whose inputs have symbolic extents, run with other sizes first."""

    def dynamic_session(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        arrays = [f'"{name}": np.ones({{}}, {name}.dtype)' for name in sizes]
        calls = [
            f"session.run(None, {{**inputs, {', '.join(map(str.format, arrays, map(str, shapes)))}}})"
            for shapes in zip(*(one.others for one in sizes.values()), strict=True)
        ]
        session, run = CPU_SESSION
        return (*model_lines(lines, names, sizes, opset_version=opset_version), session, *calls, run)

    return replace(surface, wrap_program=dynamic_session)


def _surface_on_cuda(surface: Surface) -> Surface:
    return replace(surface, wrap_program=lambda lines, names: (*model_lines(lines, names), *session_lines("[cuda]")))


CUDA_PROVIDER_LINE = 'cuda = ("CUDAExecutionProvider", {{"use_tf32": {}}})\n'
# ONNX Runtime skips a provider whose libraries are missing with only a warning on stderr, so the probe checks for it.
CUDA_PROBE = """\
if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
    raise RuntimeError("this ONNX Runtime has no CUDAExecutionProvider, which onnxruntime-gpu has")
graph = helper.make_graph(
    [helper.make_node("Relu", ["x"], ["y"])],
    "probe",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
)
probe = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
session = onnxruntime.InferenceSession(probe.SerializeToString(), options, [cuda])
if session.get_providers()[0] != cuda[0]:
    raise RuntimeError("the CUDAExecutionProvider cannot be used: CUDA or cuDNN is missing, or another version")
hardware = "CUDA device 0"
"""
DEVICES = {
    "cuda": DeviceSupport(
        CUDA_PROBE,
        {"float32": CUDA_PROVIDER_LINE.format(0), "tf32": CUDA_PROVIDER_LINE.format(1)},
        surface=_surface_on_cuda,
    ),
}

# Fallbacks compute these in int64, which does not represent all values of uint64.
INT64_REDUCTIONS = dict.fromkeys(("max_pool", "min_pool", "global_max_pool"), "ReduceMax")
INT64_REDUCTIONS |= dict.fromkeys(("avg_pool", "global_avg_pool"), "ReduceSum")
UNSUPPORTED_DTYPES = {
    "": {"bfloat16": NO_BFLOAT16},
    **{operator: {"uint64": _no_kernel(node, "uint64")} for operator, node in INT64_REDUCTIONS.items()},
    "adaptive_avg_pool": {"float64": _no_kernel("AveragePool", "float64")},
}


def surfaces_with_opset(opset_version: int) -> tuple[Surface, ...]:
    """Return the surfaces with graphs of an opset."""
    surface = runtime_surface(
        "onnxruntime",
        node_limit,
        CPU_SESSION,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        constant_weights=False,
        opset_version=opset_version,
    )
    dynamic = replace(
        surface,
        name="onnxruntime.dynamic",
        lowerings={**surface.lowerings, **grid_sampling.NOT_WRITTEN},
        with_sizes=partial(dynamic_surface, opset_version=opset_version),
        max_level=Level.SMOKE,
        slow_tag="dynamic",
    )
    sliced = dict.fromkeys(("adaptive_max_pool", "adaptive_avg_pool"), partial(sliced_pool, node_limit))
    complete = replace(
        surface,
        lowerings={**surface.lowerings, "quantized_avg_pool": quantized_pooling.avg_pool},
        fallbacks={**surface.fallbacks, **sliced},
        dtypes={**surface.dtypes, **QUANTIZED_POOLING_DTYPES},
    )
    return complete, dynamic, _channels_last(surface), _dequantized(surface, opset_version)


def _channels_last(surface: Surface) -> Surface:
    """Return the surface of the nodes that have an attribute for channels last."""
    return replace(
        surface,
        name="onnxruntime.channels_last",
        lowerings={"quantized_avg_pool": partial(quantized_pooling.avg_pool, channels_last=True)},
        fallbacks={},
        building_blocks={"crop": unsupported_lowering("the nodes with channels last do not crop")},
        words={},
        dtypes=QUANTIZED_POOLING_DTYPES,
        to_framework={"x": "np.moveaxis({}, 1, -1)"},
        to_numpy="np.moveaxis(x, -1, 1)",
        channels_last=True,
    )


def _dequantized(surface: Surface, opset_version: int) -> Surface:
    """Return the surface of graphs of float32 between dequantized and quantized numbers, with constant weights.

    The session replaces the nodes by those of eight bits, except for convolutions of int8.
    """
    floats = surface.lowerings

    def run_model(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        return (*model_lines(lines, names, constant_weights=True, opset_version=opset_version), *CPU_SESSION)

    return replace(
        surface,
        name="onnxruntime.qdq",
        lowerings={
            "quantized_conv": partial(dequantized.conv, Requantization.PRODUCT, {"int8"}, floats["conv"]),
            "quantized_avg_pool": partial(dequantized.avg_pool, quantized_pooling.formula, floats["avg_pool"]),
            "max_pool": partial(dequantized.max_pool, floats["max_pool"]),
        },
        fallbacks={},
        building_blocks={},
        words={},
        allows_compositions=False,
        dtypes={
            **QUANTIZED_CONVOLUTION_DTYPES,
            **QUANTIZED_POOLING_DTYPES,
            "max_pool": frozenset({"int8", "uint8"}),
        },
        wrap_program=run_model,
    )


SURFACES: tuple[Surface, ...] = surfaces_with_opset(OPSET_VERSION)
