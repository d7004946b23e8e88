"""What explicit padding or a few other calls express exactly, where a surface's own call lacks it: once for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from conformance.cases.arrays import DTYPES, least
from conformance.cases.compositions import average_as_convolution, negated_maximum, sum_as_convolution
from conformance.cases.steps import Step, padded_first, zeros_that_count

Rewriting = Callable[[Step], tuple[Step, ...]]


def least_first(step: Step) -> tuple[Step, ...]:
    """Explicit padding with the least value, which never wins, then the maximum without padding."""
    return _explicit(step, least(step.dtype))


def zeros_first(step: Step) -> tuple[Step, ...]:
    """Explicit padding with zeros, then a convolution without padding."""
    return _explicit(step, 0)


def zeros_counted(step: Step) -> tuple[Step, ...]:
    """Explicit padding with zeros, then an average that counts them, where it should."""
    counted = step.parameters["count_include_pad"] and step.parameters["divisor"] is None
    if not counted or any(step.walk.overhang):
        return ()
    return tuple(replace(part, parameters=_plain_average(part)) for part in _explicit(step, 0))


def ones_counted(step: Step) -> tuple[Step, ...]:
    """Zeros around the input, the average of whole windows, divided by the same of ones: a share of cells that count.

    A window with holes sums as a convolution with ones, which counts the cells of ones.
    """
    counts = step.walk.counts(step.parameters["count_include_pad"])
    alike = step.parameters["divisor"] is not None or (counts == counts.flat[0]).all()
    if DTYPES[step.dtype].kind not in "fV" or alike:
        return ()
    counted, rest = zeros_that_count(step)
    *padding, pool = _explicit(rest, 0) or (rest,)
    parts = (*padding, *(sum_as_convolution(pool) if step.dilated else (pool,)))
    return (*counted, Step("over_ones", rest.shape, step.dtype, parts=parts))


def zeros_rescaled(step: Step) -> tuple[Step, ...]:
    """Zeros around the input, the average of whole windows, then the divisor put right where it is one number.

    A window with holes averages as a convolution with equal weights.
    """
    average = step.with_parameters(count_include_pad=False, divisor=None)
    walk, divisor = step.walk, step.parameters["divisor"]
    counts = np.full(walk.output, divisor) if divisor is not None else walk.counts(step.parameters["count_include_pad"])
    if DTYPES[step.dtype].kind not in "fV" or (counts != counts.flat[0]).any():
        return ()
    explicit = _explicit(average, 0) or (average.with_parameters(rounding="floor"),)
    with np.errstate(divide="ignore"):
        ratio = (math.prod(walk.window) / counts).astype(DTYPES[step.dtype])
    if explicit == (step,) and not step.dilated:
        return ()
    pool = explicit[-1]
    pooled = average_as_convolution(pool) if step.dilated else (pool,)
    if (ratio == 1).all():
        return (*explicit[:-1], *pooled)
    return (*explicit[:-1], *pooled, Step("scale", pool.output, step.dtype, constants={"scale": ratio[None, None]}))


def negated(step: Step) -> tuple[Step, ...]:
    """Minimum pooling as negated maximum; not for integers, whose least value has no negative."""
    return negated_maximum(step) if DTYPES[step.dtype].kind in "fV" else ()


def every_position(step: Step) -> tuple[Step, ...]:
    """A window with holes at every position, then every stride-th of them, for calls that take one or the other."""
    ones = (1,) * step.rank
    if not step.dilated or step.stride == ones or step.parameters.get("rounding", "floor") != "floor":
        return ()
    whole = step.with_parameters(stride=ones)
    return whole, Step("subsample", whole.output, step.dtype, {"stride": step.stride})


def crop_first(step: Step) -> tuple[Step, ...]:
    """Take away what negative pads say, then add the others."""
    cropped = tuple((min(before, 0), min(after, 0)) for before, after in step.padding)
    added = tuple((max(before, 0), max(after, 0)) for before, after in step.padding)
    if not any(any(pair) for pair in cropped):
        return ()
    crop = Step("crop", step.shape, step.dtype, {"pads": cropped})
    rest = step.with_parameters(pads=added)
    kept = replace(step, parameters={"pads": cropped}, verb="pad").output
    return (crop, replace(rest, shape=kept)) if any(any(pair) for pair in added) else (crop,)


def _explicit(step: Step, value: float) -> tuple[Step, ...]:
    """Padding and overhang written into the input, then the step without them; nothing where there are none."""
    padding, whole = padded_first(step, value)
    return (*padding, whole) if whole != step else ()


def _plain_average(step: Step) -> Mapping[str, object]:
    return {**step.parameters, "count_include_pad": False} if step.verb == "avg_pool" else step.parameters


REWRITINGS: Mapping[str, tuple[Rewriting, ...]] = MappingProxyType(
    {
        "max_pool": (least_first, every_position),
        "min_pool": (negated,),
        "avg_pool": (zeros_counted, zeros_rescaled, ones_counted),
        "conv": (zeros_first, every_position),
        "pad": (crop_first,),
    }
)
