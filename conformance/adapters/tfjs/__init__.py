"""Adapter for TensorFlow.js: `cpu` and `wasm` under Node.js, `webgl` and `webgpu` in Chromium. Channels last.

Programs are JavaScript. `.ci/npm_backend.py` installs the packages. Chromium renders in software.

Differences from a direct translation:

- The backends of TensorFlow.js are surfaces, each in its own process.
- Pooling of one axis is pooling of two axes, the first of which has one cell. `tf.expandDims` and `tf.squeeze` around
  it change no value, so such a program counts as one call.
- Gradients are those of `tf.grad`.
- Calls of two axes get a number as padding only if window and stride are the same on both axes: with a number, they
  compute the output size of both axes with the window and the stride of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from conformance.adapters.api import (
    GradientWriter,
    Level,
    Lowering,
    Step,
    Surface,
    Unsupported,
    limit_axes,
)
from conformance.adapters.api.javascript import INDENT, JAVASCRIPT, NpmPackages, in_page, missing_chromium
from conformance.adapters.tfjs import convolution, morphology, normalization, padding, pooling, resizing
from conformance.cases.steps import BuildingBlock

NPM_PACKAGES = NpmPackages("TensorFlow.js", "tfjs", Path(__file__).parent / "javascript" / "layouts.mjs")
WORKER = NPM_PACKAGES.command()
PACKAGES = ("tfjs", "node", "chromium")
SETUP = """\
names.versions = { tfjs: installed("@tensorflow/tfjs") };
"""
RESET = ""
NODE_SETUP = """\
const tf = require("@tensorflow/tfjs");
require("@tensorflow/tfjs-backend-wasm");
"""
PAGE_SETUP = """\
await load("@tensorflow/tfjs/dist/tf.min.js");
"""
WEBGPU_SETUP = """\
await load("@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js");
"""


def _selection(backend: str) -> str:
    """Return the statements that select a backend of TensorFlow.js."""
    return f"""\
await tf.setBackend("{backend}");
names.tf = tf;
names.scope = library.scope(tf, tf.backend().device, names);
"""


def _write_gradient(lines: Sequence[str], _names: Sequence[str], name: str) -> Sequence[str]:
    body = [f"{INDENT}{line}" for line in lines]
    return (f"x = tf.grad(({name}) => {{", *body, f"{INDENT}return x;", f"}})({name}, grad)")


WRITE_GRADIENT: GradientWriter = _write_gradient
LOWERINGS: Mapping[str, Lowering] = {
    **limit_axes(
        {
            "max_pool": pooling.max_pool,
            "avg_pool": pooling.avg_pool,
            "max_pool_with_indices": pooling.max_pool_with_argmax,
            "conv": convolution.conv,
            "conv_transpose": convolution.conv_transpose,
        }
    ),
    "global_max_pool": partial(pooling.global_pool, "max"),
    "global_avg_pool": partial(pooling.global_pool, "mean"),
    "pad": padding.pad,
    "resize": resizing.resize,
    "lrn": normalization.lrn,
    "dilation2d": morphology.dilation2d,
    "depth_to_space": resizing.depth_to_space,
    "space_to_depth": lambda _step: resizing.NO_SPACE_TO_DEPTH,
    "relu": lambda _step: "tf.relu(x)",
}
FALLBACKS: Mapping[str, Lowering] = {
    **limit_axes({"conv": convolution.several_calls, "conv_transpose": convolution.transpose_with_bias}),
    "pad": padding.gathered_pad,
    "lrn": normalization.fallback,
}
# Those of which every difference at level standard is described.
COMPLETE_OPERATORS = ("resize", "lrn", "dilation2d", "depth_to_space")
FLOAT32 = frozenset({"float32"})
INTEGERS_TOO = frozenset({"float32", "int32"})
EVERY_DTYPE = INTEGERS_TOO | {"bool"}
ARRAY_DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOAT32,
    "pad": EVERY_DTYPE,
    "relu": INTEGERS_TOO,
    "dilation2d": INTEGERS_TOO,
    "global_max_pool": EVERY_DTYPE,
}
NO_STRIDED_GRADIENT = Unsupported("TensorFlow.js has no gradient of tf.stridedSlice")


def _subsample(step: Step) -> str | Unsupported:
    return NO_STRIDED_GRADIENT if step.gradient else padding.subsample(step)


def _surface(
    name: str,
    dtypes: Mapping[str, frozenset[str]],
    lowerings: Mapping[str, Lowering],
    *,
    mode: str = "",
    **fields: Any,
) -> Surface:
    mode = mode or NODE_SETUP + _selection(name)
    return Surface(
        f"tfjs.{name}",
        {**LOWERINGS, **lowerings},
        fallbacks=FALLBACKS,
        building_blocks={
            BuildingBlock.NEGATE: lambda _step: "tf.neg(x)",
            BuildingBlock.SCALE: lambda _step: "tf.mul(x, scale)",
            BuildingBlock.POWER: lambda step: f"tf.pow(x, {step.parameters['exponent']})",
            BuildingBlock.CROP: padding.crop,
            BuildingBlock.SUBSAMPLE: _subsample,
        },
        to_framework={
            "x": "tf.tensor(...channelsLast({}))",
            "kernel": "tf.tensor(...kernelLast({}))",
            "bias": "tf.tensor(...plain({}))",
        },
        to_numpy="channelsFirst(x)",
        gradient_to_numpy={"kernel": "kernelFirst(x)", "bias": "arrayOf(x)"},
        channels_last=True,
        max_level=Level.SMOKE,
        operator_levels=dict.fromkeys(COMPLETE_OPERATORS, Level.EXHAUSTIVE),
        dtypes=dtypes,
        select_mode=lambda _case: mode,
        write_gradient=WRITE_GRADIENT,
        language=JAVASCRIPT,
        **fields,
    )


def _page_surface(
    name: str,
    setup: str = PAGE_SETUP,
    dtypes: Mapping[str, frozenset[str]] = ARRAY_DTYPES,
    lowerings: Mapping[str, Lowering] | None = None,
) -> Surface:
    mode = in_page(setup + _selection(name))
    return _surface(name, dtypes, lowerings or {}, mode=mode, missing_requirement=missing_chromium)


WASM_LOWERINGS: Mapping[str, Lowering] = limit_axes(
    {
        "max_pool": partial(pooling.checked, pooling.max_pool),
        "avg_pool": partial(pooling.checked, pooling.avg_pool),
        "conv": convolution.checked,
    }
)
SURFACES = (
    _surface("cpu", {**ARRAY_DTYPES, "max_pool": EVERY_DTYPE}, {}),
    # "only float32 input is supported". Kernels read outside of their memory if an argument is invalid.
    _surface("wasm", ARRAY_DTYPES, WASM_LOWERINGS, validates=False),
    _page_surface(
        "webgl",
        # tf.dilation2d returns float32 for int32.
        dtypes={**ARRAY_DTYPES, "dilation2d": FLOAT32},
        lowerings={"dilation2d": morphology.without_gradient},
    ),
    _page_surface("webgpu", PAGE_SETUP + WEBGPU_SETUP),
)
