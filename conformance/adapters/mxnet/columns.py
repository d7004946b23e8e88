"""Apache MXNet: `mx.nd.im2col` and `mx.nd.col2im`, whose order is crd; other columns gather the cells of windows."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.api.columns.recipes import PLANE_RANK, UnfoldRecipe, with_one_window_axis, with_window_axes
from conformance.adapters.mxnet import blocks, windows
from conformance.adapters.mxnet.calls import NO_BFLOAT16, ArrayApi
from conformance.cases.operators import BlockOrder

FUNCTIONS = {"unfold": "im2col", "fold": "col2im"}
RESHAPE = "x.reshape(({}))"
MAX_RECIPE_RANK = 2
NO_OTHER_RANK = Unsupported(
    'the page names kernels of one to three axes, but with one it raises "Check failed: i >= 0 && i < ndim()", and '
    'with three "Check failed: this->shape_.Size() == shape.Size()"'
)


def nd_columns(step: Step) -> Code:
    """Return the call of mxnet.nd."""
    if step.dtype == "bfloat16":
        return NO_BFLOAT16
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return Unsupported("the call has the order crd")
    if step.rank != PLANE_RANK:
        return NO_OTHER_RANK
    if step.symmetric is None:
        return Unsupported("the call has one padding for both ends of an axis")
    is_fold = step.operator == "fold"
    text = call(
        f"mx.nd.{FUNCTIONS[step.operator]}",
        "x",
        output_size=tuple_of(step.parameters["output_size"]) if is_fold else None,
        kernel=tuple_of(step.window),
        stride=None if step.stride is None else tuple_of(step.stride),
        dilate=tuple_of(step.dilation) if step.dilated else None,
        pad=tuple_of(step.symmetric) if step.padded else None,
    )
    return (with_one_window_axis if is_fold else with_window_axes)(step, text, RESHAPE)


def recipe(api: ArrayApi, step: Step) -> Code:
    """Return the cells of windows, gathered by their index."""
    if step.rank > MAX_RECIPE_RANK:
        return blocks.NO_VOLUMES
    return UnfoldRecipe(windows.compositions(api), blocks.RECIPE)(step)
