"""Compositions of several TensorFlow calls, for operators and parameters that no single call supports."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from conformance.adapters.api.dtypes import FLOATING
from conformance.adapters.api.source_text import (
    bins_text,
    call,
    divide_by_ones,
    number,
    pairs_for_all_axes,
    pairs_of,
    quoted,
    text_unless_default,
    tuple_of,
)
from conformance.adapters.api.stacked_windows import StackedWindows
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.tensorflow.dtypes import ONEDNN_DTYPES, POOLING_DTYPES, VOLUME_RANK, spatial_axes_text
from conformance.adapters.tensorflow.pooling import max_pool, max_pool_with_argmax
from conformance.cases.arrays import highest_value, lowest_value
from conformance.cases.steps import Step, split_counted_zeros, split_padding

CONSTANT_MODE = "constant"
ONES_EXPRESSION = "tf.ones_like(x)"
CANNOT_CROP = Unsupported("tf.pad cannot crop")
# Largest padding minus the input extent, for each mirror mode: `reflect` does not repeat the cell at the border.
MIRROR_OFFSETS = {"reflect": -1, "symmetric": 0}


def pad(step: Step) -> Code:
    """Return `tf.pad` in mode constant, reflect or symmetric. The last two cannot add more cells than the input has."""
    mode = step.parameters.get("mode", CONSTANT_MODE)
    pads = pairs_of(pairs_for_all_axes(step.padding, channels_last=True))
    if mode == CONSTANT_MODE:
        value = step.parameters["value"]
        text = "True" if step.dtype == "bool" else None  # used only if the value is not 0
        padded = call("tf.pad", "x", pads, constant_values=text_unless_default(0, value, text))
        crops = any(min(pair) < 0 for pair in step.padding)
        return replace(CANNOT_CROP, rejected_call=padded) if crops else padded
    if any(min(pair) < 0 for pair in step.padding):
        return CANNOT_CROP
    if mode not in MIRROR_OFFSETS:
        return Unsupported(f"tf.pad has no mode {mode}")
    text = call("tf.pad", "x", pads, quoted(mode.upper()))
    if any(max(pair) > size + MIRROR_OFFSETS[mode] for size, pair in zip(step.shape[2:], step.padding, strict=True)):
        return Unsupported(f"tf.pad in mode {mode} cannot add more cells than the input has", rejected_call=text)
    return text


def indexed_pad(step: Step) -> Code:
    """Return `tf.pad`, or a gather along each axis with indices that `np.pad` computes.

    The gather supports the modes and the amounts of padding that `tf.pad` does not.
    """
    text = pad(step)
    if isinstance(text, str) or any(min(pair) < 0 for pair in step.padding):
        return text
    mode = step.parameters["mode"]
    return tuple(
        f"x = tf.gather(x, np.pad(np.arange({size}), {tuple_of(pair)}, {quoted(mode)}), axis={axis})"
        for axis, (size, pair) in enumerate(zip(step.shape[2:], step.padding, strict=True), 1)
        if any(pair)
    )


STACKED_WINDOWS = StackedWindows(
    pad,
    stack="tf.stack",
    softmax="tf.nn.softmax({}, axis=0)",
    sum="tf.reduce_sum({}, axis=0)",
    max="tf.reduce_max({}, axis=0)",
    channels_last=True,
)


def _padding_lines(step: Step, value: float) -> tuple[tuple[str, ...], Step]:
    """Return lines of explicit padding, as far as the windows reach, and the step that reads the padded array."""
    padding, rest = split_padding(step, value)
    return tuple(f"x = {pad(part)}" for part in padding), rest


def stacked_max_pool(step: Step) -> Code:
    """Return the maximum of the stacked cells, for dtypes without a pooling kernel."""
    if step.dtype in POOLING_DTYPES and (step.rank != VOLUME_RANK or step.dtype in ONEDNN_DTYPES):
        return Unsupported("pooling has kernels for the dtype")
    return _stacked_extreme(step, "any" if step.dtype == "bool" else "max", lowest_value(step.dtype))


def stacked_min_pool(step: Step) -> Code:
    """Return the minimum of the stacked cells, for integers and bool.

    Floating-point minimum pooling is lowered to negated max pooling. The smallest integer has no negative.
    """
    if step.dtype in FLOATING:
        return Unsupported("there is no minimum pooling")
    return _stacked_extreme(step, "all" if step.dtype == "bool" else "min", highest_value(step.dtype))


def _stacked_extreme(step: Step, reduce: str, padding: float) -> Code:
    lines, step = _padding_lines(step, padding)
    return (*lines, f"x = tf.reduce_{reduce}({STACKED_WINDOWS.stacked_cells('x', step)}, axis=0)")


def stacked_avg_pool(step: Step) -> Code:
    """Return the divided sum of the stacked cells, where pooling has no kernel for the dtype.

    That is the case in three dimensions, and for gradients with dilation.
    """
    if step.dtype in ONEDNN_DTYPES or (step.rank != VOLUME_RANK and not (step.dilated and step.gradient)):
        return Unsupported("pooling has kernels for the dtype")
    return _divided_average(step)


def layer_stacked_avg_pool(step: Step) -> Code:
    """Return the same for layers, and for all dilated windows: a layer with groups is compiled at each call."""
    return _divided_average(step) if step.dilated else stacked_avg_pool(step)


def _divided_average(step: Step) -> Code:
    divisor = step.parameters["divisor"]
    counts = step.windows.counts(step.parameters["count_include_pad"]) if divisor is None else np.array(divisor)
    if (counts == counts.flat[0]).all():
        lines, inner = _padding_lines(step, 0)
        return (*lines, f"x = tf.reduce_sum({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0) / {counts.flat[0]}")
    # The counts differ at the border, so the sum is divided by the same sum over ones. Counted zeros are padded first.
    counted, rest = split_counted_zeros(step)
    zeros = tuple(f"x = {pad(padding)}" for padding in counted)
    lines, inner = _padding_lines(rest, 0)
    return (
        *zeros,
        *divide_by_ones(
            (*lines, f"x = tf.reduce_sum({STACKED_WINDOWS.stacked_cells('x', inner)}, axis=0)"), ONES_EXPRESSION
        ),
    )


def lp_pool(step: Step) -> Code:
    """Return the norm of the stacked cells. Zero padding adds nothing to it."""
    lines, step = _padding_lines(step, 0)
    return (
        *lines,
        f"x = tf.norm({STACKED_WINDOWS.stacked_cells('x', step)}, ord={number(step.parameters['p'])}, axis=0)",
    )


def softmax_pool(step: Step) -> Code:
    """Return the stacked cells weighted by their softmax.

    `tf.nn.softmax` supports at most five axes, so in three dimensions the cells of a window are flattened to one axis.
    """
    if step.rank != VOLUME_RANK or step.dtype == "float64":
        return STACKED_WINDOWS.softmax_pool(step)
    weights = "tf.nn.softmax(tf.reshape({0}, (len({0}), -1)), axis=0)"
    if not any(any(pair) for pair in step.window_reach):
        weighted = f"windows * tf.reshape({weights.format('windows')}, windows.shape)"
        return (f"windows = {STACKED_WINDOWS.stacked_cells('x', step)}", f"x = tf.reduce_sum({weighted}, axis=0)")
    # low[4:] is the line without "x = ".
    (low,), inner = _padding_lines(step, -math.inf)
    (zero,), _ = _padding_lines(step, 0)
    return (
        f"weights, values = {low[4:]}, {zero[4:]}",
        f"weights = {STACKED_WINDOWS.stacked_cells('weights', inner)}",
        f"weights = tf.reshape({weights.format('weights')}, weights.shape)",
        f"x = tf.reduce_sum({STACKED_WINDOWS.stacked_cells('values', inner)} * weights, axis=0)",
    )


def max_pool_with_indices(step: Step) -> Code:
    """Return the maxima by pooling, or their indices.

    `tf.nn.max_pool_with_argmax` counts (position, channel) pairs, so its index is divided by the number of channels.
    Where the call is not supported, the index is the first position in each window at which the stacked values are
    largest.
    """
    if step.parameters.get("output") != "indices":
        text = max_pool(step)
        return stacked_max_pool_all_dtypes(step) if isinstance(text, Unsupported) else text
    text = max_pool_with_argmax(step)
    if isinstance(text, Unsupported) and text.rejected_call:
        return f"{text.rejected_call} // {step.shape[1]}"
    return stacked_max_indices(step)


def stacked_max_pool_all_dtypes(step: Step) -> Code:
    """Return the maximum of the stacked cells, for every dtype."""
    return _stacked_extreme(step, "any" if step.dtype == "bool" else "max", lowest_value(step.dtype))


def stacked_max_indices(step: Step) -> Code:
    """Return the first position in each window at which the stacked values are largest."""
    if step.dtype == "bool":
        return Unsupported("tf.reduce_max takes numbers only")
    spatial, cells = step.shape[2:], math.prod(step.shape[2:])
    lines, inner = _padding_lines(step, lowest_value(step.dtype))
    places = f"np.arange({cells}).reshape({(1, *spatial, 1)})"
    if lines:  # positions in the padding get an index past the end, so that they are never the smallest
        pads = pairs_of(pairs_for_all_axes(step.window_reach, channels_last=True))
        places = f"np.pad({places}, {pads}, constant_values={cells})"
    return (
        *lines,
        f"places = tf.constant({places})",
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "largest = windows == tf.reduce_max(windows, axis=0)",
        f"x = tf.reduce_min(tf.where(largest, {STACKED_WINDOWS.stacked_cells('places', inner)}, {cells}), axis=0)",
    )


def max_unpool(step: Step) -> Code:
    """Scatter each value to its index in a plane of zeros. The index −1 is ignored."""
    n, c, *spatial = step.shape
    size = tuple(step.parameters["output_size"])
    flat_shape, output_shape = (n, math.prod(spatial), c), (n, math.prod(size), c)
    return (
        f"item, _, channel = np.indices({flat_shape})",
        f"places = tf.stack([item, tf.reshape(tf.cast(indices, tf.int64), {flat_shape}), channel], axis=-1)",
        f'x = tf.scatter_nd(places, tf.reshape(x, {flat_shape}), {output_shape}, bad_indices_policy="IGNORE")',
        f"x = tf.reshape(x, {(n, *size, c)})",
    )


def global_pool(reduce: str, step: Step) -> Code:
    """Return the reduction of all spatial axes."""
    if reduce == "max" and step.dtype == "bool":  # tf.reduce_max does not support bool
        reduce = "any"
    return f"tf.reduce_{reduce}(x, axis={spatial_axes_text(step)}, keepdims=True)"


def adaptive_pool(reduce: str, step: Step) -> Code:
    """Return the reduction of the bins, one axis after the other."""
    if reduce == "max" and step.dtype == "bool":
        reduce = "any"
    lines = []
    for axis, (size, bins) in enumerate(zip(step.shape[2:], step.parameters["output_size"], strict=True), 1):
        part = f"x[{':, ' * axis}start:stop]"
        reduced = f"tf.stack([tf.reduce_{reduce}({part}, {axis}) for start, stop in {bins_text(size, bins)}], {axis})"
        # An axis with as many bins as cells is unchanged.
        lines += [f"x = {reduced}"] if bins != size else []
    return tuple(lines) or "x"


def stochastic_pool_probabilities(step: Step) -> Code:
    """Return each cell divided by the sum of its window, with the window axes after the output axes."""
    lines, inner = _padding_lines(step, 0)
    rank, windows = step.rank, step.windows
    shape = (*windows.window, step.shape[0], *windows.output, step.shape[1])
    order = (rank, *range(rank + 1, 2 * rank + 1), *range(rank), 2 * rank + 1)
    return (
        *lines,
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "x = tf.math.divide_no_nan(windows, tf.reduce_sum(windows, axis=0))",
        f"x = tf.transpose(tf.reshape(x, {shape}), {order})",
    )


def stochastic_pool(step: Step) -> Code:
    """Return the first cell of each window at which the cumulative sum exceeds the drawn share of the total."""
    lines, inner = _padding_lines(step, 0)
    return (
        *lines,
        f"windows = {STACKED_WINDOWS.stacked_cells('x', inner)}",
        "limit = draws * tf.reduce_sum(windows, axis=0)",
        "drawn = (tf.cumsum(windows) > limit) & (tf.cumsum(windows, exclusive=True) <= limit)",
        "x = tf.reduce_sum(tf.where(drawn, windows, 0), axis=0)",
    )


FALLBACKS = {
    "max_pool": stacked_max_pool,
    "min_pool": stacked_min_pool,
    "avg_pool": stacked_avg_pool,
    "lp_pool": lp_pool,
    "softmax_pool": softmax_pool,
    "max_pool_with_indices": max_pool_with_indices,
    "max_unpool": max_unpool,
    "global_max_pool": partial(global_pool, "max"),
    "global_avg_pool": partial(global_pool, "mean"),
    "adaptive_max_pool": partial(adaptive_pool, "max"),
    "adaptive_avg_pool": partial(adaptive_pool, "mean"),
    "stochastic_pool_probabilities": stochastic_pool_probabilities,
    "stochastic_pool": stochastic_pool,
    "pad": indexed_pad,
}
"""Compositions shared by the surfaces."""
