"""PyTorch: padding by name, padding modes of layers, arguments that restate a default, and negative pads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    REPLICATE_AND_CIRCULAR_NAMES,
    ChainLowering,
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
from conformance.adapters.torch.calls import LAYER_NAMES, CallWriter
from conformance.adapters.torch.convolution import NO_STRIDE_OF_SAME, written_convolution
from conformance.cases.operators import PaddingWord, PadMode

PADDING_NAMES = {PaddingWord.VALID: "valid", PaddingWord.SAME_UPPER: "same"}
NO_NAME = Unsupported("padding has no name for the numbers")
NO_CROP = Unsupported("no pad is negative")
NO_LAYER_MODE = Unsupported(
    "a layer has a padding mode with the same pads at both ends, or with those of the word same"
)
NO_COUNT = Unsupported("the padding of the average is written as a number")


def conv(step: Step, *, layer: bool) -> Code:
    """Return the convolution with padding by name; a layer also states the padding mode."""
    name = named_padding(step, PADDING_NAMES)
    if name == f'"{PADDING_NAMES[PaddingWord.SAME_UPPER]}"' and set(step.stride or ()) != {1}:
        return NO_STRIDE_OF_SAME
    return NO_NAME if name is None else written_convolution(step, name, layer=layer)


def padded_layer(padding: Step, step: Step) -> Code:
    """Return the convolution layer that pads in the mode of a `pad` step."""
    mode = padding.parameters["mode"]
    if step.padded or crops(padding) or mode not in REPLICATE_AND_CIRCULAR_NAMES:
        return NO_LAYER_MODE
    padded = replace(step, shape=padding.shape).with_parameters(padding=padding.padding)
    # The name is only for different pads at both ends of an axis, which have no number. It takes no stride.
    name = named_padding(padded, PADDING_NAMES) if set(step.stride or ()) == {1} else None
    text = name if padding.symmetric is None else per_axis(padding.symmetric)
    if text is None:
        return NO_LAYER_MODE
    return written_convolution(padded, text, mode=REPLICATE_AND_CIRCULAR_NAMES[mode], layer=True)


def avg_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the average that states whether padding counts, although nothing is padded."""
    if step.padded or step.dilated or named_padding(step, PADDING_NAMES) is None:
        return NO_COUNT
    counts = str(step.parameters["count_include_pad"])
    stride = pooling_stride_argument(step)
    return write_call(step.operator, step, per_axis(step.window), stride=stride, count_include_pad=counts)


def functional_pad(step: Step) -> Code:
    """Return `F.pad` with negative pads, which crop in every mode."""
    mode = step.parameters["mode"]
    if not crops(step) or mode not in REPLICATE_AND_CIRCULAR_NAMES:
        return NO_CROP
    return call("F.pad", "x", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES[mode]}"')


def layer_pad(step: Step) -> Code:
    """Return a padding layer with negative pads."""
    mode = PadMode(step.parameters["mode"])
    if not crops(step) or mode not in REPLICATE_AND_CIRCULAR_NAMES:
        return NO_CROP
    return f"nn.{LAYER_NAMES[mode]}{step.rank}d({flat_pads(step)})(x)"


def words(write_call: CallWriter, pad: Lowering, *, layer: bool) -> Mapping[str, Lowering]:
    """Return the calls with words of one surface."""
    return {"conv": partial(conv, layer=layer), "avg_pool": partial(avg_pool, write_call), "pad": pad}


LAYER_CHAIN_WORDS: Mapping[tuple[str, ...], ChainLowering] = {("pad", "conv"): padded_layer}
