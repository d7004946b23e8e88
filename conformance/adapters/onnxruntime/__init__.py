"""ONNX Runtime on the CPU: channels first, like the suite; opset 26, the newest that 1.31 knows.

What it changes: indices of maxima count through the whole tensor, and are made those of their plane. Integers that
pooling does not take pass through a wider type; averages, norms and unpooling in float64 are made of gathered cells.
There are no gradients: a session computes what its graph says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api.surface import OnDevice, Surface, Unsupported
from conformance.adapters.onnx import nodes, windows
from conformance.adapters.onnx.dtypes import ASKED, EVERYTHING, beside_schema, large_output, limited, without
from conformance.adapters.onnx.graph import model
from conformance.cases.steps import Step

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
# What the CPU has kernels for, of what the schemas let in.
KERNELS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.VERBS, frozenset({"float16", "float32"})),
    "max_pool": frozenset({"float16", "float32", "float64", "int8", "uint8"}),
    "max_pool_with_indices": frozenset({"float16", "float32", "float64", "int8", "uint8"}),
    "pad": EVERYTHING - {"bfloat16", "int16", "uint16"},
    "relu": frozenset({"float16", "float32", "float64", "int8", "int32"}),
}
NO_WORDS = Unsupported(
    'the session gives no bfloat16 to NumPy: "No corresponding Numpy type for Tensor Type. bfloat16"'
)
LARGE_PADS = Unsupported('"Pad should be smaller than kernel."', refused=ASKED)
UNWRITTEN = Unsupported("the sum over no channels is left unwritten: whatever the memory held comes out")


def limit(step: Step) -> Unsupported | None:
    """Return why a node is refused: by its schema, for want of a kernel, or for its attributes."""
    if step.dtype not in KERNELS[step.verb]:
        return beside_schema(step) or _no_kernel(nodes.KINDS[step.verb], step.dtype)
    if step.verb in nodes.POOLS:
        return LARGE_PADS if nodes.padded_beyond(step) else None
    if step.kernel and not step.shape[1]:
        return UNWRITTEN
    return large_output(step)


def _no_kernel(kind: str, dtype: str) -> Unsupported:
    return Unsupported(f'"NOT_IMPLEMENTED : Could not find an implementation for {kind}" in {dtype}')


def run(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build the model and run it in a session."""
    return _session(lines, names, '["CPUExecutionProvider"]')


def _session(lines: Sequence[str], names: Sequence[str], providers: str) -> Sequence[str]:
    return (
        *model(lines, names),
        f"session = onnxruntime.InferenceSession(model.SerializeToString(), options, {providers})",
        "(x,) = session.run(None, inputs)",
    )


def _on_cuda(surface: Surface) -> Surface:
    return replace(surface, wrap=lambda lines, names: _session(lines, names, "[cuda]"))


PROVIDER = 'cuda = ("CUDAExecutionProvider", {{"use_tf32": {}}})\n'
# A provider whose libraries are not there is passed over, with a line on standard error.
PROBE = """\
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
    "cuda": OnDevice(PROBE, {"float32": PROVIDER.format(0), "tf32": PROVIDER.format(1)}, surface=_on_cuda),
}

LONG = dict.fromkeys(("max_pool", "min_pool", "global_max_pool"), "ReduceMax")
LONG |= dict.fromkeys(("avg_pool", "global_avg_pool"), "ReduceSum")
REFUSES = {
    "": {"bfloat16": NO_WORDS},
    **{verb: {"uint64": _no_kernel(kind, "uint64")} for verb, kind in LONG.items()},
    "adaptive_avg_pool": {"float64": _no_kernel("AveragePool", "float64")},
}
SURFACES = (
    Surface(
        "onnxruntime",
        limited(limit),
        composed=windows.composed(limit),
        around=nodes.AROUND,
        dtypes=without(REFUSES),
        refuses=REFUSES,
        flat_pads=True,
        wrap=run,
    ),
)
