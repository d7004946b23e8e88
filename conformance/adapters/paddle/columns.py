"""PaddlePaddle: `unfold` and `fold` for planes, whose order is crd; other columns stack slices."""

from __future__ import annotations

from conformance.adapters.api import (
    FLOATS,
    Code,
    Step,
    Unsupported,
    call,
    dilation_argument,
    per_axis,
    stride_argument,
    tuple_of,
)
from conformance.adapters.api.columns.recipes import PLANE_RANK, UnfoldRecipe, with_one_window_axis, with_window_axes
from conformance.adapters.paddle import blocks, windows
from conformance.adapters.paddle.calls import no_kernel
from conformance.cases.operators import BlockOrder

LAYERS = {"unfold": "Unfold", "fold": "Fold"}
RESHAPE = "x.reshape([{}])"
NO_UNEQUAL_ENDS = Unsupported(
    "with different paddings before and after an axis, fold expects the number of columns for twice the padding before"
)


def columns(step: Step, *, layer: bool) -> Code:
    """Return the call, or the layer created and called."""
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return Unsupported(f"{step.operator} has the order crd")
    if step.rank != PLANE_RANK:
        return Unsupported(f"{step.operator} is for planes only")
    is_fold = step.operator == "fold"
    if is_fold and step.symmetric is None:
        return NO_UNEQUAL_ENDS
    size = (tuple_of(step.parameters["output_size"]),) if is_fold else ()
    keywords = {
        "strides": stride_argument(step),
        "paddings": _paddings(step),
        "dilations": dilation_argument(step),
    }
    arguments = (*size, per_axis(step.window))
    name = LAYERS[step.operator]
    if layer:
        text = f"{call(f'nn.{name}', *arguments, **keywords)}(x)"
    else:
        text = call(f"F.{step.operator}", "x", *arguments, **keywords)
    code = (with_one_window_axis if is_fold else with_window_axes)(step, text, RESHAPE)
    return code if step.dtype in FLOATS else no_kernel(step.operator, step.dtype)


def _paddings(step: Step) -> str | None:
    """Return the padding: one number for each axis, or the numbers before all axes and those after them."""
    if not step.padded:
        return None
    if step.symmetric is not None:
        return per_axis(step.symmetric)
    return str([before for before, _ in step.padding] + [after for _, after in step.padding])


RECIPE = UnfoldRecipe(windows.COMPOSED, blocks.RECIPE)
