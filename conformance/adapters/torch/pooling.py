"""PyTorch: pooling. Each function serves layers and functions; `write_call` writes the call of the surface."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    FLOATING,
    Code,
    Lowering,
    Unsupported,
    as_lines,
    count_include_pad_argument,
    is_framework_same,
    number,
    per_axis,
    pooling_stride_argument,
    text_unless_default,
    too_many_axes,
)
from conformance.adapters.torch.calls import INTEGERS, WIDER_DTYPES, CallWriter, in_wider_dtype
from conformance.adapters.torch.windows import compositions, integer_avg_pool
from conformance.cases.arrays import SHORT_FLOATS, lowest_value
from conformance.cases.operators import Rounding
from conformance.cases.steps import Step, pad_step

INTEGER_POOLING_ISSUE = "https://github.com/pytorch/pytorch/issues/33086"
HALF_WINDOW_ISSUE = "https://github.com/pytorch/pytorch/issues/154262"
SIGNED_POWERS_ISSUE = "https://github.com/pytorch/pytorch/pull/187207"
INTEGER_AVERAGES_ISSUE = "https://github.com/pytorch/pytorch/issues/139115"
FLOAT16_ISSUE = "https://github.com/pytorch/pytorch/issues/83321"
VOLUME_RANK = 3


def _pool_call(write_call: CallWriter, step: Step, **keywords: str | None) -> str | Unsupported:
    """Return the call, or why not: padding must be symmetric and at most half a window."""
    if is_framework_same(step):
        return Unsupported("pooling has no padding by name")
    rounding = step.parameters.get("rounding", Rounding.FLOOR)
    if rounding == Rounding.FULL:
        return Unsupported("ceil_mode drops a last window that would start in the padding")
    if step.symmetric is None:
        return Unsupported("pooling has one padding for both ends of an axis")
    text = write_call(
        step.operator,
        step,
        per_axis(step.window),
        stride=pooling_stride_argument(step),
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=text_unless_default("floor", rounding, "True"),
        **keywords,
    )
    # strict=False: a window or padding of the wrong length is passed on, so that the call rejects it.
    # The window counts without dilation, so padding that preserves the size of a dilated output is rejected.
    if any(pad > extent // 2 for pad, extent in zip(step.symmetric, step.window, strict=False)):
        return Unsupported(
            "padding may be at most half of the window without dilation", HALF_WINDOW_ISSUE, rejected_call=text
        )
    return text


def max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    answer = _pool_call(write_call, step, dilation=per_axis(step.dilation) if step.dilated else None)
    if isinstance(answer, Unsupported) or step.dtype in FLOATING:
        return answer
    if step.dtype not in INTEGERS:
        return Unsupported(
            f"max pooling has no kernel for {step.dtype} on the CPU", INTEGER_POOLING_ISSUE, rejected_call=answer
        )
    # max_pool2d and max_pool3d accept integers.
    if step.rank == 1:
        why = "one-dimensional max pooling has no kernel for integers on the CPU"
        return Unsupported(why, INTEGER_POOLING_ISSUE, rejected_call=answer)
    return answer


def fallback_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return max pooling for dtypes without a kernel: in a wider dtype, or the call that also returns indices."""
    if step.dtype in WIDER_DTYPES:
        return in_wider_dtype(WIDER_DTYPES, partial(fallback_max_pool, write_call), step)
    # In one dimension, integers have a kernel only if indices are returned too.
    if step.rank == 1 and step.dtype in INTEGERS:
        return _call_with_indices(write_call, step, "[0]")
    return max_pool(write_call, step)


def integer_min_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return integer min pooling as max pooling of ~x. Unlike -x, ~x does not overflow for the least integer."""
    if step.dtype in FLOATING:
        return Unsupported("PyTorch has no minimum pooling")
    if step.dtype in WIDER_DTYPES:
        return in_wider_dtype(WIDER_DTYPES, partial(integer_min_pool, write_call, pad), step)
    pool, lowering = replace(step, operator="max_pool"), partial(fallback_max_pool, write_call)
    code = lowering(pool)
    if isinstance(code, Unsupported):
        code = _lower_padded(lowering, pad, pool, lowest_value(step.dtype))
    return code if isinstance(code, Unsupported) else ("x = ~x", *as_lines(code), "x = ~x")


def _lower_padded(lowering: Lowering, pad: Lowering, step: Step, value: float) -> tuple[str, ...] | Unsupported:
    """Return explicit padding, followed by the step without padding."""
    padding = _padding_value(step, value)
    unpadded = step.with_parameters(padding=((0, 0),) * step.rank, rounding="floor").reading_output_of(padding)
    pad_code, code = pad(padding), lowering(unpadded)
    if isinstance(pad_code, Unsupported):
        return pad_code
    return code if isinstance(code, Unsupported) else (*as_lines(pad_code), *as_lines(code))


def _padding_value(step: Step, value: float) -> Step:
    return pad_step(step, step.padding_to_last_window, value)


def indexed_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the values or the indices of one call."""
    return _call_with_indices(write_call, step, _result_index(step))


def _result_index(step: Step) -> str:
    return "[1]" if step.parameters.get("output") == "indices" else "[0]"


def _call_with_indices(write_call: CallWriter, step: Step, index: str) -> Code:
    dilation = per_axis(step.dilation) if step.dilated else None
    answer = _pool_call(write_call, replace(step, operator="max_pool"), dilation=dilation, return_indices="True")
    return answer if isinstance(answer, Unsupported) else f"{answer}{index}"


def padded_max_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return max pooling after explicit padding, with indices converted from the padded plane to the input.

    If the largest value of a window is -inf, the index may be that of a cell of padding.
    """
    if not step.windows.counts(False).all():
        return Unsupported("a window of padding only has no index")
    if step.dtype not in FLOATING:
        return Unsupported(
            "the index may be that of padding, because padding and input may both have the least integer"
        )
    lines = _lower_padded(partial(indexed_max_pool, write_call), pad, step, -math.inf)
    if isinstance(lines, Unsupported) or _result_index(step) == "[0]":
        return lines
    padding = _padding_value(step, -math.inf)
    return (
        *lines,
        f"x = {_unpadded_index_text(padding.output[2:], step.shape[2:], [before for before, _ in padding.padding])}",
    )


def _unpadded_index_text(padded: tuple[int, ...], extents: tuple[int, ...], before: list[int]) -> str:
    """Return as text the index in a plane, computed from `x`, the index in the padded plane."""
    parts = []
    for axis, first in enumerate(before):
        below, cells = math.prod(padded[axis + 1 :]), math.prod(extents[axis + 1 :])
        place = f"x // {below}" if below != 1 else "x"
        place += f" % {padded[axis]}" if axis else ""
        place = f"{place} - {first}" if first else place
        parts.append(f"({place}) * {cells}" if cells != 1 else place)
    return " + ".join(parts)


def avg_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    divisor = step.parameters["divisor"]
    if step.dilated:
        return Unsupported("average pooling has no dilation")
    if divisor is not None and step.rank == 1:
        return Unsupported("one-dimensional average pooling has no divisor")
    answer = _pool_call(
        write_call,
        step,
        count_include_pad=count_include_pad_argument(step),
        divisor_override=text_unless_default(None, divisor),
    )
    if isinstance(answer, str) and step.dtype not in FLOATING | {"int64"}:
        why = f"average pooling has no kernel for {step.dtype} on the CPU"
        return Unsupported(why, INTEGER_AVERAGES_ISSUE, rejected_call=answer)
    return _reject_short_floats_in_3d(step, "average", answer)


def fallback_avg_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return averages of integers, and of 16-bit floats in float32, which have no kernel in three dimensions."""
    if step.dtype in INTEGERS:
        return integer_avg_pool(pad, step)
    lowering = compositions(pad).average_pool if too_many_axes(step) else partial(avg_pool, write_call)
    if step.dtype not in SHORT_FLOATS:
        return lowering(step)
    return in_wider_dtype(dict.fromkeys(SHORT_FLOATS, "float32"), lowering, step)


def _reject_short_floats_in_3d(step: Step, name: str, answer: str | Unsupported) -> Code:
    if isinstance(answer, str) and step.rank == VOLUME_RANK and step.dtype in SHORT_FLOATS:
        why = f"three-dimensional {name} pooling has no kernel for {step.dtype} on the CPU"
        return Unsupported(why, FLOAT16_ISSUE, rejected_call=answer)
    return answer


def lp_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, which raises `x` to the power with its sign; for odd powers, this is not an Lp norm."""
    p = step.parameters["p"]
    answer = _lp_call(write_call, step, "x")
    # With p = 3, the norm of [-2] is NaN: PyTorch takes the root of a negative sum of powers.
    if p % 2 and isinstance(answer, str):
        why = "a power that is not even keeps the sign of a negative number, or is NaN"
        return Unsupported(why, SIGNED_POWERS_ISSUE, rejected_call=answer)
    return answer


def _lp_call(write_call: CallWriter, step: Step, inputs: str) -> Code:
    limit = too_many_axes(step)
    if limit:
        return limit
    if step.dilated or step.padded:
        return Unsupported(f"Lp pooling has no {'dilation' if step.dilated else 'padding'}")
    if step.parameters["rounding"] == Rounding.FULL:
        return Unsupported("ceil_mode drops a last window that would start past the input")
    text = write_call(
        step.operator,
        step,
        number(step.parameters["p"]),
        per_axis(step.window),
        inputs=inputs,
        stride=pooling_stride_argument(step),
        ceil_mode=text_unless_default("floor", step.parameters["rounding"], "True"),
    )
    return _reject_short_floats_in_3d(step, "Lp", text)


def fallback_lp_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return the call on absolute values, or the norm of each unfolded window if the call cannot be used."""
    answer = _lp_call(write_call, step, "x.abs()")
    # For a last window that extends past the input, the call scales the mean to the full window, instead of the sum.
    if isinstance(answer, str) and not any(step.windows.overhang):
        return answer
    return compositions(pad).lp_pool(step)
