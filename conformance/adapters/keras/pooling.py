"""Keras 3: pooling, of `keras.ops` and of layers, and what takes several operations; one text for every engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from conformance.adapters.api.source_text import (
    bins_text,
    call,
    divide_by_ones,
    number,
    pairs_for_all_axes,
    pairs_of,
    per_axis,
    text_unless_default,
    uses_framework_defaults,
)
from conformance.adapters.api.stacked_windows import StackedWindows
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.keras.engines import CHANNELS_FIRST_FORMAT, FLOATING, Engine
from conformance.adapters.keras.padding import constant_pad
from conformance.adapters.tensorflow.dtypes import ROUNDS_DOWN, VOLUME_RANK, padding_name, spatial_axes_text
from conformance.adapters.tensorflow.pooling import divides_by_padding
from conformance.cases.arrays import NUMPY_DTYPES, highest_value, lowest_value
from conformance.cases.steps import Step, split_counted_zeros, split_padding

PoolingCallWriter = Callable[..., str]
ONES_EXPRESSION = "keras.ops.ones_like(x)"
OPS_NAMES = {"avg_pool": "average_pool", "adaptive_avg_pool": "adaptive_average_pool"}
LAYER_NAMES = {
    "max_pool": "MaxPooling",
    "avg_pool": "AveragePooling",
    "global_max_pool": "GlobalMaxPooling",
    "global_avg_pool": "GlobalAveragePooling",
    "adaptive_max_pool": "AdaptiveMaxPooling",
    "adaptive_avg_pool": "AdaptiveAveragePooling",
}
STACKED_WINDOWS = StackedWindows(
    constant_pad,
    stack="keras.ops.stack",
    softmax="keras.ops.softmax({}, axis=0)",
    sum="keras.ops.sum({}, axis=0)",
    max="keras.ops.max({}, axis=0)",
    channels_last=True,
)


def ops_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a call of keras.ops."""
    if step.stride is not None and "strides" in keywords:
        # On JAX max and average pooling without strides raise.
        keywords["strides"] = per_axis(step.stride)
    return call(f"keras.ops.{OPS_NAMES.get(step.operator, step.operator)}", "x", *arguments, **keywords)


def layer_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a layer, made and called; without a dtype it would compute in float32."""
    dtype = None if uses_framework_defaults(step) else "x.dtype"
    return call(f"keras.layers.{LAYER_NAMES[step.operator]}{step.rank}D", *arguments, **keywords, dtype=dtype) + "(x)"


def window_pool(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """Return the call, or why there is none."""
    padding, refusal = padding_name(step), engine.pooling_limit(step)
    if step.dilated or padding is None:
        return Unsupported("pooling has no dilation, and its padding is valid or same")
    if step.operator == "avg_pool" and divides_by_padding(step):
        return Unsupported("average pooling never counts padding")
    if step.parameters.get("rounding", "floor") != "floor":
        return ROUNDS_DOWN
    stride = per_axis(step.stride) if step.stride != step.window else None
    text = write_call(
        step, per_axis(step.window), strides=stride, padding=text_unless_default("VALID", padding, '"same"')
    )
    return replace(refusal, rejected_call=text) if refusal else text


def adaptive_pool(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """Return the call, or why there is none."""
    refusal = engine.pooling_limit(step)
    text = write_call(step, per_axis(step.parameters["output_size"]))
    # In space most dtypes have no kernel on TensorFlow, and no question is about that.
    return replace(refusal, rejected_call=text if step.rank != VOLUME_RANK else None) if refusal else text


def channels_first_layer_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a layer that is told that channels come first, made and called."""
    return layer_call(step, *arguments, **keywords, data_format=CHANNELS_FIRST_FORMAT)


def global_layer_pool(write_call: PoolingCallWriter, step: Step) -> Code:
    """Return the layer; without `keepdims` it would drop the axes."""
    text = write_call(step, keepdims="True")
    return text if uses_framework_defaults(step) else _divide_average(step, text)


def global_ops_pool(step: Step) -> Code:
    """Return one reduction of all spatial axes."""
    reduce = "max" if step.operator == "global_max_pool" else "mean"
    return _divide_average(step, f"keras.ops.{reduce}(x, axis={spatial_axes_text(step)}, keepdims=True)")


def _divide_average(step: Step, text: str) -> Code:
    if step.operator == "global_max_pool" or step.dtype in FLOATING:
        return text
    return Unsupported("Keras' averages of whole numbers are not whole", rejected_call=text)


def padding_lines(step: Step, value: float) -> tuple[tuple[str, ...], Step]:
    """Return the lines that write the padding, and the step that reads what they make."""
    padding, rest = split_padding(step, value)
    return tuple(f"x = {constant_pad(part)}" for part in padding), rest


def stacked_extreme_pool(engine: Engine, step: Step) -> Code:
    """The largest or least of the stacked cells, where no pooling takes the dtype or the holes."""
    if step.operator != "min_pool" and not step.dilated and not engine.pooling_limit(step):
        return Unsupported("pooling takes the dtype")
    if step.operator == "min_pool" and step.dtype in FLOATING:
        return Unsupported("Keras has no minimum pooling")
    if step.operator != "min_pool":
        return engine.as_one_function(*_first_largest_lines(step))
    if NUMPY_DTYPES[step.dtype].kind == "i" or step.dtype == "uint64":
        # The complement turns the order round: the largest int64 cannot be padded with on PyTorch, nor uint64 on JAX.
        return engine.as_one_function("x = ~x", *_first_largest_lines(step), "x = ~x")
    lines, inner = padding_lines(step, highest_value(step.dtype))
    return engine.as_one_function(*lines, f"x = keras.ops.min({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0)")


def _first_largest_lines(step: Step) -> tuple[str, ...]:
    lines, inner = padding_lines(step, lowest_value(step.dtype))
    return (*lines, f"x = {STACKED_WINDOWS.max.format(STACKED_WINDOWS.stacked_cells('x', inner))}")


def stacked_average_pool(engine: Engine, step: Step) -> Code:
    """The sum of the stacked cells, divided, where pooling lacks the dtype or the holes."""
    if step.dtype not in FLOATING:
        return Unsupported("Keras' averages of whole numbers are not whole")
    if not step.dilated and not engine.pooling_limit(step):
        return Unsupported("pooling takes the dtype")
    divisor = step.parameters["divisor"]
    counts = step.windows.counts(step.parameters["count_include_pad"]) if divisor is None else np.array(divisor)
    if (counts == counts.flat[0]).all():
        lines, inner = padding_lines(step, 0)
        by = number(counts.flat[0].item())
        return engine.as_one_function(
            *lines, f"x = keras.ops.sum({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0) / {by}"
        )
    counted, rest = split_counted_zeros(step)
    zeros = tuple(f"x = {constant_pad(padding)}" for padding in counted)
    lines, inner = padding_lines(rest, 0)
    total = (*lines, f"x = keras.ops.sum({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0)")
    return engine.as_one_function(*zeros, *divide_by_ones(total, ONES_EXPRESSION))


def stacked_lp_pool(engine: Engine, step: Step) -> Code:
    """The root of the sum of powers of the stacked cells; zeros around them add nothing."""
    lines, inner = padding_lines(step, 0)
    p, cells = number(step.parameters["p"]), STACKED_WINDOWS.stacked_cells("x", inner)
    if step.dtype == "float64":
        # On PyTorch keras.ops.norm makes float32 of it.
        return engine.as_one_function(*lines, f"x = keras.ops.sum(keras.ops.abs({cells}) ** {p}, axis=0) ** (1 / {p})")
    return engine.as_one_function(*lines, f"x = keras.ops.norm({cells}, ord={p}, axis=0)")


def softmax_pool(engine: Engine, step: Step) -> Code:
    """The stacked cells weighted by their softmax, which TensorFlow takes along no more than five axes."""
    if step.rank != VOLUME_RANK:
        return engine.as_one_function(*STACKED_WINDOWS.softmax_pool(step))
    low, inner = padding_lines(step, -math.inf)
    zero, _ = padding_lines(step, 0)
    return engine.as_one_function(
        f"weights, values = {low[0][4:]}, {zero[0][4:]}" if low else "weights = values = x",
        f"weights = {STACKED_WINDOWS.stacked_cells('weights', inner)}",
        "shares = keras.ops.softmax(keras.ops.reshape(weights, (len(weights), -1)), axis=0)",
        f"values = {STACKED_WINDOWS.stacked_cells('values', inner)}",
        "x = keras.ops.sum(values * keras.ops.reshape(shares, values.shape), axis=0)",
    )


def max_pool_with_indices(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """The values by pooling; of the stacked places that hold the largest, the first."""
    if step.parameters.get("output") != "indices":
        answer = window_pool(engine, write_call, replace(step, operator="max_pool"))
        if not isinstance(answer, Unsupported):
            return answer
        return engine.as_one_function(*_first_largest_lines(step))
    spatial, cells = step.shape[2:], math.prod(step.shape[2:])
    lines, inner = padding_lines(step, lowest_value(step.dtype))
    places = f"np.arange({cells}).reshape({(1, *spatial, 1)})"
    if lines:
        places = f"np.pad({places}, {pairs_of(pairs_for_all_axes(step.window_reach, channels_last=True))}, constant_values={cells})"
    return engine.as_one_function(
        *lines,
        f"places = {places}",
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "largest = keras.ops.equal(windows, keras.ops.max(windows, axis=0))",
        f"places = keras.ops.convert_to_tensor({STACKED_WINDOWS.stacked_cells('places', inner).replace('keras.ops', 'np')})",
        f"x = keras.ops.min(keras.ops.where(largest, places, {cells}), axis=0)",
    )


def max_unpool(engine: Engine, step: Step) -> Code:
    """Add each value at its place to a plane of zeros; −1 is no place, and goes to a cell past the end."""
    values = math.prod(step.shape)
    if values > engine.max_scatter_rank:
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
    return engine.as_one_function(*lines, names=("x", "indices"))


def adaptive_pool_by_bins(engine: Engine, step: Step) -> Code:
    """Reduce bin by bin, axis by axis."""
    reduce = "max" if step.operator == "adaptive_max_pool" else "mean"
    if reduce == "mean" and step.dtype not in FLOATING:
        return Unsupported("Keras' averages of whole numbers are not whole")
    lines = []
    for axis, (size, count) in enumerate(zip(step.shape[2:], step.parameters["output_size"], strict=True), 1):
        part = f"x[{':, ' * axis}start:stop]"
        edges = bins_text(size, count)
        reduced = f"keras.ops.stack([keras.ops.{reduce}({part}, axis={axis}) for start, stop in {edges}], axis={axis})"
        lines += [f"x = {reduced}"] if count != size else []
    return engine.as_one_function(*lines) if lines else "x"


def stochastic_pool_probabilities(engine: Engine, step: Step) -> Code:
    """The share of each stacked cell, laid out beside each other behind the output's axes."""
    lines, inner = padding_lines(step, 0)
    rank, walk = step.rank, step.windows
    shape = (*walk.window, step.shape[0], *walk.output, step.shape[1])
    order = (rank, *range(rank + 1, 2 * rank + 1), *range(rank), 2 * rank + 1)
    return engine.as_one_function(
        *lines,
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "x = keras.ops.divide_no_nan(windows, keras.ops.sum(windows, axis=0))",
        f"x = keras.ops.transpose(keras.ops.reshape(x, {shape}), {order})",
    )


def stochastic_pool(engine: Engine, step: Step) -> Code:
    """The first of the stacked cells at which the running sum exceeds the draw's share."""
    lines, inner = padding_lines(step, 0)
    return engine.as_one_function(
        *lines,
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "sums = keras.ops.cumsum(windows, axis=0)",
        "drawn = keras.ops.greater(sums, draws * keras.ops.sum(windows, axis=0))",
        "first = drawn & keras.ops.equal(keras.ops.cumsum(drawn, axis=0), 1)",
        "x = keras.ops.sum(keras.ops.where(first, windows, 0), axis=0)",
        names=("x", "draws"),
    )
