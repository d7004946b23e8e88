"""PaddlePaddle: padding by name, arguments that restate a default, and negative pads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance.adapters.api import (
    REPLICATE_AND_CIRCULAR_NAMES,
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    crops,
    flat_pads,
    named_padding,
    per_axis,
    pooling_stride_argument,
)
from conformance.adapters.paddle.calls import POOLING_DTYPES, CallWriter, no_kernel
from conformance.adapters.paddle.convolution import convolution
from conformance.adapters.paddle.padding import if_kernel
from conformance.cases.operators import PaddingWord

PADDING_NAMES = {PaddingWord.VALID: "VALID", PaddingWord.SAME_UPPER: "SAME"}
NO_NAME = Unsupported("padding has no name for the numbers")
NO_CROP = Unsupported("no pad is negative")


def conv(step: Step, *, layer: bool) -> Code:
    """Return the convolution with padding by name."""
    name = named_padding(step, PADDING_NAMES)
    return NO_NAME if name is None else convolution(step, layer=layer, padding=name)


def pool(write_call: CallWriter, step: Step) -> Code:
    """Return the pooling with padding by name; an average without padding also states whether padding counts."""
    name = named_padding(step, PADDING_NAMES)
    averages = step.operator == "avg_pool"
    if step.dtype not in POOLING_DTYPES:
        return no_kernel("pooling", step.dtype)
    if name is None or step.dilated or (averages and step.parameters["divisor"] is not None):
        return NO_NAME
    counts = str(not step.parameters["count_include_pad"]) if averages else None
    stride = pooling_stride_argument(step)
    return write_call(step.operator, step, per_axis(step.window), stride=stride, padding=name, exclusive=counts)


def functional_pad(step: Step) -> Code:
    """Return `F.pad` with negative pads, which crop in every mode."""
    mode = step.parameters["mode"]
    if not crops(step) or mode not in REPLICATE_AND_CIRCULAR_NAMES:
        return NO_CROP
    return if_kernel(step, call("F.pad", "x", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES[mode]}"'))


def layer_pad(step: Step) -> Code:
    """Return a padding layer with negative pads."""
    mode = step.parameters["mode"]
    if not crops(step) or mode not in REPLICATE_AND_CIRCULAR_NAMES:
        return NO_CROP
    layer = call(f"nn.Pad{step.rank}D", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES[mode]}"')
    return if_kernel(step, f"{layer}(x)")


def words(write_call: CallWriter, pad: Lowering, *, layer: bool) -> Mapping[str, Lowering]:
    """Return the calls with words of one surface."""
    pooling = partial(pool, write_call)
    return {"conv": partial(conv, layer=layer), "max_pool": pooling, "avg_pool": pooling, "pad": pad}
