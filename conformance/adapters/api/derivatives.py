"""Surfaces that compute an operator through its derivative, or item by item of a batch.

Of a positively homogeneous operator f, such as a sum, a maximum or a convolution without bias, the derivative in the
direction x is f(x) itself (Euler's theorem). So the forward mode, jvp(f, x, x), and the derivative of the gradient with
respect to the incoming gradient both return f(x). A function of one item, mapped over the batch, returns f(x) as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api.source_text import INDENT
from conformance.adapters.api.surface import FLOATS, Code, Lowering, Surface, Unsupported
from conformance.cases.steps import Step
from reports.results.vocabulary import Level

NOT_HOMOGENEOUS = Unsupported("the derivative in the direction x is not the result")
HOMOGENEOUS_OPERATORS = frozenset(
    {
        "max_pool", "min_pool", "avg_pool", "global_max_pool", "global_avg_pool", "adaptive_max_pool",
        "adaptive_avg_pool", "fractional_max_pool", "max_unpool", "pad", "conv", "conv_transpose", "relu", "negate",
    }
)  # fmt: skip
BATCHED_INPUTS = ("x", "indices", "samples", "draws", "grid")
MapLines = Callable[[str], Sequence[str]]
"""Takes the call of a function of x, and returns lines that assign the result to x."""


def derivative_surface(surface: Surface, name: str, lines_of: MapLines) -> Surface:
    """Return a surface that computes positively homogeneous operators by a derivative in the direction x.

    lines_of: takes an expression, a function of x.
    """

    def wrap(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        return (*_function(lines, names), *lines_of(f"lambda x: forward({', '.join(names)})"))

    return replace(
        _smoke_surface(surface, name),
        lowerings=_homogeneous(surface.lowerings),
        fallbacks=_homogeneous(surface.fallbacks),
        building_blocks=_homogeneous(surface.building_blocks),
        dtypes={"": FLOATS},
        unsupported_dtypes={},
        wrap_program=wrap,
    )


def mapped_surface(surface: Surface, name: str, function: str) -> Surface:
    """Return a surface that maps each operator over the items of a batch. function: the name of the map."""

    def wrap(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        batched = [one for one in names if one in BATCHED_INPUTS]
        arguments = ", ".join(f"{one}[None]" if one in batched else one for one in names)
        inputs = ", ".join(batched)
        return (*_function(lines, names), f"x = {function}(lambda {inputs}: forward({arguments})[0])({inputs})")

    return replace(_smoke_surface(surface, name), wrap_program=wrap)


def _smoke_surface(surface: Surface, name: str) -> Surface:
    return replace(
        surface,
        name=name,
        validates=False,
        answers_conventions=False,
        write_gradient=None,
        max_level=Level.SMOKE,
    )


def _function(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    body = [f"{INDENT}{line}" for text in lines for line in text.split("\n")]
    return (f"def forward({', '.join(names)}):", *body, f"{INDENT}return x")


def _homogeneous(lowerings: Mapping[str, Lowering]) -> Mapping[str, Lowering]:
    return {operator: _if_homogeneous(lowering) for operator, lowering in lowerings.items()}


def _if_homogeneous(lowering: Lowering) -> Lowering:
    def lower(step: Step) -> Code:
        is_homogeneous = step.operator in HOMOGENEOUS_OPERATORS and not step.bias and not _adds_numbers(step)
        return lowering(step) if is_homogeneous else NOT_HOMOGENEOUS

    return lower


def _adds_numbers(step: Step) -> bool:
    # Padding of a maximum with -inf adds nothing to the result.
    value = step.parameters.get("value", 0)
    return step.operator == "pad" and value not in {0, float("-inf"), float("inf")}
