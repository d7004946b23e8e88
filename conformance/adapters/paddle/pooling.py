"""PaddlePaddle: pooling. Each function serves layers and functions; `write_call` writes the call of the surface."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    FLOATING,
    FLOATS,
    Code,
    Step,
    Unsupported,
    as_lines,
    number,
    per_axis,
    pooling_stride_argument,
    text_unless_default,
    too_many_axes,
)
from conformance.adapters.paddle.calls import (
    EXACT_FLOATS,
    POOLING_DTYPES,
    CallWriter,
    ambiguous_padding,
    in_wider_dtype,
    no_kernel,
    padding_text,
    rounding_text,
    sizes_text,
)
from conformance.adapters.paddle.windows import COMPOSED
from conformance.cases.arrays import lowest_value
from conformance.cases.case import SEED_KEY
from conformance.cases.operators import Rounding

VOLUME_RANK = 3
FRACTIONAL_RANKS = (2, 3)
NO_DILATION = Unsupported("pooling has no dilation")
PAST_THE_PADDING = "ceil_mode drops no window, also if it starts in the padding after x"
ONE_SAMPLE = Unsupported("random_u is one number for all channels and axes, and not 0")
UNPOOLING_DTYPES = FLOATS | {"int64"}


def _pool_call(write_call: CallWriter, step: Step, *arguments: str, **keywords: str | None) -> str | Unsupported:
    """Return the call, or why not."""
    unsupported = ambiguous_padding(step)
    if unsupported or step.dilated:
        return unsupported or NO_DILATION
    text = write_call(
        step.operator,
        step,
        *arguments,
        per_axis(step.window),
        stride=pooling_stride_argument(step),
        padding=padding_text(step),
        ceil_mode=rounding_text(step),
        **keywords,
    )
    # ceil_mode never drops a window: the rule `full`. It is used for `ceil` where both give the same windows.
    full = step.with_parameters(rounding=Rounding.FULL)
    if step.parameters.get("rounding") == Rounding.CEIL and step.windows.output != full.windows.output:
        return Unsupported(PAST_THE_PADDING, rejected_call=text)
    return text


def _if_kernel(operation: str, dtypes: frozenset[str], step: Step, text: str | Unsupported) -> Code:
    if isinstance(text, Unsupported) or step.dtype in dtypes:
        return text
    # Conventions about 16-bit floats ask how a call computes; those about integers also whether it rejects them.
    unsupported = no_kernel(operation, step.dtype)
    return unsupported if step.dtype in FLOATING else replace(unsupported, rejected_call=text)


def max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    return _if_kernel("max pooling", POOLING_DTYPES, step, _pool_call(write_call, step))


def fallback_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return max pooling with dilation, and in a wider dtype for dtypes without a kernel."""
    if step.dtype == "int64" or (step.dtype in FLOATS and step.dilated):
        return COMPOSED.extreme_pool("max", lowest_value(step.dtype), step)
    if step.dtype in EXACT_FLOATS and (step.dtype not in FLOATING or step.dilated):
        return in_wider_dtype(EXACT_FLOATS, partial(_supported_max_pool, write_call), step)
    return max_pool(write_call, step)


def _supported_max_pool(write_call: CallWriter, step: Step) -> Code:
    code = max_pool(write_call, step)
    return COMPOSED.extreme_pool("max", lowest_value(step.dtype), step) if isinstance(code, Unsupported) else code


def integer_min_pool(write_call: CallWriter, step: Step) -> Code:
    """Return integer min pooling: negated maxima in a wider dtype, or the minimum of the cells of each window."""
    if step.dtype in FLOATING:
        return Unsupported("PaddlePaddle has no minimum pooling")
    if step.dtype == "int64":
        # Unlike -x, ~x does not overflow for the least integer. The value of padding is a float, which is exact for it.
        lines = COMPOSED.extreme_pool("max", lowest_value(step.dtype), replace(step, operator="max_pool"))
        return ("x = ~x", *lines, "x = ~x")

    def negated(wide: Step) -> Code:
        pool = _supported_max_pool(write_call, replace(wide, operator="max_pool"))
        return pool if isinstance(pool, Unsupported) else ("x = -x", *as_lines(pool), "x = -x")

    return in_wider_dtype(EXACT_FLOATS, negated, step)


def indexed_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the values or the indices of one call; int32 indices are converted to int64, as in the suite."""
    if step.symmetric is None:
        return Unsupported("return_mask takes one padding for both ends of an axis")
    code = _pool_call(write_call, replace(step, operator="max_pool"), return_mask="True")
    result = '[1].astype("int64")' if step.parameters.get("output") == "indices" else "[0]"
    return _if_kernel("max pooling with indices", FLOATS, step, f"{code}{result}" if isinstance(code, str) else code)


def fallback_indexed_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return values and indices in a wider dtype, for dtypes without a kernel."""
    lowering = partial(indexed_max_pool, write_call)
    # Indices are not converted back.
    if step.parameters.get("output") == "indices" and step.dtype in EXACT_FLOATS:
        wider = EXACT_FLOATS[step.dtype]
        code = lowering(replace(step, dtype=wider))
        return code if isinstance(code, Unsupported) else (f'x = x.astype("{wider}")', *as_lines(code))
    return in_wider_dtype(EXACT_FLOATS, lowering, step)


def avg_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    divisor = step.parameters["divisor"]
    if divisor is not None and step.rank == 1:
        return Unsupported("one-dimensional average pooling has no divisor")
    counts = step.padded and step.parameters.get("count_include_pad") is True
    text = _pool_call(
        write_call, step, exclusive="False" if counts else None, divisor_override=text_unless_default(None, divisor)
    )
    return _if_kernel("average pooling", POOLING_DTYPES, step, text)


def fallback_avg_pool(write_call: CallWriter, step: Step) -> Code:
    """Return averages that one call cannot express, in float32 for 16-bit floats."""
    del write_call
    return in_wider_dtype({"float16": "float32"}, COMPOSED.average_pool, step)


def lp_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, which raises `x` to the power with its sign; for odd powers, this is not an Lp norm."""
    if step.rank >= VOLUME_RANK:
        return Unsupported("Lp pooling takes one or two spatial axes")
    text = _if_kernel("Lp pooling", FLOATS, step, _pool_call(write_call, step, number(step.parameters["p"])))
    if step.parameters["p"] % 2 and isinstance(text, str):
        return Unsupported(
            "a power that is not even keeps the sign of a negative number, or is NaN", rejected_call=text
        )
    return text


def fallback_lp_pool(step: Step) -> Code:
    """Return the norm of each window, in float32 for 16-bit floats."""
    return in_wider_dtype({"float16": "float32"}, COMPOSED.lp_pool, step)


def adaptive_pool(write_call: CallWriter, step: Step) -> Code:
    """Return adaptive pooling; global pooling has one bin."""
    operator = step.operator.replace("global", "adaptive")
    text = write_call(operator, step, sizes_text(step.parameters.get("output_size", (1,) * step.rank)))
    dtypes = FLOATS if operator == "adaptive_max_pool" else POOLING_DTYPES
    return too_many_axes(step) or _if_kernel(operator.replace("_", " "), dtypes, step, text)


def fallback_adaptive_pool(reduction: str, step: Step) -> Code:
    """Return the reduction of each bin, in a wider dtype for dtypes without a kernel."""
    if reduction == "max":
        return in_wider_dtype(EXACT_FLOATS, partial(COMPOSED.adaptive_pool_by_axis, "max"), step)
    return in_wider_dtype({"float16": "float32"}, partial(COMPOSED.adaptive_pool_at_once, "mean"), step)


def fallback_global_pool(reduction: str, step: Step) -> Code:
    """Return the reduction of whole planes, in a wider dtype for dtypes without a kernel."""
    wider = EXACT_FLOATS if reduction == "max" else {"float16": "float32"}
    return in_wider_dtype(wider, partial(COMPOSED.global_pool, reduction), step)


def max_unpool(write_call: CallWriter, step: Step) -> Code:
    """Return the call with a window and a stride that give about the output size, which it then takes exactly."""
    windows, strides = [], []
    for extent, size in zip(step.shape[2:], step.parameters["output_size"], strict=True):
        stride = max(size // max(extent, 1), 1)
        windows.append(max(size - (extent - 1) * stride, 1))
        strides.append(stride)
    text = write_call(
        step.operator,
        step,
        per_axis(windows),
        inputs="x, indices",
        stride=per_axis(strides) if strides != windows else None,
    )
    if any(
        (extent - 1) * stride + window != size
        for extent, stride, window, size in zip(
            step.shape[2:], strides, windows, step.parameters["output_size"], strict=True
        )
    ):
        return Unsupported("the output has the size of the windows of its indices at least")
    return _if_kernel("max unpooling", UNPOOLING_DTYPES, step, text)


def fallback_max_unpool(write_call: CallWriter, step: Step) -> Code:
    """Return max unpooling in a wider dtype, for dtypes without a kernel."""
    return in_wider_dtype(EXACT_FLOATS, partial(max_unpool, write_call), step)


def fractional_max_pool(step: Step) -> Code:
    """Return the reason why the samples of a case cannot be passed."""
    del step
    return ONE_SAMPLE


def drawn_fractional_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return two calls that draw the sample with the same seed, joined along the batch."""
    if step.rank not in FRACTIONAL_RANKS:
        return Unsupported("fractional pooling supports two or three axes")
    sizes = sizes_text(step.parameters["output_size"])
    text = write_call(step.operator, step, sizes, kernel_size=per_axis(step.window))
    seed = f"paddle.seed({step.parameters[SEED_KEY]})"
    return seed, f"first = {text}", seed, f"x = paddle.concat([first, {text}])"


def in_float32(name: str, step: Step) -> Code:
    """Return a composition of PoolingCompositions, in float32 for 16-bit floats."""
    return in_wider_dtype({"float16": "float32"}, getattr(COMPOSED, name), step)
