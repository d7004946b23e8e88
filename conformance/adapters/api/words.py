"""Padding by name, for calls that write the word in place of numbers."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.cases.operators import OPERATORS, Geometry, PaddingWord, Rounding
from conformance.cases.steps import Step
from reference import Windows


def padding_word(step: Step) -> PaddingWord | None:
    """Return the name of the padding of a step: valid, same_upper or same_lower. Other padding has no name.

    The padding `same` of a transposed convolution is that of the convolution in the opposite direction.
    """
    if step.stride is None or step.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR:
        return None
    transposed = OPERATORS[step.operator].geometry is Geometry.TRANSPOSED
    if not step.padded and not any(step.parameters.get("output_padding", ())):
        return PaddingWord.VALID
    extents = step.output[2:] if transposed else step.shape[2:]
    same_size = tuple(size * stride for size, stride in zip(step.shape[2:], step.stride, strict=True))
    if transposed and extents != same_size:
        return None
    words = (PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER)
    pads = {word: Windows.of(extents, step.window, step.stride, word.value, step.dilation).pads for word in words}
    return next((word for word in words if step.padding == pads[word]), None)


def is_depthwise(step: Step) -> bool:
    """Whether a convolution has more than one group, and one input channel in each."""
    return step.kernel[1] == 1 and step.shape[1] == step.parameters["groups"] > 1


def is_causal(step: Step) -> bool:
    """Whether a convolution of one axis is padded before it by the reach of the kernel."""
    reach = tuple((dilation * (extent - 1), 0) for extent, dilation in zip(step.window, step.dilation, strict=True))
    return step.rank == 1 and step.padding == reach and step.padded


def named_padding(step: Step, names: Mapping[PaddingWord, str]) -> str | None:
    """Return the framework's name of the padding in quotes; None if it has no name."""
    word = padding_word(step)
    return None if word is None or word not in names else f'"{names[word]}"'
