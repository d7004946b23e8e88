"""Pooling with `keras.ops` and Keras layers, and its compositions, for every engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from conformance.adapters.api.dtypes import FLOATING
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
from conformance.adapters.keras.engines import CHANNELS_FIRST_FORMAT, Engine
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
    """Return a pooling call of `keras.ops`."""
    if step.stride is not None and "strides" in keywords:
        # On JAX, max and average pooling raise an error without strides.
        keywords["strides"] = per_axis(step.stride)
    return call(f"keras.ops.{OPS_NAMES.get(step.operator, step.operator)}", "x", *arguments, **keywords)


def layer_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a pooling layer and its call. Without a dtype, it computes in float32."""
    dtype = None if uses_framework_defaults(step) else "x.dtype"
    return call(f"keras.layers.{LAYER_NAMES[step.operator]}{step.rank}D", *arguments, **keywords, dtype=dtype) + "(x)"


def window_pool(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """Return a max or average pooling call."""
    padding, limit = padding_name(step), engine.pooling_limit(step)
    if step.dilated or padding is None:
        return Unsupported("pooling has no dilation, and supports valid and same padding only")
    if step.operator == "avg_pool" and divides_by_padding(step):
        return Unsupported("average pooling never counts padding")
    if step.parameters.get("rounding", "floor") != "floor":
        return ROUNDS_DOWN
    stride = per_axis(step.stride) if step.stride != step.window else None
    text = write_call(
        step, per_axis(step.window), strides=stride, padding=text_unless_default("VALID", padding, '"same"')
    )
    return replace(limit, rejected_call=text) if limit else text


def adaptive_pool(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """Return an adaptive pooling call."""
    limit = engine.pooling_limit(step)
    text = write_call(step, per_axis(step.parameters["output_size"]))
    # In three dimensions, most dtypes have no kernel on TensorFlow, and no convention is about that.
    return replace(limit, rejected_call=text if step.rank != VOLUME_RANK else None) if limit else text


def channels_first_layer_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a pooling layer with channels first, and its call."""
    return layer_call(step, *arguments, **keywords, data_format=CHANNELS_FIRST_FORMAT)


def global_layer_pool(write_call: PoolingCallWriter, step: Step) -> Code:
    """Return a global pooling layer. Without `keepdims`, it drops the spatial axes."""
    text = write_call(step, keepdims="True")
    return text if uses_framework_defaults(step) else _unless_integer_average(step, text)


def global_ops_pool(step: Step) -> Code:
    """Return one reduction of all spatial axes."""
    reduce = "max" if step.operator == "global_max_pool" else "mean"
    return _unless_integer_average(step, f"keras.ops.{reduce}(x, axis={spatial_axes_text(step)}, keepdims=True)")


def _unless_integer_average(step: Step, text: str) -> Code:
    """Return the text, or unsupported for an average of integers."""
    if step.operator == "global_max_pool" or step.dtype in FLOATING:
        return text
    return Unsupported("Keras' averages of integers are not integers", rejected_call=text)


def padding_lines(step: Step, value: float) -> tuple[tuple[str, ...], Step]:
    """Return lines of explicit padding, as far as the windows reach, and the step that reads the padded array."""
    padding, rest = split_padding(step, value)
    return tuple(f"x = {constant_pad(part)}" for part in padding), rest


def stacked_extreme_pool(engine: Engine, step: Step) -> Code:
    """Return the maximum or minimum of the stacked cells, for dtypes and dilations that pooling does not support."""
    if step.operator != "min_pool" and not step.dilated and not engine.pooling_limit(step):
        return Unsupported("pooling supports the dtype")
    if step.operator == "min_pool" and step.dtype in FLOATING:
        return Unsupported("Keras has no minimum pooling")
    if step.operator != "min_pool":
        return engine.as_one_function(*_first_largest_lines(step))
    if NUMPY_DTYPES[step.dtype].kind == "i" or step.dtype == "uint64":
        # The bitwise complement reverses the order. Padding with the largest int64 fails on PyTorch, with the largest
        # uint64 on JAX.
        return engine.as_one_function("x = ~x", *_first_largest_lines(step), "x = ~x")
    lines, inner = padding_lines(step, highest_value(step.dtype))
    return engine.as_one_function(*lines, f"x = keras.ops.min({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0)")


def _first_largest_lines(step: Step) -> tuple[str, ...]:
    lines, inner = padding_lines(step, lowest_value(step.dtype))
    return (*lines, f"x = {STACKED_WINDOWS.max.format(STACKED_WINDOWS.stacked_cells('x', inner))}")


def stacked_average_pool(engine: Engine, step: Step) -> Code:
    """Return the divided sum of the stacked cells, for dtypes and dilations that pooling does not support."""
    if step.dtype not in FLOATING:
        return Unsupported("Keras' averages of integers are not integers")
    if not step.dilated and not engine.pooling_limit(step):
        return Unsupported("pooling supports the dtype")
    divisor = step.parameters["divisor"]
    counts = step.windows.counts(step.parameters["count_include_pad"]) if divisor is None else np.array(divisor)
    if (counts == counts.flat[0]).all():
        lines, inner = padding_lines(step, 0)
        divisor_text = number(counts.flat[0].item())
        return engine.as_one_function(
            *lines, f"x = keras.ops.sum({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0) / {divisor_text}"
        )
    # The counts differ at the border, so the sum is divided by the same sum over ones. Counted zeros are padded first.
    counted, rest = split_counted_zeros(step)
    zeros = tuple(f"x = {constant_pad(padding)}" for padding in counted)
    lines, inner = padding_lines(rest, 0)
    total = (*lines, f"x = keras.ops.sum({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0)")
    return engine.as_one_function(*zeros, *divide_by_ones(total, ONES_EXPRESSION))


def stacked_lp_pool(engine: Engine, step: Step) -> Code:
    """Return the norm of the stacked cells. Zero padding adds nothing to it."""
    lines, inner = padding_lines(step, 0)
    p, cells = number(step.parameters["p"]), STACKED_WINDOWS.stacked_cells("x", inner)
    if step.dtype == "float64":
        # On PyTorch, keras.ops.norm converts it to float32.
        return engine.as_one_function(*lines, f"x = keras.ops.sum(keras.ops.abs({cells}) ** {p}, axis=0) ** (1 / {p})")
    return engine.as_one_function(*lines, f"x = keras.ops.norm({cells}, ord={p}, axis=0)")


def softmax_pool(engine: Engine, step: Step) -> Code:
    """Return the stacked cells weighted by their softmax.

    TensorFlow's softmax supports at most five axes, so in three dimensions all other axes are flattened to one.
    """
    if step.rank != VOLUME_RANK:
        return engine.as_one_function(*STACKED_WINDOWS.softmax_pool(step))
    # low[0][4:] is the line without "x = ".
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
    """Return the maxima by pooling, or the first position in each window at which the stacked values are largest."""
    if step.parameters.get("output") != "indices":
        code = window_pool(engine, write_call, replace(step, operator="max_pool"))
        if not isinstance(code, Unsupported):
            return code
        return engine.as_one_function(*_first_largest_lines(step))
    spatial, cells = step.shape[2:], math.prod(step.shape[2:])
    lines, inner = padding_lines(step, lowest_value(step.dtype))
    places = f"np.arange({cells}).reshape({(1, *spatial, 1)})"
    if lines:  # positions in the padding get an index past the end, so that they are never the smallest
        pads = pairs_of(pairs_for_all_axes(step.window_reach, channels_last=True))
        places = f"np.pad({places}, {pads}, constant_values={cells})"
    stacked_places = STACKED_WINDOWS.stacked_cells("places", inner).replace("keras.ops", "np")
    return engine.as_one_function(
        *lines,
        f"places = {places}",
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "largest = keras.ops.equal(windows, keras.ops.max(windows, axis=0))",
        f"places = keras.ops.convert_to_tensor({stacked_places})",
        f"x = keras.ops.min(keras.ops.where(largest, places, {cells}), axis=0)",
    )


def max_unpool(engine: Engine, step: Step) -> Code:
    """Scatter each value to its index in a plane of zeros. The index −1 is an extra last cell, which is dropped."""
    values = math.prod(step.shape)
    if values > engine.max_scattered_values:
        return Unsupported(f"keras.ops.scatter processes {values} values one at a time, in Python")
    n, c, *spatial = step.shape
    size, cells = tuple(step.parameters["output_size"]), math.prod(spatial)
    count = math.prod(size)
    flat_shape = (n, cells, c)
    lines = (
        f"item, _, channel = np.indices({flat_shape})",
        f"places = keras.ops.reshape(keras.ops.where(indices < 0, {count}, indices), {flat_shape})",
        "places = keras.ops.stack([item, places, channel], axis=-1)",
        f"x = keras.ops.scatter(places, keras.ops.reshape(x, {flat_shape}), {(n, count + 1, c)})",
        f"x = keras.ops.reshape(x[:, :{count}], {(n, *size, c)})",
    )
    return engine.as_one_function(*lines, names=("x", "indices"))


def adaptive_pool_by_bins(engine: Engine, step: Step) -> Code:
    """Return the reduction of the bins, one axis after the other."""
    reduce = "max" if step.operator == "adaptive_max_pool" else "mean"
    if reduce == "mean" and step.dtype not in FLOATING:
        return Unsupported("Keras' averages of integers are not integers")
    lines = []
    for axis, (size, count) in enumerate(zip(step.shape[2:], step.parameters["output_size"], strict=True), 1):
        part = f"x[{':, ' * axis}start:stop]"
        edges = bins_text(size, count)
        reduced = f"keras.ops.stack([keras.ops.{reduce}({part}, axis={axis}) for start, stop in {edges}], axis={axis})"
        # An axis with as many bins as cells is unchanged.
        lines += [f"x = {reduced}"] if count != size else []
    return engine.as_one_function(*lines) if lines else "x"


def stochastic_pool_probabilities(engine: Engine, step: Step) -> Code:
    """Return each cell divided by the sum of its window, with the window axes after the output axes."""
    lines, inner = padding_lines(step, 0)
    rank, windows = step.rank, step.windows
    shape = (*windows.window, step.shape[0], *windows.output, step.shape[1])
    order = (rank, *range(rank + 1, 2 * rank + 1), *range(rank), 2 * rank + 1)
    return engine.as_one_function(
        *lines,
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "x = keras.ops.divide_no_nan(windows, keras.ops.sum(windows, axis=0))",
        f"x = keras.ops.transpose(keras.ops.reshape(x, {shape}), {order})",
    )


def stochastic_pool(engine: Engine, step: Step) -> Code:
    """Return the first cell of each window at which the cumulative sum exceeds the drawn share of the total."""
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
