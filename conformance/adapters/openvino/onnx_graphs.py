"""OpenVINO: the importer of ONNX models, with the graphs of the ONNX adapter.

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- There is no bfloat16: a compiled model takes NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import Step, Surface, Unsupported, is_framework_same, too_many_axes
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.dtypes import ANY_CALL, SCHEMA_DTYPES
from conformance.adapters.onnx.graph import model_lines
from conformance.adapters.onnx.runtimes import missing_kernel, runtime_surface
from conformance.cases.operators import Coordinates, PadMode

SESSION = (
    'compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")',
    "x = compiled(inputs)[0]",
)
NODE_DTYPES: Mapping[str, frozenset[str]] = {**SCHEMA_DTYPES, "max_unpool": frozenset()}
WINDOW_OPERATORS = nodes.POOLING_OPERATORS | {"conv", "conv_transpose"}
NO_WRAP = Unsupported('"Unsupported padding mode: [wrap]"', rejected_call=ANY_CALL)
NO_AVERAGE_OF_PADDING = Unsupported(
    '"Kernel after dilation is sometimes entirely in the padding area"', rejected_call=ANY_CALL
)
PLANE_RANK = 2
OTHER_COORDINATES = frozenset({Coordinates.HALF_PIXEL_SYMMETRIC, Coordinates.TF_CROP_AND_RESIZE})
PLANES_ONLY: Mapping[str, Unsupported] = {
    "grid_sample": Unsupported("GridSample takes two spatial axes"),
    "fold": Unsupported("Col2Im of other than two axes: \"Check 'is_two_elem_1d(output_size_shape)' failed\""),
}
NO_BFLOAT16 = Unsupported("a compiled model takes NumPy arrays, and NumPy has no bfloat16")


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: the importer rejects it, or it has more axes than OpenVINO."""
    # A call with words of 16 bits would compute them as integers, so no case runs it.
    unsupported = NO_BFLOAT16 if step.dtype == "bfloat16" else missing_kernel(NODE_DTYPES, _no_rule, step)
    if unsupported:
        return unsupported
    if step.operator in WINDOW_OPERATORS and too_many_axes(step):
        return too_many_axes(step)
    if step.operator in PLANES_ONLY and step.rank != PLANE_RANK:
        return PLANES_ONLY[step.operator]
    if step.parameters.get("coordinates") in OTHER_COORDINATES:
        words = "this type of coordinate transformation mode is not supported"
        return Unsupported(f'"{step.parameters["coordinates"]} - {words}"')
    if step.operator == "avg_pool" and _may_average_padding(step):
        return NO_AVERAGE_OF_PADDING
    return NO_WRAP if step.operator == "pad" and step.parameters["mode"] == PadMode.WRAP else None


def _may_average_padding(step: Step) -> bool:
    """Whether padding that is not counted is as long as a window with its dilation."""
    if step.parameters.get("count_include_pad") or is_framework_same(step):
        return False
    axes = zip(step.padding, step.window, step.dilation, strict=False)
    return any(max(pads) > distance * (cells - 1) for pads, cells, distance in axes)


def _no_rule(node: str, _dtype: str) -> Unsupported:
    return Unsupported(f'"No conversion rule found for operations: {node}"')


def _run_graph(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return (*model_lines(lines, names, constant_weights=True), *SESSION)


def onnx_surface(
    dtypes: Mapping[str, frozenset[str]], unsupported_dtypes: Mapping[str, Mapping[str, Unsupported]]
) -> Surface:
    """Return the surface of imported graphs.

    dtypes, unsupported_dtypes: those of the plugin, which computes every model.
    """
    unsupported = {**unsupported_dtypes, "": {**unsupported_dtypes[""], "bfloat16": NO_BFLOAT16}}
    surface = runtime_surface("openvino.onnx", node_limit, SESSION, unsupported_dtypes=unsupported)
    return replace(
        surface, dtypes={operator: each - {"bfloat16"} for operator, each in dtypes.items()}, wrap_program=_run_graph
    )
