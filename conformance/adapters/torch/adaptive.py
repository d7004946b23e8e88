"""PyTorch: adaptive, global and fractional pooling, and max unpooling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import Code, Step, Unsupported, per_axis, too_many_axes
from conformance.adapters.torch.calls import (
    INTEGERS,
    UNSIGNED,
    WIDER_DTYPES,
    CallWriter,
    call_if_floating,
    in_wider_dtype,
    sizes_text,
)
from conformance.adapters.torch.windows import FUNCTIONAL
from conformance.cases.case import SEED_KEY

SUPPORTED_RANKS = (2, 3)
STRICT_FRACTIONAL_ISSUE = "https://github.com/pytorch/pytorch/pull/5337"
OPERATION_NAMES: Mapping[str, str] = {
    "max_unpool": "max unpooling",
    "global_max_pool": "adaptive max pooling",
    "global_avg_pool": "adaptive average pooling",
    "adaptive_max_pool": "adaptive max pooling",
    "adaptive_avg_pool": "adaptive average pooling",
}
# float64 represents all values of integers with fewer than 64 bits.
EXACT_DTYPES: Mapping[str, str] = dict.fromkeys((*INTEGERS - {"int64"}, *WIDER_DTYPES), "float64")


def max_unpool(write_call: CallWriter, step: Step) -> Code:
    """Return the call with a window, stride and padding that give the output size."""
    windows, strides, paddings = [], [], []
    for extent, size in zip(step.shape[2:], step.parameters["output_size"], strict=True):
        stride, padding = max(size // max(extent, 1), 1), max((extent - size + 1) // 2, 0)
        windows.append(size - (extent - 1) * stride + 2 * padding)
        strides.append(stride)
        paddings.append(padding)
    keywords = {
        "stride": per_axis(strides) if strides != windows else None,
        "padding": per_axis(paddings) if any(paddings) else None,
    }
    text = write_call(step.operator, step, per_axis(windows), inputs="x, indices", **keywords)
    if 0 in step.shape[2:]:
        return Unsupported("max unpooling does not accept a plane without cells", rejected_call=text)
    return call_if_floating(OPERATION_NAMES[step.operator], step, text)


def adaptive_pool(write_call: CallWriter, step: Step) -> Code:
    """Return adaptive pooling; global pooling has one bin."""
    output = step.parameters.get("output_size", (1,) * step.rank)
    return call_if_floating(
        OPERATION_NAMES[step.operator],
        step,
        write_call(step.operator.replace("global", "adaptive"), step, sizes_text(output)),
    )


def channel_maximum(write_call: CallWriter, step: Step) -> Code:
    """Return the largest value of each channel, for dtypes and ranks without a kernel for adaptive pooling."""
    if step.dtype in UNSIGNED:
        return too_many_axes(step) or in_wider_dtype(EXACT_DTYPES, partial(adaptive_pool, write_call), step)
    return FUNCTIONAL.global_pool("max", step)


def fractional_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call with the samples of the case; in two dimensions, the first sample is for the last axis."""
    if step.rank not in SUPPORTED_RANKS:
        return Unsupported("fractional pooling supports two or three axes")
    samples = "samples.flip(-1)" if step.rank == min(SUPPORTED_RANKS) else "samples"
    output = step.parameters["output_size"]
    text = write_call(
        step.operator, step, per_axis(step.window), output_size=sizes_text(output), _random_samples=samples
    )
    fits = zip(step.shape[2:], step.window, output, strict=True)
    # The check compares with < in place of <=. In two dimensions, this was corrected in 2018.
    if step.rank == max(SUPPORTED_RANKS) and any(window + count > size for size, window, count in fits):
        why = "in three dimensions, window plus output_size may be at most the extent"
        return Unsupported(why, STRICT_FRACTIONAL_ISSUE, rejected_call=text)
    return text


def drawn_fractional_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return two calls that draw the samples with the same seed, joined along the batch."""
    if step.rank not in SUPPORTED_RANKS:
        return Unsupported("fractional pooling supports two or three axes")
    text = write_call(
        step.operator, step, per_axis(step.window), output_size=sizes_text(step.parameters["output_size"])
    )
    seed = f"torch.manual_seed({step.parameters[SEED_KEY]})"
    return seed, f"first = {text}", seed, f"x = torch.cat([first, {text}])"


def fractional_max_pool_1d(write_call: CallWriter, step: Step) -> Code:
    """Return one-dimensional pooling as two-dimensional pooling of a plane with one row."""
    if step.rank != 1:
        return Unsupported("fractional pooling supports two or three axes")
    plane = replace(step, shape=(*step.shape[:2], 1, step.shape[2]))
    window, output = ((1, *step.parameters[name]) for name in ("window", "output_size"))
    samples = "samples.repeat(1, 1, 2)"  # one sample for each axis; that of the new axis has no effect
    keywords = {"output_size": sizes_text(output), "_random_samples": samples}
    text = write_call(step.operator, plane, per_axis(window), inputs="x.unsqueeze(2)", **keywords)
    return f"{text}.squeeze(2)"
