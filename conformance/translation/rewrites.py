"""Rewrites of a step to other steps with exactly the same result, for steps that no native call supports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.cases.arrays import FLOATING_DTYPES, NUMPY_DTYPES, lowest_value
from conformance.cases.compositions import (
    average_pool_as_convolution,
    min_pool_as_negated_max,
    window_sum_as_convolution,
)
from conformance.cases.operators import Rounding
from conformance.cases.steps import BuildingBlock, Rewrite, Step, split_counted_zeros, split_padding


def pad_lowest_then_max(step: Step) -> tuple[Step, ...]:
    """Return explicit padding with the least value, which is never the maximum, then max pooling without padding."""
    return _with_explicit_padding(step, lowest_value(step.dtype))


def pad_infinity_then_dilate(step: Step) -> tuple[Step, ...]:
    """Return explicit padding with -inf, then dilation without padding; not for integers, which have no -inf."""
    return _with_explicit_padding(step, -math.inf) if step.dtype in FLOATING_DTYPES else ()


def pad_zeros_then_convolve(step: Step) -> tuple[Step, ...]:
    """Return explicit padding with zeros, then a convolution without padding."""
    return _with_explicit_padding(step, 0)


def pad_zeros_then_unfold(step: Step) -> tuple[Step, ...]:
    """Return explicit padding with zeros, then unfold without padding."""
    return _with_explicit_padding(step, 0)


def fold_then_crop(step: Step) -> tuple[Step, ...]:
    """Return fold to the padded output, then a crop of the padding."""
    if not step.padded:
        return ()
    axes = zip(step.parameters["output_size"], step.windows.pads, strict=True)
    size = tuple(extent + before + after for extent, (before, after) in axes)
    fold = step.with_parameters(output_size=size, padding=((0, 0),) * step.rank)
    pads = tuple((-before, -after) for before, after in step.windows.pads)
    return fold, Step(BuildingBlock.CROP, fold.output, step.dtype, {"pads": pads}, gradient=step.gradient)


def pad_counted_zeros_then_average(step: Step) -> tuple[Step, ...]:
    """Return explicit padding with zeros, then an unpadded average, if padding cells are counted."""
    counted = step.parameters["count_include_pad"] and step.parameters["divisor"] is None
    if not counted or any(step.windows.overhang):
        return ()
    return _with_explicit_padding(step.with_parameters(count_include_pad=False), 0)


def average_over_counted_ones(step: Step) -> tuple[Step, ...]:
    """Return the zero-padded average of full windows, divided by the same average of ones.

    The average of ones is the fraction of elements that count. A dilated window is summed as a convolution with ones.
    """
    counts = step.windows.counts(step.parameters["count_include_pad"])
    one_divisor = step.parameters["divisor"] is not None or (counts == counts.flat[0]).all()
    if step.dtype not in FLOATING_DTYPES or one_divisor:
        return ()
    # Padding that counts is added first, so that the ones cover it. The other padding is zero in the ones too.
    counted, rest = split_counted_zeros(step)
    *padding, pool = _with_explicit_padding(rest, 0) or (rest,)
    parts = (*padding, *(window_sum_as_convolution(pool) if step.dilated else (pool,)))
    return (*counted, Step(BuildingBlock.OVER_ONES, rest.shape, step.dtype, parts=parts))


def pad_zeros_then_rescale_average(step: Step) -> tuple[Step, ...]:
    """Return the zero-padded average of full windows, scaled to the divisor if all windows have the same one.

    A dilated window is averaged as a convolution with equal weights.
    """
    average = step.with_parameters(count_include_pad=False, divisor=None)
    walk, divisor = step.windows, step.parameters["divisor"]
    counts = np.full(walk.output, divisor) if divisor is not None else walk.counts(step.parameters["count_include_pad"])
    if step.dtype not in FLOATING_DTYPES or (counts != counts.flat[0]).any():
        return ()
    explicit = _with_explicit_padding(average, 0) or (average.with_parameters(rounding=Rounding.FLOOR.value),)
    # Windows that contain only padding have divisor 0.
    with np.errstate(divide="ignore"):
        ratio = (math.prod(walk.window) / counts).astype(NUMPY_DTYPES[step.dtype])
    # The rewrite would return the step unchanged and would be tried on it again, without end.
    if explicit == (step,) and not step.dilated:
        return ()
    pool = explicit[-1]
    pooled = average_pool_as_convolution(pool) if step.dilated else (pool,)
    if (ratio == 1).all():
        return (*explicit[:-1], *pooled)
    return (
        *explicit[:-1],
        *pooled,
        # The ratio has one number for each window; the new axes are those of the batch and the channels.
        Step(BuildingBlock.SCALE, pool.output, step.dtype, constants={"scale": ratio[None, None]}),
    )


def min_pool_as_negated_max_pool(step: Step) -> tuple[Step, ...]:
    """Return minimum pooling as negated max pooling; not for integers, whose least value cannot be negated."""
    return min_pool_as_negated_max(step) if step.dtype in FLOATING_DTYPES else ()


def dilated_then_subsampled(step: Step) -> tuple[Step, ...]:
    """Return the dilated step with stride 1, then subsampling, for calls that take either a dilation or a stride."""
    ones = (1,) * step.rank
    if not step.dilated or step.stride == ones or step.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR:
        return ()
    dense = step.with_parameters(stride=ones)
    parameters = {"stride": step.stride}
    return dense, Step(BuildingBlock.SUBSAMPLE, dense.output, step.dtype, parameters, gradient=step.gradient)


def crop_then_pad(step: Step) -> tuple[Step, ...]:
    """Return a crop by the negative pads, then padding by the positive ones."""
    cropped = tuple((min(before, 0), min(after, 0)) for before, after in step.padding)
    added = tuple((max(before, 0), max(after, 0)) for before, after in step.padding)
    if not any(any(pair) for pair in cropped):
        return ()
    # The pads of a crop are negative, so its output size is computed like that of padding.
    crop = Step(BuildingBlock.CROP, step.shape, step.dtype, {"pads": cropped})
    rest = step.with_parameters(pads=added)
    shape = replace(step, parameters={"pads": cropped}, operator="pad").output
    return (crop, replace(rest, shape=shape)) if any(any(pair) for pair in added) else (crop,)


def one_bin_as_global_pool(step: Step) -> tuple[Step, ...]:
    """Return global pooling for adaptive pooling with one bin, which is valid for every size of the input."""
    if not step.has_one_bin:
        return ()
    return (replace(step, operator=step.operator.replace("adaptive", "global"), parameters={}),)


def equal_bins_as_pool(step: Step) -> tuple[Step, ...]:
    """Return pooling without padding for adaptive pooling whose bins have the same size and do not overlap."""
    sizes = list(zip(step.shape[2:], step.parameters["output_size"], strict=True))
    # With a bin for every cell, the result is the input, for which the adapters write no call at all.
    if any(extent % bins for extent, bins in sizes) or all(extent == bins for extent, bins in sizes):
        return ()
    window = tuple(extent // bins for extent, bins in sizes)
    parameters: dict[str, Any] = {
        "window": window,
        "stride": window,
        "padding": ((0, 0),) * step.rank,
        "dilation": (1,) * step.rank,
        "rounding": Rounding.FLOOR.value,
    }
    parameters |= {"count_include_pad": False, "divisor": None}
    return (replace(step, operator=step.operator.removeprefix("adaptive_"), parameters=parameters),)


def _with_explicit_padding(step: Step, value: float) -> tuple[Step, ...]:
    """Return explicit padding for all cells outside x, then the step without padding; () if there are none."""
    padding, unpadded = split_padding(step, value)
    return (*padding, unpadded) if unpadded != step else ()


SINGLE_CALLS: Mapping[str, tuple[Rewrite, ...]] = MappingProxyType(
    {"adaptive_avg_pool": (one_bin_as_global_pool, equal_bins_as_pool)}
)
"""Rewrites of a step to one call of another operator, which is simpler than a composition of slices.

Not for maxima: several calls of max pooling lose NaN, which the composition propagates.
"""
REWRITES: Mapping[str, tuple[Rewrite, ...]] = MappingProxyType(
    {
        "max_pool": (pad_lowest_then_max, dilated_then_subsampled),
        "min_pool": (min_pool_as_negated_max_pool,),
        "avg_pool": (pad_counted_zeros_then_average, pad_zeros_then_rescale_average, average_over_counted_ones),
        "conv": (pad_zeros_then_convolve, dilated_then_subsampled),
        "pad": (crop_then_pad,),
        "unfold": (pad_zeros_then_unfold,),
        "fold": (fold_then_crop,),
        "dilation2d": (pad_infinity_then_dilate,),
    }
)
