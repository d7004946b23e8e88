"""Depth to space and space to depth: the limits of calls, and recipes that reshape and transpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.adapters.api.dtypes import BLOCK_OPERATORS, unsupported_lowering
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.operators import OPERATORS, BlockOrder, Geometry
from conformance.cases.steps import Step

PLANE_RANK = 2
EXTENT_NAMES = ("d", "h", "w")
"""Names of the extents of x in recipes."""
NO_RANK = Unsupported("the call is for planes only")
NO_WHOLE_BLOCKS = Unsupported("a block has at least one cell, and divides the channels or the extents")
MAX_RECIPE_RANK = len(EXTENT_NAMES)

NOT_WRITTEN: Mapping[str, Lowering] = dict.fromkeys(
    BLOCK_OPERATORS, unsupported_lowering("the adapter does not write depth_to_space and space_to_depth yet")
)
"""Lowerings of surfaces whose frameworks may have a call, and for which none is written."""


def planes_in_order(step: Step, order: str, text: str) -> Code:
    """Return a call for planes that has one order, or the reason why it does not compute the step.

    A convention leaves the order out, so that the call decides it.
    """
    if step.rank != PLANE_RANK:
        return NO_RANK
    if step.parameters.get("order", order) != order:
        return Unsupported(f"the call has the order {order}")
    return text


def least_block_of_two(step: Step, code: Code, reason: str) -> Code:
    """Return the code, or the reason and the call that is rejected for a block of one cell."""
    if isinstance(code, Unsupported) or step.parameters["block"] != 1:
        return code
    return replace(Unsupported(reason), rejected_call=code)


def call_or_recipe(write_call: Lowering, recipe: Lowering, step: Step) -> Code:
    """Return the call, or the recipe for steps that the call does not compute."""
    code = write_call(step)
    return recipe(step) if isinstance(code, Unsupported) else code


@dataclass(frozen=True)
class BlockRecipe:
    """The calls of a framework that reshape and transpose an array.

    reshape, transpose: expressions of x in which {} stands for sizes and axes; channels_last: the layout of x.
    """

    reshape: str = "x.reshape({})"
    transpose: str = "x.transpose({})"
    channels_last: bool = False

    def __call__(self, step: Step) -> Code:
        """Return lines that split the axes of x into parts, reorder the parts, and join them."""
        if step.rank > MAX_RECIPE_RANK:
            return Unsupported(f"the recipe is written for at most {MAX_RECIPE_RANK} axes")
        try:
            _ = step.output
        except ValueError:
            return NO_WHOLE_BLOCKS
        names, block = EXTENT_NAMES[-step.rank :], int(step.parameters["block"])
        inner = [f"cell {name}" for name in names]
        channels = [*inner, "c"] if step.parameters["order"] == BlockOrder.DCR else ["c", *inner]
        deep = self._layout(channels, names)
        wide = self._layout(["c"], [part for pair in zip(names, inner, strict=True) for part in pair])
        if OPERATORS[step.operator].geometry is Geometry.TO_BLOCKS:
            parts, ordered = deep, wide
            sizes = {"c": f"c // {block**step.rank}"}
            output = self._layout([sizes["c"]], [f"{name} * {block}" for name in names])
        else:
            parts, ordered = wide, deep
            sizes = {name: f"{name} // {block}" for name in names}
            output = self._layout([f"c * {block**step.rank}"], [*sizes.values()])
        sizes |= dict.fromkeys(inner, str(block))
        return (
            f"{', '.join(self._layout(['c'], names))} = x.shape",
            f"x = {self.reshape.format(', '.join(sizes.get(part, part) for part in parts))}",
            f"x = {self.transpose.format(', '.join(str(parts.index(part)) for part in ordered))}",
            f"x = {self.reshape.format(', '.join(output))}",
        )

    def _layout(self, channels: Sequence[str], extents: Sequence[str]) -> list[str]:
        """Return the parts of the axes in the order of the layout."""
        return ["n", *extents, *channels] if self.channels_last else ["n", *channels, *extents]
