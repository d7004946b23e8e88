"""Compositions of several TensorFlow calls, for operators and parameters that no single call supports."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    PoolingCompositions,
    StackedCells,
    Step,
    Unsupported,
    call,
    pairs_for_all_axes,
    pairs_of,
    quoted,
    text_unless_default,
    too_many_axes,
    tuple_of,
)
from conformance.adapters.tensorflow.dtypes import ONEDNN_DTYPES, VOLUME_RANK
from conformance.adapters.tensorflow.pooling import max_pool, max_pool_with_argmax, missing_kernel
from conformance.cases.arrays import lowest_value

CONSTANT_MODE = "constant"
ONES_EXPRESSION = "tf.ones_like(x)"
CANNOT_CROP = Unsupported("tf.pad cannot crop")
# Largest padding minus the input extent, for each mirror mode: `reflect` does not repeat the cell at the border.
MIRROR_OFFSETS = {"reflect": -1, "symmetric": 0}
# On the CPU, tf.pad takes six axes in mode constant and five in the mirror modes, with batch and channels. The constant
# mode counts neighbouring axes without padding as one, so with channels first it takes one more.
MAX_PADDED_AXES = 4
# tf.reduce_max and tf.reduce_min do not support bool.
BOOL_REDUCTIONS = {"max": "any", "min": "all"}


def pad(step: Step, max_axes: int = MAX_PADDED_AXES) -> Code:
    """Return `tf.pad` in mode constant, reflect or symmetric. The last two cannot add more cells than the input has.

    max_axes: largest number of spatial axes in mode constant.
    """
    mode = step.parameters.get("mode", CONSTANT_MODE)
    pads = pairs_of(pairs_for_all_axes(step.padding, channels_last=True))
    if mode == CONSTANT_MODE:
        value = step.parameters["value"]
        text = "True" if step.dtype == "bool" else None  # used only if the value is not 0
        padded = call("tf.pad", "x", pads, constant_values=text_unless_default(0, value, text))
        crops = any(min(pair) < 0 for pair in step.padding)
        return replace(CANNOT_CROP, rejected_call=padded) if crops else too_many_axes(step, max_axes) or padded
    if any(min(pair) < 0 for pair in step.padding):
        return CANNOT_CROP
    if mode not in MIRROR_OFFSETS:
        return Unsupported(f"tf.pad has no mode {mode}")
    limit = too_many_axes(step, MAX_PADDED_AXES - 1)
    if limit:
        return limit
    text = call("tf.pad", "x", pads, quoted(mode.upper()))
    if any(max(pair) > size + MIRROR_OFFSETS[mode] for size, pair in zip(step.shape[2:], step.padding, strict=True)):
        return Unsupported(f"tf.pad in mode {mode} cannot add more cells than the input has", rejected_call=text)
    return text


def indexed_pad(step: Step) -> Code:
    """Return `tf.pad`, or a gather along each axis with indices that `np.pad` computes.

    The gather supports the modes and the amounts of padding that `tf.pad` does not.
    """
    text, mode = pad(step), step.parameters["mode"]
    if isinstance(text, str) or mode == CONSTANT_MODE or any(min(pair) < 0 for pair in step.padding):
        return text
    return tuple(
        f"x = tf.gather(x, np.pad(np.arange({size}), {tuple_of(pair)}, {quoted(mode)}), axis={axis})"
        for axis, (size, pair) in enumerate(zip(step.shape[2:], step.padding, strict=True), 1)
        if any(pair)
    )


OPERATIONS = ArrayOperations(
    reduction="tf.reduce_{name}({x}, axis={axes}{keep})",
    stack="tf.stack({list}{axis})",
    reshape="tf.reshape({x}, ({dims}))",
    softmax="tf.nn.softmax({x}, axis=0)",
    flat_softmax="tf.reshape(tf.nn.softmax(tf.reshape({x}, (tf.shape({x})[0], -1)), axis=0), tf.shape({x}))",
    norm="tf.norm({x}, ord={p}, axis={axes})",
    differentiable_norm="""\
total = tf.reduce_sum(tf.abs({x}) ** {p}, axis={axes})
tf.where(total == 0, tf.ones_like(total), total) ** (1 / {p})""",
    ones=ONES_EXPRESSION,
    where="tf.where({condition}, {x}, {other})",
    share="tf.math.divide_no_nan({x}, total)",
    drawn="""\
drawn = (tf.cumsum(windows) > share) & (tf.cumsum(windows, exclusive=True) <= share)
tf.reduce_sum(tf.where(drawn, windows, 0), axis=0)""",
    move_cells="tf.transpose({x}, {order})",
)
# The limit of five axes applies to the eager kernel only. The flattening needs a static length, which a graph does not
# have.
GRAPH_COMPOSED = PoolingCompositions(
    OPERATIONS, StackedCells(OPERATIONS.stack, channels_last=True), pad, channels_last=True
)
COMPOSED = replace(GRAPH_COMPOSED, flattens_softmax=lambda step: step.rank >= VOLUME_RANK and step.dtype != "float64")


def stacked_max_pool(step: Step) -> Code:
    """Return the maximum of the stacked cells, for dtypes and ranks without a pooling kernel."""
    if not missing_kernel(step):
        return Unsupported("pooling has kernels for the dtype")
    return stacked_max_pool_all_dtypes(step)


def stacked_min_pool(step: Step) -> Code:
    """Return the minimum of the stacked cells, for integers and bool."""
    return COMPOSED.integer_min_pool(step, _reduction("min", step))


def stacked_max_pool_all_dtypes(step: Step) -> Code:
    """Return the maximum of the stacked cells, for every dtype."""
    return COMPOSED.extreme_pool(_reduction("max", step), lowest_value(step.dtype), step)


def _reduction(name: str, step: Step) -> str:
    """Return the reduction; bool has others."""
    return BOOL_REDUCTIONS.get(name, name) if step.dtype == "bool" else name


def stacked_avg_pool(step: Step) -> Code:
    """Return the divided sum of the stacked cells, where pooling has no kernel for the dtype.

    That is the case in three dimensions, and for gradients with dilation. No pooling has more dimensions.
    """
    if step.rank <= VOLUME_RANK and (
        step.dtype in ONEDNN_DTYPES or (step.rank != VOLUME_RANK and not (step.dilated and step.gradient))
    ):
        return Unsupported("pooling has kernels for the dtype")
    return COMPOSED.average_pool(step)


def layer_stacked_avg_pool(step: Step) -> Code:
    """Return the same for layers, and for all dilated windows: a layer with groups is compiled at each call."""
    return COMPOSED.average_pool(step) if step.dilated else stacked_avg_pool(step)


def max_pool_with_indices(step: Step) -> Code:
    """Return the maxima by pooling, or their indices.

    `tf.nn.max_pool_with_argmax` counts (position, channel) pairs, so its index is divided by the number of channels.
    Where the call is not supported, the index is the first position in each window at which the stacked values are
    largest.
    """
    if step.parameters.get("output") != "indices":
        text = too_many_axes(step) or max_pool(step)
        return stacked_max_pool_all_dtypes(step) if isinstance(text, Unsupported) else text
    text = max_pool_with_argmax(step)
    if isinstance(text, Unsupported) and text.rejected_call:
        return f"{text.rejected_call} // {step.shape[1]}"
    return stacked_max_indices(step)


def stacked_max_indices(step: Step) -> Code:
    """Return the first position in each window at which the stacked values are largest."""
    if step.dtype == "bool":
        return Unsupported("tf.reduce_max takes numbers only")
    return COMPOSED.max_indices(step)


def max_unpool(step: Step) -> Code:
    """Assign each value to its index in a plane of zeros. The index −1 is an extra last cell, which is dropped."""
    n, c, *spatial = step.shape
    size = tuple(step.parameters["output_size"])
    count, flat_shape = math.prod(size), (n, math.prod(spatial), c)
    return (
        f"item, _, channel = np.indices({flat_shape})",
        f"places = tf.where(indices < 0, tf.constant({count}, tf.int64), tf.cast(indices, tf.int64))",
        f"places = tf.stack([item, tf.reshape(places, {flat_shape}), channel], axis=-1)",
        # tf.scatter_nd would add values with the same index, as overlapping windows return.
        f"zeros = tf.zeros({(n, count + 1, c)}, x.dtype)",
        f"x = tf.tensor_scatter_nd_update(zeros, places, tf.reshape(x, {flat_shape}))",
        f"x = tf.reshape(x[:, :{count}], {(n, *size, c)})",
    )


def global_pool(name: str, step: Step) -> Code:
    """Return the reduction of all spatial axes."""
    return COMPOSED.global_pool(_reduction(name, step), step)


def adaptive_pool(name: str, step: Step) -> Code:
    """Return the reduction of the bins, one axis after the other."""
    return COMPOSED.adaptive_pool_by_axis(_reduction(name, step), step)


FALLBACKS = {
    "max_pool": stacked_max_pool,
    "min_pool": stacked_min_pool,
    "avg_pool": stacked_avg_pool,
    "lp_pool": COMPOSED.lp_pool,
    "softmax_pool": COMPOSED.softmax_pool,
    "max_pool_with_indices": max_pool_with_indices,
    "max_unpool": max_unpool,
    "global_max_pool": partial(global_pool, "max"),
    "global_avg_pool": partial(global_pool, "mean"),
    "adaptive_max_pool": partial(adaptive_pool, "max"),
    "adaptive_avg_pool": partial(adaptive_pool, "mean"),
    "stochastic_pool_probabilities": COMPOSED.stochastic_pool_probabilities,
    "stochastic_pool": COMPOSED.stochastic_pool,
    "pad": indexed_pad,
}
"""Compositions shared by the surfaces."""
