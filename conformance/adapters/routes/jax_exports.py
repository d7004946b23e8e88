"""Routes from JAX: `jax.export` to IREE, and `jax2tf` with the TFLite converter to LiteRT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from conformance.adapters import iree, jax
from conformance.adapters.api import INDENT, RouteBatch, Sizes
from conformance.adapters.api.normalization import recipes as normalization
from conformance.adapters.jax.windows import JIT, inline_jit_lines, symbolic_dimensions
from conformance.adapters.routes import tensorflow_lite
from conformance.adapters.routes.batch_lines import TENSOR_SPECS, function_of_models, named_arrays
from conformance.adapters.routes.recipes import iree_recipes, jax2tf_recipes
from conformance.adapters.routes.route import (
    FIXED,
    BatchExport,
    ModelRunner,
    RecipesOfSource,
    SourceExport,
    make_route,
    model_lines,
)
from conformance.adapters.routes.tensorflow_lite import litert_runner
from reports.results.vocabulary import ROUTE_ARROW

PACKAGES = ("jax", "jaxlib", "iree.compiler", "iree.runtime", "tensorflow", "ai_edge_litert", "numpy")
THREADS = f"{tensorflow_lite.THREADS}{jax.THREADS}"
THREAD_SETTINGS = {**tensorflow_lite.THREAD_SETTINGS, **jax.THREAD_SETTINGS}
INSTRUCTION_VARIABLES = {**tensorflow_lite.INSTRUCTION_VARIABLES, **jax.INSTRUCTION_VARIABLES}
# JAX is imported first: its setup is that of the source.
SETUP = f"""{jax.SETUP}
import iree.compiler
import iree.runtime
import tensorflow as tf
from jax.experimental import jax2tf
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

{tensorflow_lite.LITERT_SETUP}
{iree.VERSIONS}"""
RESET = jax.RESET


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED) -> Sequence[str]:
    """Return lines that assign `exported`, with the StableHLO module of the program."""
    if not sizes:
        return [
            *model_lines(JIT, "model", lines, weights, inputs),
            f"exported = export.export(model)({', '.join(inputs)})",
        ]
    dimensions, constraints = symbolic_dimensions(sizes["x"])
    return [
        *model_lines(JIT, "model", inline_jit_lines(lines), weights, inputs),
        f'symbols = export.symbolic_shape("{dimensions}", constraints={constraints})',
        "exported = export.export(model)(jax.ShapeDtypeStruct(symbols, x.dtype))",
    ]


ARRAY = "np.asarray({})"


def _arrays(inputs: Sequence[str], text: str = ARRAY) -> str:
    return ", ".join(text.format(name) for name in inputs)


IREE = ModelRunner(
    iree.compile_lines("exported.mlir_module()", "stablehlo", f'["{iree.TARGET}", "{iree.KEEP_FLOAT64}"]'),
    lambda inputs: (f"x = np.array(module.main({_arrays(inputs)}))",),
    ("results = [np.array(x) for x in module.main(*named.values())]",),
)


def _evaluate(inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that run the module with the interpreter of the StableHLO project."""
    tensors = _arrays(inputs, "ir.DenseElementsAttr.get(np.asarray({}))")
    return (
        "with ir.Context() as context:",
        f"{INDENT}module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)",
        f"{INDENT}results = stablehlo.eval_module(module, [{tensors}])",
        f"{INDENT}x = np.array(results[0])",
    )


CONVERT_FUNCTION = (
    "module = tf.Module()",
    "module.function = function",
    "converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], module)",
    "lite_model = converter.convert()",
)


def _convert(
    lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that assign `lite_model`."""
    arguments, specs = "", _arrays(inputs, 'tf.TensorSpec({0}.shape, {0}.dtype, "{0}")')
    if sizes:
        dimensions, constraints = symbolic_dimensions(sizes["x"])
        arguments = f', polymorphic_shapes=["{dimensions}"], polymorphic_constraints={constraints}'
        # The batch is symbolic, even if it has one item.
        specs = f'tf.TensorSpec({[None, *sizes["x"].dimensions()[1:]]}, x.dtype, "x")'
    return [
        *model_lines(JIT, "model", inline_jit_lines(lines) if sizes else lines, weights, inputs),
        f"converted = jax2tf.convert(model, with_gradient=False{arguments})",
        f"function = tf.function(converted, input_signature=[{specs}], autograph=False)",
        *CONVERT_FUNCTION,
    ]


def _batch(lines: Sequence[str], max_programs: int) -> BatchExport:
    """Return how the lines export the function `joint`."""
    export = (*function_of_models(JIT), TENSOR_SPECS, named_arrays(ARRAY), *lines)
    return BatchExport(partial(model_lines, JIT, "model"), export, max_programs)


class _Exporter(NamedTuple):
    """An exporter, its runtime, and another implementation that runs its models; the other fields as in RouteStages.

    batch: lines that export the function `joint`. max_programs: see RouteBatch. evaluates_symbolic: whether the other
    implementation runs models with symbolic extents.
    """

    runtime: str
    export: SourceExport
    batch: Sequence[str]
    run: ModelRunner
    evaluate: ModelRunner
    is_independent: bool
    recipes: RecipesOfSource
    max_programs: int
    evaluates_symbolic: bool = True


EXPORTERS: Mapping[str, _Exporter] = {
    "jax.export": _Exporter(
        "iree",
        _export,
        ("exported = export.export(joint)(*tensors)",),
        IREE,
        ModelRunner((), _evaluate),
        is_independent=True,
        recipes=iree_recipes,
        # 16 calls took 19 s on a busy machine, and a batch has the time limit of one case.
        max_programs=16,
        # Assertions of symbolic extents end the process of the interpreter: "LLVM ERROR: Unsupported op".
        evaluates_symbolic=False,
    ),
    # The reference kernels of LiteRT share code with the others.
    "jax2tf": _Exporter(
        "litert",
        _convert,
        (
            "function = tf.function(jax2tf.convert(joint, with_gradient=False), specs, autograph=False)",
            *CONVERT_FUNCTION,
        ),
        litert_runner("AUTO", ARRAY),
        litert_runner("BUILTIN_REF", ARRAY),
        is_independent=False,
        recipes=jax2tf_recipes,
        max_programs=RouteBatch.max_programs,
    ),
}
SURFACES = tuple(
    make_route(
        source,
        f"{name}{'.dynamic' if ones else ''}{ROUTE_ARROW}{exporter.runtime}",
        exporter.runtime,
        exporter.export,
        exporter.run,
        to_numpy="x",
        evaluate=exporter.evaluate if exporter.evaluates_symbolic or not ones else None,
        is_independent=exporter.is_independent and (exporter.evaluates_symbolic or not ones),
        # NumPy has no bfloat16, and the runtimes take NumPy arrays.
        without_dtypes={"bfloat16"},
        ones=ones,
        recipes=exporter.recipes,
        batch=_batch(exporter.batch, exporter.max_programs),
        exported=normalization.NOT_WRITTEN,
        bfloat16=None,
    )
    for source, ones in ((jax.LAX_SURFACE, ""), (jax.SYMBOLIC_LAX_SURFACE, "jnp.ones({shape}, {name}.dtype)"))
    for name, exporter in EXPORTERS.items()
)
