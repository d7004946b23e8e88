"""Apache MXNet: channels first, like the suite; `mxnet.np` stands as `mnp` beside NumPy.

What it changes: asymmetric padding goes through explicit padding, which is an array of the value beside the padded
input, because `mnp.pad` of MXNet 1.9.1 pads with zeros whatever it is told; averages with holes are convolutions; norms
to an odd power are those of absolute values; layers with weights get the case's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from conformance.adapters.api import d2l
from conformance.adapters.api.source_text import tuple_of
from conformance.adapters.api.surface import Code, Surface, Unsupported, Verb
from conformance.adapters.mxnet import convolution as weights
from conformance.adapters.mxnet import ndarray as nd
from conformance.adapters.mxnet import padding, pooling, windows
from conformance.adapters.mxnet.calls import EVERYTHING, FLOATING, Api, absent, averages_only, unsummed
from conformance.cases.steps import Step

PACKAGES = ("mxnet", "numpy")
THREADS = """\
import os

os.environ["OMP_NUM_THREADS"] = "1"
"""
HOLDS = {"DNNL_MAX_CPU_ISA": "AVX2"}
SETUP = """\
import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet import np as mnp
from mxnet import npx
from mxnet.gluon import nn

npx.set_np()
"""
# Errors come late: one that nobody waited for would be raised in whatever runs next.
RESET = """\
npx.set_np()
npx.random.seed(0)
try:
    mx.nd.waitall()
except mx.MXNetError:
    pass
"""


def _lacks(what: str) -> Verb:
    return lambda _step: Unsupported(what)


# What no surface has, so that a dtype that it would not take either is refused for its own reason.
LACKS: Mapping[str, Verb] = {
    "min_pool": _lacks("MXNet has no minimum pooling"),
    "softmax_pool": _lacks("MXNet has no softmax pooling"),
    "max_pool_with_indices": _lacks("pooling returns no indices"),
    "max_unpool": _lacks("MXNet has no unpooling"),
    "adaptive_max_pool": _lacks("MXNet has no adaptive maximum pooling"),
    "adaptive_avg_pool": _lacks("adaptive average pooling is for planes in arrays of the older kind, mxnet.nd"),
    "fractional_max_pool": _lacks("MXNet has no fractional pooling, and windows that differ by channel need a loop"),
    "stochastic_pool": _lacks("MXNet has no stochastic pooling"),
    "stochastic_pool_probabilities": _lacks("MXNet has no stochastic pooling"),
}


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the padded layer that its tab shows."""
    if d2l.shows_padding(step):
        return pooling.gluon_pool(step)
    refusal = d2l.beyond_the_loops(step)
    if refusal:
        return refusal
    height, width = step.window
    return (
        f"y = mnp.zeros({tuple_of(step.output)}, dtype=x.dtype)",
        "for n, c, i, j in np.ndindex(y.shape):",
        f"    y[n, c, i, j] = x[n, c, i:i + {height}, j:j + {width}].{reduce}()",
        "x = y",
    )


SINGLE = frozenset({"float32", "float64"})
DTYPES = {
    "": FLOATING,
    **dict.fromkeys(("max_pool", "min_pool", "global_max_pool", "adaptive_max_pool", "pad"), EVERYTHING),
    **dict.fromkeys(("conv", "conv_transpose"), SINGLE),
}
REFUSES = {
    "": averages_only("pooling"),
    **dict.fromkeys(("max_pool", "min_pool", "global_max_pool", "adaptive_max_pool", "pad"), absent()),
    **dict.fromkeys(("conv", "conv_transpose"), unsummed()),
}
INPUTS = ("x", "kernel", "bias", "draws")

CALLS: Mapping[str, Callable[..., Code]] = {
    "max_pool": pooling.call_pool,
    "avg_pool": pooling.call_pool,
    "lp_pool": pooling.call_lp_pool,
    "global_max_pool": pooling.call_global_pool,
    "global_avg_pool": pooling.call_global_pool,
    "conv": weights.call_conv,
    "conv_transpose": weights.call_transpose,
}
COMPOSED: Mapping[str, Callable[..., Code]] = {
    "max_pool": windows.max_pool,
    "min_pool": windows.min_pool,
    "softmax_pool": windows.softmax_pool,
    "lp_pool": pooling.sized_lp_pool,
    "max_pool_with_indices": windows.indexed_max_pool,
    "max_unpool": windows.max_unpool,
    "adaptive_max_pool": windows.adaptive_max_pool,
    "adaptive_avg_pool": windows.adaptive_avg_pool,
    "stochastic_pool_probabilities": windows.probabilities,
    "stochastic_pool": windows.stochastic_pool,
}
MAXIMUM: Mapping[str, Verb] = {"global_max_pool": windows.channel_maximum}


def _surface(name: str, verbs: Mapping[str, Verb], api: Api = padding.NP, **more: object) -> Surface:
    return Surface(
        name,
        verbs,
        around={"pad": api.pad, "relu": lambda _step: f"{api.operators}.relu(x)"},
        enter=dict.fromkeys(INPUTS, f"{api.arrays}.array({{0}}, dtype={{0}}.dtype)"),
        leave="x.asnumpy()",
        ones=f"{api.arrays}.ones_like(x)",
        dtypes=DTYPES,
        refuses=REFUSES,
        **more,  # type: ignore[arg-type]
    )


def _older(verbs: Mapping[str, Callable[..., Code]]) -> Mapping[str, Verb]:
    """Return verbs of mxnet.npx in the words of mxnet.nd."""
    return {name: nd.filled_arrays_only(partial(verb, api=nd.ND)) for name, verb in verbs.items()}


SURFACES = (
    _surface(
        "mxnet.gluon",
        {
            **LACKS,
            "max_pool": pooling.gluon_pool,
            "avg_pool": pooling.gluon_pool,
            "global_max_pool": pooling.gluon_global_pool,
            "global_avg_pool": pooling.gluon_global_pool,
            "conv": weights.gluon_conv,
            "conv_transpose": weights.gluon_transpose,
            "lp_pool": _lacks("gluon has no Lp pooling"),
            "pad": _lacks("gluon has no padding of mnp arrays; its users call mnp.pad"),
            "relu": lambda _step: 'nn.Activation("relu")(x)',
        },
        composed={**COMPOSED, **MAXIMUM, "conv_transpose": partial(weights.gluon_transpose, sliced=True)},
        gradient=weights.layer_gradient,
    ),
    _surface(
        "mxnet.npx",
        {
            **LACKS,
            **CALLS,
            "pad": padding.pad,
            "relu": lambda _step: "npx.relu(x)",
        },
        composed={
            **COMPOSED,
            **MAXIMUM,
            "adaptive_avg_pool": windows.planar_avg_pool,
            "pad": padding.wrapped,
            "conv_transpose": partial(weights.call_transpose, sliced=True),
        },
        gradient=weights.gradient,
    ),
    _surface(
        "mxnet.nd",
        {
            **LACKS,
            **_older({**CALLS, "adaptive_avg_pool": windows.planes_avg_pool}),
            "pad": nd.filled_arrays_only(nd.pad),
            "relu": lambda _step: "mx.nd.relu(x)",
        },
        nd.ND,
        composed={
            **MAXIMUM,
            **_older({**COMPOSED, "conv_transpose": partial(weights.call_transpose, sliced=True)}),
            "pad": nd.gathered,
        },
        gradient=weights.gradient,
    ),
    Surface(
        "mxnet.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        enter={"x": "mnp.array({0}, dtype={0}.dtype)"},
        leave="x.asnumpy()",
        refuses={"": averages_only("the book's loop")},
        compositions=False,
        level="smoke",
    ),
)
