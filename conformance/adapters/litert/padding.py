"""LiteRT: padding, cropping and slicing."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported, crops, exceeds_extent, indexed_pad, number
from conformance.adapters.litert.options import integers, node, pad_pairs
from conformance.cases.operators import PadMode

MIRROR_MODES = {PadMode.REFLECT: "REFLECT", PadMode.SYMMETRIC: "SYMMETRIC"}
# Largest pad of a mode: the extent minus this number.
EXTENT_MARGINS: Mapping[str, int] = {PadMode.REFLECT: 1, PadMode.SYMMETRIC: 0}


def pad(step: Step) -> Code:
    """Return PAD, PADV2 or MIRROR_PAD, or the reason why it is unsupported."""
    mode = step.parameters["mode"]
    text = _pad_node(step, mode)
    if isinstance(text, Unsupported):
        return text
    if crops(step):
        return Unsupported("padding does not crop", rejected_call=text)
    if exceeds_extent(step, EXTENT_MARGINS):
        return Unsupported(f"mode {mode} cannot repeat the input more than once", rejected_call=text)
    return text


def _pad_node(step: Step, mode: str) -> str | Unsupported:
    if mode == PadMode.CONSTANT:
        value = step.parameters.get("value", 0)
        if value == 0:
            return node("PAD", ["x", pad_pairs(step)])
        return node("PADV2", ["x", pad_pairs(step), _scalar(value, step.dtype)])
    if mode not in MIRROR_MODES:
        return Unsupported(f"MIRROR_PAD has no mode {mode}")
    options = f"schema.MirrorPadOptionsT(schema.MirrorPadMode.{MIRROR_MODES[PadMode(mode)]})"
    return node("MIRROR_PAD", ["x", pad_pairs(step)], options)


def _scalar(value: float, dtype: str) -> str:
    names = {"bfloat16": "ml_dtypes.bfloat16", "bool": "np.bool_"}
    return f"{names.get(dtype, f'np.{dtype}')}({number(value)})"


def gathered_pad(step: Step) -> Code:
    """Return GATHER for each axis, for modes that MIRROR_PAD does not have."""
    return indexed_pad(
        step,
        lambda cells, axis: (f"x = {node('GATHER', ['x', f'np.int32({cells})'], f'schema.GatherOptionsT({axis})')}",),
        first_axis=1,
    )


def crop(step: Step) -> Code:
    """Return the SLICE that crops by the negative pads."""
    begins = [0, *(max(-before, 0) for before, _ in step.padding), 0]
    sizes = [-1, *step.output[2:], -1]
    return node("SLICE", ["x", integers(begins), integers(sizes)])


def subsample(step: Step) -> Code:
    """Return the STRIDED_SLICE that takes every stride-th position."""
    n, c, *spatial = step.shape
    zeros, ends, strides = [0] * len(step.shape), [n, *spatial, c], [1, *(step.stride or ()), 1]
    bounds = [integers(values) for values in (zeros, ends, strides)]
    return node("STRIDED_SLICE", ["x", *bounds], "schema.StridedSliceOptionsT()")
