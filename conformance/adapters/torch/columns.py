"""PyTorch: `unfold` and `fold`, which are for planes; other columns are views of the cells of every window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.adapters.api import (
    COLUMN_OPERATORS,
    FLOATING,
    Code,
    Step,
    Unsupported,
    call,
    dilation_argument,
    nonzero_argument,
    per_axis,
    stride_argument,
    tuple_of,
)
from conformance.adapters.api.columns.recipes import (
    PLANE_RANK,
    UnfoldRecipe,
    with_one_window_axis,
    with_window_axes,
)
from conformance.adapters.torch import blocks, windows
from conformance.cases.operators import BlockOrder

ColumnWriter = Callable[..., str]
KERNEL_DTYPES = FLOATING | {"bool"}
LAYERS = {"unfold": "Unfold", "fold": "Fold"}


def functional_columns(operator: str, *arguments: str | None, **keywords: str | None) -> str:
    """Return a call of a function."""
    return call(f"F.{operator}", "x", *arguments, **keywords)


def layer_columns(operator: str, *arguments: str | None, **keywords: str | None) -> str:
    """Return a layer, created and called."""
    return call(f"nn.{LAYERS[operator]}", *arguments, **keywords) + "(x)"


def _columns(write_call: ColumnWriter, step: Step) -> Code:
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return Unsupported(f"{step.operator} has the order crd")
    if step.rank != PLANE_RANK:
        return Unsupported(f"{step.operator} is for planes only")
    if step.symmetric is None:
        return Unsupported(f"{step.operator} has one padding for both ends of an axis")
    size = (tuple_of(step.parameters["output_size"]),) if step.operator == "fold" else ()
    text = write_call(
        step.operator,
        *size,
        per_axis(step.window),
        dilation=dilation_argument(step),
        padding=nonzero_argument(step.symmetric),
        stride=stride_argument(step),
    )
    lines = with_one_window_axis(step, text) if step.operator == "fold" else with_window_axes(step, text)
    if step.dtype in KERNEL_DTYPES:
        return lines
    return Unsupported(f"{step.operator} has no kernel for {step.dtype} on the CPU", rejected_call=lines)


RECIPE = UnfoldRecipe(windows.FUNCTIONAL, blocks.RECIPE)


def fallback_unfold(step: Step) -> Code:
    """Return views of the cells of every window, or why explicit padding and a call are shorter."""
    has_call = step.rank == PLANE_RANK and step.dtype in KERNEL_DTYPES
    if has_call and step.parameters["order"] == BlockOrder.CRD:
        return Unsupported("explicit padding and a call are shorter")
    return RECIPE(step)


FUNCTIONAL = dict.fromkeys(COLUMN_OPERATORS, partial(_columns, functional_columns))
LAYER = dict.fromkeys(COLUMN_OPERATORS, partial(_columns, layer_columns))
