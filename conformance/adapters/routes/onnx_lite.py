"""Route from graphs of ONNX through onnx2tf to LiteRT.

The source is a graph of the adapter of ONNX Runtime, with the newest opset of the release that onnx2tf needs. The model
of LiteRT takes and returns arrays with channels last, as onnx2tf converts them by default. An output that is not
converted to channels last is marked in the model of Keras that onnx2tf returns.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters import onnxruntime, tensorflow
from conformance.adapters.api import INDENT, Sizes, Surface
from conformance.adapters.api.normalization import recipes as normalization
from conformance.adapters.api.resizing import affine_grids
from conformance.adapters.onnx import graph
from conformance.adapters.onnxruntime.releases import release_surfaces
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route
from conformance.adapters.routes.tensorflow_lite import LITERT_SETUP
from reports.results.vocabulary import ROUTE_ARROW, Level

PACKAGES = ("onnx2tf", "tensorflow", "ai_edge_litert", "onnx", "onnxruntime", "numpy")
ONNXRUNTIME_RELEASE = "1.23.0"
"""The release of ONNX Runtime that onnx2tf 1.29.24 needs."""
THREADS = f"""\
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # the converter of TensorFlow logs each conversion
{tensorflow.THREADS}"""
THREAD_SETTINGS = {
    **tensorflow.THREAD_SETTINGS,
    **onnxruntime.THREAD_SETTINGS,
    '"num_threads": 1': '"num_threads": {}',
}
INSTRUCTION_VARIABLES = tensorflow.INSTRUCTION_VARIABLES
SETUP = f"""\
import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx2tf
import onnxruntime
import tf_keras
{LITERT_SETUP.splitlines()[0]}
from onnx import TensorProto, helper, numpy_helper

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
litert_options = {{"num_threads": 1}}
# For inputs with three channels, onnx2tf downloads images, with which it runs the graph. Random numbers replace them.
onnx2tf.onnx2tf.download_test_image_data = lambda: np.random.default_rng(0).random((20, 128, 128, 3), np.float32)


def convert(model):
    log = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with contextlib.redirect_stdout(log):
                converted = onnx2tf.convert(onnx_graph=model, output_folder_path=folder, non_verbose=True)
        except SystemExit:  # after an error that is printed
            raise RuntimeError(log.getvalue()) from None
        return converted.onnx_output_layouts, Path(folder, "model_float32.tflite").read_bytes()


def channels_last(array):
    return np.moveaxis(array, 1, -1) if array.ndim in (3, 4, 5) else array


def channels_first(array, is_channels_last):
    return np.moveaxis(array, -1, 1) if is_channels_last else array
"""
RESET = "tf_keras.backend.clear_session()\n"

CONVERT = "layouts, lite_model = convert(model)"


def _model_lines(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that assign `model`, a graph whose weights are constants."""
    return graph.model_lines(lines, [*inputs, *weights], constant_weights=True, opset_version=OPSET_VERSION)


def _export(
    lines: Sequence[str],
    weights: Sequence[str],
    inputs: Sequence[str],
    sizes: Sizes = FIXED,  # noqa: ARG001 - the models have fixed extents
) -> Sequence[str]:
    """Return lines that assign `lite_model` and `layouts`, whether each output is channels last."""
    return [*_model_lines(lines, weights, inputs), CONVERT]


def litert_runner(resolver: str) -> ModelRunner:
    """Return how LiteRT runs `lite_model`."""

    def run(inputs: Sequence[str]) -> Sequence[str]:
        arrays = ", ".join(f"{name}=channels_last({name})" for name in inputs)
        return (
            f"results = interpreter.get_signature_runner()({arrays})",
            f'x = channels_first(results["{graph.OUTPUT_NAME}"], layouts["{graph.OUTPUT_NAME}"])',
        )

    return ModelRunner(
        (
            f"kernels = OpResolverType.{resolver}",
            "interpreter = Interpreter(None, lite_model, experimental_op_resolver_type=kernels, **litert_options)",
        ),
        run,
        (
            "outputs = interpreter.get_signature_runner()(**named)",
            "results = [channels_first(outputs[one], layouts[one]) for one in output_names]",
        ),
    )


OPSET_VERSION = 23
BATCH = BatchExport(
    _model_lines,
    (
        "if len({str(one.opset_import) for one in models}) > 1:",
        f'{INDENT}raise ValueError("graphs of several opsets are converted alone")',
        'parts = [onnx.compose.add_prefix(one, f"model{n}_").graph for n, one in enumerate(models)]',
        "names = [one.name for part in parts for one in part.input]",
        "output_names = [part.output[0].name for part in parts]",
        "named = {name: channels_last(array) for name, array in zip(names, [x for one in inputs for x in one])}",
        'lists = [[one for part in parts for one in getattr(part, kind)] for kind in ("node", "input", "output")]',
        "constants = [one for part in parts for one in part.initializer]",
        'joint = helper.make_graph(lists[0], "joint", lists[1], lists[2], constants)',
        "model = helper.make_model(joint, opset_imports=models[0].opset_import, ir_version=models[0].ir_version)",
        CONVERT,
    ),
)


def _source() -> Surface:
    """Return the surface of the graphs on ONNX Runtime."""
    return release_surfaces(ONNXRUNTIME_RELEASE)[0]


SURFACES = (
    make_route(
        _source(),
        f"onnx2tf{ROUTE_ARROW}litert",
        "litert",
        _export,
        litert_runner("AUTO"),
        to_numpy="x",
        # No other project runs such models. The reference kernels share code with the others.
        evaluate=litert_runner("BUILTIN_REF"),
        is_independent=False,
        # NumPy has no bfloat16, and LiteRT takes NumPy arrays.
        without_dtypes={"bfloat16"},
        batch=BATCH,
        exported={**normalization.NOT_WRITTEN, **affine_grids.NOT_WRITTEN},
        max_level=Level.SMOKE,
    ),
)
