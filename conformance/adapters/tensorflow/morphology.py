"""TensorFlow: `tf.nn.dilation2d` of planes, which adds a kernel (height, width, channels)."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.tensorflow.composed import COMPOSED
from conformance.adapters.tensorflow.dtypes import PLANE_RANK, padding_name

NO_RANK = Unsupported("the call is for planes only")
NO_PADDING = Unsupported("padding is VALID or SAME")
NO_DEFAULT_STRIDE = Unsupported("the call requires strides")
NO_XLA_KERNEL = Unsupported("No registered 'Dilation2D' OpKernel for XLA_CPU_JIT devices")


def dilation2d(step: Step) -> Code:
    """Return the call, with a kernel (height, width, channels). Its strides have an entry for batch and channels."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    if step.stride is None:
        return NO_DEFAULT_STRIDE
    padding = padding_name(step)
    if padding is None:
        return NO_PADDING
    strides, dilations = (tuple_of((1, *values, 1)) for values in (step.stride, step.dilation))
    text = call("tf.nn.dilation2d", "x", "kernel", strides, f'"{padding}"', '"NHWC"', dilations)
    return ("kernel = kernel[:, :, 0]", f"x = {text}")


def compiled_dilation2d(_step: Step) -> Code:
    """Return unsupported: the call exists, but XLA cannot compile it."""
    return NO_XLA_KERNEL


FALLBACK = DilationRecipe(COMPOSED)
