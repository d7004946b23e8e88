"""Adapter for OpenVINO: models of `openvino.opset16`, compiled for the CPU plugin. Channels first, like the suite.

Differences from a direct translation:

- The inference precision is set to float32. Otherwise the plugin computes float32 in bfloat16 on processors that
  support it.
- Kernels of grouped convolutions get an axis for the groups.
- Operators that the opset lacks gather the elements of every window by their flat index.
- There are no gradients: OpenVINO runs inference only.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import (
    BLOCK_OPERATORS,
    SELECTION_OPERATORS,
    Bfloat16Conversion,
    Level,
    Lowering,
    Sizes,
    Step,
    Surface,
    Unsupported,
    is_framework_same,
    limit_axes,
    spatial_axes,
    unsupported_operators,
)
from conformance.adapters.api.quantization.formulas import (
    CONV_INTEGER_DTYPES,
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
)
from conformance.adapters.api.resizing import deform_conv as deform_limits, grid_sampling as not_written
from conformance.adapters.openvino import (
    blocks,
    columns,
    convolution as weights,
    deform_conv,
    grid_sampling,
    normalization,
    onnx_graphs,
    padding,
    pooling,
    resizing,
    windows,
    words,
)
from conformance.cases.operators import WEIGHT_INPUTS, PadMode

PACKAGES = ("openvino", "numpy")
THREADS = ""
THREAD_SETTINGS = {'"INFERENCE_NUM_THREADS": 1': '"INFERENCE_NUM_THREADS": {}'}
# Not AVX2, as in other adapters: limited to AVX2 on a processor with AVX-512, OpenVINO selects other kernels than on a
# processor with AVX2 only.
INSTRUCTION_VARIABLES = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
SETUP = """\
import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper
from openvino import opset16 as ops

core = ov.Core()
core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
"""
RESET = ""


def _build_model(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build, compile and run a model: weights are constants, other inputs are parameters."""
    # Weights are constants, as in a converted model; the plugin chooses kernels for constant weights.
    data = [name for name in names if name not in WEIGHT_INPUTS]
    constants = [f"{name} = ops.constant({name})" for name in names if name in WEIGHT_INPUTS]
    nodes = ", ".join(data)
    parameters = ["data, x = x, ops.parameter(x.shape, x.element_type)", "parameters = [x]"]
    if len(data) > 1:
        # A model with several inputs gets them as a list, in the order of its parameters.
        nodes_text = "[ops.parameter(each.shape, each.element_type) for each in data]"
        parameters = [f"data = [{nodes}]", f"{nodes} = parameters = {nodes_text}"]
    return (*constants, *parameters, *lines, 'x = core.compile_model(ov.Model([x], parameters), "CPU")(data)[0]')


UNCHECKED_SIZE = Unsupported(
    "for inputs of any size, one thread loses the error for too few cells: the plugin reads past their end"
)
MIRROR_MARGINS: Mapping[str, int] = {PadMode.REFLECT: 1, PadMode.SYMMETRIC: 0}
"""By mode, the extent minus the largest pad."""


def _exceeds_input(step: Step) -> bool:
    """Whether the input is empty, or smaller than a window or than the cells that its padding mirrors.

    Negative padding of a convolution makes it smaller. Pooling rejects negative padding.
    """
    if 0 in step.shape or is_framework_same(step) or not (step.window or step.operator == "pad"):
        return 0 in step.shape
    axes = zip(step.shape[2:], step.padding, strict=True)
    if step.operator == "pad":
        margin = MIRROR_MARGINS.get(step.parameters["mode"])
        return margin is not None and any(max(pair) > size - margin for size, pair in axes)
    if step.operator == "conv" and any(min(pair) < 0 for pair in step.padding):
        return True
    padded = [size + sum(pair) for size, pair in axes]
    reach = [distance * (cells - 1) + 1 for cells, distance in zip(step.window, step.dilation, strict=True)]
    return step.operator != "conv_transpose" and any(map(operator.gt, reach, padded))


def _within_input(lowering: Lowering) -> Lowering:
    return lambda step: UNCHECKED_SIZE if _exceeds_input(step) else lowering(step)


def _dynamic_surface(surface: Surface, sizes: Sizes) -> Surface:
    """Return the surface with models whose input x has no fixed extents, run with other sizes first."""
    shape = [-1 if extent is None else extent for extent in sizes["x"].dimensions()]
    calls = [f"compiled(ov.Tensor(data.element_type, ov.Shape({list(other)})))" for other in sizes["x"].others]

    def build_model(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        constants = [f"{name} = ops.constant({name})" for name in names if name in WEIGHT_INPUTS]
        return (
            *constants,
            f"data, x = x, ops.parameter({shape}, x.element_type)",
            "parameters = [x]",
            *lines,
            'compiled = core.compile_model(ov.Model([x], parameters), "CPU")',
            *calls,
            "x = compiled(data)[0]",
        )

    return replace(surface, wrap_program=build_model)


# Operators that the opset lacks. A dtype that no operator supports still gets its own reason.
UNSUPPORTED_OPERATORS = unsupported_operators(
    {
        "min_pool": "OpenVINO has no minimum pooling",
        "lp_pool": "OpenVINO has no Lp pooling",
        "softmax_pool": "OpenVINO has no softmax pooling",
        "max_unpool": "OpenVINO has no unpooling",
        "fractional_max_pool": "OpenVINO has no fractional pooling",
        "stochastic_pool": "OpenVINO has no stochastic pooling",
        "stochastic_pool_probabilities": "OpenVINO has no stochastic pooling",
    }
)


def _subsample(step: Step) -> str:
    zeros, axes = [0] * step.rank, [*spatial_axes(step)]
    return f"ops.slice(x, {zeros}, {[*step.shape[2:]]}, {[*(step.stride or ())]}, {axes})"


# float64 and integers of 32 bits and more are computed in float32 or int32.
FLOATING = frozenset({"bfloat16", "float16", "float32"})
SHORT_INTEGERS = frozenset({"int8", "int16", "uint8", "uint16"})
EXACT_DTYPES = FLOATING | SHORT_INTEGERS | {"bool"}
# Every value of these dtypes is exact in float32, so an operator that only selects values does not change them.
DTYPES = {"": FLOATING, **dict.fromkeys(SELECTION_OPERATORS, EXACT_DTYPES), "pad": EXACT_DTYPES | {"int32", "uint32"}}
DTYPES |= {
    "resize": FLOATING | {"uint8"},
    **dict.fromkeys((*BLOCK_OPERATORS, "unfold"), EXACT_DTYPES | {"int32", "uint32"}),
}
DTYPES |= QUANTIZE_DTYPES | QUANTIZED_CONVOLUTION_DTYPES | CONV_INTEGER_DTYPES
DTYPES |= dict.fromkeys(("avg_pool", "global_avg_pool", "adaptive_avg_pool"), FLOATING | SHORT_INTEGERS)
UNSUPPORTED_WIDE_DTYPES = {
    "float64": Unsupported(
        'the CPU plugin computes float64 in float32: "CPU plugin does not support f64"',
        "https://github.com/openvinotoolkit/openvino/issues/33448",
    ),
    **dict.fromkeys(
        ("int64", "uint64"),
        Unsupported(
            'the CPU plugin computes 64-bit integers in int32: "i64 is not supported"',
            "https://github.com/openvinotoolkit/openvino/issues/24072",
        ),
    ),
}
UNSUPPORTED_DTYPES: Mapping[str, Mapping[str, Unsupported]] = {
    "": {
        **dict.fromkeys(("int32", "uint32"), Unsupported("the CPU plugin computes 32-bit integers in float32")),
        **dict.fromkeys((*SHORT_INTEGERS, "bool"), Unsupported("the CPU plugin computes integers in float32")),
        **UNSUPPORTED_WIDE_DTYPES,
    },
    "conv": dict.fromkeys(
        SHORT_INTEGERS, Unsupported("sums of products in float32 do not wrap, and int8 and uint8 saturate")
    ),
    "avg_pool": {"bool": Unsupported("bool has no averages")},
}

OPSET_SURFACE = Surface(
    "openvino.opset",
    {
        **limit_axes(
            {
                "max_pool": pooling.max_pool,
                "avg_pool": pooling.avg_pool,
                "max_pool_with_indices": pooling.indexed_max_pool,
                "adaptive_max_pool": pooling.adaptive_pool,
                "adaptive_avg_pool": pooling.adaptive_pool,
                "conv": weights.conv,
                "conv_transpose": weights.conv_transpose,
            }
        ),
        "global_max_pool": pooling.global_pool,
        "global_avg_pool": pooling.global_pool,
        "pad": padding.pad,
        **limit_axes({"resize": resizing.resize}),
        "grid_sample": grid_sampling.grid_sample,
        "deform_conv": deform_conv.deform_conv,
        **dict.fromkeys(BLOCK_OPERATORS, blocks.blocks),
        "unfold": columns.unfold,
        "fold": columns.fold,
        "lrn": normalization.lrn,
        "relu": lambda _step: "ops.relu(x)",
        **UNSUPPORTED_OPERATORS,
    },
    fallbacks={
        **windows.FALLBACKS,
        **limit_axes(
            {
                "max_pool_with_indices": pooling.widened_max_pool,
                "conv": weights.biased_conv,
                "conv_transpose": weights.biased_transpose,
            }
        ),
        "pad": padding.gathered_pad,
        "deform_conv": deform_conv.biased,
    },
    words=limit_axes({**words.WORDS, "resize": resizing.earlier_resize}),
    building_blocks={
        "pad": padding.pad,
        "relu": lambda _step: "ops.relu(x)",
        "negate": lambda _step: "ops.negative(x)",
        "scale": lambda _step: "ops.multiply(x, scale)",
        "power": lambda step: f"ops.power(x, np.{step.dtype}({step.parameters['exponent']}))",
        "crop": padding.crop,
        "subsample": _subsample,
    },
    # An opset has no call for ones of the shape of another array.
    ones_expression="ops.broadcast(ops.convert_like(np.float32(1), x), ops.shape_of(x))",
    to_framework={**dict.fromkeys(("x", "indices", "draws", "grid", "offset", "mask"), "ov.Tensor({})"), "scale": "{}"},
    dtypes=DTYPES,
    unsupported_dtypes=UNSUPPORTED_DTYPES,
    bfloat16=Bfloat16Conversion(
        "ov.Tensor({name}, {name}.shape, ov.Type.bf16)",
        "ops.convert({}, ov.Type.bf16)",
        'x.view(np.uint16).view([("bfloat16", np.uint16)])',
    ),
    wrap_program=_build_model,
)


def all_surfaces(opset: Surface) -> tuple[Surface, ...]:
    """Return the surface of an opset, that of inputs of any size with the same calls, and that of imported graphs."""
    dynamic = replace(
        opset,
        name="openvino.dynamic",
        lowerings={
            **{name: _within_input(lowering) for name, lowering in opset.lowerings.items()},
            **not_written.NOT_WRITTEN,
            **deform_limits.NOT_WRITTEN,
        },
        fallbacks={**opset.fallbacks, **deform_limits.NOT_WRITTEN},
        with_sizes=_dynamic_surface,
        # Without extents, a model with a negative stride or an empty output is compiled and run.
        validates=False,
        max_level=Level.SMOKE,
        slow_tag="dynamic",
    )
    return opset, dynamic, onnx_graphs.onnx_surface(DTYPES, UNSUPPORTED_DTYPES)


SURFACES = all_surfaces(OPSET_SURFACE)
