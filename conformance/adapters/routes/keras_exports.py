"""Routes from Keras through `Model.export` to ONNX Runtime and OpenVINO, on its engines.

A program builds a functional model of the calls of the case. Keras passes it to the converter of the engine: to tf2onnx
for TensorFlow, to `torch.onnx.export` for PyTorch, to jax2onnx for JAX, and to the converters of OpenVINO.
On JAX there is no route to OpenVINO: Keras exports through `jax2tf`, whose operation XlaCallModule OpenVINO does not
convert.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters import keras, openvino
from conformance.adapters.api import COMPLETE_LEVELS, INDENT, AdapterVariant, Level, Sizes, Surface
from conformance.adapters.jax.windows import inline_jit_lines
from conformance.adapters.routes.batch_lines import CALLED, TENSORS, named_arrays
from conformance.adapters.routes.onnx_runtimes import (
    ONNXRUNTIME_SETUP,
    ONNXRUNTIME_THREAD_SETTINGS,
    RUNTIME_SETUP,
    RUNTIME_THREAD_SETTINGS,
    onnx_evaluator,
    onnxruntime_runner,
)
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route, model_lines
from reports.results.vocabulary import ROUTE_ARROW

ARRAY = "keras.ops.convert_to_numpy({})"
# For each engine, the package that exports to ONNX, and those of the runtimes.
PACKAGES: Mapping[str, Sequence[str]] = {
    "torch": ("onnxscript", "onnx", "onnxruntime", "openvino"),
    "tensorflow": ("tf2onnx", "onnx", "onnxruntime", "openvino"),
    "jax": ("jax2onnx", "onnx", "onnxruntime"),
}
# The format of a runtime, the name of its file, and how the file is read.
FORMATS: Mapping[str, tuple[str, str, str]] = {
    "onnxruntime": ("onnx", "model.onnx", "onnx_model = onnx.load({})"),
    "openvino": ("openvino", "model.xml", "exported = core.read_model({})"),
}
# The file of Keras on PyTorch names an input after its layer in the ONNX model only, so inputs are passed by position.
OPENVINO = ModelRunner(
    ('compiled = core.compile_model(exported, "CPU")',),
    lambda inputs: (f"x = compiled([{', '.join(map(ARRAY.format, inputs))}])[0]",),
    ("outputs = compiled([*named.values()])", "results = [outputs[n] for n in range(len(models))]"),
)
RUNNERS: Mapping[str, tuple[str, ModelRunner, ModelRunner | None]] = {
    "onnxruntime": ("onnxruntime", onnxruntime_runner(ARRAY), onnx_evaluator(ARRAY)),
    # The converter is a part of OpenVINO, and nothing else runs its files.
    "openvino": ("openvino.opset", OPENVINO, None),
}


def _export(
    runtime: str, lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], _sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that build the functional model, export it to a file, and read the file."""
    # A compiled function takes no symbolic tensors of Keras.
    body = [part for line in inline_jit_lines(lines) for part in line.split("\n")]
    dtype = "keras.backend.standardize_dtype({}.dtype)"
    specs = ", ".join(
        f'keras.Input(batch_shape={one}.shape, dtype={dtype.format(one)}, name="{one}")' for one in inputs
    )
    return [
        *model_lines("", "build", body, weights, inputs),
        f"inputs = [{specs}]",
        "model = keras.Model(inputs, build(*inputs))",
        *_export_lines(runtime, "inputs"),
    ]


def _export_lines(runtime: str, inputs: str) -> Sequence[str]:
    """Return lines that export `model`. inputs: the name of a list of inputs."""
    file_format, name, read = FORMATS[runtime]
    path = f'f"{{folder}}/{name}"'
    return (
        # Model.export raises "The model provided has never called" before the first call.
        f"model({inputs})",
        "with tempfile.TemporaryDirectory() as folder:",
        f'{INDENT}model.export({path}, format="{file_format}", verbose=False)',
        f"{INDENT}{read.format(path)}",
    )


def _part(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    body = [part for line in inline_jit_lines(lines) for part in line.split("\n")]
    return model_lines("", "model", body, weights, inputs)


def _batch(runtime: str) -> BatchExport:
    """Return how one functional model is built of several."""
    inputs = (
        "arguments = [",
        f"{INDENT}keras.Input(batch_shape=one.shape, dtype=keras.backend.standardize_dtype(one.dtype), name=name)",
        f"{INDENT}for one, name in zip(tensors, names)",
        "]",
        "remaining = iter(arguments)",
        f"model = keras.Model(arguments, {CALLED.format('models')})",
    )
    return BatchExport(_part, (*TENSORS, *inputs, *_export_lines(runtime, "arguments"), named_arrays(ARRAY)))


def _surface(source: Surface, runtime: str) -> Surface:
    runtime_name, runner, evaluator = RUNNERS[runtime]
    return make_route(
        source,
        f"{source.name.removesuffix('.layers')}.export{ROUTE_ARROW}{runtime}",
        runtime_name,
        partial(_export, runtime),
        runner,
        to_numpy="np.moveaxis(x, -1, 1)",
        evaluate=evaluator,
        is_independent=evaluator is not None,
        # NumPy has no bfloat16, and the runtimes take NumPy arrays.
        without_dtypes={"bfloat16"},
        batch=_batch(runtime),
        bfloat16=None,
        # There is no complete run of level standard, see docs/how-to/choose-a-route.md.
        max_level=Level.SMOKE,
        operator_levels=COMPLETE_LEVELS,
    )


# The models of Model.export for OpenVINO have no fixed extents. With one thread the plugin loses the error for too few
# cells and reads past their end, see docs/findings/openvino.md.
ONE_THREAD, TWO_THREADS = '"INFERENCE_NUM_THREADS": 1', '"INFERENCE_NUM_THREADS": 2'
OPENVINO_SETUP = RUNTIME_SETUP.replace(ONE_THREAD, TWO_THREADS)
OPENVINO_THREAD_SETTINGS = {text.replace(ONE_THREAD, TWO_THREADS): new for text, new in RUNTIME_THREAD_SETTINGS.items()}


def _variant(engine: AdapterVariant, packages: Sequence[str]) -> AdapterVariant:
    """Return the backend of the routes from Keras on an engine. packages: those of the exporters and runtimes."""
    has_openvino = "openvino" in packages
    setup, settings = (
        (OPENVINO_SETUP, OPENVINO_THREAD_SETTINGS) if has_openvino else (ONNXRUNTIME_SETUP, ONNXRUNTIME_THREAD_SETTINGS)
    )
    return AdapterVariant(
        (*engine.packages, *packages),
        # Keras imports the exporter in Model.export, and the version of an imported module is recorded.
        f"{engine.setup}import tempfile\n\nimport {packages[0]}\n{setup}",
        tuple(_surface(engine.surfaces[0], runtime) for runtime in RUNNERS if runtime in packages),
        engine.reset,
        engine.threads,
        {**engine.instruction_variables, **(openvino.INSTRUCTION_VARIABLES if has_openvino else {})},
        thread_settings={**engine.thread_settings, **settings},
    )


VARIANTS = {f"keras-{engine}": _variant(keras.VARIANTS[engine], packages) for engine, packages in PACKAGES.items()}
