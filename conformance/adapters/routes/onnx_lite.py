"""Route from graphs of ONNX through onnx2tf to LiteRT.

The source is a graph of the adapter of ONNX Runtime, with the newest opset of the release that onnx2tf needs. By
default, onnx2tf converts inputs with three to five axes to channels last, and most outputs. The shape of an output
shows its order, unless the channels and all other axes have the same extent. Then the order is read from the
conversion, see `read_layouts` in SETUP and docs/findings/onnx2tf.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters import onnxruntime, tensorflow
from conformance.adapters.api import ALL_DTYPES, COMPLETE_LEVELS, INDENT, Sizes, Surface
from conformance.adapters.api.normalization import recipes as normalization
from conformance.adapters.api.resizing import affine_grids
from conformance.adapters.onnx import graph, nodes
from conformance.adapters.onnx.dtypes import limited_lowerings
from conformance.adapters.onnxruntime.releases import release_surfaces
from conformance.adapters.routes.recipes import onnx2tf_recipes
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route
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
LITERT_PROGRAM = """
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

options = {"num_threads": 1}
folder, kernels = Path(sys.argv[1]), OpResolverType[sys.argv[2]]
try:
    interpreter = Interpreter(str(folder / "model.tflite"), experimental_op_resolver_type=kernels, **options)
    arrays = np.load(folder / "inputs.npz")
    if interpreter.get_signature_list():
        outputs = interpreter.get_signature_runner()(**arrays)
    else:  # inputs and outputs have no names
        tensors = [tensor["index"] for tensor in interpreter.get_input_details()]
        for tensor, array in zip(tensors, arrays.values()):
            interpreter.resize_tensor_input(tensor, array.shape)
        interpreter.allocate_tensors()
        for tensor, array in zip(tensors, arrays.values()):
            interpreter.set_tensor(tensor, array)
        interpreter.invoke()
        results = [interpreter.get_tensor(tensor["index"]) for tensor in interpreter.get_output_details()]
        outputs = {str(n): array for n, array in enumerate(results)}
except Exception as error:
    sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
np.savez(folder / "outputs.npz", **outputs)
"""
"""The program that runs a model. In a process with TensorFlow, LiteRT would have the operators of TensorFlow, too."""
SETUP = f'''
import contextlib
import io
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx2tf
import onnxruntime
import tf_keras
from onnx import TensorProto, helper, numpy_helper

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
# For inputs with three channels, onnx2tf downloads images, with which it runs the graph. Random numbers replace them.
onnx2tf.onnx2tf.download_test_image_data = lambda: np.random.default_rng(0).random((20, 128, 128, 3), np.float32)
litert_program = """{LITERT_PROGRAM}"""


def run_onnx2tf(model, folder, **options):
    log = io.StringIO()
    try:
        with contextlib.redirect_stdout(log):
            return onnx2tf.convert(onnx_graph=model, output_folder_path=folder, non_verbose=True, **options)
    except SystemExit:  # after an error that is printed in colours
        raise RuntimeError(" ".join(re.sub("\\x1b.[0-9]*m", "", log.getvalue()).split())) from None


def convert(model):
    with tempfile.TemporaryDirectory() as folder:
        converted = run_onnx2tf(model, folder)
        return Path(folder, "model_float32.tflite").read_bytes(), read_layouts(model, converted, folder)


def extents(value):
    return tuple(size.dim_value for size in value.type.tensor_type.shape.dim)


def with_channels_last(shape):
    return (shape[0], *shape[2:], shape[1])


def hides_order(shape):
    return len(shape) > 2 and shape == with_channels_last(shape)


def read_layouts(model, converted, folder):
    shapes = {{one.name: extents(one) for one in model.graph.output}}
    hidden = [name for name, shape in shapes.items() if hides_order(shape) and {{*shape[1:]}} != {{1}}]
    if not all(converted.onnx_output_layouts[name] for name in hidden):
        model = onnx.ModelProto.FromString(model.SerializeToString())
        model.graph.output.extend(model.graph.value_info)
        converted = run_onnx2tf(model, folder, disable_model_save=True)
    return {{name: (shape, is_channels_last(name, model.graph, converted)) for name, shape in shapes.items()}}


def is_channels_last(name, graph, converted):
    shapes = {{one.name: extents(one) for one in [*graph.input, *graph.output]}}
    nodes = {{output: node for node in graph.node for output in node.output}}
    # A node that is not reported returns the order of its input, except for Reshape, which returns that of ONNX.
    while name in nodes and hides_order(shapes[name]) and not converted.onnx_output_layouts[name]:
        sources = [one for one in nodes[name].input if one in shapes]
        if nodes[name].op_type == "Reshape" or not sources:
            return False
        name = sources[0]
    if name not in nodes:
        return len(shapes[name]) in (3, 4, 5)
    shape = [size or 0 for size in converted.outputs[[one.name for one in graph.output].index(name)].shape]
    return hides_order(shapes[name]) or tuple(shape) != shapes[name]


def run_lite_model(lite_model, kernels, **arrays):
    arrays = {{name: np.moveaxis(one, 1, -1) if one.ndim in (3, 4, 5) else one for name, one in arrays.items()}}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.tflite").write_bytes(lite_model)
        np.savez(Path(folder, "inputs.npz"), **arrays)
        ran = subprocess.run([sys.executable, "-c", litert_program, folder, kernels], capture_output=True, text=True)
        if ran.returncode < 0:
            signal.raise_signal(-ran.returncode)
        if ran.returncode:
            raise RuntimeError(ran.stderr.splitlines()[-1])
        return dict(np.load(Path(folder, "outputs.npz")))


def channels_first(array, layout):
    shape, is_last = layout
    moved = np.moveaxis(array, -1, 1) if array.ndim in (3, 4, 5) else array
    if (array.shape == shape) != (moved.shape == shape):
        return array if array.shape == shape else moved
    return moved if is_last else array
'''
RESET = "tf_keras.backend.clear_session()\n"

CONVERT = (
    "model = onnx.shape_inference.infer_shapes(model)",  # as exporters do
    "lite_model, layouts = convert(model)",
)


def _model_lines(
    lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that assign `model`, a graph whose weights are constants."""
    return graph.model_lines(lines, [*inputs, *weights], sizes, constant_weights=True, opset_version=OPSET_VERSION)


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED) -> Sequence[str]:
    """Return lines that assign `lite_model` and `layouts`: of each output, its shape and whether channels are last."""
    return [*_model_lines(lines, weights, inputs, sizes), *CONVERT]


def litert_runner(kernels: str) -> ModelRunner:
    """Return how LiteRT runs `lite_model`."""

    def run(inputs: Sequence[str]) -> Sequence[str]:
        arrays = ", ".join(f"{name}={name}" for name in inputs)
        return (
            f'(output,) = run_lite_model(lite_model, "{kernels}", {arrays}).values()',
            f'x = channels_first(output, layouts["{graph.OUTPUT_NAME}"])',
        )

    return ModelRunner(
        (),
        run,
        (
            f'outputs = run_lite_model(lite_model, "{kernels}", **named)',
            "results = [channels_first(outputs[one], layouts[one]) for one in output_names]",
        ),
    )


OPSET_VERSION = 23
BATCH = BatchExport(
    _model_lines,
    (
        "if len({str(one.opset_import) for one in models}) > 1:",
        f'{INDENT}raise ValueError("graphs of several opsets are converted alone")',
        'graphs = [onnx.compose.add_prefix(one, f"model{n}_").graph for n, one in enumerate(models)]',
        "names = [one.name for graph in graphs for one in graph.input]",
        "output_names = [graph.output[0].name for graph in graphs]",
        "named = dict(zip(names, [array for one in inputs for array in one]))",
        'kinds = ("node", "input", "output", "initializer")',
        "lists = [[one for graph in graphs for one in getattr(graph, kind)] for kind in kinds]",
        'joint = helper.make_graph(lists[0], "joint", *lists[1:])',
        "model = helper.make_model(joint, opset_imports=models[0].opset_import, ir_version=models[0].ir_version)",
        *CONVERT,
    ),
    max_programs=16,  # a model of 40 programs takes over a minute on a busy processor
)


def _source() -> Surface:
    """Return the surface of the graphs on ONNX Runtime. Sizes are those of all axes: onnx2tf does not read others."""
    surface = release_surfaces(ONNXRUNTIME_RELEASE)[0]
    resize = limited_lowerings(onnxruntime.node_limit, {"resize": partial(nodes.resize, all_axes=True)})["resize"]
    return replace(surface, lowerings={**surface.lowerings, "resize": resize})


ONES = "np.ones({shape}, {name}.dtype)"
SURFACES = tuple(
    make_route(
        _source(),
        f"onnx2tf{'.dynamic' if ones else ''}{ROUTE_ARROW}litert",
        "litert",
        _export,
        litert_runner("AUTO"),
        to_numpy="x",
        # No other project runs such models. The reference kernels share code with the others.
        evaluate=litert_runner("BUILTIN_REF"),
        is_independent=False,
        # onnx2tf replaces float16 by float32, and writes operators of TensorFlow for float64 and 8-bit integers.
        without_dtypes=ALL_DTYPES - {"float32"},
        ones=ones,
        recipes=onnx2tf_recipes,
        batch=BATCH,
        exported={**normalization.NOT_WRITTEN, **affine_grids.NOT_WRITTEN},
        # There is no complete run of level standard, see docs/how-to/choose-a-route.md.
        max_level=Level.SMOKE,
        operator_levels={} if ones else COMPLETE_LEVELS,
    )
    for ones in ("", ONES)
)
