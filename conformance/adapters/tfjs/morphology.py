"""TensorFlow.js: `tf.dilation2d` of planes, which adds a kernel (height, width, channels)."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, is_framework_same, named_padding
from conformance.adapters.api.javascript import call, per_axis
from conformance.adapters.tfjs.pooling import NEEDS_STRIDES, PLANE_RANK, SAME
from conformance.cases.operators import PaddingWord

NO_RANK = Unsupported("tf.dilation2d is for planes only")
NO_PADDING = Unsupported("tf.dilation2d pads with the words valid and same")
NO_GRADIENT = Unsupported("\"Kernel 'Dilation2DBackpropInput' not registered for backend 'webgl'\"")
WORDS = {PaddingWord.VALID: "valid", PaddingWord.SAME_UPPER: "same"}


def dilation2d(step: Step) -> Code:
    """Return the call. The second axis of the kernel, which has one cell, is removed."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    if step.stride is None:
        return NEEDS_STRIDES
    padding = SAME if is_framework_same(step) else named_padding(step, WORDS)
    if padding is None:
        return NO_PADDING
    distances = (per_axis(step.dilation, step.rank),) if step.dilated else ()
    text = call("tf.dilation2d", "x", "kernel", per_axis(step.stride, step.rank), padding, *distances)
    return ("kernel = tf.squeeze(kernel, [2])", f"x = {text}")


def without_gradient(step: Step) -> Code:
    """Return the call of a backend that has no kernels of the gradients."""
    return NO_GRADIENT if step.gradient else dilation2d(step)
