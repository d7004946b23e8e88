"""Routes from JAX: `jax.export` to IREE, and `jax2tf` with the TFLite converter to LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.adapters import jax
from conformance.adapters.api import INDENT, Surface
from conformance.adapters.jax.windows import JIT
from conformance.adapters.routes import tensorflow_lite
from conformance.adapters.routes.route import ModelRunner, SourceExport, make_route, model_lines
from conformance.adapters.routes.tensorflow_lite import run_litert
from reports.results.vocabulary import ROUTE_ARROW

PACKAGES = ("jax", "jaxlib", "iree.compiler", "iree.runtime", "tensorflow", "ai_edge_litert", "numpy")
THREADS = f"{tensorflow_lite.THREADS}{jax.THREADS}"
THREAD_SETTINGS = {**tensorflow_lite.THREAD_SETTINGS, **jax.THREAD_SETTINGS}
INSTRUCTION_VARIABLES = {**tensorflow_lite.INSTRUCTION_VARIABLES, **jax.INSTRUCTION_VARIABLES}
# JAX is imported first: its setup is that of the source.
SETUP = f"""{jax.SETUP}
import iree.compiler.version
import iree.runtime.version
import tensorflow as tf
from jax.experimental import jax2tf
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

{tensorflow_lite.LITERT_SETUP}
iree.compiler.__version__ = iree.compiler.version.VERSION
iree.runtime.__version__ = iree.runtime.version.VERSION
"""
RESET = jax.RESET
# The instructions of any processor of the architecture. By default, IREE computes float64 in float32.
COMPILER_FLAGS = '["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]'


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that assign `exported`, with the StableHLO module of the program."""
    return [
        *model_lines(JIT, "model", lines, weights, inputs),
        f"exported = export.export(model)({', '.join(inputs)})",
    ]


def _arrays(inputs: Sequence[str], text: str = "np.asarray({})") -> str:
    return ", ".join(text.format(name) for name in inputs)


def _run_iree(inputs: Sequence[str]) -> Sequence[str]:
    return (
        "binary = iree.compiler.compile_str(",
        f'{INDENT}exported.mlir_module(), target_backends=["llvm-cpu"], input_type="stablehlo",',
        f"{INDENT}extra_args={COMPILER_FLAGS},",
        ")",
        'module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")',
        f"x = np.asarray(module.main({_arrays(inputs)}))",
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


def _convert(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that assign `lite_model`."""
    specs = _arrays(inputs, 'tf.TensorSpec({0}.shape, {0}.dtype, "{0}")')
    return [
        *model_lines(JIT, "model", lines, weights, inputs),
        "converted = jax2tf.convert(model, with_gradient=False)",
        f"function = tf.function(converted, input_signature=[{specs}], autograph=False)",
        "module = tf.Module()",
        "module.function = function",
        "converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], module)",
        "lite_model = converter.convert()",
    ]


def _run_litert(resolver: str, inputs: Sequence[str]) -> Sequence[str]:
    return run_litert(resolver, inputs, array="np.asarray({})")


def _route(
    name: str,
    runtime: str,
    export: SourceExport,
    run: ModelRunner,
    evaluate: ModelRunner,
    *,
    is_independent: bool,
) -> Surface:
    return make_route(
        jax.LAX_SURFACE,
        f"{name}{ROUTE_ARROW}{runtime}",
        runtime,
        export,
        run,
        to_numpy="x",
        evaluate=evaluate,
        is_independent=is_independent,
        # NumPy has no bfloat16, and the runtimes take NumPy arrays.
        without_dtypes={"bfloat16"},
        bfloat16=None,
    )


SURFACES = (
    _route("jax.export", "iree", _export, _run_iree, _evaluate, is_independent=True),
    # The reference kernels of LiteRT share code with the others.
    _route(
        "jax2tf",
        "litert",
        _convert,
        partial(_run_litert, "AUTO"),
        partial(_run_litert, "BUILTIN_REF"),
        is_independent=False,
    ),
)
