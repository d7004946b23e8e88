"""tinygrad: padding in every mode."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.indexed_padding import indexed_pad
from conformance.adapters.api.source_text import call, flat_pad_list, number, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.steps import Step

__all__ = ["flat_pads_text", "indexed_pad", "pad"]

PADDING_MODES: Mapping[str, str] = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}
NO_SYMMETRIC = Unsupported("Tensor.pad has no symmetric mode")


def flat_pads_text(step: Step) -> str:
    """Return the pads in one list, the last axis first; a flat list of the case is not changed."""
    return tuple_of(flat_pad_list(step) or [end for pair in reversed(step.padding) for end in pair])


def pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode, value = step.parameters["mode"], step.parameters["value"]
    if mode == "symmetric":
        return NO_SYMMETRIC
    if mode == "constant":
        # A number as the value would convert a bool array to integers.
        text = str(bool(value)) if step.dtype == "bool" else number(value)
        return call("x.pad", flat_pads_text(step), value=text if value or step.dtype == "bool" else None)
    text = call("x.pad", flat_pads_text(step), mode=f'"{PADDING_MODES[mode]}"')
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("negative pads are applied first, as a crop", rejected_call=text)
    margins = {"reflect": 1, "wrap": 0}  # a pad may be at most the extent minus this number
    pads = zip(step.padding, step.shape[2:], strict=True)
    if mode in margins and any(max(pair) > size - margins[mode] for pair, size in pads):
        limit = "less than" if mode == "reflect" else "at most"
        return Unsupported(f"pads in mode {PADDING_MODES[mode]} must be {limit} the extent", rejected_call=text)
    return text
