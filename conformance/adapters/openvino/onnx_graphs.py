"""OpenVINO: the importer of ONNX models, with the graphs of the ONNX adapter.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- There is no bfloat16: a compiled model takes NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import Code, Step, Surface, Unsupported, is_framework_same, too_many_axes
from conformance.adapters.api.normalization.recipes import is_even
from conformance.adapters.api.quantization.formulas import QUANTIZED_POOLING_DTYPES, unsupported_quantization
from conformance.adapters.api.quantization.requantization import has_powers_of_two
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import ANY_CALL, SCHEMA_DTYPES
from conformance.adapters.onnx.graph import model_lines
from conformance.adapters.onnx.quantization import AVERAGE_OPERANDS, DOMAIN, average_lines
from conformance.adapters.onnx.runtimes import missing_kernel, runtime_surface
from conformance.adapters.openvino.normalization import NARROWER
from conformance.cases.operators import Coordinates, Formula, PadMode, Requantization, RoundMode

SESSION = (
    'compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")',
    "x = compiled(inputs)[0]",
)
NODE_DTYPES: Mapping[str, frozenset[str]] = {
    **SCHEMA_DTYPES,
    "max_unpool": frozenset(),
    "affine_grid": frozenset({"float32"}),
    "deform_conv": frozenset(),
}
WINDOW_OPERATORS = nodes.POOLING_OPERATORS | {"conv", "conv_transpose"}
NO_WRAP = Unsupported('"Unsupported padding mode: [wrap]"', rejected_call=ANY_CALL)
NO_AVERAGE_OF_PADDING = Unsupported(
    '"Kernel after dilation is sometimes entirely in the padding area"', rejected_call=ANY_CALL
)
PLANE_RANK = 2
NO_GRID_RANK = Unsupported("GridSample takes two spatial axes")
NO_COLUMNS_RANK = Unsupported("Col2Im of other than two axes: \"Check 'is_two_elem_1d(output_size_shape)' failed\"")
PLANE_NODES: Mapping[str, Unsupported] = {"grid_sample": NO_GRID_RANK, "fold": NO_COLUMNS_RANK}
FLOAT32_COORDINATES = Unsupported(
    'AffineGrid has coordinates of float32: "Arguments do not have the same element type (... arg1 element type: f32)"'
)
OTHER_SCALES = Unsupported("the formula of QLinearConv depends on the sizes if a scale is no power of two")
# Not a rejected call: the runtime accepts it, and its results depend on the processor.
NO_SIGNED_SUMS = Unsupported("QLinearConv of int8 rounds weights to even numbers with the instructions of AVX512_CORE")
OTHER_COORDINATES = frozenset({Coordinates.HALF_PIXEL_SYMMETRIC, Coordinates.TF_CROP_AND_RESIZE})
NO_BFLOAT16 = Unsupported("a compiled model takes NumPy arrays, and NumPy has no bfloat16")


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: the importer rejects it, or it has more axes than OpenVINO."""
    # A call with words of 16 bits would compute them as integers, so no case runs it.
    unsupported = NO_BFLOAT16 if step.dtype == "bfloat16" else missing_kernel(NODE_DTYPES, _no_rule, step)
    if unsupported:
        return unsupported
    if step.operator in WINDOW_OPERATORS and too_many_axes(step):
        return too_many_axes(step)
    if step.operator in PLANE_NODES and step.rank != PLANE_RANK:
        return PLANE_NODES[step.operator]
    limit = OPERATOR_LIMITS.get(step.operator)
    return limit(step) if limit else None


def _lrn_limit(step: Step) -> Unsupported | None:
    return NARROWER if is_even(step) and "extra_channel" in step.parameters else None


def _resize_limit(step: Step) -> Unsupported | None:
    words = "this type of coordinate transformation mode is not supported"
    rule = step.parameters.get("coordinates")
    return Unsupported(f'"{rule} - {words}"') if rule in OTHER_COORDINATES else None


def _average_limit(step: Step) -> Unsupported | None:
    return NO_AVERAGE_OF_PADDING if _may_average_padding(step) else None


def _pad_limit(step: Step) -> Unsupported | None:
    return NO_WRAP if step.parameters["mode"] == PadMode.WRAP else None


OPERATOR_LIMITS: Mapping[str, Callable[[Step], Unsupported | None]] = {
    "avg_pool": _average_limit,
    "lrn": _lrn_limit,
    "pad": _pad_limit,
    "resize": _resize_limit,
    "resize_grad": _resize_limit,
}


def _may_average_padding(step: Step) -> bool:
    """Whether padding that is not counted is as long as a window with its dilation."""
    if step.parameters.get("count_include_pad") or is_framework_same(step):
        return False
    axes = zip(step.padding, step.window, step.dilation, strict=False)
    return any(max(pads) > distance * (cells - 1) for pads, cells, distance in axes)


def _no_rule(node: str, _dtype: str) -> Unsupported:
    if node == nodes.NODE_TYPES["affine_grid"]:
        return FLOAT32_COORDINATES
    return Unsupported(f'"No conversion rule found for operations: {node}"')


def quantized_conv(step: Step) -> Code:
    """Return the QLinearConv node for uint8 and scales that are powers of two."""
    if step.dtype == "int8":
        return NO_SIGNED_SUMS
    return nodes.quantized_conv(Requantization.FUSED, step) if has_powers_of_two(step) else OTHER_SCALES


def quantized_avg_pool(step: Step) -> Code:
    """Return QLinearAveragePool, which truncates the average of the differences from the zero point."""
    unsupported = (
        too_many_axes(step)
        or _average_limit(step)
        or unsupported_quantization(step, Formula.QUOTIENT, "QLinearAveragePool", RoundMode.TOWARD_ZERO)
    )
    node = unsupported or nodes.avg_pool(step, "QLinearAveragePool", AVERAGE_OPERANDS, domain=DOMAIN)
    return node if isinstance(node, Unsupported) else average_lines(step, node)


def _run_graph(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return (*model_lines(lines, names, constant_weights=True), *SESSION)


def onnx_surface(
    dtypes: Mapping[str, frozenset[str]], unsupported_dtypes: Mapping[str, Mapping[str, Unsupported]]
) -> Surface:
    """Return the surface of imported graphs.

    dtypes, unsupported_dtypes: those of the plugin, which computes every model.
    """
    unsupported = {**unsupported_dtypes, "": {**unsupported_dtypes[""], "bfloat16": NO_BFLOAT16}}
    surface = runtime_surface(
        "openvino.onnx",
        node_limit,
        SESSION,
        unsupported_dtypes=unsupported,
        lowerings={"quantized_conv": quantized_conv},
    )
    return replace(
        surface,
        lowerings={**surface.lowerings, "quantized_avg_pool": quantized_avg_pool},
        dtypes={**{operator: each - {"bfloat16"} for operator, each in dtypes.items()}, **QUANTIZED_POOLING_DTYPES},
        wrap_program=_run_graph,
    )
