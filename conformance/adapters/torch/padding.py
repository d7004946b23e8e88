"""PyTorch: padding in every mode."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.source_text import call, number, text_unless_default
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.torch.calls import FLOATING, INTEGERS, LAYER_NAMES, UNSIGNED_ISSUE, pads_text
from conformance.cases.steps import Step

PADDING_MODES: Mapping[str, str] = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}
NO_SYMMETRIC = Unsupported("PyTorch has no symmetric padding", "https://github.com/pytorch/pytorch/issues/189236")
# In these modes, a pad may be at most the extent minus this number.
EXTENT_MARGINS: Mapping[str, int] = {"reflect": 1, "wrap": 0}
MAX_PADDED_AXES = 3


def functional_pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    if mode == "constant":
        return call("F.pad", "x", pads_text(step), value=text_unless_default(0, step.parameters["value"]))
    return _call_within_limits(step, call("F.pad", "x", pads_text(step), mode=f'"{PADDING_MODES.get(mode)}"'))


def layer_pad(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    if step.rank > MAX_PADDED_AXES:
        return Unsupported("padding layers support one to three axes")
    value = number(step.parameters["value"]) if mode == "constant" else None
    text = call(f"nn.{LAYER_NAMES.get(mode)}{step.rank}d", pads_text(step), value) + "(x)"
    return text if mode == "constant" else _call_within_limits(step, text)


def _call_within_limits(step: Step, text: str) -> Code:
    """Return the call if PyTorch accepts the pads, the dtype and the number of axes, or why not."""
    mode = step.parameters["mode"]
    if mode == "symmetric":
        return NO_SYMMETRIC
    if step.rank > MAX_PADDED_AXES:
        return Unsupported("padding in modes other than constant supports one to three axes")
    if mode != "wrap" and step.dtype not in FLOATING | INTEGERS:
        return Unsupported(
            f"padding in mode {PADDING_MODES[mode]} has no kernel for {step.dtype} on the CPU", UNSIGNED_ISSUE
        )
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("negative pads are applied first, as a crop")
    pads = zip(step.padding, step.shape[2:], strict=True)
    if mode in EXTENT_MARGINS and any(max(pair) > size - EXTENT_MARGINS[mode] for pair, size in pads):
        limit = "less than" if mode == "reflect" else "at most"
        return Unsupported(f"pads in mode {PADDING_MODES[mode]} must be {limit} the extent", rejected_call=text)
    return text
