"""Adapter for ncnn: a network of one layer, as the text of a `.param` file. Channels first, like the suite.

Differences from a direct translation:

- A network computes one image. The programs run it for each image of the batch.
- Kernels and biases are a file of weights, which ncnn reads with its bounds.
- Storage in 16 bits is off, so that float32 is not rounded.
- There are no gradients: ncnn runs inference only.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import BLOCK_OPERATORS, Lowering, Surface, limit_axes
from conformance.adapters.api.resizing import grid_sampling
from conformance.adapters.ncnn import blocks, convolution, pooling, resizing
from conformance.cases.steps import BuildingBlock

PACKAGES = ("ncnn", "numpy")
SETUP = """\
import tempfile

import ncnn
import numpy as np


def network(layer, parameters, *weights):
    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    if net.load_param_mem(f"7767517\\n2 2\\nInput x 0 1 x\\n{layer} y 1 1 x y {parameters}\\n"):
        raise ValueError("load_param_mem rejects the parameters")
    with tempfile.NamedTemporaryFile() as file:
        # The first array has a tag of 32 bits before it: 0 for float32.
        file.write(bytes(4) + b"".join(array.tobytes() for array in weights))
        file.flush()
        if net.load_model(file.name):
            raise ValueError("load_model rejects the weights")
    return net


def compute(net, x):
    images = []
    for image in x:
        extractor = net.create_extractor()
        extractor.input("x", ncnn.Mat(np.ascontiguousarray(image)).clone())
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
            **grid_sampling.NOT_WRITTEN,
            "conv": convolution.conv,
            "conv_transpose": convolution.transpose,
            "relu": lambda _step: 'compute(network("ReLU", ""), x)',
        }
    ),
}
FLOAT32 = frozenset({"float32"})
SURFACES = (
    Surface(
        "ncnn",
        LOWERINGS,
        building_blocks={BuildingBlock.NEGATE: lambda _step: 'compute(network("UnaryOp", "0=1"), x)'},
        dtypes={"": FLOAT32},
    ),
)
