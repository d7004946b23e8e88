"""Adapter for routes: a program of one framework, exported, and run by the runtime of another project.

A route is a surface. Its name contains the source, the exporter and the runtime: `torch.onnx→onnxruntime`. Its programs
contain the calls of the source surface, in a model that the exporter reads. Weights are constants of the model.

Each route has stages, from which a run finds the first part that changes a result: source, exporter or runtime.
Gradients are unsupported, because exporters write the forward computation only.
"""

from conformance.adapters.api import AdapterVariant
from conformance.adapters.routes import torch_onnx

VARIANTS = {
    "torch": AdapterVariant(
        torch_onnx.PACKAGES,
        torch_onnx.SETUP,
        torch_onnx.SURFACES,
        torch_onnx.RESET,
        threads=torch_onnx.THREADS,
        instruction_variables=torch_onnx.INSTRUCTION_VARIABLES,
        thread_settings=torch_onnx.THREAD_SETTINGS,
    ),
}
