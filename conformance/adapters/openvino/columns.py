"""OpenVINO: `extract_image_patches` for planes, whose order is dcr, and `col2im`, whose order is crd."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, call, named_padding
from conformance.adapters.api.columns.recipes import PLANE_RANK
from conformance.cases.operators import BlockOrder, PaddingWord

PADDING_NAMES = {
    PaddingWord.VALID: "valid",
    PaddingWord.SAME_UPPER: "same_upper",
    PaddingWord.SAME_LOWER: "same_lower",
}
NO_RANK = Unsupported("the call is for planes only")


def unfold(step: Step) -> Code:
    """Return the call, which requires all arguments."""
    if step.parameters.get("order", BlockOrder.DCR) != BlockOrder.DCR:
        return Unsupported("the call has the order dcr")
    if step.rank != PLANE_RANK:
        return NO_RANK
    padding = named_padding(step, PADDING_NAMES) if step.padded else '"valid"'
    if padding is None:
        return Unsupported("padding is valid, same_upper or same_lower")
    return call(
        "ops.extract_image_patches",
        "x",
        sizes=str([*step.window]),
        strides=None if step.stride is None else str([*step.stride]),
        rates=str([*step.dilation]),
        auto_pad=padding,
    )


def fold(step: Step) -> Code:
    """Return the call, after a reshape to one axis for all windows."""
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return Unsupported("the call has the order crd")
    if step.rank != PLANE_RANK:
        return NO_RANK
    columns = [*step.shape[:2], math.prod(step.shape[2:])]
    text = call(
        "ops.col2im",
        "x",
        f"np.array({[*step.parameters['output_size']]})",
        f"np.array({[*step.window]})",
        strides=None if step.stride is None else str([*step.stride]),
        dilations=str([*step.dilation]) if step.dilated else None,
        pads_begin=str([before for before, _ in step.padding]) if step.padded else None,
        pads_end=str([after for _, after in step.padding]) if step.padded else None,
    )
    return (f"x = ops.reshape(x, {columns}, False)", f"x = {text}")
