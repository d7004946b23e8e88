"""Pooling calls of `tf.nn`, and pooling layers of Keras."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    per_axis,
    pooling_stride_argument,
    text_unless_default,
    too_many_axes,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.tensorflow.dtypes import (
    FLOAT_ONLY,
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    PLANE_RANK,
    POOLING_DTYPES,
    ROUNDS_DOWN,
    VOLUME_RANK,
    array_padding_text,
    ones_per_axis,
    padding_name,
)
from conformance.cases.operators import Rounding

NO_POOLING_DTYPE = Unsupported("max pooling has no kernels for uint32, uint64 and bool")


def missing_kernel(step: Step) -> Unsupported | None:
    """Return why the CPU has no pooling kernel for the dtype or the number of axes; None if it has one."""
    if step.dtype not in POOLING_DTYPES:
        return NO_POOLING_DTYPE
    if step.rank == VOLUME_RANK and step.dtype not in ONEDNN_DTYPES:
        return FLOAT_ONLY
    return too_many_axes(step)


def unsupported_pooling(step: Step) -> Unsupported | None:
    """Return why no pooling call supports the step, or the rounding of its output size; None if one does."""
    rounds_down = ROUNDS_DOWN if step.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR else None
    return missing_kernel(step) or rounds_down


def divides_by_padding(step: Step) -> bool:
    """Whether an average divides by another number than the cells of the input, which SAME and VALID never do."""
    return step.parameters["divisor"] is not None or (step.padded and step.parameters.get("count_include_pad", False))


def _dilated_pool(kind: str, step: Step) -> Code:
    """Return `tf.nn.pool`, the only pooling call with dilation."""
    padding = padding_name(step)
    if step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    window, dilations = tuple_of(step.window), tuple_of(step.dilation)
    text = call("tf.nn.pool", "x", window, f'"{kind}"', padding=f'"{padding or "VALID"}"', dilations=dilations)
    if padding == "SAME":
        return Unsupported("pooling with SAME padding is not implemented for dilations above 1", rejected_call=text)
    return text if padding else Unsupported("padding is VALID or SAME")


def max_pool(step: Step) -> Code:
    """Return `tf.nn.max_pool{1,2,3}d`, or `tf.nn.pool` for dilated windows."""
    unsupported = unsupported_pooling(step)
    if step.dilated:
        return unsupported or _dilated_pool("MAX", step)
    if step.stride is None:
        return unsupported or Unsupported("the call requires strides")
    padding = padding_name(step)
    if unsupported is None and padding is None and step.rank == VOLUME_RANK:
        return Unsupported("three-dimensional pooling has no explicit padding")
    text = call(
        f"tf.nn.max_pool{step.rank}d",
        "x",
        per_axis(step.window),
        per_axis(step.stride),
        f'"{padding}"' if padding else array_padding_text(step),
    )
    if unsupported:
        # Rounding down is no rejection: the call would be accepted and compute something else.
        return replace(unsupported, rejected_call=text if unsupported is not ROUNDS_DOWN else None)
    # The page of tf.nn.max_pool2d allows padding as large as the window; the kernel rejects it.
    if padding is None and any(max(pair) >= extent for pair, extent in zip(step.padding, step.window, strict=False)):
        return Unsupported("padding must be smaller than the window", rejected_call=text)
    return text


def avg_pool(step: Step) -> Code:
    """Return `tf.nn.avg_pool{1,2,3}d`, or `tf.nn.pool` for dilated windows."""
    unsupported, padding = unsupported_pooling(step), padding_name(step)
    if unsupported or padding is None or divides_by_padding(step):
        return unsupported or Unsupported("average pooling never counts padding, and supports VALID and SAME only")
    if step.stride is None:
        return Unsupported("the call requires strides")
    if not step.dilated:
        return call(f"tf.nn.avg_pool{step.rank}d", "x", per_axis(step.window), per_axis(step.stride), f'"{padding}"')
    if padding == "SAME":
        return Unsupported("dilated SAME pads with zeros, which the average counts")
    return _dilated_pool("AVG", step)


def pooling_layer(name: str, step: Step, *arguments: str | None, **keywords: str | None) -> str:
    """Return a pooling layer of Keras and its call. name: with its module, without the number of axes."""
    # Without a dtype, a layer computes in float32, which a convention case observes.
    dtype = None if uses_framework_defaults(step) else "x.dtype"
    return call(f"{name}{step.rank}D", *arguments, **keywords, dtype=dtype) + "(x)"


def layer_pool(name: str, step: Step) -> Code:
    """Return a pooling layer."""
    unsupported, padding = unsupported_pooling(step), padding_name(step)
    if unsupported or step.dilated or padding is None:
        limit = "have no dilation" if step.dilated else "support valid and same padding only"
        return unsupported or Unsupported(f"pooling layers {limit}")
    if name == "AveragePooling" and divides_by_padding(step):
        return Unsupported("average pooling layers never count padding")
    same, stride = text_unless_default("VALID", padding, '"same"'), pooling_stride_argument(step)
    return pooling_layer(f"tf.keras.layers.{name}", step, per_axis(step.window), strides=stride, padding=same)


def layer_global(name: str, step: Step) -> Code:
    """Return a global pooling layer. Without `keepdims`, it drops the spatial axes."""
    return pooling_layer(f"tf.keras.layers.{name}", step, keepdims="True")


def layer_adaptive(name: str, step: Step) -> Code:
    """Return an adaptive pooling layer, unless its kernels do not support the step."""
    unsupported = unsupported_adaptive(step)
    text = pooling_layer(f"tf.keras.layers.{name}", step, per_axis(step.parameters["output_size"]))
    return (
        replace(unsupported, rejected_call=text if unsupported in (ADAPTIVE_ABORTS, ADAPTIVE_UNINITIALIZED) else None)
        if unsupported
        else text
    )


def unsupported_adaptive(step: Step) -> Unsupported | None:
    """Return why Keras' adaptive pooling fails on TensorFlow: the dtype, or a window that exceeds the input.

    Keras pools with windows of ceil(size / bins) cells and of one cell more, even if no bin has the second size. With
    one bin, the second window is larger than the input. On the last axis this ends the process. On another axis it
    makes the gradient of a plane uninitialized memory.
    """
    missing = missing_kernel(step)
    if missing:
        return missing
    sizes = zip(step.shape[2:], step.parameters["output_size"], strict=False)
    if step.operator != "adaptive_max_pool" or all(-(-size // bins) != size for size, bins in sizes):
        return None
    if step.dtype in ONEDNN_DTYPES | {"float16"}:  # oneDNN computes float16 on processors that support it
        return ADAPTIVE_ABORTS
    return ADAPTIVE_UNINITIALIZED if step.gradient else None


ADAPTIVE_ABORTS = Unsupported(
    "with one bin on an axis the layer requests a window larger than the input. On the last axis the process ends",
    "https://github.com/tensorflow/tensorflow/issues/125509",
)
ADAPTIVE_UNINITIALIZED = Unsupported(
    "with one bin on an axis the layer requests a window larger than the input; its gradient is uninitialized memory"
)


def max_pool_with_argmax(step: Step) -> Code:
    """Return `tf.nn.max_pool_with_argmax`.

    Its indices count channels too, so they equal the indices in a plane only if there is one channel.
    """
    padding = padding_name(step)
    if step.rank != PLANE_RANK or step.dilated or padding is None or step.parameters["rounding"] != Rounding.FLOOR:
        return Unsupported("the call supports two dimensions, VALID or SAME padding, and no dilation")
    if step.dtype == "bool":
        return Unsupported("the call does not support bool")
    text = call("tf.nn.max_pool_with_argmax", "x", per_axis(step.window), per_axis(step.stride), f'"{padding}"')
    values = step.parameters.get("output") != "indices"
    if values or step.shape[1] == 1:
        return f"{text}.{'output' if values else 'argmax'}"
    return Unsupported("indices count the channels too", rejected_call=f"{text}.argmax")
