"""Adapter for the expressions of MNN, `MNN.expr`. Channels first, like the suite.

Differences from a direct translation:

- Calls have two spatial axes, the width first. One axis is pooled and convolved as a plane of one row. `F.unsqueeze`
  and `F.squeeze` around the call change no value, so such a program counts as one call.
- Convolutions take data in the layout NC4HW4, and always have a bias.
- With padding, pooling rounds the output size up. Windows beyond the output size are sliced away.
- Groups are separate calls, except one channel in each: with several, `F.conv2d` reads memory outside of the kernel.
- There are no gradients: MNN.expr computes none.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import (
    BLOCK_OPERATORS,
    Lowering,
    Surface,
    source_text,
)
from conformance.adapters.mnn import blocks, convolution, pooling, resizing
from conformance.cases.steps import BuildingBlock

PACKAGES = ("MNN", "numpy")
SETUP = """\
import MNN.expr as F
import numpy as np

F.set_thread_number(1)
DTYPES = {"float32": F.float, "int32": F.int, "uint8": F.uint8}
"""
THREAD_SETTINGS = {"F.set_thread_number(1)": "F.set_thread_number({})"}
RESET = ""

FLOAT32 = frozenset({"float32"})
SELECTIONS = ("max_pool", "min_pool", "global_max_pool", "pad", BuildingBlock.NEGATE)
DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOAT32,
    **dict.fromkeys((*SELECTIONS, "relu"), FLOAT32 | {"int32"}),
    "pad": FLOAT32 | {"int32", "uint8"},
}
LOWERINGS: Mapping[str, Lowering] = {
    "max_pool": pooling.max_pool,
    "avg_pool": pooling.avg_pool,
    "global_max_pool": pooling.global_max_pool,
    "global_avg_pool": pooling.global_avg_pool,
    "pad": pooling.pad,
    **dict.fromkeys(BLOCK_OPERATORS, blocks.blocks),
    "resize": resizing.resize,
    "conv": convolution.conv,
    "conv_transpose": convolution.transpose,
    "relu": lambda _step: "F.relu(x)",
}
SURFACES = (
    Surface(
        "mnn.expr",
        LOWERINGS,
        fallbacks={
            **dict.fromkeys(("max_pool", "avg_pool"), pooling.cropped_pool),
            "conv": convolution.grouped_conv,
            "conv_transpose": convolution.cropped_transpose,
        },
        building_blocks={
            BuildingBlock.NEGATE: lambda _step: "F.negative(x)",
            BuildingBlock.SCALE: lambda _step: "x * scale",
            BuildingBlock.CROP: lambda step: source_text.crop(step, channels_last=False),
            BuildingBlock.SUBSAMPLE: lambda step: source_text.subsample(step, channels_last=False),
        },
        to_framework=dict.fromkeys(("x", "kernel", "bias"), "F.const({0}, {0}.shape, F.NCHW, DTYPES[{0}.dtype.name])"),
        to_numpy="x.read()",
        ones_expression="F.zeros_like(x) + 1",
        dtypes=DTYPES,
    ),
)
