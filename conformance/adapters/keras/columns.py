"""Keras: `keras.ops.image.extract_patches` for planes and volumes, whose order is dcr; other columns stack slices."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import (
    FLOATING,
    Code,
    Step,
    Unsupported,
    call,
    dilation_argument,
    named_padding,
    per_axis,
    tuple_of,
)
from conformance.adapters.api.columns.recipes import PLANE_RANK, UnfoldRecipe
from conformance.adapters.keras import blocks, pooling
from conformance.adapters.keras.engines import Engine
from conformance.cases.operators import BlockOrder, PaddingWord

VOLUME_RANK = 3
NO_STRIDED_DILATION = Unsupported("`strides > 1` not supported in conjunction with `dilation_rate > 1`")
NO_CONVOLUTION = Unsupported("the call is a convolution, which has no kernel for the dtype")
FUNCTIONS = {PLANE_RANK: "keras.ops.image.extract_patches", VOLUME_RANK: "keras.ops.image.extract_patches_3d"}
PADDING_NAMES = {PaddingWord.VALID: "valid", PaddingWord.SAME_UPPER: "same"}


def unfold(engine: Engine, step: Step) -> Code:
    """Return the call, which is a convolution, and whose stride is the window by default."""
    if step.parameters.get("order", BlockOrder.DCR) != BlockOrder.DCR:
        return Unsupported("the call has the order dcr")
    if step.rank not in FUNCTIONS:
        return Unsupported("the call is for planes and volumes only")
    padding = named_padding(step, PADDING_NAMES)
    if padding is None and step.padded:
        return Unsupported("padding is valid or same")
    text = call(
        FUNCTIONS[step.rank],
        "x",
        tuple_of(step.window),
        strides=None if step.stride is None else per_axis(step.stride),
        dilation_rate=dilation_argument(step),
        padding=None if not step.padded else padding,
    )
    if step.dtype not in engine.convolution_dtypes:
        return replace(NO_CONVOLUTION, rejected_call=text)
    return _unsupported_dilation(engine, step, text) or text


def _unsupported_dilation(engine: Engine, step: Step, text: str) -> Unsupported | None:
    """Return why the engine computes no dilated patches of the step; None if it does."""
    if not step.dilated:
        return None
    if engine.name == "tensorflow" and step.stride != (1,) * step.rank:
        return replace(NO_STRIDED_DILATION, rejected_call=text)
    if engine.name == "torch" and step.dtype not in FLOATING:
        return replace(NO_CONVOLUTION, rejected_call=text)
    return None


RECIPE = UnfoldRecipe(pooling.COMPOSED, blocks.RECIPE)
