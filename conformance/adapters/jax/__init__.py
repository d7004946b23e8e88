"""JAX and Flax: `jax.lax` channels first, Flax channels last with kernels (*window, in/groups, out).

What it changes: averages of `jax.lax` are window sums divided by counts; the output-size rules `ceil` and `full` are
padding; 64-bit mode is on, or float64 would silently become float32. Gradients, and what takes several calls, are
compiled as one function: results are the same, and JAX compiles once in place of once a call. `jax.jit` compiles the
whole program of `jax.lax`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters.api import d2l
from conformance.adapters.api.source_text import INDENT, all_axes, call, number, pairs_of, quoted, tuple_of, unless
from conformance.adapters.api.stacked_windows import Stacking
from conformance.adapters.api.surface import Code, OnDevice, Surface, Unsupported, Verb, Words
from conformance.adapters.jax.convolution import biased_conv, composed_transpose, lax_conv, lax_transpose
from conformance.adapters.jax.flax import Linen, Nnx
from conformance.adapters.jax.pooling import Pooling, no_fractions
from conformance.adapters.jax.windows import JIT, Layout, inlined, jitted
from conformance.cases.arrays import DTYPES as ALL_DTYPES
from conformance.cases.steps import Step

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
HOLDS = {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
SETUP = """\
import jax
import numpy as np
from flax import linen as nn
from flax import nnx
from jax import lax
from jax import numpy as jnp

jax.config.update("jax_enable_x64", True)
"""
RESET = """\
jax.config.update("jax_enable_x64", True)
# Every compiled program takes a megabyte and a half.
ran = globals().get("ran", 0) + 1
if ran % 200 == 0:
    jax.clear_caches()
"""
PRECISION = 'jax.config.update("jax_default_matmul_precision", "{}")\n'
CUDA = OnDevice(
    'hardware = jax.devices("cuda")[0].device_kind\n',
    {"float32": PRECISION.format("highest"), "tf32": PRECISION.format("tensorfloat32")},
    setup='jax.config.update("jax_platforms", "cuda,cpu")\n',
    threads='os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"\n',
)
DEVICES = {"cuda": CUDA}


def _lax_pad(step: Step) -> Code:
    if step.parameters["mode"] != "constant":
        return Unsupported("lax.pad knows one value only")
    edges = [(before, after, 0) for before, after in all_axes(step.padding, channels_last=False)]
    return f"lax.pad(x, jnp.array({number(step.parameters['value'])}, x.dtype), {tuple(edges)})"


def _jnp_pad(step: Step, *, channels_last: bool) -> Code:
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("jnp.pad cannot crop")
    pairs, mode = pairs_of(all_axes(step.padding, channels_last=channels_last)), step.parameters["mode"]
    if mode != "constant":
        return call("jnp.pad", "x", pairs, mode=quoted(mode))
    return call("jnp.pad", "x", pairs, constant_values=unless(0, step.parameters["value"]))


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the zeros that its tab writes before pooling."""
    pads = d2l.written_zeros(step)
    if pads:
        padding = pairs_of(all_axes(pads, channels_last=True))
        stride = tuple_of(step.stride or ())
        return (f"x = jnp.pad(x, {padding})", f"x = nn.max_pool(x, {tuple_of(step.window)}, strides={stride})")
    refusal = d2l.beyond_the_loops(step)
    if refusal:
        return refusal
    (height, width), (n, c, rows, columns) = step.window, step.output
    return (
        f"y = jnp.zeros({(n, rows, columns, c)}, x.dtype)",
        f"for n, i, j, c in np.ndindex({(n, rows, columns, c)}):",
        f"    y = y.at[n, i, j, c].set(x[n, i:i + {height}, j:j + {width}, c].{reduce}())",
        "x = y",
    )


def _compiled(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Compile all lines as one function."""
    return jitted(*inlined(lines), names=names, called="forward")


def gradient(lines: Sequence[str], names: Sequence[str], wanted: str) -> Sequence[str]:
    """Pull the gradient back through the lines, compiled as one function."""
    inputs = ", ".join(names)
    return (
        JIT,
        f"def gradient(grad, {inputs}):",
        f"{INDENT}def forward({inputs}):",
        *(INDENT * 2 + line for line in inlined(lines)),
        f"{INDENT * 2}return x",
        f"{INDENT}_, pull = jax.vjp(forward, {inputs})",
        f"{INDENT}return pull(grad)[{list(names).index(wanted)}]",
        f"x = gradient(grad, {inputs})",
    )


def _softmax(stacking: Stacking, step: Step) -> Code:
    return jitted(*stacking.softmax_pool(step))


def _stacking(*, channels_last: bool) -> Stacking:
    pad = partial(_jnp_pad, channels_last=channels_last)
    return Stacking(pad, stack="jnp.stack", softmax="jax.nn.softmax({}, axis=0)", channels_last=channels_last)


def _composed(pooling: Pooling) -> Mapping[str, Verb]:
    """Return what both surfaces write for want of a call."""
    return {
        "avg_pool": pooling.average,
        "lp_pool": pooling.norm,
        "softmax_pool": partial(_softmax, _stacking(channels_last=pooling.layout.channels_last)),
        "max_pool_with_indices": pooling.with_indices,
        "max_unpool": pooling.unpool,
        "adaptive_max_pool": pooling.adaptive,
        "adaptive_avg_pool": pooling.adaptive,
        "stochastic_pool_probabilities": pooling.probabilities,
        "stochastic_pool": pooling.drawn,
    }


def _always(pooling: Pooling) -> Mapping[str, Verb]:
    """Return what is one reduction on both surfaces, and what neither can."""
    return {
        "global_max_pool": pooling.whole,
        "global_avg_pool": pooling.whole,
        "fractional_max_pool": no_fractions,
        "relu": lambda _step: "jax.nn.relu(x)",
    }


WHOLE = frozenset(name for name, dtype in ALL_DTYPES.items() if dtype.kind in "iu")
FLOATING = frozenset({"bfloat16", "float16", "float32", "float64"})
SELECTING = (
    "max_pool",
    "min_pool",
    "max_pool_with_indices",
    "max_unpool",
    "global_max_pool",
    "adaptive_max_pool",
    "pad",
)
DTYPES = {"": FLOATING | WHOLE} | dict.fromkeys(SELECTING, FLOATING | WHOLE | {"bool"})
WORDS = Words("{}.view(jnp.bfloat16)", "{}.astype(jnp.bfloat16)")
# jnp.asarray is compiled anew for every shape, device_put is not.
FIRST = dict.fromkeys(("x", "kernel", "bias", "draws"), "jax.device_put({})")
AROUND = "jax.device_put(np.moveaxis({}, 1, -1))"
LAST = {
    "x": AROUND,
    "draws": AROUND,
    "kernel": "jax.device_put(np.moveaxis({}, (0, 1), (-1, -2)))",
    "bias": "jax.device_put({})",
}
LEAVES = {"kernel": "np.moveaxis(np.asarray(x), (-1, -2), (0, 1))", "bias": "np.asarray(x)"}
LEAVE = "np.moveaxis(np.asarray(x), -1, 1)"
IN_FRONT, AT_THE_END = Pooling(Layout(channels_last=False)), Pooling(Layout(channels_last=True))


def _flax(api: Linen | Nnx) -> Surface:
    return Surface(
        f"flax.{api.name}",
        {
            "max_pool": api.pool,
            "max_pool_with_indices": api.values,
            "min_pool": api.least,
            "avg_pool": api.average,
            "conv": api.conv,
            "conv_transpose": api.transpose,
            "pad": api.no_padding,
            **_always(AT_THE_END),
        },
        composed={
            **_composed(AT_THE_END),
            "max_pool": AT_THE_END.either,
            "min_pool": AT_THE_END.either,
            "conv_transpose": api.groups,
            "pad": partial(_jnp_pad, channels_last=True),
        },
        around={"pad": partial(_jnp_pad, channels_last=True)},
        enter=LAST,
        leave=LEAVE,
        channels_last=True,
        dtypes=DTYPES,
        words=WORDS,
        gradient=gradient,
        leaves=LEAVES,
    )


LAX = Surface(
    "jax.lax",
    {
        "max_pool": IN_FRONT.extreme,
        "min_pool": IN_FRONT.extreme,
        "conv": lax_conv,
        "conv_transpose": lax_transpose,
        "pad": _lax_pad,
        **_always(IN_FRONT),
    },
    composed={
        **_composed(IN_FRONT),
        "max_pool": IN_FRONT.stacked_extreme,
        "min_pool": IN_FRONT.stacked_extreme,
        "conv": biased_conv,
        "conv_transpose": composed_transpose,
        "pad": partial(_jnp_pad, channels_last=False),
    },
    enter=FIRST,
    leave="np.asarray(x)",
    dtypes=DTYPES,
    words=WORDS,
    gradient=gradient,
)

SURFACES = (
    LAX,
    replace(LAX, name="jax.jit", wrap=_compiled),
    _flax(Linen("linen", "nn")),
    _flax(Nnx("nnx", "nnx")),
    Surface(
        "jax.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        enter=LAST,
        leave=LEAVE,
        channels_last=True,
        compositions=False,
        level="smoke",
    ),
)
