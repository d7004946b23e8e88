"""Pooling, of `tf.nn` and of Keras layers: one call each."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api.source_text import by_default, call, per_axis, tuple_of, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.tensorflow.dtypes import (
    FLOAT_ONLY,
    HOLES_AND_STRIDE,
    IMAGE,
    ONEDNN,
    POOLED,
    ROUNDS_DOWN,
    SPATIAL,
    explicit,
    named,
    ones,
)
from conformance.cases.steps import Step

NOT_POOLED = Unsupported("max pooling has no kernels for uint32, uint64 and bool")


def unpoolable(step: Step) -> Unsupported | None:
    """Return why no call pools in the dtype or with the rounding, None where one does."""
    if step.dtype not in POOLED:
        return NOT_POOLED
    if step.rank == SPATIAL and step.dtype not in ONEDNN:
        return FLOAT_ONLY
    return ROUNDS_DOWN if step.parameters.get("rounding", "floor") != "floor" else None


def counts_padding(step: Step) -> bool:
    """Whether an average divides by more than its real cells, which SAME and VALID never do."""
    return step.parameters["divisor"] is not None or (step.padded and step.parameters.get("count_include_pad", False))


def _dilated_pool(kind: str, step: Step) -> Code:
    """`tf.nn.pool` is the only one with dilation."""
    padding = named(step)
    if step.stride != ones(step):
        return HOLES_AND_STRIDE
    window, dilations = tuple_of(step.window), tuple_of(step.dilation)
    text = call("tf.nn.pool", "x", window, f'"{kind}"', padding=f'"{padding or "VALID"}"', dilations=dilations)
    if padding == "SAME":
        return Unsupported("pooling with SAME padding is not implemented for dilations above 1", refused=text)
    return text if padding else Unsupported("padding is VALID or SAME")


def max_pool(step: Step) -> Code:
    """Write `tf.nn.max_pool{1,2,3}d`, or `tf.nn.pool` for windows with holes."""
    refusal = unpoolable(step)
    if step.dilated:
        return refusal or _dilated_pool("MAX", step)
    if step.stride is None:
        return refusal or Unsupported("the call needs strides")
    padding = named(step)
    if refusal is None and padding is None and step.rank == SPATIAL:
        return Unsupported("three-dimensional pooling has no explicit padding")
    text = call(
        f"tf.nn.max_pool{step.rank}d",
        "x",
        per_axis(step.window),
        per_axis(step.stride),
        f'"{padding}"' if padding else explicit(step),
    )
    if refusal:
        return replace(refusal, refused=text if refusal is not ROUNDS_DOWN else None)
    if padding is None and any(max(pair) >= extent for pair, extent in zip(step.padding, step.window, strict=False)):
        return Unsupported("padding must be smaller than the window", refused=text)
    return text


def avg_pool(step: Step) -> Code:
    """Write `tf.nn.avg_pool{1,2,3}d`, or `tf.nn.pool` for windows with holes."""
    refusal, padding = unpoolable(step), named(step)
    if refusal or padding is None or counts_padding(step):
        return refusal or Unsupported("average pooling never counts padding, and has VALID and SAME only")
    if step.stride is None:
        return Unsupported("the call needs strides")
    if not step.dilated:
        return call(f"tf.nn.avg_pool{step.rank}d", "x", per_axis(step.window), per_axis(step.stride), f'"{padding}"')
    if padding == "SAME":
        return Unsupported("dilated SAME is made of zeros, which count")
    return _dilated_pool("AVG", step)


def _layer(name: str, step: Step, *arguments: str | None, **keywords: str | None) -> str:
    return (
        call(
            f"tf.keras.layers.{name}{step.rank}D", *arguments, **keywords, dtype=None if by_default(step) else "x.dtype"
        )
        + "(x)"
    )


def layer_pool(name: str, step: Step) -> Code:
    """Write a pooling layer."""
    refusal, padding = unpoolable(step), named(step)
    if refusal or step.dilated or padding is None:
        return refusal or Unsupported("pooling layers have no dilation, and padding is valid or same")
    if name == "AveragePooling" and counts_padding(step):
        return Unsupported("average pooling layers never count padding")
    stride = per_axis(step.stride) if step.stride != step.window else None
    return _layer(name, step, per_axis(step.window), strides=stride, padding=unless("VALID", padding, '"same"'))


def layer_global(name: str, step: Step) -> Code:
    """Write a global pooling layer; without `keepdims` it would drop the axes."""
    return _layer(name, step, keepdims="True")


def layer_adaptive(name: str, step: Step) -> Code:
    """Write an adaptive pooling layer, but for what its kernels lack."""
    refusal = adaptive_lacks(step)
    text = _layer(name, step, per_axis(step.parameters["output_size"]))
    return replace(refusal, refused=text if refusal in (DIES, UNWRITTEN) else None) if refusal else text


def adaptive_lacks(step: Step) -> Unsupported | None:
    """Return why Keras' adaptive pooling does not do on TensorFlow: the dtype, or a window that exceeds the input.

    It pools with windows of n/m cells, rounded up, and of one more, whether a bin is as large or not.
    """
    if step.dtype not in POOLED:
        return NOT_POOLED
    if step.rank == SPATIAL and step.dtype not in ONEDNN:
        return FLOAT_ONLY
    sizes = zip(step.shape[2:], step.parameters["output_size"], strict=False)
    if step.verb != "adaptive_max_pool" or all(-(-size // bins) != size for size, bins in sizes):
        return None
    if step.dtype in ONEDNN | {"float16"}:  # oneDNN takes float16 where the processor computes with it
        return DIES
    return UNWRITTEN if step.gradient else None


DIES = Unsupported(
    "with one bin on an axis the layer asks for a window larger than the input, and the process dies",
    "https://github.com/tensorflow/tensorflow/issues/125509",
)
UNWRITTEN = Unsupported(
    "with one bin on an axis the layer asks for a window larger than the input, whose gradient is memory never written"
)


def with_argmax(step: Step) -> Code:
    """Write `tf.nn.max_pool_with_argmax`, whose indices count channels too: those of a plane where there is one."""
    padding = named(step)
    if step.rank != IMAGE or step.dilated or padding is None or step.parameters["rounding"] != "floor":
        return Unsupported("the call has two dimensions, padding VALID or SAME, and no dilation")
    if step.dtype == "bool":
        return Unsupported("the call takes numbers only")
    text = call("tf.nn.max_pool_with_argmax", "x", per_axis(step.window), per_axis(step.stride), f'"{padding}"')
    values = step.parameters.get("output") != "indices"
    if values or step.shape[1] == 1:
        return f"{text}.{'output' if values else 'argmax'}"
    return Unsupported("indices count through the channels too", refused=f"{text}.argmax")
