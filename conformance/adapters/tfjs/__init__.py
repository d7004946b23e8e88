"""Adapter for TensorFlow.js under Node.js, with the kernels in JavaScript and in WebAssembly. Channels last.

Programs are JavaScript. The worker is `javascript/worker.mjs`, and `.ci/npm_backend.py` installs its packages.

Differences from a direct translation:

- The backends of TensorFlow.js are surfaces, each in its own process.
- Pooling of one axis is pooling of two axes, the first of which has one cell. `tf.expandDims` and `tf.squeeze` around
  it change no value, so such a program counts as one call.
- Gradients are those of `tf.grad`.
- Calls of two axes get a number as padding only if window and stride are the same on both axes: with a number, they
  compute the output size of both axes with the window and the stride of the first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from conformance.adapters.api import (
    GradientWriter,
    Level,
    Lowering,
    Step,
    Surface,
    Unsupported,
    WorkerCommand,
    limit_axes,
)
from conformance.adapters.tfjs import convolution, padding, pooling
from conformance.adapters.tfjs.javascript_text import INDENT, JAVASCRIPT
from conformance.cases.case import Case
from conformance.cases.steps import BuildingBlock

WORKER_FILE = Path(__file__).parent / "javascript" / "worker.mjs"
PACKAGES_FOLDER = Path(sys.prefix) / "share" / "nn-conformance" / "tfjs"
"""Folder of the npm packages, which belong to the Python environment like other packages."""
NODE = "node"


def missing_requirement() -> str | None:
    """Return why this machine cannot run the worker: no npm packages. The command names a missing Node.js itself."""
    if (PACKAGES_FOLDER / "node_modules" / "@tensorflow" / "tfjs").is_dir():
        return None
    packages = json.loads(WORKER_FILE.with_name("package.json").read_text("utf-8"))["dependencies"]
    texts = " ".join(f"{name}@{version}" for name, version in packages.items())
    return f"TensorFlow.js is not installed: npm install --prefix {PACKAGES_FOLDER} {texts}"


WORKER = WorkerCommand((NODE, str(WORKER_FILE), str(PACKAGES_FOLDER)), missing_requirement)
PACKAGES = ("tfjs", "node")
SETUP = """\
const tf = require("@tensorflow/tfjs");
require("@tensorflow/tfjs-backend-wasm");
names.tf = tf;
names.scope = tf.tidy;
names.versions = { tfjs: tf.version.tfjs };
"""
RESET = ""


def _mode(backend: str, _case: Case) -> str:
    """Return the statement that selects a backend of TensorFlow.js."""
    return f'await tf.setBackend("{backend}");\n'


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
    "relu": lambda _step: "tf.relu(x)",
}
FALLBACKS: Mapping[str, Lowering] = {
    **limit_axes({"conv": convolution.several_calls, "conv_transpose": convolution.transpose_with_bias}),
    "pad": padding.gathered_pad,
}
FLOAT32 = frozenset({"float32"})
INTEGERS_TOO = frozenset({"float32", "int32"})
EVERY_DTYPE = INTEGERS_TOO | {"bool"}
ARRAY_DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOAT32,
    "pad": EVERY_DTYPE,
    "relu": INTEGERS_TOO,
    "global_max_pool": EVERY_DTYPE,
}
NO_STRIDED_GRADIENT = Unsupported("TensorFlow.js has no gradient of tf.stridedSlice")


def _subsample(step: Step) -> str | Unsupported:
    return NO_STRIDED_GRADIENT if step.gradient else padding.subsample(step)


def _surface(
    name: str, dtypes: Mapping[str, frozenset[str]], lowerings: Mapping[str, Lowering], *, validates: bool = True
) -> Surface:
    return Surface(
        f"tfjs.{name}",
        {**LOWERINGS, **lowerings},
        fallbacks=FALLBACKS,
        building_blocks={
            BuildingBlock.NEGATE: lambda _step: "tf.neg(x)",
            BuildingBlock.SCALE: lambda _step: "tf.mul(x, scale)",
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
        validates=validates,
        dtypes=dtypes,
        select_mode=partial(_mode, name),
        write_gradient=WRITE_GRADIENT,
        language=JAVASCRIPT,
    )


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
)
