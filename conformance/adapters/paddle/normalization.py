"""PaddlePaddle: `local_response_norm`, which divides alpha by the size; an even window has its extra channel before."""

from __future__ import annotations

from conformance.adapters.api import FLOATS, Code, Step, call, number
from conformance.adapters.api.normalization.recipes import EVEN_IS_BEFORE, alpha_text, is_opposite, number_of
from conformance.adapters.paddle.calls import no_kernel
from conformance.cases.operators import ExtraChannel


def _text(step: Step, *, layer: bool) -> str:
    keywords = {
        "alpha": alpha_text(step, divides=True),
        "beta": number_of(step, "beta"),
        "k": number_of(step, "k"),
        "data_format": DATA_FORMATS.get(step.rank),
    }
    size = number(step.parameters["local_size"])
    if layer:
        return f"{call('nn.LocalResponseNorm', size, **keywords)}(x)"
    return call("F.local_response_norm", "x", size, **keywords)


DATA_FORMATS = {1: '"NCL"', 3: '"NCDHW"'}
"""Layouts by the number of spatial axes. That of planes is the default."""


def lrn(step: Step, *, layer: bool) -> Code:
    """Return the call, or the layer created and called."""
    if step.dtype not in FLOATS:
        return no_kernel("local_response_norm", step.dtype)
    return EVEN_IS_BEFORE if is_opposite(step, ExtraChannel.BEFORE) else _text(step, layer=layer)


def fallback(step: Step, *, layer: bool) -> Code:
    """Return the call between two flips of the channels."""
    return ("x = x.flip(1)", f"x = {_text(step, layer=layer)}", "x = x.flip(1)")
