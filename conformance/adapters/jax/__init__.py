"""JAX adapter: `jax.lax` with channels first, and Flax with channels last and kernels (*window, in/groups, out).

- Averages of `jax.lax` are window sums divided by counts.
- The output-size rules `ceil` and `full` become padding.
- A case with float64, int64 or uint64 in its inputs or its result runs in 64-bit mode. Without this mode, JAX silently
  computes in 32 bits. All other cases run in JAX's default mode, in another process.
- Gradients and compositions of several calls are compiled as one function. The results are the same, and JAX compiles
  once instead of once for each call.
- The surface `jax.jit` compiles the whole program of `jax.lax`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    FLOATING,
    INDENT,
    INTEGERS,
    SELECTION_OPERATORS,
    Bfloat16Conversion,
    Code,
    DeviceSupport,
    Level,
    Lowering,
    Step,
    Surface,
    Unsupported,
    channels_last_fields,
    d2l,
    derivative_surface,
    limit_axes,
    mapped_surface,
    number,
    pairs_for_all_axes,
    pairs_of,
    tuple_of,
    unsupported_lowering,
)
from conformance.adapters.api.blocks.recipes import BlockRecipe
from conformance.adapters.api.columns.recipes import UnfoldRecipe
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.api.normalization.recipes import NormalizationRecipe
from conformance.adapters.jax import columns, grid_sampling, resizing, words
from conformance.adapters.jax.convolution import biased_conv, composed_transpose, lax_conv, lax_transpose
from conformance.adapters.jax.flax import Linen, Nnx
from conformance.adapters.jax.pooling import LayoutPooling
from conformance.adapters.jax.windows import JIT, Layout, exported_surface, inline_jit_lines, jit_lines, jitted
from conformance.cases.case import Case
from conformance.cases.operators import PadMode

PACKAGES = ("jax", "jaxlib", "flax", "numpy")
THREADS = """\
import os

one = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["XLA_FLAGS"] = f"{one} {os.environ.get('XLA_FLAGS', '')}"
os.environ["JAX_PLATFORMS"] = "cpu"
# Compiled programs are kept for the next run: in $JAX_COMPILATION_CACHE_DIR, or in the user's own cache.
folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nn-conformance", "jax")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", folder)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
"""
THREAD_SETTINGS = {
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1": (
        "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={}"
    )
}
INSTRUCTION_VARIABLES = {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
SETUP = """\
import jax
import numpy as np
from flax import linen as nn
from flax import nnx
from jax import export
from jax import lax
from jax import numpy as jnp
"""
X64_MODE = 'jax.config.update("jax_enable_x64", True)\n'
X64_DTYPES = frozenset({"float64", "int64", "uint64"})
RESET = """\
jax.config.update("jax_enable_x64", False)
# Every compiled program takes a megabyte and a half.
ran = globals().get("ran", 0) + 1
if ran % 200 == 0:
    jax.clear_caches()
"""
MATMUL_PRECISION_SETUP = 'jax.config.update("jax_default_matmul_precision", "{}")\n'
# By default, JAX computes products of float32 in TF32 on a GPU that has it; "highest" disables this.
CUDA_SUPPORT = DeviceSupport(
    'hardware = jax.devices("cuda")[0].device_kind\n',
    {"float32": MATMUL_PRECISION_SETUP.format("highest"), "tf32": MATMUL_PRECISION_SETUP.format("tensorfloat32")},
    setup='jax.config.update("jax_platforms", "cuda,cpu")\n',
    threads='os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"\n',
)
DEVICES = {"cuda": CUDA_SUPPORT}


def x64_mode(case: Case) -> str:
    """Return the statement that enables 64-bit mode if the case has an array of 64-bit numbers, else ""."""
    return X64_MODE if case.array_dtypes & X64_DTYPES else ""


def _double_vjp_lines(function: str) -> Sequence[str]:
    """Return lines that differentiate the gradient of a function of x with respect to the incoming gradient."""
    return (
        f"y, pull = jax.vjp({function}, x)",
        "_, second = jax.vjp(lambda grad: pull(grad)[0], jnp.zeros_like(y))",
        "(x,) = second(x)",
    )


def _lax_pad(step: Step) -> Code:
    if step.parameters["mode"] != PadMode.CONSTANT:
        return Unsupported("lax.pad has the constant mode only")
    # The third number is the padding between cells.
    edges = [(before, after, 0) for before, after in pairs_for_all_axes(step.padding, channels_last=False)]
    return f"lax.pad(x, jnp.array({number(step.parameters['value'])}, x.dtype), {tuple(edges)})"


def _d2l_pool(reduce: str, step: Step) -> Code:
    """Return the loop over output positions as printed in the book, or explicit zeros and a pooling call."""
    pads = d2l.channels_last_zeros(step)
    if pads:
        padding = pairs_of(pairs_for_all_axes(pads, channels_last=True))
        stride = tuple_of(step.stride or ())
        return (f"x = jnp.pad(x, {padding})", f"x = nn.max_pool(x, {tuple_of(step.window)}, strides={stride})")
    assign = f"y = y.at[n, i, j, c].set({{cells}}.{reduce}())"
    return d2l.channels_last_loop(step, "jnp.zeros({shape}, x.dtype)", assign)


def _compile_with_jit(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return all lines as one compiled function, without compiled functions inside it."""
    return jit_lines(*inline_jit_lines(lines), names=names, called="forward")


def jit_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return lines that compute the gradient of one input with `jax.vjp`, compiled as one function."""
    inputs = ", ".join(names)
    # Compiled functions inside are inlined: each of them would be compiled once more, for its own shapes.
    return (
        JIT,
        f"def gradient(grad, {inputs}):",
        f"{INDENT}def forward({inputs}):",
        *(INDENT * 2 + line for line in inline_jit_lines(lines)),
        f"{INDENT * 2}return x",
        f"{INDENT}_, pull = jax.vjp(forward, {inputs})",
        f"{INDENT}return pull(grad)[{list(names).index(input_name)}]",
        f"x = gradient(grad, {inputs})",
    )


def _exported_pad(step: Step) -> Code:
    """Return the padding, unless it repeats x: for symbolic extents the number of repetitions is no number."""
    if step.parameters["mode"] == PadMode.WRAP:
        return Unsupported('for symbolic extents, jnp.pad cannot wrap: "Symbolic dimension comparison is inconclusive"')
    return CHANNELS_FIRST_POOLING.layout.jnp_pad(step)


def _fallbacks(pooling: LayoutPooling) -> Mapping[str, Lowering]:
    """Return the compositions that `jax.lax` and Flax share, for operators without a call."""
    return {
        "avg_pool": pooling.average_pool,
        "lp_pool": pooling.lp_pool,
        "softmax_pool": jitted(pooling.composed.softmax_pool),
        "max_pool_with_indices": pooling.max_pool_with_indices,
        "max_unpool": pooling.max_unpool,
        "adaptive_max_pool": pooling.adaptive_pool,
        "adaptive_avg_pool": pooling.adaptive_pool,
        "stochastic_pool_probabilities": jitted(pooling.composed.stochastic_pool_probabilities),
        "stochastic_pool": jitted(pooling.composed.stochastic_pool, "draws"),
        **dict.fromkeys(BLOCK_OPERATORS, jitted(BlockRecipe(channels_last=pooling.layout.channels_last))),
        "unfold": jitted(UnfoldRecipe(pooling.composed, BlockRecipe(channels_last=pooling.layout.channels_last))),
        "dilation2d": jitted(DilationRecipe(pooling.composed), "kernel"),
        "lrn": jitted(
            NormalizationRecipe(
                "jnp.pad({x}, {pads})",
                pooling.layout.channels_last,
                "x.astype(jnp.float32)",
                "x.astype(jnp.{dtype})",
            )
        ),
    }


NO_FRACTIONAL_POOLING = unsupported_lowering(
    "JAX has no fractional pooling, whose window positions depend on the samples"
)


def _shared_lowerings(pooling: LayoutPooling) -> Mapping[str, Lowering]:
    """Return the lowerings that `jax.lax` and Flax share."""
    return {
        "global_max_pool": pooling.global_pool,
        "global_avg_pool": pooling.global_pool,
        "fractional_max_pool": NO_FRACTIONAL_POOLING,
        "relu": lambda _step: "jax.nn.relu(x)",
    }


# XLA computes every dtype, so bool is missing only where sums of it have no meaning.
COPYING_OPERATORS = (*SELECTION_OPERATORS, *BLOCK_OPERATORS, "unfold", "pad", "resize")
DTYPES = {"": FLOATING | INTEGERS} | dict.fromkeys(COPYING_OPERATORS, ALL_DTYPES)
BFLOAT16_CONVERSION = Bfloat16Conversion("{}.view(jnp.bfloat16)", "{}.astype(jnp.bfloat16)")
# In JAX 0.10, jnp.asarray compiles once for every shape and dtype; device_put does not compile.
TO_FRAMEWORK, TO_NUMPY = "jax.device_put({})", "np.asarray(x)"
CHANNELS_LAST_FIELDS = channels_last_fields(TO_FRAMEWORK, TO_NUMPY)
CHANNELS_FIRST_POOLING, CHANNELS_LAST_POOLING = (
    LayoutPooling(Layout(channels_last=False)),
    LayoutPooling(Layout(channels_last=True)),
)


def _flax_surface(api: Linen | Nnx) -> Surface:
    named = {"max_pool": api.pool, "min_pool": api.min_pool, "conv": api.conv}
    return Surface(
        f"flax.{api.name}",
        {
            "max_pool": api.pool,
            "max_pool_with_indices": api.pool_without_indices,
            "min_pool": api.min_pool,
            "avg_pool": api.average_pool,
            "conv": api.conv,
            # lax.conv_transpose has no default layout for more axes, and the layers pass none.
            **limit_axes({"conv_transpose": api.conv_transpose}),
            "pad": api.no_padding,
            "resize": resizing.CHANNELS_LAST,
            **_shared_lowerings(CHANNELS_LAST_POOLING),
        },
        fallbacks={
            **_fallbacks(CHANNELS_LAST_POOLING),
            "max_pool": CHANNELS_LAST_POOLING.extreme_pool_or_stacked,
            "min_pool": CHANNELS_LAST_POOLING.extreme_pool_or_stacked,
            **limit_axes({"conv_transpose": api.grouped_transpose}),
            "pad": CHANNELS_LAST_POOLING.layout.jnp_pad,
        },
        words={**words.flax_words(named), "resize": resizing.CHANNELS_LAST_WORD},
        chain_words=words.flax_chain_words(api.conv),
        building_blocks={"pad": CHANNELS_LAST_POOLING.layout.jnp_pad},
        dtypes=DTYPES,
        bfloat16=BFLOAT16_CONVERSION,
        select_mode=x64_mode,
        write_gradient=jit_gradient,
        **CHANNELS_LAST_FIELDS,
    )


LAX_SURFACE = Surface(
    "jax.lax",
    {
        "max_pool": CHANNELS_FIRST_POOLING.extreme_pool,
        "min_pool": CHANNELS_FIRST_POOLING.extreme_pool,
        "conv": lax_conv,
        "conv_transpose": lax_transpose,
        "pad": _lax_pad,
        "unfold": columns.unfold,
        "resize": resizing.CHANNELS_FIRST,
        **_shared_lowerings(CHANNELS_FIRST_POOLING),
    },
    fallbacks={
        **_fallbacks(CHANNELS_FIRST_POOLING),
        "max_pool": CHANNELS_FIRST_POOLING.stacked_extreme_pool,
        "min_pool": CHANNELS_FIRST_POOLING.stacked_extreme_pool,
        "conv": biased_conv,
        "conv_transpose": composed_transpose,
        "pad": CHANNELS_FIRST_POOLING.layout.jnp_pad,
    },
    words={
        **words.lax_words(
            {
                "max_pool": CHANNELS_FIRST_POOLING.extreme_pool,
                "min_pool": CHANNELS_FIRST_POOLING.extreme_pool,
                "conv": lax_conv,
            }
        ),
        "resize": resizing.WORD,
    },
    to_framework=dict.fromkeys(("x", "kernel", "bias", "draws", "grid"), TO_FRAMEWORK),
    numpy_inputs={},
    to_numpy=TO_NUMPY,
    dtypes=DTYPES,
    bfloat16=BFLOAT16_CONVERSION,
    select_mode=x64_mode,
    write_gradient=jit_gradient,
)

# Calls that can be exported for symbolic extents.
SYMBOLIC_LAX_SURFACE = replace(
    LAX_SURFACE,
    # The draws have the shape of the output, which is no symbol.
    fallbacks={
        **{name: one for name, one in LAX_SURFACE.fallbacks.items() if name != "stochastic_pool"},
        "pad": _exported_pad,
    },
)
# Routes and transformations are made from LAX_SURFACE. They do not sample.
SAMPLING_SURFACE = replace(
    LAX_SURFACE,
    fallbacks={**LAX_SURFACE.fallbacks, "grid_sample": jitted(grid_sampling.grid_sample, "grid")},
)
SURFACES = (
    SAMPLING_SURFACE,
    # The same lowerings: whether a whole program is compiled must not change an answer.
    replace(SAMPLING_SURFACE, name="jax.jit", wrap_program=_compile_with_jit),
    replace(
        SYMBOLIC_LAX_SURFACE,
        name="jax.export",
        with_sizes=exported_surface,
        write_gradient=None,
        max_level=Level.SMOKE,
        slow_tag="dynamic",
    ),
    _flax_surface(Linen("linen", "nn")),
    _flax_surface(Nnx("nnx", "nnx")),
    d2l.book_surface("jax.book", _d2l_pool, select_mode=x64_mode, **CHANNELS_LAST_FIELDS),
    derivative_surface(LAX_SURFACE, "jax.jvp", lambda function: (f"_, x = jax.jvp({function}, (x,), (x,))",)),
    derivative_surface(LAX_SURFACE, "jax.double_vjp", _double_vjp_lines),
    mapped_surface(LAX_SURFACE, "jax.vmap", "jax.vmap"),
)
