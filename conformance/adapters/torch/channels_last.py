"""PyTorch: the memory format in which users of convolution networks hold their images, channels last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters.api.source_text import INDENT
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.torch.calls import as_lines
from conformance.adapters.torch.convolution import autograd_gradient
from conformance.cases.steps import Step

MEMORY_FORMATS: Mapping[int, str] = {2: "torch.channels_last", 3: "torch.channels_last_3d"}
# What lies like an image besides x.
IMAGE_INPUTS: Mapping[str, tuple[str, ...]] = {
    "conv": ("kernel",),
    "conv_transpose": ("kernel",),
    "max_unpool": ("indices",),
}


def channels_last_lowerings(verbs: Mapping[str, Lowering]) -> Mapping[str, Lowering]:
    """Return the verbs for images whose channels lie side by side in memory."""
    return {name: partial(_lower_channels_last, verb) for name, verb in verbs.items()}


def _lower_channels_last(lowering: Lowering, step: Step) -> Code:
    """Return the lines, before them those that lay out what the step reads."""
    if step.rank not in MEMORY_FORMATS:
        return Unsupported("the memory format channels_last has two or three spatial axes")
    answer = lowering(step)
    before = [_convert_line(name, step.rank) for name in ("x", *IMAGE_INPUTS.get(step.operator, ()))]
    if isinstance(answer, Unsupported):
        return (
            replace(answer, rejected_call=(*before, *as_lines(answer.rejected_call)))
            if answer.rejected_call
            else answer
        )
    return (*before, *as_lines(answer))


def _convert_line(name: str, rank: int) -> str:
    return f"{name} = {name}.to(memory_format={MEMORY_FORMATS[rank]})"


INPUT_CONVERSION_LINES = tuple(_convert_line("x", rank) for rank in MEMORY_FORMATS)


def without_repeated_conversion(lines: Sequence[str], _names: Sequence[str]) -> Sequence[str]:
    """Return the lines without saying again how x lies: what PyTorch returns lies as what it was given.

    What a function of theirs says is said before it.
    """
    inner = [line for line in INPUT_CONVERSION_LINES if INDENT + line in lines and line not in lines]
    outer = [line for line in lines if line.strip() not in INPUT_CONVERSION_LINES or not line.startswith(INDENT)]
    return [
        *inner,
        *(
            line
            for number, line in enumerate(outer)
            if line not in INPUT_CONVERSION_LINES or line not in outer[:number]
        ),
    ]


def channels_last_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input; the gradient that comes in lies as the images do."""
    grad = [
        line.replace("x", "grad")
        for line in INPUT_CONVERSION_LINES
        if line in (laid := without_repeated_conversion(lines, names))
    ]
    return autograd_gradient([*laid, *grad], names, input_name)
