"""The runtimes of ONNX models: ONNX Runtime, OpenVINO, and the evaluator of onnx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.adapters.api import INDENT
from conformance.adapters.routes.route import ModelRunner

ONNXRUNTIME_SETUP = """\
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
"""
RUNTIME_SETUP = f"""\
import openvino as ov
{ONNXRUNTIME_SETUP}\
core = ov.Core()
core.set_property("CPU", {{"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}})
"""
ONNXRUNTIME_THREAD_SETTINGS = {"options.intra_op_num_threads = 1": "options.intra_op_num_threads = {}"}
RUNTIME_THREAD_SETTINGS = {
    **ONNXRUNTIME_THREAD_SETTINGS,
    '"INFERENCE_NUM_THREADS": 1': '"INFERENCE_NUM_THREADS": {}',
}


TO_NUMPY = "{}.numpy()"
"""Converts an input to NumPy, in PyTorch and TensorFlow."""


def _arrays(inputs: Sequence[str], array: str = TO_NUMPY) -> str:
    arrays = ", ".join(f'"{name}": {array.format(name)}' for name in inputs)
    return f"{{{arrays}}}"


def onnxruntime_runner(array: str = TO_NUMPY) -> ModelRunner:
    """Return how ONNX Runtime runs `onnx_model`. array: converts an input to NumPy."""
    return ModelRunner(
        (
            "session = onnxruntime.InferenceSession(",
            f'{INDENT}onnx_model.SerializeToString(), options, providers=["CPUExecutionProvider"]',
            ")",
        ),
        lambda inputs: (f"(x,) = session.run(None, {_arrays(inputs, array)})",),
        ("results = session.run(None, named)",),
    )


def onnx_evaluator(array: str = TO_NUMPY) -> ModelRunner:
    """Return how the evaluator of onnx runs `onnx_model`. array: converts an input to NumPy."""
    return ModelRunner(
        (),
        lambda inputs: (f"(x,) = ReferenceEvaluator(onnx_model).run(None, {_arrays(inputs, array)})",),
        ("results = ReferenceEvaluator(onnx_model).run(None, named)",),
    )


ONNXRUNTIME, EVALUATOR = onnxruntime_runner(), onnx_evaluator()
OPENVINO = ModelRunner(
    ('compiled = core.compile_model(core.read_model(onnx_model.SerializeToString()), "CPU")',),
    lambda inputs: (f"x = compiled({_arrays(inputs)})[0]",),
    ("outputs = compiled(named)", "results = [outputs[n] for n in range(len(models))]"),
)
RUNTIMES: Mapping[str, tuple[str, ModelRunner]] = {
    "onnxruntime": ("onnxruntime", ONNXRUNTIME),
    "openvino": ("openvino.opset", OPENVINO),
}
"""The surface of each runtime, and how it runs an ONNX model."""
