"""Local response normalization: the arguments of calls, and a recipe that adds the squares of neighbouring channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.source_text import number, pairs_of
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.operators import ExtraChannel
from conformance.cases.steps import Step

PLANE_RANK = 2
EVEN_IS_BEFORE = Unsupported("an even window of the call has its extra channel before")
EVEN_IS_AFTER = Unsupported("an even window of the call has its extra channel after")
NOT_WRITTEN: Mapping[str, Lowering] = {
    "lrn": unsupported_lowering("the adapter does not write local response normalization yet")
}
"""Lowering of surfaces whose frameworks may have the operator, and for which no call is written."""
ONLY_ODD = Unsupported("the call has windows of an odd number of channels")


def is_even(step: Step) -> bool:
    """Whether the window has an even number of channels, not 0 or less, which a call must reject."""
    size: int = step.parameters["local_size"]
    return size > 0 and size % 2 == 0


def is_opposite(step: Step, side: ExtraChannel) -> bool:
    """Whether the window is even, and its extra channel is on the other side than that of a call.

    A convention leaves the side out, so that the call decides it.
    """
    return is_even(step) and step.parameters.get("extra_channel", side) != side


def alpha_of(step: Step, *, divides: bool) -> float | None:
    """Return alpha as a call takes it, None if a convention leaves it out.

    divides: whether the call divides alpha by the number of channels in the window.
    """
    alpha, size = step.parameters.get("alpha"), step.parameters["local_size"]
    is_divided = step.parameters.get("alpha_over_size", divides)
    if alpha is None or is_divided == divides or not size:
        return alpha
    scaled = alpha * size if divides else alpha / size
    return int(scaled) if scaled == int(scaled) else scaled


def number_of(step: Step, name: str) -> str | None:
    """Return a number of a step as text, None if a convention leaves it out."""
    value = step.parameters.get(name)
    return None if value is None else number(value)


def alpha_text(step: Step, *, divides: bool) -> str | None:
    """Return alpha as text, see alpha_of()."""
    alpha = alpha_of(step, divides=divides)
    return None if alpha is None else number(alpha)


@dataclass(frozen=True)
class NormalizationRecipe:
    """The calls of a framework with which the formula is written.

    pad: pads the expression {x} with zeros; {pads} are (before, after) pairs of all axes. channels_last: the layout.
    widen, narrow: convert x to float32, and to {dtype}. In 16 bits, each operation would round its result.
    """

    pad: str
    channels_last: bool = False
    widen: str = ""
    narrow: str = ""

    def __call__(self, step: Step) -> Code:
        """Return lines that divide x by a power of the sum of squares."""
        lines = (*self._total_lines(step), f"x = x / ({self._base(step)}) ** {number(step.parameters['beta'])}")
        if step.dtype not in SHORT_FLOATS or not self.widen:
            return lines
        return (f"x = {self.widen}", *lines, f"x = {self.narrow.format(dtype=step.dtype)}")

    def _total_lines(self, step: Step) -> Sequence[str]:
        before, after = window_of(step)
        if not before + after:
            return ("total = x * x",)
        pads = [(0, 0)] * len(step.shape)
        pads[-1 if self.channels_last else 1] = (before, after)
        index = "..., " if self.channels_last else ":, "
        cells = f"squares[{index}i:i + {step.shape[1]}]"
        return (
            f"squares = {self.pad.format(x='x * x', pads=pairs_of(pads))}",
            f"total = sum({cells} for i in range({before + after + 1}))",
        )

    @staticmethod
    def _base(step: Step) -> str:
        """Return k + a * total."""
        given = step.parameters
        divisor = f" / {number(given['local_size'])}" if given["alpha_over_size"] else ""
        return f"{number(given['k'])} + {number(given['alpha'])}{divisor} * total"


def window_of(step: Step) -> tuple[int, int]:
    """Return the numbers of channels before and after a channel in its window, at most all other channels."""
    size, others = step.parameters["local_size"], max(step.shape[1] - 1, 0)
    short, long = (size - 1) // 2, size // 2
    before, after = (long, short) if step.parameters["extra_channel"] == ExtraChannel.BEFORE else (short, long)
    return min(before, others), min(after, others)
