"""Routes from TensorFlow through the TFLite converter to the three sets of kernels of LiteRT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters import tensorflow
from conformance.adapters.api import Sizes
from conformance.adapters.routes.batch_lines import TENSOR_SPECS, function_of_models, named_arrays
from conformance.adapters.routes.onnx_runtimes import TO_NUMPY
from conformance.adapters.routes.recipes import tensorflow_lite_recipes
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route, model_lines
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


def tensor_specs(inputs: Sequence[str], sizes: Sizes) -> str:
    """Return the specifications of the inputs as text."""
    shapes = {name: str([*sizes[name].dimensions()]) if name in sizes else f"{name}.shape" for name in inputs}
    return ", ".join(f"tf.TensorSpec({shape}, {name}.dtype)" for name, shape in shapes.items())


CONVERT = (
    "module = tf.Module()",
    "module.model = model",
    "converter = tf.lite.TFLiteConverter.from_concrete_functions([model.get_concrete_function()], module)",
    "lite_model = converter.convert()",
)


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED) -> Sequence[str]:
    """Return lines that assign `lite_model`."""
    return [
        *model_lines(f"@tf.function(input_signature=[{tensor_specs(inputs, sizes)}])", "model", lines, weights, inputs),
        *CONVERT,
    ]


# Autograph does not find the source of a program, and warns.
JOINT_FUNCTION = "model = tf.function(joint, specs, autograph=False)"
BATCH = BatchExport(
    partial(model_lines, "", "model"),
    (*function_of_models(), TENSOR_SPECS, named_arrays(TO_NUMPY), JOINT_FUNCTION, *CONVERT),
)


def litert_runner(resolver: str, array: str = "{}.numpy()") -> ModelRunner:
    """Return how LiteRT runs `lite_model`. array: converts an input to NumPy."""

    def run(inputs: Sequence[str]) -> Sequence[str]:
        arrays = ", ".join(f"{name}={array.format(name)}" for name in inputs)
        return (f'x = interpreter.get_signature_runner()({arrays})["output_0"]',)

    run_all = (
        "outputs = interpreter.get_signature_runner()(**named)",
        'results = [outputs[f"output_{n}"] for n in range(len(models))]',
    )
    return ModelRunner(
        (
            f"kernels = OpResolverType.{resolver}",
            "interpreter = Interpreter(None, lite_model, experimental_op_resolver_type=kernels, **options)",
        ),
        run,
        run_all,
    )


REFERENCE_KERNELS = litert_runner("BUILTIN_REF")
RUNTIMES: Mapping[str, ModelRunner] = {
    "litert": litert_runner("AUTO"),
    "litert.builtin": litert_runner("BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    "litert.reference": REFERENCE_KERNELS,
}
ONES = "tf.ones({shape}, {name}.dtype)"
SURFACES = tuple(
    make_route(
        tensorflow.SURFACES[0],
        f"tf.lite{'.dynamic' if ones else ''}{ROUTE_ARROW}{runtime}",
        runtime,
        _export,
        runner,
        to_numpy="np.moveaxis(x, -1, 1)",
        # No other project runs such models. The reference kernels share code with the others.
        evaluate=None if runner is REFERENCE_KERNELS else REFERENCE_KERNELS,
        is_independent=False,
        ones=ones,
        recipes=tensorflow_lite_recipes,
        batch=BATCH,
    )
    for ones in ("", ONES)
    for runtime, runner in RUNTIMES.items()
)
