"""What is true of a recipe in plain words: what guides the search, and what findings are told in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from conformance.cases.arrays import DTYPES, HALF
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step, first_step
from conformance.exploration.candidate import ENDS, Recipe
from conformance.exploration.sizes import LONG, PLENTY, WIDTHS
from conformance.exploration.space import terms

STEPS = (2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 256, 257, 1024, 32_768, LONG)
"""Sizes from which on something may be otherwise."""
HANDLED: Mapping[str, str] = {
    "native": "a call of its own",
    "padded": "padding that is written first",
    "composed": "a composition of calls",
}
NAMED = ("mode", "ties", "output", "p")


def kinds(recipe: Recipe) -> tuple[str, ...]:
    """Return what kind each factor is of, one word for each: those that are crossed, pairs and triples of them."""
    step, levels = first_step(recipe.case), recipe.levels
    found = {
        "rank": levels["rank"],
        "values": levels["values"],
        "dtype": levels["dtype"],
        "extent": _magnitude(max(step.shape[2:])),
        "channels": _magnitude(step.shape[1]),
        "batch": min(step.shape[0], 2),
        "alike": _alike(recipe),
        **{name: levels[name] for name in ("rounding", "count_include_pad", "bias", *NAMED) if name in levels},
    }
    if "groups" in levels:
        found["groups"] = levels["groups"] > 1
    if "divisor" in levels:
        found["divisor"] = levels["divisor"] is not None
    if step.window:
        found["window"] = _magnitude(math.prod(step.window))
    if step.window and step.stride:
        found["stride"] = _stride(step)
        found["holes"] = (max(step.dilation) > 1) + (min(step.dilation) > 1)
        found["left"] = _left(step)
    if any(name in levels for name in ENDS):
        found["ends"] = _ends(recipe, step)
    return tuple(f"{name} {found[name]}" for name in sorted(found))


def _magnitude(size: int) -> int:
    """Return about how large a number is: the first of some limits that it does not pass."""
    limits = (1, 4, WIDTHS[0] - 1, WIDTHS[-1], PLENTY[-1])
    return next((number for number, limit in enumerate(limits) if size <= limit), len(limits))


def _alike(recipe: Recipe) -> bool:
    names = [name for name in ("window", "stride", "dilation", *ENDS) if name in recipe.levels]
    return all(len(set(recipe.each(name))) <= 1 for name in names)


def _stride(step: Step) -> str:
    pairs = list(zip(step.stride or (), step.window, strict=True))
    if all(stride == 1 for stride, _ in pairs):
        return "one"
    if any(stride > window for stride, window in pairs):
        return "beyond"
    return "window" if all(stride == window for stride, window in pairs) else "within"


def _left(step: Step) -> bool:
    """Whether cells are left over behind the last whole window."""
    if step.verb == "conv_transpose":
        return any(step.parameters["output_padding"])
    axes = zip(step.shape[2:], step.window, step.stride or (), step.padding, step.dilation, strict=True)
    return any((size + sum(ends) - hole * (cells - 1) - 1) % stride for size, cells, stride, ends, hole in axes)


def _ends(recipe: Recipe, step: Step) -> str:
    given = next(recipe.levels[name] for name in ENDS if name in recipe.levels)
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


def conditions(recipe: Recipe) -> frozenset[str]:
    """Return all that may be said of a recipe, as phrases that read well one after the other."""
    return frozenset(_conditions(recipe, first_step(recipe.case)))


def handled(how: str) -> frozenset[str]:
    """Return what may be said of how a surface does it: what is true of its own call says nothing of another way."""
    return frozenset({HANDLED[how]} if how in HANDLED else ())


def _conditions(recipe: Recipe, step: Step) -> Iterator[str]:
    levels = recipe.levels
    yield f"{recipe.rank}-D"
    if recipe.rank > 1:
        yield "several axes"
    yield from _numbers(recipe)
    yield from _from("batch", step.shape[0])
    yield from _from("channels", step.shape[1])
    yield from _from("an extent", max(step.shape[2:], default=0))
    if recipe.rank > 1:
        yield from _from("cells of a padded plane", math.prod(_padded(recipe, step)))
    yield from _from("the terms of an output", terms(recipe) // max(math.prod(step.output), 1))
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
    for name in NAMED:
        if name in levels and levels[name] != OPERATORS[recipe.operator].defaults.get(name):
            yield f"{name} {levels[name]}"
    yield from _walk(step) if step.window and step.stride else ()
    yield from _padding(recipe, step) if any(name in levels for name in ENDS) else ()
    if "output_size" in levels:
        yield from _bins(recipe, step)


def _padded(recipe: Recipe, step: Step) -> tuple[int, ...]:
    """Return the extents of x with its padding; a transposed convolution crops its output instead."""
    ends = step.padding if any(name in recipe.levels for name in ENDS) and step.verb != "conv_transpose" else ()
    return tuple(size + sum(pair) for size, pair in zip(step.shape[2:], ends or ((0, 0),) * step.rank, strict=True))


def _numbers(recipe: Recipe) -> Iterator[str]:
    dtype, values = recipe.levels["dtype"], recipe.levels["values"]
    kind = DTYPES[dtype].kind
    yield f"dtype {dtype}"
    if dtype in HALF:
        yield "16-bit floats"
    if DTYPES[dtype].itemsize == 1:
        yield "8-bit numbers"
    if kind in "iub":
        yield "whole numbers"
    if kind == "u":
        yield "unsigned numbers"
    if values not in {"integers", "distinct"}:
        yield f"values {values}"


def _from(what: str, size: int) -> Iterator[str]:
    yield from (f"{what} of {step:,} or more" for step in STEPS if size >= step)


@dataclass(frozen=True)
class _Axis:
    """One axis of a walk."""

    stride: int
    window: int
    hole: int
    size: int

    @property
    def reach(self) -> int:
        return (self.window - 1) * self.hole + 1


ON_AN_AXIS: Mapping[str, Callable[[_Axis], bool]] = {
    "stride > 1": lambda axis: axis.stride > 1,
    "an even window": lambda axis: axis.window % 2 == 0,
    "an odd window above 1": lambda axis: axis.window % 2 == 1 and axis.window > 1,
    "stride > window": lambda axis: axis.stride > axis.window,
    "stride beyond the window's reach": lambda axis: axis.stride > axis.reach,
    "1 < stride < window": lambda axis: 1 < axis.stride < axis.window,
    "windows that overlap": lambda axis: axis.stride < axis.window,
    "dilation": lambda axis: axis.hole > 1,
    "a window with holes": lambda axis: axis.hole > 1 and axis.window > 1,
    "dilation above 2": lambda axis: axis.hole > 2 and axis.window > 1,  # noqa: PLR2004 - as it says
    "dilation and stride on one axis": lambda axis: axis.hole > 1 and axis.stride > 1,
    "a window larger than the extent": lambda axis: axis.window > axis.size,
    "a window that reaches beyond the input": lambda axis: axis.reach > axis.size,
}


def _walk(step: Step) -> Iterator[str]:
    yield from _from("a window", max(step.window))
    axes = [_Axis(*one) for one in zip(step.stride or (), step.window, step.dilation, step.shape[2:], strict=True)]
    yield from (word for word, holds in ON_AN_AXIS.items() if any(map(holds, axes)))
    if _left(step):
        yield "cells left over" if step.verb != "conv_transpose" else "output padding"
    if step.verb != "conv_transpose" and any(step.walk.overhang):
        yield "a last window that reaches past all padding"
    for name, values in (("windows", step.window), ("strides", step.stride or ()), ("dilations", step.dilation)):
        if any(one != other for one, other in pairwise(values)):
            yield f"{name} that differ between axes"


def _padding(recipe: Recipe, step: Step) -> Iterator[str]:
    given = next(recipe.levels[name] for name in ENDS if name in recipe.levels)
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


def _bins(recipe: Recipe, step: Step) -> Iterator[str]:
    pairs = list(zip(step.shape[2:], recipe.each("output_size"), strict=True))
    if any(size % output for size, output in pairs):
        yield "an output size that does not divide the extent"
    if any(output > size for size, output in pairs):
        yield "an output larger than the input"
    if any(output > 1 for _, output in pairs):
        yield "more than one cell of output"
