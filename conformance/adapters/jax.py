"""JAX and Flax: `jax.lax` channels first, `flax.linen` channels last with kernels (*window, in/groups, out).

What it changes: averages of `jax.lax` are window sums divided by counts; the output-size rules `ceil` and `full` are
padding; 64-bit mode is on, or float64 would silently become float32.
"""

from __future__ import annotations

from functools import partial

from conformance import book
from conformance.adapter import Code, Declaration, Surface, Unsupported
from conformance.code import all_axes, array_text, call, number, pairs_of, tuple_of, unless
from conformance.stacking import Stacking
from conformance.steps import Pairs, Step
from conformance.values import DTYPES as ALL_DTYPES

PACKAGES = ("jax", "jaxlib", "flax", "numpy")
THREADS = """\
import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
"""
SETUP = """\
import jax
import numpy as np
from flax import linen as nn
from jax import lax
from jax import numpy as jnp

jax.config.update("jax_enable_x64", True)
"""
RESET = """\
jax.config.update("jax_enable_x64", True)
"""


def _ends(step: Step) -> Pairs:
    """Return the padding with what the last window reaches past it: XLA pads as far as it is told."""
    if step.parameters["rounding"] == "floor":
        return step.padding
    return tuple((before, after + over) for (before, after), over in zip(step.padding, step.walk.overhang, strict=True))


def _padding(pairs: Pairs) -> str:
    return pairs_of(pairs) if any(any(pair) for pair in pairs) else '"VALID"'


def _reduce_window(step: Step, pairs: Pairs, initial: str, operation: str) -> str:
    """Return the window reduction over the spatial axes of channels-first data."""
    holes = tuple_of([1, 1, *step.dilation]) if step.dilated else None
    window = tuple_of([1, 1, *step.window])
    if step.stride is None:
        return call("lax.reduce_window", "x", initial, operation, window, window_dilation=holes)
    stride = tuple_of([1, 1, *step.stride])
    padding = _padding(tuple(all_axes(pairs, channels_last=False)))
    return call("lax.reduce_window", "x", initial, operation, window, stride, padding, window_dilation=holes)


def _extreme(step: Step) -> Code:
    """The initial value takes part in every window, so it is the one that never wins."""
    largest = step.verb == "max_pool"
    if ALL_DTYPES[step.dtype].kind in "fV":
        initial = "-jnp.inf" if largest else "jnp.inf"
    else:
        initial = f"jnp.{step.dtype}(jnp.iinfo(x.dtype).{'min' if largest else 'max'})"
    return _reduce_window(step, _ends(step), initial, "lax.max" if largest else "lax.min")


def _average(step: Step) -> Code:
    """Sum, then divide by the cells that count: a number, or one for each output where the border differs."""
    total = _reduce_window(step, _ends(step), "0.0", "lax.add")
    divisor, counts = step.parameters["divisor"], step.walk.counts(step.parameters["count_include_pad"])
    if divisor is not None or (counts == counts.flat[0]).all():
        return f"{total} / {number(divisor if divisor is not None else counts.flat[0])}"
    scale = array_text(counts[None, None].astype(ALL_DTYPES[step.dtype]))
    return (f"cells = {scale}", f"x = {total} / cells")


def _lax_conv(step: Step) -> Code:
    if step.bias:
        return Unsupported("lax convolutions have no bias")
    holes = tuple_of(step.dilation) if step.dilated else None
    groups = unless(1, step.parameters["groups"])
    arguments = (tuple_of(step.stride or ()), _padding(step.padding))
    return call("lax.conv_general_dilated", "x", "kernel", *arguments, rhs_dilation=holes, feature_group_count=groups)


def _biased_conv(step: Step) -> Code:
    call_text = _lax_conv(Step(step.verb, step.shape, step.dtype, step.parameters, step.kernel))
    return f"{call_text} + bias.reshape(1, -1{', 1' * step.rank})"


def _lax_pad(step: Step) -> Code:
    edges = [(before, after, 0) for before, after in all_axes(step.padding, channels_last=False)]
    return f"lax.pad(x, jnp.array({number(step.parameters['value'])}, x.dtype), {tuple(edges)})"


def _linen_pool(step: Step, **keywords: str | None) -> Code:
    if step.dilated:
        return Unsupported("flax pooling has no dilation")
    stride = tuple_of(step.stride) if step.stride is not None else None
    padding = unless('"VALID"', _padding(_ends(step)), _padding(_ends(step)))
    return call(f"nn.{step.verb}", "x", tuple_of(step.window), strides=stride, padding=padding, **keywords)


def _linen_average(step: Step) -> Code:
    parameters = step.parameters
    include = parameters["count_include_pad"]
    if parameters["divisor"] is not None:
        return Unsupported("flax average pooling has no divisor")
    if include and parameters["rounding"] != "floor" and any(step.walk.overhang):
        return Unsupported("cells past the padded input would count")
    plain = include or not any(any(pair) for pair in _ends(step))
    return _linen_pool(step, count_include_pad=None if plain else "False")


def _linen_conv(step: Step) -> Code:
    layer = call(
        "nn.Conv",
        str(step.kernel[0]),
        tuple_of(step.window),
        strides=tuple_of(step.stride or ()),
        padding=_padding(step.padding),
        kernel_dilation=tuple_of(step.dilation) if step.dilated else None,
        feature_group_count=unless(1, step.parameters["groups"]),
        use_bias=None if step.bias else "False",
    )
    weights = '{"kernel": kernel, "bias": bias}' if step.bias else '{"kernel": kernel}'
    return f'{layer}.apply({{"params": {weights}}}, x)'


def _no_padding(_step: Step) -> Code:
    return Unsupported("flax.linen has no padding; its users call jnp.pad")


def _jnp_pad(step: Step, *, channels_last: bool) -> Code:
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("jnp.pad cannot crop")
    pairs = pairs_of(all_axes(step.padding, channels_last=channels_last))
    return call("jnp.pad", "x", pairs, constant_values=unless(0, step.parameters["value"]))


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the zeros that its tab writes before pooling."""
    pads = book.written_zeros(step)
    if pads:
        padding = pairs_of(all_axes(pads, channels_last=True))
        stride = tuple_of(step.stride or ())
        return (f"x = jnp.pad(x, {padding})", f"x = nn.max_pool(x, {tuple_of(step.window)}, strides={stride})")
    refusal = book.beyond_the_loops(step)
    if refusal:
        return refusal
    (height, width), (n, c, rows, columns) = step.window, step.output
    return (
        f"y = jnp.zeros({(n, rows, columns, c)}, x.dtype)",
        f"for n, i, j, c in np.ndindex({(n, rows, columns, c)}):",
        f"    y = y.at[n, i, j, c].set(x[n, i:i + {height}, j:j + {width}, c].{reduce}())",
        "x = y",
    )


def _stacking(*, channels_last: bool) -> Stacking:
    pad = partial(_jnp_pad, channels_last=channels_last)
    return Stacking(pad, stack="jnp.stack", softmax="jax.nn.softmax({}, axis=0)", channels_last=channels_last)


WHOLE = frozenset(name for name, dtype in ALL_DTYPES.items() if dtype.kind in "iu")
FLOATING = frozenset({"float16", "float32", "float64"})
DTYPES = {"max_pool": FLOATING | WHOLE, "min_pool": FLOATING | WHOLE, "pad": FLOATING | WHOLE}
FIRST = dict.fromkeys(("x", "kernel", "bias"), "jnp.asarray({})")
LAST = {
    "x": "jnp.asarray(np.moveaxis({}, 1, -1))",
    "kernel": "jnp.asarray(np.moveaxis({}, (0, 1), (-1, -2)))",
    "bias": "jnp.asarray({})",
}
DECLARES = {
    "max_pool/padding-equal-to-window": Declaration("accepted"),
    "max_pool/window-larger-than-input": Declaration("empty"),
    "max_pool/window-larger-than-input-stride-1": Declaration("empty"),
    "max_pool/nan-in-window": Declaration("propagates"),
    "max_pool/window-of-minus-infinity": Declaration("minus-infinity"),
}
LAX_STRIDE = (
    "https://docs.jax.dev/en/latest/_autosummary/jax.lax.reduce_window.html: "
    '"Default (None) indicates a unit stride in each window dimension."'
)
LINEN_STRIDE = (
    "https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/layers.html: "
    '"a sequence of n integers, representing the inter-window strides (default: (1, ..., 1))."'
)
STACKED, STACKED_LAST = _stacking(channels_last=False), _stacking(channels_last=True)
RELU = {"relu": lambda _step: "jax.nn.relu(x)"}

SURFACES = (
    Surface(
        "jax.lax",
        {"max_pool": _extreme, "min_pool": _extreme, "conv": _lax_conv, "pad": _lax_pad, **RELU},
        composed={"avg_pool": _average, "conv": _biased_conv, "softmax_pool": STACKED.softmax_pool},
        enter=FIRST,
        leave="np.asarray(x)",
        dtypes=DTYPES,
        declares={**DECLARES, "max_pool/stride-when-none-is-given": Declaration("one", LAX_STRIDE)},
    ),
    Surface(
        "flax.linen",
        {"max_pool": _linen_pool, "avg_pool": _linen_average, "conv": _linen_conv, "pad": _no_padding, **RELU},
        composed={"max_pool": STACKED_LAST.max_pool, "softmax_pool": STACKED_LAST.softmax_pool},
        around={"pad": partial(_jnp_pad, channels_last=True)},
        enter=LAST,
        leave="np.asarray(jnp.moveaxis(x, -1, 1))",
        channels_last=True,
        dtypes=DTYPES,
        declares={**DECLARES, "max_pool/stride-when-none-is-given": Declaration("one", LINEN_STRIDE)},
    ),
    Surface(
        "jax.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        enter=LAST,
        leave="np.asarray(jnp.moveaxis(x, -1, 1))",
        channels_last=True,
        compositions=False,
        level="smoke",
    ),
)
