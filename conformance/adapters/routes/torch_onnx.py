"""Routes from PyTorch through `torch.onnx.export` to ONNX Runtime and OpenVINO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters import openvino, torch
from conformance.adapters.api import INDENT
from conformance.adapters.routes.route import ModelRunner, make_route
from reports.results.vocabulary import ROUTE_ARROW

PACKAGES = ("torch", "onnx", "onnxscript", "onnxruntime", "openvino", "numpy")
INSTRUCTION_VARIABLES = {**torch.INSTRUCTION_VARIABLES, **openvino.INSTRUCTION_VARIABLES}
THREAD_SETTINGS = {
    **torch.THREAD_SETTINGS,
    "options.intra_op_num_threads = 1": "options.intra_op_num_threads = {}",
    '"INFERENCE_NUM_THREADS": 1': '"INFERENCE_NUM_THREADS": {}',
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
# The exporter that reads the graph of torch.export, and the older one that traces the calls.
EXPORTERS: Mapping[str, Sequence[str]] = {
    "torch.onnx": ("onnx_model = torch.onnx.export(model, {inputs}, {names}, dynamo=True, verbose=False).model_proto",),
    "torch.onnx.torchscript": (
        "file = io.BytesIO()",
        "torch.onnx.export(model, {inputs}, file, {names}, dynamo=False)",
        "onnx_model = onnx.load_model_from_string(file.getvalue())",
    ),
}


def _export(exporter: str, lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that assign `onnx_model`, the ONNX model of a module. Weights are its buffers."""
    body = [*(f"{name} = self.{name}" for name in weights), *(part for line in lines for part in line.split("\n"))]
    input_names = ", ".join(f'"{name}"' for name in inputs)
    return [
        "class Model(nn.Module):",
        f"{INDENT}def forward(self, {', '.join(inputs)}):",
        *(f"{INDENT}{INDENT}{line}" for line in body),
        f"{INDENT}{INDENT}return x",
        "model = Model().eval()",
        *(f'model.register_buffer("{name}", {name})' for name in weights),
        *(
            line.format(inputs=f"({', '.join(inputs)},)", names=f"input_names=[{input_names}]")
            for line in EXPORTERS[exporter]
        ),
    ]


def _arrays(inputs: Sequence[str]) -> str:
    arrays = ", ".join(f'"{name}": {name}.numpy()' for name in inputs)
    return f"{{{arrays}}}"


def _run_onnxruntime(inputs: Sequence[str]) -> Sequence[str]:
    return (
        "session = onnxruntime.InferenceSession(",
        f'{INDENT}onnx_model.SerializeToString(), options, providers=["CPUExecutionProvider"]',
        ")",
        f"(x,) = session.run(None, {_arrays(inputs)})",
    )


def _run_openvino(inputs: Sequence[str]) -> Sequence[str]:
    return (
        'compiled = core.compile_model(core.read_model(onnx_model.SerializeToString()), "CPU")',
        f"x = compiled({_arrays(inputs)})[0]",
    )


def _run_evaluator(inputs: Sequence[str]) -> Sequence[str]:
    return (f"(x,) = ReferenceEvaluator(onnx_model).run(None, {_arrays(inputs)})",)


RUNTIMES: Mapping[str, tuple[str, ModelRunner]] = {
    "onnxruntime": ("onnxruntime", _run_onnxruntime),
    "openvino": ("openvino.opset", _run_openvino),
}
"""The surface of each runtime, and the lines that run a model."""
SURFACES = tuple(
    make_route(
        torch.FUNCTIONAL_SURFACE,
        f"{exporter}{ROUTE_ARROW}{runtime}",
        surface,
        partial(_export, exporter),
        run,
        to_numpy="x",
        evaluate=_run_evaluator,
        # NumPy has no bfloat16, and the runtimes take NumPy arrays.
        without_dtypes={"bfloat16"},
        bfloat16=None,
    )
    for exporter in EXPORTERS
    for runtime, (surface, run) in RUNTIMES.items()
)
