"""Padding, crops and slices of TensorFlow.js."""

from __future__ import annotations

import numpy as np

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.javascript import call, list_of, number, pairs_of
from conformance.cases.operators import PadMode

MIRROR_WORDS = {PadMode.REFLECT: "reflect", PadMode.SYMMETRIC: "symmetric"}
NUMPY_MODES = {
    PadMode.EDGE: "edge",
    PadMode.REFLECT: "reflect",
    PadMode.SYMMETRIC: "symmetric",
    PadMode.WRAP: "wrap",
}


def pad(step: Step) -> Code:
    """Return `tf.pad` or `tf.mirrorPad`."""
    mode = PadMode(step.parameters.get("mode", PadMode.CONSTANT))
    pairs = pairs_of([(0, 0), *step.padding, (0, 0)])
    if mode is PadMode.CONSTANT:
        value = step.parameters.get("value") or 0
        text = call("tf.pad", "x", pairs, number(value) if value else None)
    elif mode in MIRROR_WORDS:
        text = call("tf.mirrorPad", "x", pairs, f'"{MIRROR_WORDS[mode]}"')
    else:
        return Unsupported(f"no call pads with the mode {mode}")
    if any(side < 0 for pair in step.padding for side in pair):
        return Unsupported("pads must not be negative", rejected_call=text)
    most = (extent - (mode is PadMode.REFLECT) for extent in step.shape[2:])
    if mode in MIRROR_WORDS and any(max(pair) > limit for pair, limit in zip(step.padding, most, strict=True)):
        return Unsupported("pads must not exceed the extent", rejected_call=text)
    return text


def gathered_pad(step: Step) -> Code:
    """Return `tf.gather` along each padded axis, with the index of the cell at each position."""
    mode = PadMode(step.parameters.get("mode", PadMode.CONSTANT))
    if mode not in NUMPY_MODES or 0 in step.shape or any(side < 0 for pair in step.padding for side in pair):
        return Unsupported("negative pads crop")
    lines = []
    for axis, (size, pair) in enumerate(zip(step.shape[2:], step.padding, strict=True), 1):
        if any(pair):
            cells = np.pad(np.arange(size), pair, NUMPY_MODES[mode])  # type: ignore[call-overload]
            lines.append(f"x = tf.gather(x, {list_of(cells.tolist())}, {axis})")
    return tuple(lines) or "x"


def crop(step: Step) -> Code:
    """Return `tf.slice` without the cells that negative pads remove."""
    pairs = [(0, 0), *step.padding, (0, 0)]
    extents = (step.shape[0], *step.shape[2:], step.shape[1])
    begin = [max(-before, 0) for before, _ in pairs]
    sizes = [extent + min(before, 0) + min(after, 0) for extent, (before, after) in zip(extents, pairs, strict=True)]
    return call("tf.slice", "x", list_of(begin), list_of(sizes))


def subsample(step: Step) -> str:
    """Return `tf.stridedSlice` with every stride-th position."""
    extents = (step.shape[0], *step.shape[2:], step.shape[1])
    strides = [1, *(step.stride or ()), 1]
    return call("tf.stridedSlice", "x", list_of([0] * len(extents)), list_of(extents), list_of(strides))
