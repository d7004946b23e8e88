"""tinygrad: padding in every mode."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.indexed_padding import indexed_pad
from conformance.adapters.api.source_text import call, flat_pads, number, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.steps import Step

__all__ = ["flat", "indexed_pad", "pad"]

MODES: Mapping[str, str] = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}
NO_SYMMETRIC = Unsupported("Tensor.pad has no symmetric mode")


def flat(step: Step) -> str:
    """Return the pads in one list, the last axis first; or as a question has them."""
    return tuple_of(flat_pads(step) or [end for pair in reversed(step.padding) for end in pair])


def pad(step: Step) -> Code:
    """Return the call, or why there is none."""
    mode, value = step.parameters["mode"], step.parameters["value"]
    if mode == "symmetric":
        return NO_SYMMETRIC
    if mode == "constant":
        # A number beside truth values would make whole numbers of them.
        text = str(bool(value)) if step.dtype == "bool" else number(value)
        return call("x.pad", flat(step), value=text if value or step.dtype == "bool" else None)
    text = call("x.pad", flat(step), mode=f'"{MODES[mode]}"')
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("crops come first, then pads", refused=text)
    within = {"reflect": 1, "wrap": 0}
    pads = zip(step.padding, step.shape[2:], strict=True)
    if mode in within and any(max(pair) > size - within[mode] for pair, size in pads):
        return Unsupported(f"pads in mode {MODES[mode]} go once round", refused=text)
    return text
