"""PyTorch: pooling, one function for both surfaces, which `spell` tells apart."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from conformance.adapters.api.source_text import is_framework_same, number, per_axis, text_unless_default
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.api.unfolded_windows import cell_axes, window_lines
from conformance.adapters.torch.calls import (
    FLOATING,
    INTEGERS,
    SHORT_FLOATS,
    WIDER_DTYPES,
    CallWriter,
    as_lines,
    in_wider_dtype,
)
from conformance.adapters.torch.windows import integer_avg_pool
from conformance.cases.arrays import lowest_value
from conformance.cases.steps import Step, pad_step

INTEGER_POOLING_ISSUE = "https://github.com/pytorch/pytorch/issues/33086"
HALF_WINDOW_ISSUE = "https://github.com/pytorch/pytorch/issues/154262"
SIGNED_POWERS_ISSUE = "https://github.com/pytorch/pytorch/issues/184037"
INTEGER_AVERAGES_ISSUE = "https://github.com/pytorch/pytorch/issues/139115"
FLOAT16_ISSUE = "https://github.com/pytorch/pytorch/issues/83321"
VOLUME_RANK = 3


def _pool_call(write_call: CallWriter, step: Step, **keywords: str | None) -> str | Unsupported:
    """Return the call, or why the padding cannot be said: it is symmetric, and at most half a window."""
    if is_framework_same(step):
        return Unsupported("pooling has no padding by name")
    rounding = step.parameters.get("rounding", "floor")
    if rounding == "full":
        return Unsupported("ceil_mode drops a last window that would start in the padding")
    if step.symmetric is None:
        return Unsupported("the padding before and after an axis is one number")
    text = write_call(
        step.operator,
        step,
        per_axis(step.window),
        stride=per_axis(step.stride) if step.stride != step.window else None,
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=text_unless_default("floor", rounding, "True"),
        **keywords,
    )
    # A window or padding of another rank is a fault that the call is to find.
    if any(pad > extent // 2 for pad, extent in zip(step.symmetric, step.window, strict=False)):
        return Unsupported(
            "padding may be at most half of the window, holes not counted", HALF_WINDOW_ISSUE, rejected_call=text
        )
    return text


def max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, or why there is none."""
    answer = _pool_call(write_call, step, dilation=per_axis(step.dilation) if step.dilated else None)
    if isinstance(answer, Unsupported) or step.dtype in FLOATING:
        return answer
    if step.dtype not in INTEGERS:
        return Unsupported(
            f"max pooling has no kernel for {step.dtype} on the CPU", INTEGER_POOLING_ISSUE, rejected_call=answer
        )
    if step.rank == 1:
        why = "one-dimensional max pooling has no kernel for integers on the CPU"
        return Unsupported(why, INTEGER_POOLING_ISSUE, rejected_call=answer)
    return answer


def fallback_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return what users write for dtypes without a kernel: a wider dtype; the call that returns indices too."""
    if step.dtype in WIDER_DTYPES:
        return in_wider_dtype(WIDER_DTYPES, partial(fallback_max_pool, write_call), step)
    return (
        _call_with_indices(write_call, step, "[0]")
        if step.rank == 1 and step.dtype in INTEGERS
        else max_pool(write_call, step)
    )


def integer_min_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return the least integers: the complement turns their order round, and has no number without a partner."""
    if step.dtype in FLOATING:
        return Unsupported("PyTorch has no minimum pooling")
    if step.dtype in WIDER_DTYPES:
        return in_wider_dtype(WIDER_DTYPES, partial(integer_min_pool, write_call, pad), step)
    pool, verb = replace(step, operator="max_pool"), partial(fallback_max_pool, write_call)
    answer = verb(pool)
    if isinstance(answer, Unsupported):
        answer = _lower_padded(verb, pad, pool, lowest_value(step.dtype))
    return answer if isinstance(answer, Unsupported) else ("x = ~x", *as_lines(answer), "x = ~x")


def _lower_padded(lowering: Lowering, pad: Lowering, step: Step, value: float) -> tuple[str, ...] | Unsupported:
    """Return explicit padding, then the step without padding of its own."""
    padding = _padding_value(step, value)
    whole = step.with_parameters(padding=((0, 0),) * step.rank, rounding="floor").reading_output_of(padding)
    padded, answer = pad(padding), lowering(whole)
    if isinstance(padded, Unsupported):
        return padded
    return answer if isinstance(answer, Unsupported) else (*as_lines(padded), *as_lines(answer))


def _padding_value(step: Step, value: float) -> Step:
    return pad_step(step, step.window_reach, value)


def indexed_max_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the values or the indices of one call."""
    return _call_with_indices(write_call, step, _result_index(step))


def _result_index(step: Step) -> str:
    return "[1]" if step.parameters.get("output") == "indices" else "[0]"


def _call_with_indices(write_call: CallWriter, step: Step, which: str) -> Code:
    holes = per_axis(step.dilation) if step.dilated else None
    answer = _pool_call(write_call, replace(step, operator="max_pool"), dilation=holes, return_indices="True")
    return answer if isinstance(answer, Unsupported) else f"{answer}{which}"


def padded_max_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return the same on an input with explicit padding: its indices count in the padded plane, and are put right.

    Where -inf is the largest value of a window, the padding may come first.
    """
    if not step.windows.counts(False).all():
        return Unsupported("a window of padding only has no index")
    if step.dtype not in FLOATING:
        return Unsupported("explicit padding with the least integer may come first")
    lines = _lower_padded(partial(indexed_max_pool, write_call), pad, step, -math.inf)
    if isinstance(lines, Unsupported) or _result_index(step) == "[0]":
        return lines
    padding = _padding_value(step, -math.inf)
    return (
        *lines,
        f"x = {_unpadded_index_text(padding.output[2:], step.shape[2:], [before for before, _ in padding.padding])}",
    )


def _unpadded_index_text(padded: tuple[int, ...], plain: tuple[int, ...], before: list[int]) -> str:
    """Return the index in a plane as text, from `x`, the one in the padded plane."""
    parts = []
    for axis, first in enumerate(before):
        below, cells = math.prod(padded[axis + 1 :]), math.prod(plain[axis + 1 :])
        place = f"x // {below}" if below != 1 else "x"
        place += f" % {padded[axis]}" if axis else ""
        place = f"{place} - {first}" if first else place
        parts.append(f"({place}) * {cells}" if cells != 1 else place)
    return " + ".join(parts)


def avg_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, or why there is none."""
    divisor = step.parameters["divisor"]
    if step.dilated:
        return Unsupported("average pooling has no dilation")
    if divisor is not None and step.rank == 1:
        return Unsupported("one-dimensional average pooling has no divisor")
    # Without padding both rules count the same cells; the default, which counts padding, then need not be named.
    include = None if not step.padded or step.parameters.get("count_include_pad", True) else "False"
    answer = _pool_call(
        write_call, step, count_include_pad=include, divisor_override=text_unless_default(None, divisor)
    )
    if isinstance(answer, str) and step.dtype not in FLOATING | {"int64"}:
        why = f"average pooling has no kernel for {step.dtype} on the CPU"
        return Unsupported(why, INTEGER_AVERAGES_ISSUE, rejected_call=answer)
    return _with_float16_fallback(step, "average", answer)


def fallback_avg_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return averages of integers, and in float32 those of 16-bit numbers, which have no kernel in three dimensions."""
    verb = partial(avg_pool, write_call)
    if step.dtype in INTEGERS:
        return integer_avg_pool(pad, step)
    return (
        in_wider_dtype(dict.fromkeys(SHORT_FLOATS, "float32"), verb, step) if step.dtype in SHORT_FLOATS else verb(step)
    )


def _with_float16_fallback(step: Step, name: str, answer: str | Unsupported) -> Code:
    if isinstance(answer, str) and step.rank == VOLUME_RANK and step.dtype in SHORT_FLOATS:
        why = f"three-dimensional {name} pooling has no kernel for {step.dtype} on the CPU"
        return Unsupported(why, FLOAT16_ISSUE, rejected_call=answer)
    return answer


def lp_pool(write_call: CallWriter, step: Step) -> Code:
    """Return the call, which takes x to the power as it is, with its sign."""
    p = step.parameters["p"]
    answer = _lp_call(write_call, step, "x")
    if p % 2 and isinstance(answer, str):
        why = "a power that is not even keeps the sign of its number, or is none"
        return Unsupported(why, SIGNED_POWERS_ISSUE, rejected_call=answer)
    return answer


def _lp_call(write_call: CallWriter, step: Step, inputs: str) -> Code:
    if step.dilated or step.padded:
        return Unsupported(f"Lp pooling has no {'dilation' if step.dilated else 'padding'}")
    if step.parameters["rounding"] == "full":
        return Unsupported("ceil_mode drops a last window that would start past the input")
    text = write_call(
        step.operator,
        step,
        number(step.parameters["p"]),
        per_axis(step.window),
        inputs=inputs,
        stride=per_axis(step.stride) if step.stride != step.window else None,
        ceil_mode=text_unless_default("floor", step.parameters["rounding"], "True"),
    )
    return _with_float16_fallback(step, "Lp", text)


def fallback_lp_pool(write_call: CallWriter, pad: Lowering, step: Step) -> Code:
    """Return the call on sizes where the power is not even; elsewhere the norm of each window."""
    answer = _lp_call(write_call, step, "x.abs()")
    # A last window that reaches past the input is the mean of its cells times the whole window: not their sum.
    if isinstance(answer, str) and not any(step.windows.overhang):
        return answer
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    norm = f"torch.linalg.vector_norm(windows, {number(step.parameters['p'])}, dim={cell_axes(step)})"
    return (*lines, f"x = {norm}")
