"""Routes from PyTorch through `torch.onnx.export` to ONNX Runtime and OpenVINO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters import openvino, torch
from conformance.adapters.api import Sizes, tuple_of
from conformance.adapters.api.normalization import recipes as normalization
from conformance.adapters.api.resizing import affine_grids
from conformance.adapters.routes.batch_lines import TORCH_MODULE, named_arrays
from conformance.adapters.routes.onnx_runtimes import (
    EVALUATOR,
    RUNTIME_SETUP,
    RUNTIME_THREAD_SETTINGS,
    RUNTIMES,
    TO_NUMPY,
)
from conformance.adapters.routes.recipes import torch_recipes
from conformance.adapters.routes.route import FIXED, BatchExport, make_route, module_lines
from reports.results.vocabulary import ROUTE_ARROW

PACKAGES = ("torch", "onnx", "onnxscript", "onnxruntime", "openvino", "numpy")
INSTRUCTION_VARIABLES = {**torch.INSTRUCTION_VARIABLES, **openvino.INSTRUCTION_VARIABLES}
THREAD_SETTINGS = {
    **torch.THREAD_SETTINGS,
    **RUNTIME_THREAD_SETTINGS,
}
THREADS = f"""{torch.THREADS}
import functools

# Each export builds the table of all ONNX functions again, which takes 0.4 of its 0.6 seconds.
try:
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    ONNXRegistry.from_torchlib = classmethod(functools.lru_cache(ONNXRegistry.from_torchlib.__func__))
except (ImportError, AttributeError):  # not this version; exports take longer
    pass
"""
SETUP = f"""{torch.SETUP}
import io

{RUNTIME_SETUP}"""
RESET = torch.RESET
ONES = "torch.ones({shape}, dtype={name}.dtype)"
# The exporter that reads the graph of torch.export, and the older one that traces the calls.
EXPORTERS: Mapping[str, Sequence[str]] = {
    "torch.onnx": (
        "onnx_model = torch.onnx.export(model, {inputs}, {names}, dynamo=True, verbose=False{axes}).model_proto",
    ),
    "torch.onnx.torchscript": (
        "file = io.BytesIO()",
        "torch.onnx.export(model, {inputs}, file, {names}, dynamo=False{axes})",
        "onnx_model = onnx.load_model_from_string(file.getvalue())",
    ),
}


def _dynamic_shapes(axes: Mapping[str, Sequence[int]]) -> str:
    inputs = (f'"{name}": {{{", ".join(f"{axis}: varies" for axis in varying)}}}' for name, varying in axes.items())
    return f", dynamic_shapes={{{', '.join(inputs)}}}"


def _dynamic_axes(axes: Mapping[str, Sequence[int]]) -> str:
    inputs = (f'"{name}": {[*varying]}' for name, varying in axes.items() if varying)
    return f", dynamic_axes={{{', '.join(inputs)}}}"


# The argument for axes without a fixed extent.
DYNAMIC_ARGUMENTS = {"torch.onnx": _dynamic_shapes, "torch.onnx.torchscript": _dynamic_axes}


def axes_argument(exporter: str, inputs: Sequence[str], sizes: Sizes) -> str:
    """Return the argument that names the axes whose extent varies, "" if there are none."""
    if not sizes:
        return ""
    dimensions = {name: sizes[name].dimensions() if name in sizes else () for name in inputs}
    axes = {name: [k for k, extent in enumerate(extents) if extent is None] for name, extents in dimensions.items()}
    return DYNAMIC_ARGUMENTS[exporter](axes)


def _example(name: str, sizes: Sizes) -> str:
    """Return the array with which an input is exported.

    It has another size than in the case, so that a case whose result depends on the size of the example differs.
    """
    return ONES.format(shape=tuple_of(sizes[name].others[0]), name=name) if name in sizes else name


def example_lines(inputs: Sequence[str], sizes: Sizes) -> Sequence[str]:
    """Return lines that assign `examples`, the arrays of an export, and `varies`, an extent that is a symbol."""
    # Dim.AUTO would replace an extent by a number without an error.
    examples = f"examples = ({', '.join(_example(name, sizes) for name in inputs)},)"
    return ("varies = torch.export.Dim.DYNAMIC", examples) if sizes else ()


def _export(
    exporter: str, lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that assign `onnx_model`, the ONNX model of a module. Weights are its buffers."""
    input_names = ", ".join(f'"{name}"' for name in inputs)
    return [
        *module_lines(lines, weights, inputs),
        *example_lines(inputs, sizes)[0 if exporter == "torch.onnx" else 1 :],
        *(
            line.format(
                inputs="examples" if sizes else f"({', '.join(inputs)},)",
                names=f"input_names=[{input_names}]",
                axes=axes_argument(exporter, inputs, sizes),
            )
            for line in EXPORTERS[exporter]
        ),
    ]


def _batch(exporter: str) -> BatchExport:
    """Return how an exporter writes one ONNX model of several modules."""
    export = (line.format(inputs="tuple(tensors)", names="input_names=names", axes="") for line in EXPORTERS[exporter])
    return BatchExport(module_lines, (*TORCH_MODULE, named_arrays(TO_NUMPY), *export))


SURFACES = tuple(
    make_route(
        torch.FUNCTIONAL_SURFACE,
        f"{exporter}{'.dynamic' if ones else ''}{ROUTE_ARROW}{runtime}",
        surface,
        partial(_export, exporter),
        run,
        to_numpy="x",
        evaluate=EVALUATOR,
        # NumPy has no bfloat16, and the runtimes take NumPy arrays.
        without_dtypes={"bfloat16"},
        ones=ones,
        recipes=torch_recipes,
        batch=_batch(exporter),
        exported={**normalization.NOT_WRITTEN, **affine_grids.NOT_WRITTEN},
        bfloat16=None,
    )
    for ones in ("", ONES)
    for exporter in EXPORTERS
    for runtime, (surface, run) in RUNTIMES.items()
)
