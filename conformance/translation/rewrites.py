"""What explicit padding or a few other calls express exactly, where a surface's own call lacks it: once for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, lowest_value
from conformance.cases.compositions import (
    average_pool_as_convolution,
    min_pool_as_negated_max,
    window_sum_as_convolution,
)
from conformance.cases.steps import Step, split_counted_zeros, split_padding

Rewrite = Callable[[Step], tuple[Step, ...]]


def pad_lowest_then_max(step: Step) -> tuple[Step, ...]:
    """Explicit padding with the least value, which never wins, then the maximum without padding."""
    return _with_explicit_padding(step, lowest_value(step.dtype))


def pad_zeros_then_convolve(step: Step) -> tuple[Step, ...]:
    """Explicit padding with zeros, then a convolution without padding."""
    return _with_explicit_padding(step, 0)


def pad_counted_zeros_then_average(step: Step) -> tuple[Step, ...]:
    """Explicit padding with zeros, then an average that counts them, where it should."""
    counted = step.parameters["count_include_pad"] and step.parameters["divisor"] is None
    if not counted or any(step.windows.overhang):
        return ()
    return tuple(replace(part, parameters=_unpadded_average(part)) for part in _with_explicit_padding(step, 0))


def average_over_counted_ones(step: Step) -> tuple[Step, ...]:
    """Zeros around the input, the average of whole windows, divided by the same of ones: a share of cells that count.

    A window with holes sums as a convolution with ones, which counts the cells of ones.
    """
    counts = step.windows.counts(step.parameters["count_include_pad"])
    alike = step.parameters["divisor"] is not None or (counts == counts.flat[0]).all()
    if NUMPY_DTYPES[step.dtype].kind not in "fV" or alike:
        return ()
    counted, rest = split_counted_zeros(step)
    *padding, pool = _with_explicit_padding(rest, 0) or (rest,)
    parts = (*padding, *(window_sum_as_convolution(pool) if step.dilated else (pool,)))
    return (*counted, Step("over_ones", rest.shape, step.dtype, parts=parts))


def pad_zeros_then_rescale_average(step: Step) -> tuple[Step, ...]:
    """Zeros around the input, the average of whole windows, then the divisor put right where it is one number.

    A window with holes averages as a convolution with equal weights.
    """
    average = step.with_parameters(count_include_pad=False, divisor=None)
    walk, divisor = step.windows, step.parameters["divisor"]
    counts = np.full(walk.output, divisor) if divisor is not None else walk.counts(step.parameters["count_include_pad"])
    if NUMPY_DTYPES[step.dtype].kind not in "fV" or (counts != counts.flat[0]).any():
        return ()
    explicit = _with_explicit_padding(average, 0) or (average.with_parameters(rounding="floor"),)
    with np.errstate(divide="ignore"):
        ratio = (math.prod(walk.window) / counts).astype(NUMPY_DTYPES[step.dtype])
    if explicit == (step,) and not step.dilated:
        return ()
    pool = explicit[-1]
    pooled = average_pool_as_convolution(pool) if step.dilated else (pool,)
    if (ratio == 1).all():
        return (*explicit[:-1], *pooled)
    return (*explicit[:-1], *pooled, Step("scale", pool.output, step.dtype, constants={"scale": ratio[None, None]}))


def min_pool_as_negated_max_pool(step: Step) -> tuple[Step, ...]:
    """Minimum pooling as negated maximum; not for integers, whose least value has no negative."""
    return min_pool_as_negated_max(step) if NUMPY_DTYPES[step.dtype].kind in "fV" else ()


def dilated_then_subsampled(step: Step) -> tuple[Step, ...]:
    """A window with holes at every position, then every stride-th of them, for calls that take one or the other."""
    ones = (1,) * step.rank
    if not step.dilated or step.stride == ones or step.parameters.get("rounding", "floor") != "floor":
        return ()
    whole = step.with_parameters(stride=ones)
    return whole, Step("subsample", whole.output, step.dtype, {"stride": step.stride})


def crop_then_pad(step: Step) -> tuple[Step, ...]:
    """Take away what negative pads say, then add the others."""
    cropped = tuple((min(before, 0), min(after, 0)) for before, after in step.padding)
    added = tuple((max(before, 0), max(after, 0)) for before, after in step.padding)
    if not any(any(pair) for pair in cropped):
        return ()
    crop = Step("crop", step.shape, step.dtype, {"pads": cropped})
    rest = step.with_parameters(pads=added)
    kept = replace(step, parameters={"pads": cropped}, operator="pad").output
    return (crop, replace(rest, shape=kept)) if any(any(pair) for pair in added) else (crop,)


def _with_explicit_padding(step: Step, value: float) -> tuple[Step, ...]:
    """Padding and overhang written into the input, then the step without them; nothing where there are none."""
    padding, whole = split_padding(step, value)
    return (*padding, whole) if whole != step else ()


def _unpadded_average(step: Step) -> Mapping[str, object]:
    return {**step.parameters, "count_include_pad": False} if step.operator == "avg_pool" else step.parameters


REWRITES: Mapping[str, tuple[Rewrite, ...]] = MappingProxyType(
    {
        "max_pool": (pad_lowest_then_max, dilated_then_subsampled),
        "min_pool": (min_pool_as_negated_max_pool,),
        "avg_pool": (pad_counted_zeros_then_average, pad_zeros_then_rescale_average, average_over_counted_ones),
        "conv": (pad_zeros_then_convolve, dilated_then_subsampled),
        "pad": (crop_then_pad,),
    }
)
