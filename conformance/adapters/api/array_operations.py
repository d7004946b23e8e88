"""The array operations of one framework as templates of source text. Compositions are written with them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.adapters.api.source_text import number


@dataclass(frozen=True)
class ArrayOperations:
    """Templates of source text. A framework needs only those that its compositions use.

    `{x}` is the operand, `{axes}` the axis or axes of the cells of a window. If a template has several lines, the last
    one is the expression; the lines before it assign constants.

    reduction: `{name}` is sum, max, min, mean, any or all, `{keep}` is `kept` or `dropped`.
    reduction_names: names of reductions that differ from these.
    kept, dropped: arguments for reduced axes that get size 1, and for those that are removed.
    stack: stacks the list `{list}`; `{axis}` is `stack_axis`, or "" for the first axis.
    reshape: `{dims}` are the extents, separated by commas.
    softmax: along one axis. flat_softmax: the same of a variable with more axes than softmax accepts.
    norm: the `{p}`-norm of each window. norms: shorter templates for some p.
    differentiable_norm: the norm with a gradient of 0 where the norm is 0; its value there does not matter.
    add, multiply: of `{x}` and `{other}`.
    quotient: of the sums `{x}` and the counts `{count}`.
    ones: an array of ones like `x`.
    where: selects `{x}` where `{condition}` is true, and `{other}` elsewhere.
    share: `{x}`, the cells of a window, divided by their sum `{total}`, or 0 where the sum is 0.
    draws: `draws` with an axis for the cells; `{planes}` are the extents n, c, -1, or n, c, m if there are none.
    drawn: selects the first of the cells `windows` at which the cumulative sum exceeds `share`; 0 if there is none.
    pick: the element of `{x}` at the first position of each window at which `windows` is largest.
    move_cells: moves the first axis to the position `{position}`; `{order}` is the new order of all axes.
    """

    reduction: str = "{x}.{name}({axes}{keep})"
    reduction_names: Mapping[str, str] = field(default_factory=dict)
    kept: str = ", keepdims=True"
    dropped: str = ""
    stack: str = ""
    stack_axis: str = ", {number}"
    reshape: str = "{x}.reshape({dims})"
    softmax: str = ""
    flat_softmax: str = ""
    norm: str = ""
    norms: Mapping[float, str] = field(default_factory=dict)
    differentiable_norm: str = ""
    add: str = "{x} + {other}"
    multiply: str = "{x} * {other}"
    quotient: str = "{x} / {count}"
    ones: str = ""
    where: str = ""
    share: str = ""
    draws: str = "draws"
    drawn: str = ""
    pick: str = ""
    move_cells: str = ""

    def reduce(self, name: str, x: str, axes: str, *, keep: bool = False) -> str:
        """Return the reduction of an expression along axes."""
        return fill(
            self.reduction,
            x=x,
            name=self.reduction_names.get(name, name),
            axes=axes,
            keep=self.kept if keep else self.dropped,
        )

    def stack_list(self, texts: str, axis: int = 0) -> str:
        """Return the stack of a list along a new axis."""
        return self.stack.format(list=texts, axis=self.stack_axis.format(number=axis) if axis else "")

    # A table of a framework gives `norms` where users write p = 1 or p = 2 shorter, without powers.
    # The root is not differentiable at 0: without a template of its own the gradient of a window of zeros is NaN.
    def norm_of(self, p: float, x: str, axes: str, dtype: str, *, gradient: bool = False) -> str:
        """Return the p-norm along axes. gradient: whether only its gradient is used."""
        differentiable = self.differentiable_norm if gradient and p != 1 else ""
        return fill(differentiable or self.norms.get(p, self.norm), x=x, p=number(p), axes=axes, dtype=dtype)

    def reshaped(self, x: str, shape: Sequence[int]) -> str:
        """Return the expression with another shape."""
        return fill(self.reshape, x=x, dims=", ".join(map(str, shape)), cells=math.prod(shape))


def fill(template: str, *, x: str, **fields: Any) -> str:
    """Return the template with its fields; an operand is put in parentheses where its method is called."""
    return template.format(x=f"({x})" if template.startswith("{x}.") and not _is_atom(x) else x, **fields)


# Without this check, programs would contain parentheses that users do not write: (x).sum().
def _is_atom(text: str) -> bool:
    """Whether a method can be called on the expression without parentheses around it."""
    return isinstance(ast.parse(text, mode="eval").body, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))


def assigned(name: str, text: str) -> tuple[str, ...]:
    """Return lines that assign an expression to a name, after the lines that the expression needs."""
    *constants, expression = text.split("\n")
    return (*constants, f"{name} = {expression}")
