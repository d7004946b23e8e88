"""Routes from TensorFlow through the converter of `tensorflowjs` to TensorFlow.js under Node.js."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from conformance.adapters import tensorflow, tfjs
from conformance.adapters.api import ALL_DTYPES, COMPLETE_LEVELS, INDENT, Sizes
from conformance.adapters.api.javascript import missing_node
from conformance.adapters.routes.batch_lines import TENSOR_SPECS, function_of_models, named_arrays
from conformance.adapters.routes.onnx_runtimes import TO_NUMPY
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route, model_lines
from conformance.adapters.routes.tensorflow_lite import JOINT_FUNCTION, ONES, tensor_specs
from reports.results.vocabulary import ROUTE_ARROW, Level

PACKAGES = ("tensorflow", "tensorflowjs", "numpy")
NPM_PACKAGES = tfjs.NPM_PACKAGES
THREADS = tensorflow.THREADS
THREAD_SETTINGS = tensorflow.THREAD_SETTINGS
INSTRUCTION_VARIABLES = tensorflow.INSTRUCTION_VARIABLES
NODE_PROGRAM = Path(__file__).with_name("graph_model.js").read_text("utf-8").strip()
"""The program of Node.js that runs a model. Standard input has the model and the inputs, standard output the result."""
SETUP = f'''{tensorflow.SETUP}
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflowjs

npm_folder = Path(sys.prefix, "share", "nn-conformance", "{NPM_PACKAGES.backend}")
node_path = os.environ.get("NODE_PATH", str(npm_folder / "node_modules"))
if not Path(node_path, "@tensorflow", "tfjs").is_dir():
    raise ImportError(f"TensorFlow.js is not installed: npm install --prefix {{npm_folder}} {NPM_PACKAGES.texts}")
node_program = r"""
{NODE_PROGRAM}
"""


def without_int64(array):
    return array.astype(np.int32) if array.dtype == np.int64 else array  # the converter writes int32 for int64


def text_of(data):
    return base64.b64encode(data).decode()


def run_graph_model(model, weight_data, backend, **inputs):
    (x,) = all_results(model, weight_data, backend, **inputs)
    return x


def all_results(model, weight_data, backend, **inputs):
    arrays = {{name: without_int64(one) for name, one in inputs.items()}}
    arrays = {{name: (str(one.dtype), one.shape, text_of(one.tobytes())) for name, one in arrays.items()}}
    request = {{"model": model, "weightData": text_of(weight_data), "backend": backend, "arrays": arrays}}
    ran = subprocess.run(
        ["node", "-e", node_program],
        input=json.dumps(request).encode(),
        capture_output=True,
        env={{**os.environ, "NODE_PATH": node_path}},
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode().splitlines()[-1])
    results = json.loads(ran.stdout)
    return [np.frombuffer(base64.b64decode(data), dtype).reshape(shape) for dtype, shape, data in results]
'''
RESET = tensorflow.RESET
DTYPES = {"float32", "int32", "bool"}
"""The dtypes of a tensor of TensorFlow.js that NumPy has."""


CONVERT = (
    "module = tf.Module()",
    "module.model = model",
    "with tempfile.TemporaryDirectory() as folder:",
    f"{INDENT}tf.saved_model.save(module, folder, signatures=model.get_concrete_function())",
    f"{INDENT}tensorflowjs.converters.convert_tf_saved_model(folder, folder)",
    f'{INDENT}graph_model = json.loads(Path(folder, "model.json").read_text())',
    f'{INDENT}files = [name for group in graph_model["weightsManifest"] for name in group["paths"]]',
    f'{INDENT}weight_data = b"".join(Path(folder, name).read_bytes() for name in files)',
)


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED) -> Sequence[str]:
    """Return lines that assign `graph_model` and `weight_data`, the two parts of the files of the converter."""
    return [
        *model_lines(f"@tf.function(input_signature=[{tensor_specs(inputs, sizes)}])", "model", lines, weights, inputs),
        *CONVERT,
    ]


def _run(backend: str, inputs: Sequence[str]) -> Sequence[str]:
    arrays = ", ".join(f"{name}={name}.numpy()" for name in inputs)
    return (f'x = run_graph_model(graph_model, weight_data, "{backend}", {arrays})',)


RUNNERS = {
    backend: ModelRunner(
        (), partial(_run, backend), (f'results = all_results(graph_model, weight_data, "{backend}", **named)',)
    )
    for backend in ("cpu", "wasm")
}
BATCH = BatchExport(
    partial(model_lines, "", "model"),
    (*function_of_models(), TENSOR_SPECS, named_arrays(TO_NUMPY), JOINT_FUNCTION, *CONVERT),
)
SURFACES = tuple(
    make_route(
        tensorflow.SURFACES[0],
        f"tensorflowjs{'.dynamic' if ones else ''}{ROUTE_ARROW}tfjs.{backend}",
        f"tfjs.{backend}",
        _export,
        runner,
        to_numpy="np.moveaxis(x, -1, 1)",
        # No other project runs such models. Both backends share the reader of the model.
        evaluate=RUNNERS["cpu"] if backend == "wasm" else None,
        is_independent=False,
        without_dtypes=ALL_DTYPES - DTYPES,
        ones=ones,
        batch=BATCH,
        missing_requirement=missing_node,
        # There is no complete run of level standard, see docs/how-to/choose-a-route.md.
        max_level=Level.SMOKE,
        operator_levels={} if ones else COMPLETE_LEVELS,
    )
    for ones in ("", ONES)
    for backend, runner in RUNNERS.items()
)
