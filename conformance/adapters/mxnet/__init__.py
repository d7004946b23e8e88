"""Adapter for Apache MXNet, which uses channels first like the suite. `mxnet.np` is imported as `mnp`.

Differences from a direct translation:

- Asymmetric padding is explicit. It selects between the padded input and an array filled with the value, because
  `mnp.pad` of MXNet 1.9.1 always pads with zeros.
- Dilated average pooling is a convolution.
- Lp pooling with an odd power takes absolute values first.
- Layers with weights are given the weights of the case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from conformance.adapters.api import (
    BLOCK_OPERATORS,
    COLUMN_OPERATORS,
    FLOATS,
    Code,
    Lowering,
    Step,
    Surface,
    Unsupported,
    crop,
    d2l,
    limit_axes,
    tuple_of,
    unsupported_lowering,
    unsupported_operators,
)
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.mxnet import (
    affine_grids,
    blocks,
    columns,
    convolution as weights,
    deform_conv,
    grid_sampling,
    ndarray as nd,
    normalization,
    padding,
    pooling,
    resizing,
    windows,
    words as named,
)
from conformance.adapters.mxnet.calls import (
    ARRAY_DTYPES,
    FLOATING,
    ArrayApi,
    floating_only,
    missing_dtypes,
    unsupported_convolution_dtypes,
)

PACKAGES = ("mxnet", "numpy")
THREADS = """\
import os

os.environ["OMP_NUM_THREADS"] = "1"
"""
THREAD_SETTINGS = {'os.environ["OMP_NUM_THREADS"] = "1"': 'os.environ["OMP_NUM_THREADS"] = "{}"'}
# MXNet 1.9.1 contains oneDNN under its former name, DNNL.
INSTRUCTION_VARIABLES = {"DNNL_MAX_CPU_ISA": "AVX2"}
SETUP = """\
import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet import np as mnp
from mxnet import npx
from mxnet.gluon import nn

npx.set_np()
"""
# MXNet runs operators asynchronously. Without waiting, an error would be raised in a later case.
RESET = """\
npx.set_np()
npx.random.seed(0)
try:
    mx.nd.waitall()
except mx.MXNetError:
    pass
"""


# Operators that no surface has. Listing them gives this reason even for dtypes that are unsupported anyway.
UNSUPPORTED_OPERATORS = unsupported_operators(
    {
        "min_pool": "MXNet has no minimum pooling",
        "softmax_pool": "MXNet has no softmax pooling",
        "max_pool_with_indices": "pooling returns no indices",
        "max_unpool": "MXNet has no unpooling",
        "adaptive_max_pool": "MXNet has no adaptive maximum pooling",
        "adaptive_avg_pool": "adaptive average pooling exists only for 2-D data in mxnet.nd arrays",
        "fractional_max_pool": "MXNet has no fractional pooling, and windows that differ by channel need a loop",
        "stochastic_pool": "MXNet has no stochastic pooling",
        "stochastic_pool_probabilities": "MXNet has no stochastic pooling",
        "resize": "BilinearResize2D and UpSampling take mxnet.nd arrays only",
        "grid_sample": "BilinearSampler takes mxnet.nd arrays only",
        "affine_grid": "GridGenerator takes mxnet.nd arrays only",
        "deform_conv": "deformable convolution takes mxnet.nd arrays only",
    }
)


def _d2l_pool(reduce: str, step: Step) -> Code:
    """Return the loop of the book "Dive into Deep Learning", or the padded layer that its MXNet tab shows."""
    if d2l.shows_padded_pooling(step):
        return pooling.gluon_pool(step)
    return d2l.unsupported_by_loops(step) or (
        f"y = mnp.zeros({tuple_of(step.output)}, dtype=x.dtype)",
        "for n, c, i, j in np.ndindex(y.shape):",
        f"    y[n, c, i, j] = x[n, c, i:i + {step.window[0]}, j:j + {step.window[1]}].{reduce}()",
        "x = y",
    )


COPYING_OPERATORS = ("max_pool", "min_pool", "global_max_pool", "adaptive_max_pool", "pad")
NO_BOOL_TRANSPOSE = Unsupported('transposing takes no bool: "Unknown type enum 7"')
DTYPES = {
    "": FLOATING,
    **dict.fromkeys(COPYING_OPERATORS, ARRAY_DTYPES),
    **dict.fromkeys((*BLOCK_OPERATORS, "dilation2d"), ARRAY_DTYPES - {"bool"}),
    **dict.fromkeys(("conv", "conv_transpose", "deform_conv"), FLOATS),
}
UNSUPPORTED_DTYPES = {
    "": floating_only("pooling"),
    **dict.fromkeys(COPYING_OPERATORS, missing_dtypes()),
    "resize": floating_only("resizing"),
    "grid_sample": floating_only("BilinearSampler"),
    "affine_grid": floating_only("GridGenerator"),
    **dict.fromkeys(COLUMN_OPERATORS, floating_only("im2col")),
    "lrn": floating_only("LRN"),
    "dilation2d": missing_dtypes(),
    **{one: {**missing_dtypes(), "bool": NO_BOOL_TRANSPOSE} for one in BLOCK_OPERATORS},
    **dict.fromkeys(("conv", "conv_transpose", "deform_conv"), unsupported_convolution_dtypes()),
}
INPUT_NAMES = ("x", "kernel", "bias", "draws", "grid", "offset", "mask")

NPX_LOWERINGS: Mapping[str, Callable[..., Code]] = {
    "max_pool": pooling.call_pool,
    "avg_pool": pooling.call_pool,
    "lp_pool": pooling.call_lp_pool,
    "global_max_pool": pooling.call_global_pool,
    "global_avg_pool": pooling.call_global_pool,
    "conv": weights.call_conv,
    "conv_transpose": weights.call_transpose,
}
FALLBACKS: Mapping[str, Lowering] = {
    **windows.fallbacks(padding.NP_API),
    **dict.fromkeys(BLOCK_OPERATORS, blocks.recipe),
    "unfold": partial(columns.recipe, padding.NP_API),
    "resize": partial(resizing.resize, api=padding.NP_API),
    "grid_sample": partial(grid_sampling.grid_sample, api=padding.NP_API),
    "affine_grid": partial(affine_grids.affine_grid, api=padding.NP_API),
    "deform_conv": partial(deform_conv.deform_conv, api=padding.NP_API, ones=True),
    "lp_pool": pooling.absolute_lp_pool,
    "dilation2d": DilationRecipe(windows.compositions(padding.NP_API)),
}
GLUON_DEFORM_CONV = unsupported_lowering("the layers of gluon.contrib compute their offsets with a convolution")
# Written with a method of the array, which is the same for mxnet.np and mxnet.nd and works for empty arrays.
GLOBAL_MAXIMUM_FALLBACKS: Mapping[str, Lowering] = {"global_max_pool": windows.channel_maximum}


def _make_surface(
    name: str, lowerings: Mapping[str, Lowering], api: ArrayApi = padding.NP_API, **options: object
) -> Surface:
    return Surface(
        name,
        lowerings,
        building_blocks={
            "pad": api.pad,
            "relu": lambda _step: f"{api.operators}.relu(x)",
            # Slices support as many axes as pooling.
            **limit_axes({"crop": partial(crop, channels_last=False)}),
        },
        # Without the dtype, both modules create float32 arrays from any NumPy array.
        to_framework=dict.fromkeys(INPUT_NAMES, f"{api.arrays}.array({{0}}, dtype={{0}}.dtype)"),
        to_numpy="x.asnumpy()",
        ones_expression=f"{api.arrays}.ones_like(x)",
        dtypes=DTYPES,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        **options,  # type: ignore[arg-type]
    )


def _nd_lowerings(lowerings: Mapping[str, Callable[..., Code]]) -> Mapping[str, Lowering]:
    """Return lowerings of mxnet.npx that use the function names of mxnet.nd."""
    return {name: nd.nonempty_arrays_only(partial(lowering, api=nd.ND_API)) for name, lowering in lowerings.items()}


def _words(api: ArrayApi) -> Mapping[str, Lowering]:
    """Return the calls that restate defaults."""
    pools = dict.fromkeys(("global_max_pool", "global_avg_pool"), partial(named.call_global_pool, api=api))
    return {"avg_pool": partial(named.call_avg_pool, api=api), **pools}


SURFACES = (
    _make_surface(
        "mxnet.gluon",
        {
            **UNSUPPORTED_OPERATORS,
            "max_pool": pooling.gluon_pool,
            "avg_pool": pooling.gluon_pool,
            "global_max_pool": pooling.gluon_global_pool,
            "global_avg_pool": pooling.gluon_global_pool,
            "conv": weights.gluon_conv,
            "conv_transpose": weights.gluon_transpose,
            "lp_pool": unsupported_lowering("gluon has no Lp pooling"),
            "deform_conv": GLUON_DEFORM_CONV,
            "pad": unsupported_lowering("gluon has no padding of mnp arrays; its users call mnp.pad"),
            "relu": lambda _step: 'nn.Activation("relu")(x)',
        },
        fallbacks={
            **FALLBACKS,
            **GLOBAL_MAXIMUM_FALLBACKS,
            "conv_transpose": partial(weights.gluon_transpose, sliced=True),
            "deform_conv": GLUON_DEFORM_CONV,
        },
        write_gradient=weights.layer_autograd_gradient,
    ),
    _make_surface(
        "mxnet.npx",
        {
            **UNSUPPORTED_OPERATORS,
            **NPX_LOWERINGS,
            "pad": padding.pad,
            "relu": lambda _step: "npx.relu(x)",
        },
        words=_words(padding.NP_API),
        fallbacks={
            **FALLBACKS,
            **GLOBAL_MAXIMUM_FALLBACKS,
            # mxnet.nd has the operator itself, mxnet.npx only after a conversion of the array.
            "adaptive_avg_pool": windows.exact_adaptive_avg_pool_2d,
            "pad": padding.wrapped_pad,
            "conv_transpose": partial(weights.call_transpose, sliced=True),
        },
        write_gradient=weights.autograd_gradient,
    ),
    _make_surface(
        "mxnet.nd",
        {
            **UNSUPPORTED_OPERATORS,
            **_nd_lowerings(
                {
                    **NPX_LOWERINGS,
                    "adaptive_avg_pool": windows.adaptive_avg_pool_2d,
                    "resize": resizing.resize,
                    "grid_sample": grid_sampling.grid_sample,
                    "affine_grid": affine_grids.affine_grid,
                    "deform_conv": deform_conv.deform_conv,
                }
            ),
            "pad": nd.nonempty_arrays_only(nd.native_pad),
            **dict.fromkeys(BLOCK_OPERATORS, nd.nonempty_arrays_only(blocks.nd_blocks)),
            **dict.fromkeys(COLUMN_OPERATORS, nd.nonempty_arrays_only(columns.nd_columns)),
            "lrn": nd.nonempty_arrays_only(normalization.nd_lrn),
            "relu": lambda _step: "mx.nd.relu(x)",
        },
        nd.ND_API,
        words=_words(nd.ND_API),
        fallbacks={
            **GLOBAL_MAXIMUM_FALLBACKS,
            **{name: nd.nonempty_arrays_only(code) for name, code in windows.fallbacks(nd.ND_API).items()},
            **_nd_lowerings(
                {
                    "lp_pool": pooling.absolute_lp_pool,
                    "deform_conv": partial(deform_conv.deform_conv, ones=True),
                    "conv_transpose": partial(weights.call_transpose, sliced=True),
                }
            ),
            # The gather supports all dtypes; mx.nd.pad supports floating-point dtypes only.
            "pad": nd.gathered_pad,
            **dict.fromkeys(BLOCK_OPERATORS, nd.nonempty_arrays_only(blocks.recipe)),
            "unfold": nd.nonempty_arrays_only(partial(columns.recipe, nd.ND_API)),
            "lrn": nd.nonempty_arrays_only(normalization.fallback),
            "dilation2d": nd.nonempty_arrays_only(DilationRecipe(windows.compositions(nd.ND_API))),
        },
        write_gradient=weights.autograd_gradient,
    ),
    d2l.book_surface(
        "mxnet.book",
        _d2l_pool,
        to_framework={"x": "mnp.array({0}, dtype={0}.dtype)"},
        to_numpy="x.asnumpy()",
        unsupported_dtypes={"": floating_only("the book's loop")},
    ),
)
