"""Route from TensorFlow through tf2onnx to ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.adapters import tensorflow
from conformance.adapters.api import Sizes
from conformance.adapters.routes.batch_lines import TENSOR_SPECS, function_of_models, named_arrays
from conformance.adapters.routes.onnx_runtimes import (
    EVALUATOR,
    ONNXRUNTIME,
    ONNXRUNTIME_SETUP,
    ONNXRUNTIME_THREAD_SETTINGS,
    TO_NUMPY,
)
from conformance.adapters.routes.route import FIXED, BatchExport, make_route, model_lines
from conformance.adapters.routes.tensorflow_lite import JOINT_FUNCTION, ONES, tensor_specs
from reports.results.vocabulary import ROUTE_ARROW

PACKAGES = ("tensorflow", "tf2onnx", "onnx", "onnxruntime", "numpy")
THREADS = tensorflow.THREADS
THREAD_SETTINGS = {**tensorflow.THREAD_SETTINGS, **ONNXRUNTIME_THREAD_SETTINGS}
INSTRUCTION_VARIABLES = tensorflow.INSTRUCTION_VARIABLES
SETUP = f"{tensorflow.SETUP}import tf2onnx\n{ONNXRUNTIME_SETUP}"
RESET = tensorflow.RESET


# tf2onnx makes an input of the model of a captured tensor, unless it is a variable.
WEIGHT = "tf.Variable({})"
CONVERT = "onnx_model, _ = tf2onnx.convert.from_function(model, model.input_signature)"


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED) -> Sequence[str]:
    """Return lines that assign `onnx_model`, of the opset that tf2onnx uses by default."""
    decorator = f"@tf.function(input_signature=[{tensor_specs(inputs, sizes)}])"
    return [
        *model_lines(decorator, "model", lines, weights, inputs, weight=WEIGHT),
        CONVERT,
    ]


BATCH = BatchExport(
    partial(model_lines, "", "model", weight=WEIGHT),
    (*function_of_models(), TENSOR_SPECS, named_arrays(TO_NUMPY), JOINT_FUNCTION, CONVERT),
)


SURFACES = tuple(
    make_route(
        tensorflow.SURFACES[0],
        f"tf2onnx{'.dynamic' if ones else ''}{ROUTE_ARROW}onnxruntime",
        "onnxruntime",
        _export,
        ONNXRUNTIME,
        to_numpy="np.moveaxis(x, -1, 1)",
        evaluate=EVALUATOR,
        # NumPy has no bfloat16, and ONNX Runtime takes NumPy arrays.
        without_dtypes={"bfloat16"},
        ones=ones,
        batch=BATCH,
        bfloat16=None,
    )
    for ones in ("", ONES)
)
