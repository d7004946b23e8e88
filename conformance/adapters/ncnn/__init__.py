"""Adapter for ncnn: a network of one layer, as the text of a `.param` file. Channels first, like the suite.

Differences from a direct translation:

- A network computes one image. The programs run it for each image of the batch.
- Kernels and biases are a file of weights, which ncnn reads with its bounds.
- Local response normalization of rows and volumes is that of a plane with one row for all cells.
- Storage in 16 bits is off, so that float32 is not rounded.
- There are no gradients: ncnn runs inference only.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import BLOCK_OPERATORS, Lowering, Surface, limit_axes
from conformance.adapters.ncnn import (
    blocks,
    columns,
    convolution,
    deform_conv,
    grid_sampling,
    normalization,
    pooling,
    resizing,
)
from conformance.cases.steps import BuildingBlock

PACKAGES = ("ncnn", "numpy")
SETUP = """\
import tempfile

import ncnn
import numpy as np


def network(layer, parameters, *weights, inputs=("x",)):
    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    lines = [f"Input {name} 0 1 {name}" for name in inputs]
    lines += [f"{layer} y {len(inputs)} 1 {' '.join(inputs)} y {parameters}"]
    if net.load_param_mem("\\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""])):
        raise ValueError("load_param_mem rejects the parameters")
    with tempfile.NamedTemporaryFile() as file:
        # The first array has a tag of 32 bits before it: 0 for float32.
        file.write(bytes(4) + b"".join(array.tobytes() for array in weights))
        file.flush()
        if net.load_model(file.name):
            raise ValueError("load_model rejects the weights")
    return net


def compute(net, *batches):
    images = []
    for inputs in zip(*batches):
        extractor = net.create_extractor()
        for name, image in zip(net.input_names(), inputs):
            image = np.ascontiguousarray(image)  # a Mat is no owner of the numbers of an array
            extractor.input(name, ncnn.Mat(image).clone())
        code, y = extractor.extract("y")
        if code:
            raise ValueError(f"extract returns {code}")
        images.append(np.array(y))
    return np.stack(images)
"""
THREAD_SETTINGS = {"net.opt.num_threads = 1": "net.opt.num_threads = {}"}
RESET = ""
LOWERINGS: Mapping[str, Lowering] = {
    **limit_axes(
        {
            "max_pool": pooling.max_pool,
            "avg_pool": pooling.avg_pool,
            "global_max_pool": pooling.global_pool,
            "global_avg_pool": pooling.global_pool,
            "adaptive_max_pool": pooling.adaptive_pool,
            "adaptive_avg_pool": pooling.adaptive_pool,
            "pad": pooling.pad,
            **dict.fromkeys(BLOCK_OPERATORS, blocks.blocks),
            "resize": resizing.resize,
            "grid_sample": grid_sampling.grid_sample,
            "lrn": normalization.lrn,
            **dict.fromkeys(columns.NAMES, columns.columns),
            "conv": convolution.conv,
            "conv_transpose": convolution.transpose,
            "deform_conv": deform_conv.deform_conv,
            "relu": lambda _step: 'compute(network("ReLU", ""), x)',
        }
    ),
}
FLOAT32 = frozenset({"float32"})
SURFACES = (
    Surface(
        "ncnn",
        LOWERINGS,
        fallbacks={"lrn": normalization.fallback},
        building_blocks={BuildingBlock.NEGATE: lambda _step: 'compute(network("UnaryOp", "0=1"), x)'},
        dtypes={"": FLOAT32},
        # GridSample, Fold and DeformableConv2D read outside of their memory.
        unchecked_operators=frozenset({"grid_sample", "fold", "deform_conv"}),
    ),
)
