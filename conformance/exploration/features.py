"""Features of a candidate: factor kinds for coverage guidance, and conditions that describe findings.

Do not reword conditions: their lengths decide which of several equivalent conditions a finding names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step, case_step
from conformance.exploration.candidate import PAIR_FACTORS, Candidate
from conformance.exploration.sizes import LARGE_WINDOW_CELLS, LONG_AXIS_CELLS, VECTOR_WIDTH_SIZES
from conformance.exploration.space import count_terms

SIZE_THRESHOLDS = (2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 256, 257, 1024, 32_768, LONG_AXIS_CELLS)
"""Sizes at which the behaviour of a framework may change, such as powers of two and vector widths."""
# Conditions of the program. The texts end up in results files.
HOW_TEXTS: Mapping[str, str] = {
    "native": "a call of its own",
    "padded": "padding that is written first",
    "composed": "a composition of calls",
}
NAMED_FACTORS = ("mode", "ties", "output", "p")


def factor_kinds(candidate: Candidate) -> tuple[str, ...]:
    """Return the kind of each factor, as `name kind`. Coverage counts their pairs and triples."""
    step, levels = case_step(candidate.case), candidate.levels
    found = {
        "rank": levels["rank"],
        "values": levels["values"],
        "dtype": levels["dtype"],
        "extent": _size_class(max(step.shape[2:])),
        "channels": _size_class(step.shape[1]),
        "batch": min(step.shape[0], 2),
        "alike": _has_equal_axes(candidate),
        **{name: levels[name] for name in ("rounding", "count_include_pad", "bias", *NAMED_FACTORS) if name in levels},
    }
    if "groups" in levels:
        found["groups"] = levels["groups"] > 1
    if "divisor" in levels:
        found["divisor"] = levels["divisor"] is not None
    if step.window:
        found["window"] = _size_class(math.prod(step.window))
    if step.window and step.stride:
        found["stride"] = _stride_kind(step)
        found["holes"] = (max(step.dilation) > 1) + (min(step.dilation) > 1)
        found["left"] = _has_remainder(step)
    if any(name in levels for name in PAIR_FACTORS):
        found["ends"] = _padding_kinds(candidate, step)
    return tuple(f"{name} {found[name]}" for name in sorted(found))


def _size_class(size: int) -> int:
    """Return the size class of a number: the position of the first limit that it does not exceed."""
    limits = (1, 4, VECTOR_WIDTH_SIZES[0] - 1, VECTOR_WIDTH_SIZES[-1], LARGE_WINDOW_CELLS[-1])
    return next((number for number, limit in enumerate(limits) if size <= limit), len(limits))


def _has_equal_axes(candidate: Candidate) -> bool:
    names = [name for name in ("window", "stride", "dilation", *PAIR_FACTORS) if name in candidate.levels]
    return all(len(set(candidate.per_axis(name))) <= 1 for name in names)


def _stride_kind(step: Step) -> str:
    pairs = list(zip(step.stride or (), step.window, strict=True))
    if all(stride == 1 for stride, _ in pairs):
        return "one"
    if any(stride > window for stride, window in pairs):
        return "beyond"
    return "window" if all(stride == window for stride, window in pairs) else "within"


def _has_remainder(step: Step) -> bool:
    """Check whether cells remain after the last complete window."""
    if step.operator == "conv_transpose":
        return any(step.parameters["output_padding"])
    axes = zip(step.shape[2:], step.window, step.stride or (), step.padding, step.dilation, strict=True)
    return any(
        (size + sum(pads) - dilation * (window - 1) - 1) % stride for size, window, stride, pads, dilation in axes
    )


def _padding_kinds(candidate: Candidate, step: Step) -> str:
    given = next(candidate.levels[name] for name in PAIR_FACTORS if name in candidate.levels)
    if isinstance(given, str):
        return given
    before, after = (max(end) for end in zip(*step.padding, strict=True))
    if min(min(pair) for pair in step.padding) < 0:
        return "crop"
    if not before and not after:
        return "none"
    if all(first == last for first, last in step.padding):
        return "alike"
    return "before" if not after else "after" if not before else "unlike"


def candidate_conditions(candidate: Candidate) -> frozenset[str]:
    """Return all conditions that are true for a candidate, as noun phrases."""
    return frozenset(_step_conditions(candidate, case_step(candidate.case)))


def how_condition(how: str) -> frozenset[str]:
    """Return the condition for native, padded or composed programs: a cause in one of them need not be in another."""
    return frozenset({HOW_TEXTS[how]} if how in HOW_TEXTS else ())


def _step_conditions(candidate: Candidate, step: Step) -> Iterator[str]:
    levels = candidate.levels
    yield f"{candidate.rank}-D"
    if candidate.rank > 1:
        yield "several axes"
    yield from _number_conditions(candidate)
    yield from _threshold_condition("batch", step.shape[0])
    yield from _threshold_condition("channels", step.shape[1])
    yield from _threshold_condition("an extent", max(step.shape[2:], default=0))
    if candidate.rank > 1:
        yield from _threshold_condition("cells of a padded plane", math.prod(_padded_extents(candidate, step)))
    yield from _threshold_condition("the terms of an output", count_terms(candidate) // max(math.prod(step.output), 1))
    if min(step.shape[2:], default=0) == 1:
        yield "an extent of 1"
    if levels.get("groups", 1) > 1:
        yield "groups"
    if levels.get("bias"):
        yield "a bias"
    if levels.get("count_include_pad"):
        yield "count_include_pad"
    if levels.get("divisor") is not None:
        yield "a divisor"
    if levels.get("rounding", "floor") != "floor":
        yield "ceil or full"
        yield str(levels["rounding"])
    for name in NAMED_FACTORS:
        if name in levels and levels[name] != OPERATORS[candidate.operator].defaults.get(name):
            yield f"{name} {levels[name]}"
    yield from _window_axes(step) if step.window and step.stride else ()
    yield from _padding_conditions(candidate, step) if any(name in levels for name in PAIR_FACTORS) else ()
    if "output_size" in levels:
        yield from _bin_conditions(candidate, step)


def _padded_extents(candidate: Candidate, step: Step) -> tuple[int, ...]:
    """Return the extents of x with its padding. The padding of a transposed convolution crops the output instead."""
    padded = any(name in candidate.levels for name in PAIR_FACTORS) and step.operator != "conv_transpose"
    pairs = (step.padding if padded else ()) or ((0, 0),) * step.rank
    return tuple(size + sum(pair) for size, pair in zip(step.shape[2:], pairs, strict=True))


def _number_conditions(candidate: Candidate) -> Iterator[str]:
    dtype, values = candidate.levels["dtype"], candidate.levels["values"]
    kind = NUMPY_DTYPES[dtype].kind
    yield f"dtype {dtype}"
    if dtype in SHORT_FLOATS:
        yield "16-bit floats"
    if NUMPY_DTYPES[dtype].itemsize == 1:
        yield "8-bit numbers"
    if kind in "iub":
        yield "whole numbers"
    if kind == "u":
        yield "unsigned numbers"
    if values not in {"integers", "distinct"}:
        yield f"values {values}"


def _threshold_condition(what: str, size: int) -> Iterator[str]:
    yield from (f"{what} of {step:,} or more" for step in SIZE_THRESHOLDS if size >= step)


@dataclass(frozen=True)
class _WindowAxis:
    """Window parameters of one spatial axis."""

    stride: int
    window: int
    dilation: int
    size: int

    @property
    def dilated_window(self) -> int:
        return (self.window - 1) * self.dilation + 1


AXIS_CONDITIONS: Mapping[str, Callable[[_WindowAxis], bool]] = {
    "stride > 1": lambda axis: axis.stride > 1,
    "an even window": lambda axis: axis.window % 2 == 0,
    "an odd window above 1": lambda axis: axis.window % 2 == 1 and axis.window > 1,
    "stride > window": lambda axis: axis.stride > axis.window,
    "stride beyond the window's reach": lambda axis: axis.stride > axis.dilated_window,
    "1 < stride < window": lambda axis: 1 < axis.stride < axis.window,
    "windows that overlap": lambda axis: axis.stride < axis.window,
    "dilation": lambda axis: axis.dilation > 1,
    "a window with holes": lambda axis: axis.dilation > 1 and axis.window > 1,
    "dilation above 2": lambda axis: axis.dilation > 2 and axis.window > 1,  # noqa: PLR2004 - the text names it
    "dilation and stride on one axis": lambda axis: axis.dilation > 1 and axis.stride > 1,
    "a window larger than the extent": lambda axis: axis.window > axis.size,
    "a window that reaches beyond the input": lambda axis: axis.dilated_window > axis.size,
}


def _window_axes(step: Step) -> Iterator[str]:
    yield from _threshold_condition("a window", max(step.window))
    axes = [
        _WindowAxis(*one) for one in zip(step.stride or (), step.window, step.dilation, step.shape[2:], strict=True)
    ]
    yield from (condition for condition, is_true in AXIS_CONDITIONS.items() if any(map(is_true, axes)))
    if _has_remainder(step):
        yield "cells left over" if step.operator != "conv_transpose" else "output padding"
    if step.operator != "conv_transpose" and any(step.windows.overhang):
        yield "a last window that reaches past all padding"
    for name, values in (("windows", step.window), ("strides", step.stride or ()), ("dilations", step.dilation)):
        if any(one != other for one, other in pairwise(values)):
            yield f"{name} that differ between axes"


def _padding_conditions(candidate: Candidate, step: Step) -> Iterator[str]:
    given = next(candidate.levels[name] for name in PAIR_FACTORS if name in candidate.levels)
    if isinstance(given, str):
        yield given
    for before, after in step.padding:
        if before or after:
            yield "padding"
        if before:
            yield "padding before"
        if after:
            yield "padding after"
        if before != after:
            yield "padding that differs before and after"
        if before > after:
            yield "more padding before than after"
        if after > before:
            yield "more padding after than before"
        if min(before, after) < 0:
            yield "cells cropped"
    if step.window:
        pairs = zip(step.padding, step.window, strict=True)
        if any(2 * max(ends) > window for ends, window in pairs):
            yield "padding of more than half a window"


def _bin_conditions(candidate: Candidate, step: Step) -> Iterator[str]:
    pairs = list(zip(step.shape[2:], candidate.per_axis("output_size"), strict=True))
    if any(size % output for size, output in pairs):
        yield "an output size that does not divide the extent"
    if any(output > size for size, output in pairs):
        yield "an output larger than the input"
    if any(output > 1 for _, output in pairs):
        yield "more than one cell of output"
