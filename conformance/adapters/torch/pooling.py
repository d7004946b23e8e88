"""PyTorch: pooling, one function for both surfaces, which `spell` tells apart."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from conformance.adapters.api.source_text import number, own_same, per_axis, unless
from conformance.adapters.api.surface import Code, Unsupported, Verb
from conformance.adapters.api.unfolded_windows import cell_axes, windows
from conformance.adapters.torch.calls import FLOATING, HALVES, INTEGERS, WIDER, Spelling, as_lines, carried
from conformance.adapters.torch.windows import integer_average
from conformance.cases.arrays import least
from conformance.cases.steps import Step, pad_step

NO_INTEGERS = "https://github.com/pytorch/pytorch/issues/33086"
HALF_WINDOW = "https://github.com/pytorch/pytorch/issues/154262"
SIGNED_POWERS = "https://github.com/pytorch/pytorch/issues/184037"
INTEGER_AVERAGES = "https://github.com/pytorch/pytorch/issues/139115"
NO_HALVES = "https://github.com/pytorch/pytorch/issues/83321"
PLANES = 3


def _pool(spell: Spelling, step: Step, **keywords: str | None) -> str | Unsupported:
    """Return the call, or why the padding cannot be said: it is symmetric, and at most half a window."""
    if own_same(step):
        return Unsupported("pooling has no padding by name")
    rounding = step.parameters.get("rounding", "floor")
    if rounding == "full":
        return Unsupported("ceil_mode drops a last window that would start in the padding")
    if step.symmetric is None:
        return Unsupported("the padding before and after an axis is one number")
    text = spell(
        step.verb,
        step,
        per_axis(step.window),
        stride=per_axis(step.stride) if step.stride != step.window else None,
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=unless("floor", rounding, "True"),
        **keywords,
    )
    # A window or padding of another rank is a fault that the call is to find.
    if any(pad > extent // 2 for pad, extent in zip(step.symmetric, step.window, strict=False)):
        return Unsupported("padding may be at most half of the window, holes not counted", HALF_WINDOW, refused=text)
    return text


def max_pool(spell: Spelling, step: Step) -> Code:
    """Return the call, or why there is none."""
    answer = _pool(spell, step, dilation=per_axis(step.dilation) if step.dilated else None)
    if isinstance(answer, Unsupported) or step.dtype in FLOATING:
        return answer
    if step.dtype not in INTEGERS:
        return Unsupported(f"max pooling has no kernel for {step.dtype} on the CPU", NO_INTEGERS, refused=answer)
    if step.rank == 1:
        why = "one-dimensional max pooling has no kernel for integers on the CPU"
        return Unsupported(why, NO_INTEGERS, refused=answer)
    return answer


def other_max_pool(spell: Spelling, step: Step) -> Code:
    """Return what users write for dtypes without a kernel: a wider dtype; the call that returns indices too."""
    if step.dtype in WIDER:
        return carried(WIDER, partial(other_max_pool, spell), step)
    return _both(spell, step, "[0]") if step.rank == 1 and step.dtype in INTEGERS else max_pool(spell, step)


def least_pool(spell: Spelling, pad: Verb, step: Step) -> Code:
    """Return the least integers: the complement turns their order round, and has no number without a partner."""
    if step.dtype in FLOATING:
        return Unsupported("PyTorch has no minimum pooling")
    if step.dtype in WIDER:
        return carried(WIDER, partial(least_pool, spell, pad), step)
    pool, verb = replace(step, verb="max_pool"), partial(other_max_pool, spell)
    answer = verb(pool)
    if isinstance(answer, Unsupported):
        answer = _padded_first(verb, pad, pool, least(step.dtype))
    return answer if isinstance(answer, Unsupported) else ("x = ~x", *as_lines(answer), "x = ~x")


def _padded_first(verb: Verb, pad: Verb, step: Step, value: float) -> tuple[str, ...] | Unsupported:
    """Return explicit padding, then the step without padding of its own."""
    padding = _padding(step, value)
    whole = step.with_parameters(padding=((0, 0),) * step.rank, rounding="floor").after(padding)
    padded, answer = pad(padding), verb(whole)
    if isinstance(padded, Unsupported):
        return padded
    return answer if isinstance(answer, Unsupported) else (*as_lines(padded), *as_lines(answer))


def _padding(step: Step, value: float) -> Step:
    return pad_step(step, step.reach, value)


def indexed_max_pool(spell: Spelling, step: Step) -> Code:
    """Return the values or the indices of one call."""
    return _both(spell, step, _which(step))


def _which(step: Step) -> str:
    return "[1]" if step.parameters.get("output") == "indices" else "[0]"


def _both(spell: Spelling, step: Step, which: str) -> Code:
    holes = per_axis(step.dilation) if step.dilated else None
    answer = _pool(spell, replace(step, verb="max_pool"), dilation=holes, return_indices="True")
    return answer if isinstance(answer, Unsupported) else f"{answer}{which}"


def padded_max_pool(spell: Spelling, pad: Verb, step: Step) -> Code:
    """Return the same on an input with explicit padding: its indices count in the padded plane, and are put right.

    Where -inf is the largest value of a window, the padding may come first.
    """
    if not step.walk.counts(False).all():
        return Unsupported("a window of padding only has no index")
    if step.dtype not in FLOATING:
        return Unsupported("explicit padding with the least integer may come first")
    lines = _padded_first(partial(indexed_max_pool, spell), pad, step, -math.inf)
    if isinstance(lines, Unsupported) or _which(step) == "[0]":
        return lines
    padding = _padding(step, -math.inf)
    return (*lines, f"x = {_moved(padding.output[2:], step.shape[2:], [before for before, _ in padding.padding])}")


def _moved(padded: tuple[int, ...], plain: tuple[int, ...], before: list[int]) -> str:
    """Return the index in a plane as text, from `x`, the one in the padded plane."""
    parts = []
    for axis, first in enumerate(before):
        below, cells = math.prod(padded[axis + 1 :]), math.prod(plain[axis + 1 :])
        place = f"x // {below}" if below != 1 else "x"
        place += f" % {padded[axis]}" if axis else ""
        place = f"{place} - {first}" if first else place
        parts.append(f"({place}) * {cells}" if cells != 1 else place)
    return " + ".join(parts)


def avg_pool(spell: Spelling, step: Step) -> Code:
    """Return the call, or why there is none."""
    divisor = step.parameters["divisor"]
    if step.dilated:
        return Unsupported("average pooling has no dilation")
    if divisor is not None and step.rank == 1:
        return Unsupported("one-dimensional average pooling has no divisor")
    # Without padding both rules count the same cells; the default, which counts padding, then need not be named.
    include = None if not step.padded or step.parameters.get("count_include_pad", True) else "False"
    answer = _pool(spell, step, count_include_pad=include, divisor_override=unless(None, divisor))
    if isinstance(answer, str) and step.dtype not in FLOATING | {"int64"}:
        why = f"average pooling has no kernel for {step.dtype} on the CPU"
        return Unsupported(why, INTEGER_AVERAGES, refused=answer)
    return _with_halves(step, "average", answer)


def other_avg_pool(spell: Spelling, pad: Verb, step: Step) -> Code:
    """Return averages of integers, and in float32 those of 16-bit numbers, which have no kernel in three dimensions."""
    verb = partial(avg_pool, spell)
    if step.dtype in INTEGERS:
        return integer_average(pad, step)
    return carried(dict.fromkeys(HALVES, "float32"), verb, step) if step.dtype in HALVES else verb(step)


def _with_halves(step: Step, name: str, answer: str | Unsupported) -> Code:
    if isinstance(answer, str) and step.rank == PLANES and step.dtype in HALVES:
        why = f"three-dimensional {name} pooling has no kernel for {step.dtype} on the CPU"
        return Unsupported(why, NO_HALVES, refused=answer)
    return answer


def lp_pool(spell: Spelling, step: Step) -> Code:
    """Return the call, which takes x to the power as it is, with its sign."""
    p = step.parameters["p"]
    answer = _lp(spell, step, "x")
    if p % 2 and isinstance(answer, str):
        why = "a power that is not even keeps the sign of its number, or is none"
        return Unsupported(why, SIGNED_POWERS, refused=answer)
    return answer


def _lp(spell: Spelling, step: Step, inputs: str) -> Code:
    if step.dilated or step.padded:
        return Unsupported(f"Lp pooling has no {'dilation' if step.dilated else 'padding'}")
    if step.parameters["rounding"] == "full":
        return Unsupported("ceil_mode drops a last window that would start past the input")
    text = spell(
        step.verb,
        step,
        number(step.parameters["p"]),
        per_axis(step.window),
        inputs=inputs,
        stride=per_axis(step.stride) if step.stride != step.window else None,
        ceil_mode=unless("floor", step.parameters["rounding"], "True"),
    )
    return _with_halves(step, "Lp", text)


def other_lp_pool(spell: Spelling, pad: Verb, step: Step) -> Code:
    """Return the call on sizes where the power is not even; elsewhere the norm of each window."""
    answer = _lp(spell, step, "x.abs()")
    # A last window that reaches past the input is the mean of its cells times the whole window: not their sum.
    if isinstance(answer, str) and not any(step.walk.overhang):
        return answer
    lines = windows(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    norm = f"torch.linalg.vector_norm(windows, {number(step.parameters['p'])}, dim={cell_axes(step)})"
    return (*lines, f"x = {norm}")
