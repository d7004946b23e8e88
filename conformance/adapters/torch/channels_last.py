"""PyTorch: the memory format in which users of convolution networks hold their images, channels last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters.api.source_text import INDENT
from conformance.adapters.api.surface import Code, Unsupported, Verb
from conformance.adapters.torch.calls import as_lines
from conformance.adapters.torch.convolution import gradient
from conformance.cases.steps import Step

FORMATS: Mapping[int, str] = {2: "torch.channels_last", 3: "torch.channels_last_3d"}
# What lies like an image besides x.
IMAGES: Mapping[str, tuple[str, ...]] = {
    "conv": ("kernel",),
    "conv_transpose": ("kernel",),
    "max_unpool": ("indices",),
}


def channels_last(verbs: Mapping[str, Verb]) -> Mapping[str, Verb]:
    """Return the verbs for images whose channels lie side by side in memory."""
    return {name: partial(_laid_out, verb) for name, verb in verbs.items()}


def _laid_out(verb: Verb, step: Step) -> Code:
    """Return the lines, before them those that lay out what the step reads."""
    if step.rank not in FORMATS:
        return Unsupported("the memory format channels_last has two or three spatial axes")
    answer = verb(step)
    before = [_to(name, step.rank) for name in ("x", *IMAGES.get(step.verb, ()))]
    if isinstance(answer, Unsupported):
        return replace(answer, refused=(*before, *as_lines(answer.refused))) if answer.refused else answer
    return (*before, *as_lines(answer))


def _to(name: str, rank: int) -> str:
    return f"{name} = {name}.to(memory_format={FORMATS[rank]})"


SAID = tuple(_to("x", rank) for rank in FORMATS)


def once(lines: Sequence[str], _names: Sequence[str]) -> Sequence[str]:
    """Return the lines without saying again how x lies: what PyTorch returns lies as what it was given.

    What a function of theirs says is said before it.
    """
    inner = [line for line in SAID if INDENT + line in lines and line not in lines]
    outer = [line for line in lines if line.strip() not in SAID or not line.startswith(INDENT)]
    return [*inner, *(line for number, line in enumerate(outer) if line not in SAID or line not in outer[:number])]


def channels_last_gradient(lines: Sequence[str], names: Sequence[str], wanted: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input; the gradient that comes in lies as the images do."""
    grad = [line.replace("x", "grad") for line in SAID if line in (laid := once(lines, names))]
    return gradient([*laid, *grad], names, wanted)
