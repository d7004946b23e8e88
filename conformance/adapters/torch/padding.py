"""PyTorch: padding in every mode."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.source_text import call, number, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.torch.calls import FLOATING, INTEGERS, LAYERS, NO_UNSIGNED, ends
from conformance.cases.steps import Step

MODES: Mapping[str, str] = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}
NO_SYMMETRIC = Unsupported("PyTorch has no symmetric padding", "https://github.com/pytorch/pytorch/issues/189236")
WITHIN: Mapping[str, int] = {"reflect": 1, "wrap": 0}
AXES = 3


def functional_pad(step: Step) -> Code:
    """Return the call, or why there is none."""
    mode = step.parameters["mode"]
    if mode == "constant":
        return call("F.pad", "x", ends(step), value=unless(0, step.parameters["value"]))
    return _limited(step, call("F.pad", "x", ends(step), mode=f'"{MODES.get(mode)}"'))


def layer_pad(step: Step) -> Code:
    """Return the layer, or why there is none."""
    mode = step.parameters["mode"]
    if step.rank > AXES:
        return Unsupported("padding layers have one to three axes")
    value = number(step.parameters["value"]) if mode == "constant" else None
    text = call(f"nn.{LAYERS.get(mode)}{step.rank}d", ends(step), value) + "(x)"
    return text if mode == "constant" else _limited(step, text)


def _limited(step: Step, text: str) -> Code:
    """Return the call where it takes what is to be padded."""
    mode = step.parameters["mode"]
    if mode == "symmetric":
        return NO_SYMMETRIC
    if step.rank > AXES:
        return Unsupported("padding with what is there goes along one to three axes")
    if mode != "wrap" and step.dtype not in FLOATING | INTEGERS:
        return Unsupported(f"padding in mode {MODES[mode]} has no kernel for {step.dtype} on the CPU", NO_UNSIGNED)
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("crops come first, then pads")
    pads = zip(step.padding, step.shape[2:], strict=True)
    if mode in WITHIN and any(max(pair) > size - WITHIN[mode] for pair, size in pads):
        limit = "less than" if mode == "reflect" else "at most"
        return Unsupported(f"pads in mode {MODES[mode]} must be {limit} the extent", refused=text)
    return text
