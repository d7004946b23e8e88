"""Routes from PyTorch through `torch.onnx.export` to ONNX Runtime and OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conformance.adapters import onnxruntime, openvino, torch
from conformance.adapters.api import INDENT, Surface, Unsupported
from conformance.adapters.api.surface import ProgramWrapper
from conformance.cases.operators import WEIGHT_INPUTS
from reports.results.vocabulary import Part

SOURCE = torch.FUNCTIONAL_SURFACE
PACKAGES = ("torch", "onnx", "onnxscript", "onnxruntime", "openvino", "numpy")
INSTRUCTION_VARIABLES = {**torch.INSTRUCTION_VARIABLES, **openvino.INSTRUCTION_VARIABLES}
THREAD_SETTINGS = {
    **torch.THREAD_SETTINGS,
    "options.intra_op_num_threads = 1": "options.intra_op_num_threads = {}",
    '"INFERENCE_NUM_THREADS": 1': '"INFERENCE_NUM_THREADS": {}',
}
# Each export builds the table of all ONNX functions again, which takes 0.4 of its 0.6 seconds.
THREADS = f"""{torch.THREADS}
import functools

from torch.onnx._internal.exporter import _registration

read_table = _registration.ONNXRegistry.from_torchlib.__func__
_registration.ONNXRegistry.from_torchlib = classmethod(functools.lru_cache(read_table))
"""
SETUP = f"""{torch.SETUP}
import io

import onnx
import onnxruntime
import openvino as ov
from onnx.reference import ReferenceEvaluator

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
core = ov.Core()
core.set_property("CPU", {{"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}})
"""
RESET = torch.RESET
NO_BFLOAT16 = Unsupported("NumPy has no bfloat16, and the runtimes take NumPy arrays")

ModelRunner = Callable[[str], Sequence[str]]
"""Takes the text of a dictionary with the inputs by name. Returns lines that run `onnx_model` and assign `x`."""
# The exporter that reads the graph of torch.export, and the older one that traces the calls. Both return lines that
# assign `onnx_model`, from the text of the inputs.
EXPORTERS: Mapping[str, Callable[[str], Sequence[str]]] = {
    "torch.onnx": lambda arguments: (
        f"onnx_model = torch.onnx.export(model, {arguments}, dynamo=True, verbose=False).model_proto",
    ),
    "torch.onnx.torchscript": lambda arguments: (
        "file = io.BytesIO()",
        f"torch.onnx.export(model, {arguments.replace(',), ', ',), file, ', 1)}, dynamo=False)",
        "onnx_model = onnx.load_model_from_string(file.getvalue())",
    ),
}


def _model_lines(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return lines that assign `model`, a module that computes the lines. Weights are its buffers."""
    body = [*(f"{name} = self.{name}" for name in weights), *(part for line in lines for part in line.split("\n"))]
    return [
        "class Model(nn.Module):",
        f"{INDENT}def forward(self, {', '.join(inputs)}):",
        *(f"{INDENT}{INDENT}{line}" for line in body),
        f"{INDENT}{INDENT}return x",
        "model = Model().eval()",
        *(f'model.register_buffer("{name}", {name})' for name in weights),
    ]


def _export(exporter: str, run: ModelRunner) -> ProgramWrapper:
    """Return a wrapper that exports the lines of a program, and runs the ONNX model."""

    def wrap(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        weights = [name for name in names if name in WEIGHT_INPUTS]
        inputs = [name for name in names if name not in WEIGHT_INPUTS]
        quoted = ", ".join(f'"{name}"' for name in inputs)
        arrays = ", ".join(f'"{name}": {name}.numpy()' for name in inputs)
        return [
            *_model_lines(lines, weights, inputs),
            *EXPORTERS[exporter](f"({', '.join(inputs)},), input_names=[{quoted}]"),
            *run(f"{{{arrays}}}"),
        ]

    return wrap


def _onnxruntime_lines(inputs: str) -> Sequence[str]:
    return (
        "session = onnxruntime.InferenceSession(",
        f'{INDENT}onnx_model.SerializeToString(), options, providers=["CPUExecutionProvider"]',
        ")",
        f"(x,) = session.run(None, {inputs})",
    )


def _openvino_lines(inputs: str) -> Sequence[str]:
    return (
        'compiled = core.compile_model(core.read_model(onnx_model.SerializeToString()), "CPU")',
        f"x = compiled({inputs})[0]",
    )


def _evaluator_lines(inputs: str) -> Sequence[str]:
    return (f"(x,) = ReferenceEvaluator(onnx_model).run(None, {inputs})",)


RUNTIMES: Mapping[str, ModelRunner] = {"onnxruntime": _onnxruntime_lines, "openvino": _openvino_lines}


def _route(exporter: str, runtime: str) -> Surface:
    route = replace(
        SOURCE,
        name=f"{exporter}→{runtime}",
        to_numpy="x",
        words={},
        drawn={},
        mixed_precision=None,
        bfloat16=None,
        write_gradient=None,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        dtypes={operator: dtypes - {"bfloat16"} for operator, dtypes in SOURCE.dtypes.items()},
        wrap_program=_export(exporter, RUNTIMES[runtime]),
    )
    return replace(
        route,
        stages={
            Part.SOURCE: replace(route, to_numpy=SOURCE.to_numpy, wrap_program=None),
            Part.EXPORTER: replace(route, wrap_program=_export(exporter, _evaluator_lines)),
        },
    )


UNSUPPORTED_DTYPES = {**SOURCE.unsupported_dtypes, "": {"bfloat16": NO_BFLOAT16}}
SURFACES = tuple(_route(exporter, runtime) for exporter in EXPORTERS for runtime in RUNTIMES)
