"""Route from JAX through jax2onnx to ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters import jax
from conformance.adapters.api import COMPLETE_LEVELS, Sizes
from conformance.adapters.jax.windows import inline_jit_lines
from conformance.adapters.routes.batch_lines import function_of_models, named_arrays
from conformance.adapters.routes.onnx_runtimes import (
    ONNXRUNTIME_SETUP,
    ONNXRUNTIME_THREAD_SETTINGS,
    onnx_evaluator,
    onnxruntime_runner,
)
from conformance.adapters.routes.recipes import jax2onnx_recipes
from conformance.adapters.routes.route import FIXED, BatchExport, make_route, model_lines
from reports.results.vocabulary import ROUTE_ARROW, Level

PACKAGES = ("jax", "jaxlib", "jax2onnx", "onnx", "onnxruntime", "numpy")
THREADS = jax.THREADS
THREAD_SETTINGS = {**jax.THREAD_SETTINGS, **ONNXRUNTIME_THREAD_SETTINGS}
INSTRUCTION_VARIABLES = jax.INSTRUCTION_VARIABLES
SETUP = f"{jax.SETUP}import jax2onnx\n{ONNXRUNTIME_SETUP}"
RESET = jax.RESET
ARRAY = "np.asarray({})"


def _export(
    lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], _sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that assign `onnx_model`, of the opset that jax2onnx uses by default."""
    names = ", ".join(f'"{name}"' for name in inputs)
    return [
        *model_lines("", "model", inline_jit_lines(lines), weights, inputs),
        # Without the argument, the model has tensors of float32 in place of float64.
        "double = jax.config.jax_enable_x64",
        f"onnx_model = jax2onnx.to_onnx(model, [{', '.join(inputs)}], "
        f"input_names=[{names}], enable_double_precision=double)",
    ]


BATCH = BatchExport(
    # The lines of a program are inlined, as in a model of one program.
    lambda lines, weights, inputs: model_lines("", "model", inline_jit_lines(lines), weights, inputs),
    (
        *function_of_models(),
        named_arrays(ARRAY),
        "double = jax.config.jax_enable_x64",
        "onnx_model = jax2onnx.to_onnx(joint, tensors, input_names=names, enable_double_precision=double)",
    ),
)
SURFACES = (
    make_route(
        jax.LAX_SURFACE,
        f"jax2onnx{ROUTE_ARROW}onnxruntime",
        "onnxruntime",
        _export,
        onnxruntime_runner(ARRAY),
        to_numpy="x",
        evaluate=onnx_evaluator(ARRAY),
        # NumPy has no bfloat16, and ONNX Runtime takes NumPy arrays.
        without_dtypes={"bfloat16"},
        batch=BATCH,
        bfloat16=None,
        recipes=jax2onnx_recipes,
        # There is no complete run of level standard, see docs/how-to/choose-a-route.md.
        max_level=Level.SMOKE,
        operator_levels=COMPLETE_LEVELS,
    ),
)
