"""Routes from TensorFlow through the TFLite converter to the three sets of kernels of LiteRT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters import tensorflow
from conformance.adapters.routes.route import ModelRunner, make_route, model_lines
from reports.results.vocabulary import ROUTE_ARROW

PACKAGES = ("tensorflow", "ai_edge_litert", "keras", "numpy")
THREADS = tensorflow.THREADS
LITERT_SETUP = """\
from ai_edge_litert.interpreter import Interpreter, OpResolverType

options = {"num_threads": 1}
"""
THREAD_SETTINGS = {**tensorflow.THREAD_SETTINGS, '"num_threads": 1': '"num_threads": {}'}
INSTRUCTION_VARIABLES = tensorflow.INSTRUCTION_VARIABLES
SETUP = f"{tensorflow.SETUP}{LITERT_SETUP}"
RESET = tensorflow.RESET


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that assign `lite_model`."""
    specs = ", ".join(f"tf.TensorSpec({name}.shape, {name}.dtype)" for name in inputs)
    return [
        *model_lines(f"@tf.function(input_signature=[{specs}])", "model", lines, weights, inputs),
        "module = tf.Module()",
        "module.model = model",
        "converter = tf.lite.TFLiteConverter.from_concrete_functions([model.get_concrete_function()], module)",
        "lite_model = converter.convert()",
    ]


def run_litert(resolver: str, inputs: Sequence[str], array: str = "{}.numpy()") -> Sequence[str]:
    """Return lines that run `lite_model`. array: converts an input to NumPy."""
    arrays = ", ".join(f"{name}={array.format(name)}" for name in inputs)
    return (
        f"kernels = OpResolverType.{resolver}",
        "interpreter = Interpreter(None, lite_model, experimental_op_resolver_type=kernels, **options)",
        f'x = interpreter.get_signature_runner()({arrays})["output_0"]',
    )


REFERENCE_KERNELS = partial(run_litert, "BUILTIN_REF")
RUNTIMES: Mapping[str, ModelRunner] = {
    "litert": partial(run_litert, "AUTO"),
    "litert.builtin": partial(run_litert, "BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    "litert.reference": REFERENCE_KERNELS,
}
SURFACES = tuple(
    make_route(
        tensorflow.SURFACES[0],
        f"tf.lite{ROUTE_ARROW}{runtime}",
        runtime,
        _export,
        run,
        to_numpy="np.moveaxis(x, -1, 1)",
        # No other project runs such models. The reference kernels share code with the others.
        evaluate=None if run is REFERENCE_KERNELS else REFERENCE_KERNELS,
        is_independent=False,
    )
    for runtime, run in RUNTIMES.items()
)
