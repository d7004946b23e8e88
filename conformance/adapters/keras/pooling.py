"""Pooling with `keras.ops` and Keras layers, and its compositions, for every engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from conformance.adapters.api import (
    FLOATING,
    ArrayOperations,
    Code,
    Lowering,
    PoolingCompositions,
    StackedCells,
    Step,
    Unsupported,
    call,
    per_axis,
    pooling_stride_argument,
    text_unless_default,
    too_many_axes,
    uses_framework_defaults,
)
from conformance.adapters.keras.engines import CHANNELS_FIRST_FORMAT, Engine
from conformance.adapters.keras.padding import constant_pad
from conformance.adapters.tensorflow.dtypes import ROUNDS_DOWN, VOLUME_RANK, padding_name
from conformance.adapters.tensorflow.pooling import divides_by_padding, pooling_layer
from conformance.cases.arrays import NUMPY_DTYPES, highest_value, lowest_value
from conformance.cases.operators import Rounding

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
OPERATIONS = ArrayOperations(
    reduction="keras.ops.{name}({x}, axis={axes}{keep})",
    stack="keras.ops.stack({list}{axis})",
    stack_axis=", axis={number}",
    reshape="keras.ops.reshape({x}, ({dims}))",
    softmax="keras.ops.softmax({x}, axis=0)",
    flat_softmax="keras.ops.reshape(keras.ops.softmax(keras.ops.reshape({x}, (len({x}), -1)), axis=0), {x}.shape)",
    norm="keras.ops.norm({x}, ord={p}, axis={axes})",
    differentiable_norm="""\
total = keras.ops.sum(keras.ops.abs({x}) ** {p}, axis={axes})
keras.ops.where(total == 0, 1, total) ** (1 / {p})""",
    ones=ONES_EXPRESSION,
    where="keras.ops.where({condition}, {x}, {other})",
    share="keras.ops.divide_no_nan({x}, total)",
    drawn="""\
drawn = keras.ops.cumsum(windows, axis=0) > share
first = drawn & (keras.ops.cumsum(drawn, axis=0) == 1)
keras.ops.sum(keras.ops.where(first, windows, 0), axis=0)""",
    move_cells="keras.ops.moveaxis({x}, 0, {position})",
)
COMPOSED = PoolingCompositions(
    OPERATIONS,
    StackedCells(OPERATIONS.stack, channels_last=True),
    constant_pad,
    channels_last=True,
    # TensorFlow's softmax supports at most five axes.
    flattens_softmax=lambda step: step.rank >= VOLUME_RANK,
)
# On PyTorch, keras.ops.norm converts float64 to float32.
FLOAT64_NORM = "keras.ops.sum(keras.ops.abs({x}) ** {p}, axis={axes}) ** (1 / {p})"
FLOAT64_COMPOSED = replace(COMPOSED, operations=replace(OPERATIONS, norm=FLOAT64_NORM))
# Inputs of compositions that read more than x.
COMPOSITION_INPUTS = {"max_unpool": ("x", "indices"), "stochastic_pool": ("x", "draws"), "dilation2d": ("x", "kernel")}


def compiled(engine: Engine, lowering: Lowering, step: Step) -> Code:
    """Return the lines of a composition, as one function if the engine would compile each call separately."""
    code = lowering(step)
    # The compositions are the same for every engine, so they do not know the limits of its padding.
    if isinstance(code, tuple) and any("keras.ops.pad(" in line for line in code):
        code = too_many_axes(step, engine.max_constant_axes) or code
    names = COMPOSITION_INPUTS.get(step.operator, ("x",))
    return engine.as_one_function(*code, names=names, called="pool") if isinstance(code, tuple) else code


def ops_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a pooling call of `keras.ops`."""
    if step.stride is not None and "strides" in keywords:
        # On JAX, max and average pooling raise an error without strides.
        keywords["strides"] = per_axis(step.stride)
    return call(f"keras.ops.{OPS_NAMES.get(step.operator, step.operator)}", "x", *arguments, **keywords)


def layer_call(step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a pooling layer and its call."""
    return pooling_layer(f"keras.layers.{LAYER_NAMES[step.operator]}", step, *arguments, **keywords)


def window_pool(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """Return a max or average pooling call."""
    padding, limit = padding_name(step), engine.pooling_limit(step)
    if step.dilated or padding is None:
        return Unsupported(
            "pooling has no dilation" if step.dilated else "pooling supports valid and same padding only"
        )
    if step.operator == "avg_pool" and divides_by_padding(step):
        return Unsupported("average pooling never counts padding")
    if step.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR:
        return ROUNDS_DOWN
    same, stride = text_unless_default("VALID", padding, '"same"'), pooling_stride_argument(step)
    text = write_call(step, per_axis(step.window), strides=stride, padding=same)
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
    return _unless_integer_average(step, COMPOSED.global_pool(reduce, step))


def _unless_integer_average(step: Step, text: str) -> Code:
    """Return the text, or unsupported for an average of integers."""
    if step.operator == "global_max_pool" or step.dtype in FLOATING:
        return text
    return Unsupported("Keras' averages of integers are not integers", rejected_call=text)


def _has_pooling(engine: Engine, step: Step) -> bool:
    """Whether pooling supports the dtype, the dilation and the number of axes on every surface of the engine."""
    return not (step.dilated or engine.pooling_limit(step) or too_many_axes(step))


def stacked_extreme_pool(engine: Engine, step: Step) -> Code:
    """Return the maximum or minimum of the stacked cells, for steps that pooling does not support."""
    if step.operator != "min_pool" and _has_pooling(engine, step):
        return Unsupported("pooling supports the dtype")
    if step.operator == "min_pool" and step.dtype in FLOATING:
        return Unsupported("Keras has no minimum pooling")
    if step.operator != "min_pool":
        return maximum_pool(step)
    if NUMPY_DTYPES[step.dtype].kind == "i" or step.dtype in engine.large_constant_dtypes:
        # The bitwise complement reverses the order. Padding with the largest int64 fails on PyTorch, with the largest
        # uint64 and uint32 on JAX.
        return ("x = ~x", *maximum_pool(step), "x = ~x")
    return COMPOSED.extreme_pool("min", highest_value(step.dtype), step)


def maximum_pool(step: Step) -> tuple[str, ...]:
    """Return the maximum of the stacked cells."""
    return COMPOSED.extreme_pool("max", lowest_value(step.dtype), step)


def stacked_average_pool(engine: Engine, step: Step) -> Code:
    """Return the divided sum of the stacked cells, for steps that pooling does not support."""
    if step.dtype not in FLOATING:
        return Unsupported("Keras' averages of integers are not integers")
    if _has_pooling(engine, step):
        return Unsupported("pooling supports the dtype")
    return COMPOSED.average_pool(step)


def stacked_lp_pool(step: Step) -> Code:
    """Return the norm of the stacked cells."""
    return (FLOAT64_COMPOSED if step.dtype == "float64" else COMPOSED).lp_pool(step)


def max_pool_with_indices(engine: Engine, write_call: PoolingCallWriter, step: Step) -> Code:
    """Return the maxima by pooling, or the first position in each window at which the stacked values are largest."""
    if step.parameters.get("output") != "indices":
        code = too_many_axes(step) or window_pool(engine, write_call, replace(step, operator="max_pool"))
        if not isinstance(code, Unsupported):
            return code
        return maximum_pool(step)
    return COMPOSED.max_indices(step)


def max_unpool(step: Step) -> Code:
    """Assign each value to its index in a plane of zeros. The index −1 is an extra last cell, which is dropped."""
    n, c, *spatial = step.shape
    size, cells = tuple(step.parameters["output_size"]), math.prod(spatial)
    count = math.prod(size)
    flat_shape = (n, cells, c)
    return (
        f"item, _, channel = np.indices({flat_shape})",
        f"places = keras.ops.reshape(keras.ops.where(indices < 0, {count}, indices), {flat_shape})",
        "places = keras.ops.stack([item, places, channel], axis=-1)",
        # keras.ops.scatter would add values with the same index, as overlapping windows return.
        f"zeros = keras.ops.zeros({(n, count + 1, c)}, x.dtype)",
        "places, values = keras.ops.reshape(places, (-1, 3)), keras.ops.reshape(x, (-1,))",
        "x = keras.ops.scatter_update(zeros, places, values)",
        f"x = keras.ops.reshape(x[:, :{count}], {(n, *size, c)})",
    )


def adaptive_pool_by_bins(step: Step) -> Code:
    """Return the reduction of the bins, one axis after the other."""
    reduce = "max" if step.operator == "adaptive_max_pool" else "mean"
    if reduce == "mean" and step.dtype not in FLOATING:
        return Unsupported("Keras' averages of integers are not integers")
    return COMPOSED.adaptive_pool_by_axis(reduce, step)
