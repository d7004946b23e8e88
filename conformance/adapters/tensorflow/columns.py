"""TensorFlow: `tf.image.extract_patches` for planes, whose order is dcr; other columns stack slices."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.api.columns.recipes import PLANE_RANK, UnfoldRecipe
from conformance.adapters.tensorflow import blocks, composed
from conformance.adapters.tensorflow.dtypes import padding_name
from conformance.cases.operators import BlockOrder

NO_PADDING = Unsupported("padding is VALID or SAME")
NO_BOOL = Unsupported("extract_patches has no kernel for bool")


def unfold(step: Step) -> Code:
    """Return the call. Its sizes, strides and rates have an entry for the batch and one for the channels."""
    if step.parameters.get("order", BlockOrder.DCR) != BlockOrder.DCR:
        return Unsupported("the call has the order dcr")
    if step.rank != PLANE_RANK:
        return Unsupported("the call is for planes only")
    padding = padding_name(step)
    if padding is None:
        return NO_PADDING
    sizes, rates = (tuple_of((1, *values, 1)) for values in (step.window, step.dilation))
    strides = None if step.stride is None else tuple_of((1, *step.stride, 1))
    text = call("tf.image.extract_patches", "x", sizes=sizes, strides=strides, rates=rates, padding=f'"{padding}"')
    return NO_BOOL if step.dtype == "bool" else text


RECIPE = UnfoldRecipe(composed.COMPOSED, blocks.RECIPE)
