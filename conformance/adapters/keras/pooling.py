"""Keras 3: pooling, of `keras.ops` and of layers, and what takes several operations; one text for every engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from conformance.adapters.api.source_text import (
    all_axes,
    bins_text,
    by_default,
    call,
    number,
    over_ones,
    pairs_of,
    per_axis,
    unless,
)
from conformance.adapters.api.stacked_windows import Stacking
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.keras.engines import CHANNELS_FIRST, FLOATING, Engine
from conformance.adapters.keras.padding import constant
from conformance.adapters.tensorflow.dtypes import ROUNDS_DOWN, SPATIAL, named, spatial_axes
from conformance.adapters.tensorflow.pooling import counts_padding
from conformance.cases.arrays import DTYPES, greatest, least
from conformance.cases.steps import Step, padded_first, zeros_that_count

Spelling = Callable[..., str]
ONES = "keras.ops.ones_like(x)"
OPS = {"avg_pool": "average_pool", "adaptive_avg_pool": "adaptive_average_pool"}
LAYERS = {
    "max_pool": "MaxPooling",
    "avg_pool": "AveragePooling",
    "global_max_pool": "GlobalMaxPooling",
    "global_avg_pool": "GlobalAveragePooling",
    "adaptive_max_pool": "AdaptiveMaxPooling",
    "adaptive_avg_pool": "AdaptiveAveragePooling",
}
STACKED = Stacking(
    constant,
    stack="keras.ops.stack",
    softmax="keras.ops.softmax({}, axis=0)",
    total="keras.ops.sum({}, axis=0)",
    largest="keras.ops.max({}, axis=0)",
    channels_last=True,
)


def ops(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a call of keras.ops."""
    if step.stride is not None and "strides" in keywords:
        # On JAX max and average pooling without strides raise.
        keywords["strides"] = per_axis(step.stride)
    return call(f"keras.ops.{OPS.get(step.verb, step.verb)}", "x", *arguments, **keywords)


def layer(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a layer, made and called; without a dtype it would compute in float32."""
    dtype = None if by_default(step) else "x.dtype"
    return call(f"keras.layers.{LAYERS[step.verb]}{step.rank}D", *arguments, **keywords, dtype=dtype) + "(x)"


def pool(engine: Engine, spell: Spelling, step: Step) -> Code:
    """Return the call, or why there is none."""
    padding, refusal = named(step), engine.pools(step)
    if step.dilated or padding is None:
        return Unsupported("pooling has no dilation, and its padding is valid or same")
    if step.verb == "avg_pool" and counts_padding(step):
        return Unsupported("average pooling never counts padding")
    if step.parameters.get("rounding", "floor") != "floor":
        return ROUNDS_DOWN
    stride = per_axis(step.stride) if step.stride != step.window else None
    text = spell(step, per_axis(step.window), strides=stride, padding=unless("VALID", padding, '"same"'))
    return replace(refusal, refused=text) if refusal else text


def adaptive(engine: Engine, spell: Spelling, step: Step) -> Code:
    """Return the call, or why there is none."""
    refusal = engine.pools(step)
    text = spell(step, per_axis(step.parameters["output_size"]))
    # In space most dtypes have no kernel on TensorFlow, and no question is about that.
    return replace(refusal, refused=text if step.rank != SPATIAL else None) if refusal else text


def first(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a layer that is told that channels come first, made and called."""
    return layer(step, *arguments, **keywords, data_format=CHANNELS_FIRST)


def global_layer(spell: Spelling, step: Step) -> Code:
    """Return the layer; without `keepdims` it would drop the axes."""
    text = spell(step, keepdims="True")
    return text if by_default(step) else _averaged(step, text)


def global_ops(step: Step) -> Code:
    """Return one reduction of all spatial axes."""
    reduce = "max" if step.verb == "global_max_pool" else "mean"
    return _averaged(step, f"keras.ops.{reduce}(x, axis={spatial_axes(step)}, keepdims=True)")


def _averaged(step: Step, text: str) -> Code:
    if step.verb == "global_max_pool" or step.dtype in FLOATING:
        return text
    return Unsupported("Keras' averages of whole numbers are not whole", refused=text)


def whole(step: Step, value: float) -> tuple[tuple[str, ...], Step]:
    """Return the lines that write the padding, and the step that reads what they make."""
    padding, rest = padded_first(step, value)
    return tuple(f"x = {constant(part)}" for part in padding), rest


def extreme(engine: Engine, step: Step) -> Code:
    """The largest or least of the stacked cells, where no pooling takes the dtype or the holes."""
    if step.verb != "min_pool" and not step.dilated and not engine.pools(step):
        return Unsupported("pooling takes the dtype")
    if step.verb == "min_pool" and step.dtype in FLOATING:
        return Unsupported("Keras has no minimum pooling")
    if step.verb != "min_pool":
        return engine.whole(*_largest(step))
    if DTYPES[step.dtype].kind == "i" or step.dtype == "uint64":
        # The complement turns the order round: the largest int64 cannot be padded with on PyTorch, nor uint64 on JAX.
        return engine.whole("x = ~x", *_largest(step), "x = ~x")
    lines, inner = whole(step, greatest(step.dtype))
    return engine.whole(*lines, f"x = keras.ops.min({STACKED.cells('x', inner)}, axis=0)")


def _largest(step: Step) -> tuple[str, ...]:
    lines, inner = whole(step, least(step.dtype))
    return (*lines, f"x = {STACKED.largest.format(STACKED.cells('x', inner))}")


def average(engine: Engine, step: Step) -> Code:
    """The sum of the stacked cells, divided, where pooling lacks the dtype or the holes."""
    if step.dtype not in FLOATING:
        return Unsupported("Keras' averages of whole numbers are not whole")
    if not step.dilated and not engine.pools(step):
        return Unsupported("pooling takes the dtype")
    divisor = step.parameters["divisor"]
    counts = step.walk.counts(step.parameters["count_include_pad"]) if divisor is None else np.array(divisor)
    if (counts == counts.flat[0]).all():
        lines, inner = whole(step, 0)
        by = number(counts.flat[0].item())
        return engine.whole(*lines, f"x = keras.ops.sum({STACKED.cells('x', inner)}, axis=0) / {by}")
    counted, rest = zeros_that_count(step)
    zeros = tuple(f"x = {constant(padding)}" for padding in counted)
    lines, inner = whole(rest, 0)
    total = (*lines, f"x = keras.ops.sum({STACKED.cells('x', inner)}, axis=0)")
    return engine.whole(*zeros, *over_ones(total, ONES))


def norm(engine: Engine, step: Step) -> Code:
    """The root of the sum of powers of the stacked cells; zeros around them add nothing."""
    lines, inner = whole(step, 0)
    p, cells = number(step.parameters["p"]), STACKED.cells("x", inner)
    if step.dtype == "float64":
        # On PyTorch keras.ops.norm makes float32 of it.
        return engine.whole(*lines, f"x = keras.ops.sum(keras.ops.abs({cells}) ** {p}, axis=0) ** (1 / {p})")
    return engine.whole(*lines, f"x = keras.ops.norm({cells}, ord={p}, axis=0)")


def softmax_pool(engine: Engine, step: Step) -> Code:
    """The stacked cells weighted by their softmax, which TensorFlow takes along no more than five axes."""
    if step.rank != SPATIAL:
        return engine.whole(*STACKED.softmax_pool(step))
    low, inner = whole(step, -math.inf)
    zero, _ = whole(step, 0)
    return engine.whole(
        f"weights, values = {low[0][4:]}, {zero[0][4:]}" if low else "weights = values = x",
        f"weights = {STACKED.cells('weights', inner)}",
        "shares = keras.ops.softmax(keras.ops.reshape(weights, (len(weights), -1)), axis=0)",
        f"values = {STACKED.cells('values', inner)}",
        "x = keras.ops.sum(values * keras.ops.reshape(shares, values.shape), axis=0)",
    )


def with_indices(engine: Engine, spell: Spelling, step: Step) -> Code:
    """The values by pooling; of the stacked places that hold the largest, the first."""
    if step.parameters.get("output") != "indices":
        answer = pool(engine, spell, replace(step, verb="max_pool"))
        if not isinstance(answer, Unsupported):
            return answer
        return engine.whole(*_largest(step))
    spatial, cells = step.shape[2:], math.prod(step.shape[2:])
    lines, inner = whole(step, least(step.dtype))
    places = f"np.arange({cells}).reshape({(1, *spatial, 1)})"
    if lines:
        places = f"np.pad({places}, {pairs_of(all_axes(step.reach, channels_last=True))}, constant_values={cells})"
    return engine.whole(
        *lines,
        f"places = {places}",
        f"windows = {STACKED.cells('x', inner)}",
        "largest = keras.ops.equal(windows, keras.ops.max(windows, axis=0))",
        f"places = keras.ops.convert_to_tensor({STACKED.cells('places', inner).replace('keras.ops', 'np')})",
        f"x = keras.ops.min(keras.ops.where(largest, places, {cells}), axis=0)",
    )


def unpool(engine: Engine, step: Step) -> Code:
    """Add each value at its place to a plane of zeros; −1 is no place, and goes to a cell past the end."""
    values = math.prod(step.shape)
    if values > engine.scattered:
        return Unsupported(f"keras.ops.scatter goes through {values} values one by one, in Python")
    n, c, *spatial = step.shape
    size, cells = tuple(step.parameters["output_size"]), math.prod(spatial)
    count = math.prod(size)
    flat = (n, cells, c)
    lines = (
        f"item, _, channel = np.indices({flat})",
        f"places = keras.ops.reshape(keras.ops.where(indices < 0, {count}, indices), {flat})",
        "places = keras.ops.stack([item, places, channel], axis=-1)",
        f"x = keras.ops.scatter(places, keras.ops.reshape(x, {flat}), {(n, count + 1, c)})",
        f"x = keras.ops.reshape(x[:, :{count}], {(n, *size, c)})",
    )
    return engine.whole(*lines, names=("x", "indices"))


def bins(engine: Engine, step: Step) -> Code:
    """Reduce bin by bin, axis by axis."""
    reduce = "max" if step.verb == "adaptive_max_pool" else "mean"
    if reduce == "mean" and step.dtype not in FLOATING:
        return Unsupported("Keras' averages of whole numbers are not whole")
    lines = []
    for axis, (size, count) in enumerate(zip(step.shape[2:], step.parameters["output_size"], strict=True), 1):
        part = f"x[{':, ' * axis}start:stop]"
        edges = bins_text(size, count)
        reduced = f"keras.ops.stack([keras.ops.{reduce}({part}, axis={axis}) for start, stop in {edges}], axis={axis})"
        lines += [f"x = {reduced}"] if count != size else []
    return engine.whole(*lines) if lines else "x"


def probabilities(engine: Engine, step: Step) -> Code:
    """The share of each stacked cell, laid out beside each other behind the output's axes."""
    lines, inner = whole(step, 0)
    rank, walk = step.rank, step.walk
    shape = (*walk.window, step.shape[0], *walk.output, step.shape[1])
    order = (rank, *range(rank + 1, 2 * rank + 1), *range(rank), 2 * rank + 1)
    return engine.whole(
        *lines,
        f"windows = {STACKED.cells('x', inner)}",
        "x = keras.ops.divide_no_nan(windows, keras.ops.sum(windows, axis=0))",
        f"x = keras.ops.transpose(keras.ops.reshape(x, {shape}), {order})",
    )


def stochastic_pool(engine: Engine, step: Step) -> Code:
    """The first of the stacked cells at which the running sum exceeds the draw's share."""
    lines, inner = whole(step, 0)
    return engine.whole(
        *lines,
        f"windows = {STACKED.cells('x', inner)}",
        "sums = keras.ops.cumsum(windows, axis=0)",
        "drawn = keras.ops.greater(sums, draws * keras.ops.sum(windows, axis=0))",
        "first = drawn & keras.ops.equal(keras.ops.cumsum(drawn, axis=0), 1)",
        "x = keras.ops.sum(keras.ops.where(first, windows, 0), axis=0)",
        names=("x", "draws"),
    )
