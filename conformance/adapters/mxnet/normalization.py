"""Apache MXNet: `mx.nd.LRN` of planes, which divides alpha by the size; an even size has one channel less."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.normalization.recipes import PLANE_RANK, alpha_text, is_even, number_of

NO_RANK = Unsupported('"dimension do not match target dimension 4"')
NARROWER = Unsupported("an even size is a window of one channel less, with alpha divided by the even size")
NO_DTYPE = Unsupported(
    '"Check failed: mshadow: :DataType<DType>::kFlag == type_flag_: data type do not match specified type": the second '
    "output has the dtype float32"
)


def _text(step: Step) -> str:
    return call(
        "mx.nd.LRN",
        "x",
        alpha=alpha_text(step, divides=True),
        beta=number_of(step, "beta"),
        knorm=number_of(step, "k"),
        nsize=number(step.parameters["local_size"]),
    )


def _unsupported(step: Step) -> Unsupported | None:
    # A convention leaves the side out, and observes the call.
    if is_even(step) and "extra_channel" in step.parameters:
        return NARROWER
    return None if step.dtype == "float32" else NO_DTYPE


def nd_lrn(step: Step) -> Code:
    """Return the call of mxnet.nd."""
    return _unsupported(step) or (_text(step) if step.rank == PLANE_RANK else NO_RANK)


def fallback(step: Step) -> Code:
    """Return the call for an input with one axis for all cells."""
    batch, channels, *extents = step.shape
    return _unsupported(step) or (
        f"x = x.reshape({(batch, channels, 1, math.prod(extents))})",
        f"x = {_text(step)}",
        f"x = x.reshape({step.shape})",
    )
