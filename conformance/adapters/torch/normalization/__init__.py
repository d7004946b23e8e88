"""PyTorch: `local_response_norm`, which divides alpha by the size; an even window has its extra channel before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.normalization.recipes import EVEN_IS_BEFORE, alpha_text, is_opposite, number_of
from conformance.adapters.torch.calls import in_wider_dtype
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.operators import ExtraChannel

NormalizationWriter = Callable[..., str]
NO_KERNEL = Unsupported(
    "local_response_norm of planes and volumes has no kernel for 16 bits on the CPU: "
    "\"avg_pool3d_out_frame\" not implemented for 'Half' and 'BFloat16'"
)


def functional_lrn(size: str, **keywords: str | None) -> str:
    """Return a call of the function."""
    return call("F.local_response_norm", "x", size, **keywords)


def layer_lrn(size: str, **keywords: str | None) -> str:
    """Return a layer, created and called."""
    return call("nn.LocalResponseNorm", size, **keywords) + "(x)"


def _text(write_call: NormalizationWriter, step: Step) -> str:
    return write_call(
        number(step.parameters["local_size"]),
        alpha=alpha_text(step, divides=True),
        beta=number_of(step, "beta"),
        k=number_of(step, "k"),
    )


def _lrn(write_call: NormalizationWriter, step: Step) -> Code:
    if is_opposite(step, ExtraChannel.BEFORE):
        return EVEN_IS_BEFORE
    text = _text(write_call, step)
    return text if step.rank == 1 or step.dtype not in SHORT_FLOATS else NO_KERNEL


def _fallback(write_call: NormalizationWriter, step: Step) -> Code:
    """Return the call between two flips of the channels, and in float32 for 16 bits."""
    text = _text(write_call, step)
    if is_opposite(step, ExtraChannel.BEFORE):
        lines: Code = ("x = x.flip(1)", f"x = {text}", "x = x.flip(1)")
    else:
        lines = text
    if step.dtype not in SHORT_FLOATS:
        return lines
    return in_wider_dtype(dict.fromkeys(SHORT_FLOATS, "float32"), lambda _step: lines, step)


FUNCTIONAL, LAYER = partial(_lrn, functional_lrn), partial(_lrn, layer_lrn)
FUNCTIONAL_FALLBACK, LAYER_FALLBACK = partial(_fallback, functional_lrn), partial(_fallback, layer_lrn)
