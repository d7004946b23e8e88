"""JAX: patches of `conv_general_dilated_patches`, a convolution with ones and zeros, whose order is crd."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.jax.convolution import TOO_MANY_AXES, dilation_text
from conformance.adapters.jax.windows import padding_text
from conformance.cases.operators import BlockOrder

MAX_RANK = 3


def unfold(step: Step) -> Code:
    """Return the call for one to three axes."""
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return Unsupported("the call has the order crd")
    if step.rank > MAX_RANK:
        return TOO_MANY_AXES
    stride = None if step.stride is None else tuple_of(step.stride)
    arguments = (tuple_of(step.window), stride, padding_text(step.padding, step))
    return call("lax.conv_general_dilated_patches", "x", *arguments, rhs_dilation=dilation_text(step))
