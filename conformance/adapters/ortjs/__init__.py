"""Adapter for ONNX Runtime in JavaScript, with the graphs of the ONNX adapter. Channels first, like the suite.

The surface `ortjs.node` is the package onnxruntime-node under Node.js. The others are those of the package
onnxruntime-web in a page of Chromium, which renders in software:

wasm    the kernels for the CPU, in WebAssembly
webgpu  the kernels of `onnxruntime-web/webgpu`, in C++
jsep    the kernels for WebGPU of `onnxruntime-web`, in TypeScript
webgl   the runtime of `onnxruntime-web/webgl`, in TypeScript

Differences from a direct translation:

- Kernels and biases are constants of the graph.
- Programs are JavaScript, and `javascript/model.mjs` writes the models, so that no other package is needed.
- A graph for a graphics card has opset 21: there are no kernels for the nodes of later ones.
- WebGPU computes every node of a graph, or the session is rejected.
- There are no gradients: a session computes the graph only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from conformance.adapters.api import Level, Lowering, Surface
from conformance.adapters.api.javascript import JAVASCRIPT, NpmPackages, in_page, missing_chromium
from conformance.adapters.api.quantization.formulas import QUANTIZED_POOLING_DTYPES
from conformance.adapters.api.source_text import array_text
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.graph import OPSET_VERSION
from conformance.adapters.onnx.runtimes import runtime_surface
from conformance.adapters.onnx.windows import NodeLimit
from conformance.adapters.onnxruntime import UNSUPPORTED_DTYPES, node_limit, quantized_pooling
from conformance.adapters.ortjs import limits
from conformance.adapters.ortjs.graph_text import graph_lines

NPM_PACKAGES = NpmPackages("ONNX Runtime", "ortjs", Path(__file__).parent / "javascript" / "model.mjs")
WORKER = NPM_PACKAGES.command()
# Both packages have the same version.
PACKAGES = ("onnxruntime", "node", "chromium")
SETUP = """\
names.versions = { onnxruntime: installed("onnxruntime-web") };
"""
RESET = ""
NODE_SETUP = f"""\
const options = {{ intraOpNumThreads: 1 }};
names.compute = library.runner(require("onnxruntime-node"), {OPSET_VERSION}, options);
"""
PAGE_SETUP = """\
await load("onnxruntime-web/dist/{file}");
ort.env.wasm.numThreads = 1;
const options = {{ executionProviders: ["{provider}"]{more} }};
names.compute = library.runner(ort, {opset}, options{output});
// After an error in the attributes of a node, every later session of jsep fails with this message.
names.isStale = (error) => String(error.message).includes("is not allowed to be called recursively");
"""
WEBGPU_OPSET = 21
ON_WEBGPU_ONLY = ', extra: { session: { disable_cpu_ep_fallback: "1" } }'
# Constant arrays are written as NumPy code, like other constants of a graph.
LANGUAGE = replace(JAVASCRIPT, array=array_text)

# Those of which every difference at level standard is described.
COMPLETE_OPERATORS = ("resize", "lrn", "depth_to_space")
# Resize without the attribute axes, which these backends do not read.
RESIZE_OF_ALL_AXES: Lowering = partial(nodes.resize, all_axes=True)


def _page(file: str, provider: str, opset: int, more: str = "", output: str = "") -> str:
    return in_page(PAGE_SETUP.format(file=file, provider=provider, opset=opset, more=more, output=output))


def _surface(name: str, mode: str, limit: NodeLimit, **fields: Any) -> Surface:
    surface = runtime_surface(f"ortjs.{name}", limit, (), **fields)
    # `javascript/model.mjs` writes graphs of one opset, which has no earlier nodes.
    words = {operator: lowering for operator, lowering in surface.words.items() if operator != "resize"}
    return replace(surface, words=words, wrap_program=graph_lines, language=LANGUAGE, select_mode=lambda _case: mode)


def _cpu_surface(name: str, mode: str) -> Surface:
    surface = _surface(name, mode, node_limit, unsupported_dtypes=UNSUPPORTED_DTYPES)
    return replace(
        surface,
        lowerings={**surface.lowerings, "quantized_avg_pool": quantized_pooling.avg_pool},
        dtypes={**surface.dtypes, **QUANTIZED_POOLING_DTYPES},
    )


def _graphics_surface(
    name: str,
    mode: str,
    limit: NodeLimit,
    lowerings: Mapping[str, Lowering] | None = None,
    *,
    resize: Lowering = nodes.resize,
    **fields: Any,
) -> Surface:
    own = {"resize": resize}
    surface = _surface(
        name,
        mode,
        limit,
        lowerings=own,
        missing_requirement=missing_chromium,
        max_level=Level.SMOKE,
        operator_levels=dict.fromkeys(COMPLETE_OPERATORS, Level.EXHAUSTIVE),
        **fields,
    )
    indices = partial(limits.without_indices, surface.lowerings["max_pool_with_indices"])
    return replace(
        surface,
        lowerings={**surface.lowerings, "max_pool_with_indices": indices, **(lowerings or {})},
        dtypes={"": frozenset({"float32"})},
    )


SURFACES = (
    _cpu_surface("node", NODE_SETUP),
    replace(
        _cpu_surface("wasm", _page("ort.wasm.min.js", "wasm", OPSET_VERSION)), missing_requirement=missing_chromium
    ),
    _graphics_surface(
        "webgpu",
        _page("ort.webgpu.min.js", "webgpu", WEBGPU_OPSET, ON_WEBGPU_ONLY),
        limits.webgpu_limit,
        composition_limit=limits.webgpu_composition_limit,
    ),
    _graphics_surface(
        "jsep",
        _page("ort.min.js", "webgpu", WEBGPU_OPSET, ON_WEBGPU_ONLY),
        limits.jsep_limit,
        {"conv": limits.explicit_conv},
        resize=RESIZE_OF_ALL_AXES,
        composition_limit=limits.jsep_composition_limit,
    ),
    _graphics_surface(
        "webgl",
        _page("ort.webgl.min.js", "webgl", WEBGPU_OPSET, output=', "float32"'),
        limits.webgl_limit,
        resize=RESIZE_OF_ALL_AXES,
        composition_limit=limits.webgl_composition_limit,
    ),
)
