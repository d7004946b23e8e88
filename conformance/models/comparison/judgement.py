"""Judge a layer of a port by the exact result of the source's layer, and differences of its inputs by a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, Geometry
from conformance.judging.expected import Target
from conformance.judging.verdict import OutcomeVerdict, ProgramOutcome, judge_outcome
from conformance.models.comparison.layers import ModelLayer
from reports.results.vocabulary import DifferenceKind, Outcome, Verdict

NOISE_FACTOR = 64
"""Factor of the measured effect of rounding. Two frameworks add in different orders."""
MAX_CHANNELS = 4
"""Output channels of a layer that the reference computes first: the first, the last, and two drawn ones."""


def judge_layer(source: ModelLayer, port: ModelLayer) -> OutcomeVerdict:
    """Judge the result of the port's layer by the exact result of the source's layer for the same input.

    First some output channels are computed, and all only if these agree and the weights of the layers differ.
    """
    source, found = source.with_bias_of(port), port.call.result
    try:
        shape = found.shape[1] if found.ndim > 1 else 0
        chosen = _chosen_channels(shape)
        verdict = judge_channels(source, port.x, found, chosen)
        if verdict.verdict == Verdict.AGREE and chosen is not None and not _has_same_weights(source, port):
            return judge_channels(source, port.x, found, None)
        return verdict
    except (ValueError, TypeError, IndexError) as error:
        return OutcomeVerdict(Verdict.DIFFER, message=f"the layer of the source does not accept this input: {error}")


def computes_itself(layer: ModelLayer) -> bool:
    """Whether the recorded result of a layer is that of its recorded input and parameters."""
    return judge_layer(layer, layer).verdict == Verdict.AGREE


def cropped_layer(source: ModelLayer, port: ModelLayer) -> ModelLayer | None:
    """Return a transposed convolution with as many cells as the source's layer has, by more padding.

    None if its result does not contain these cells, or has no others.
    """
    axes, found = source.x.ndim - 2, port.call.result.shape[2:]
    if OPERATORS[source.call.operator].geometry is not Geometry.TRANSPOSED:
        return None
    one, two = (layer.call.parameters.get("padding") or ((0, 0),) * axes for layer in (source, port))
    try:
        extents = source.expected(np.zeros_like(port.x[:1]), [0]).value.shape[2:]
    except (ValueError, TypeError, IndexError):
        return None
    before = [own - other for (own, _), (other, _) in zip(one, two, strict=True)]
    after = [whole - start - extent for whole, start, extent in zip(found, before, extents, strict=True)]
    if min(*before, *after) < 0 or not any((*before, *after)):
        return None
    padding = tuple((own + start, other + end) for (own, other), start, end in zip(two, before, after, strict=True))
    inner = [slice(start, start + extent) for start, extent in zip(before, extents, strict=True)]
    cells = (slice(None), slice(None), *inner)
    parameters = {**port.call.parameters, "padding": padding}
    return replace(port, call=replace(port.call, parameters=parameters, result=port.call.result[cells]))


def judge_channels(source: ModelLayer, x: Array, found: Array, channels: Sequence[int] | None) -> OutcomeVerdict:
    """Judge some output channels of a result for an input, all of them for None."""
    if channels is not None and _output_channels(source, x) != found.shape[1]:
        channels = None
    exact = source.expected(x, channels)
    result = found if channels is None else found[:, list(channels)]
    verdict = judge_outcome(ProgramOutcome(Outcome.RETURNED, (result,)), Target(exact, exact.bound()))
    if channels is None or verdict.kind is not DifferenceKind.SHAPE:
        return verdict
    # The shapes with all channels.
    expected = [*found.shape[:2], *exact.value.shape[2:]]
    return replace(verdict, message=f"returned shape {list(found.shape)}, not {expected}")


def _output_channels(source: ModelLayer, x: Array) -> int:
    return int(source.call.result.shape[1] if "kernel" in source.call.inputs else x.shape[1])


def _chosen_channels(count: int) -> Sequence[int] | None:
    if count <= MAX_CHANNELS:
        return None
    # The same channels in each run.
    drawn = np.random.default_rng(count).choice(count, MAX_CHANNELS - 2, replace=False)
    return sorted({0, count - 1, *map(int, drawn)})


def _has_same_weights(source: ModelLayer, port: ModelLayer) -> bool:
    names = {*source.call.inputs, *port.call.inputs} - {"x", "bias"}
    return all(
        name in source.call.inputs
        and name in port.call.inputs
        and np.array_equal(source.call.inputs[name], port.call.inputs[name])
        for name in names
    )


def array_difference(one: Array, other: Array) -> float:
    """Return the largest absolute difference, infinite if the shapes or the positions of NaN and infinities differ."""
    if one.shape != other.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        change = np.where(same, 0.0, np.abs(one.astype(np.float64) - other.astype(np.float64)))
    return float(np.where(np.isnan(change), np.inf, change).max(initial=0.0))


def noise_limit(values: Array, noise: float) -> float:
    """Return the largest difference that rounding explains."""
    finite = np.abs(values[np.isfinite(values)].astype(np.float64)) if values.size else np.zeros(0)
    epsilon = float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0
    return NOISE_FACTOR * (noise + epsilon * float(finite.max(initial=0.0)))
