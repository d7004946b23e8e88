"""Adapter for routes: a program of one framework, exported, and run by the runtime of another project.

A route is a surface. Its name consists of the exporter and the runtime: `torch.onnx→onnxruntime`. Its programs contain
the calls of the source surface, in a model that the exporter reads. Weights are constants of the model. The model of a
route named `.dynamic` has symbolic extents, and is run with other sizes first.

A run finds the first part of a route that changes a result: source, exporter or runtime. Gradients are unsupported,
because exporters write the forward computation only.
"""

from types import ModuleType

from conformance.adapters.api import AdapterVariant
from conformance.adapters.routes import (
    jax_exports,
    jax_onnx,
    keras_exports,
    onnx_lite,
    tensorflow_js,
    tensorflow_lite,
    tensorflow_onnx,
    torch_aotinductor,
    torch_executorch,
    torch_onnx,
)


def _variant(module: ModuleType) -> AdapterVariant:
    return AdapterVariant(
        module.PACKAGES,
        module.SETUP,
        module.SURFACES,
        module.RESET,
        threads=module.THREADS,
        instruction_variables=module.INSTRUCTION_VARIABLES,
        thread_settings=module.THREAD_SETTINGS,
    )


VARIANTS = {
    "torch": _variant(torch_onnx),
    "aotinductor": _variant(torch_aotinductor),
    "executorch": _variant(torch_executorch),
    "tensorflow": _variant(tensorflow_lite),
    "tf2onnx": _variant(tensorflow_onnx),
    "tfjs": _variant(tensorflow_js),
    "jax": _variant(jax_exports),
    "jax2onnx": _variant(jax_onnx),
    "onnx2tf": _variant(onnx_lite),
    **keras_exports.VARIANTS,
}
