"""PyTorch: the memory format `torch.channels_last`, which many convolutional networks use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters.api import INDENT, Code, Lowering, Step, Unsupported, as_lines
from conformance.adapters.torch.convolution import autograd_gradient

MEMORY_FORMATS: Mapping[int, str] = {2: "torch.channels_last", 3: "torch.channels_last_3d"}
# Inputs other than x that are converted to the memory format.
IMAGE_INPUTS: Mapping[str, tuple[str, ...]] = {
    "conv": ("kernel",),
    "conv_transpose": ("kernel",),
    "max_unpool": ("indices",),
}


def channels_last_lowerings(lowerings: Mapping[str, Lowering]) -> Mapping[str, Lowering]:
    """Return lowerings that convert images to the memory format before the call."""
    return {name: partial(_lower_channels_last, lowering) for name, lowering in lowerings.items()}


def _lower_channels_last(lowering: Lowering, step: Step) -> Code:
    """Return lines that convert the inputs of a step, followed by the lines of the step."""
    # PyTorch defines the format for four and five axes.
    if step.rank not in MEMORY_FORMATS:
        return Unsupported("the memory format channels_last requires two or three spatial axes")
    code = lowering(step)
    conversions = [_convert_line(name, step.rank) for name in ("x", *IMAGE_INPUTS.get(step.operator, ()))]
    if not isinstance(code, Unsupported):
        return (*conversions, *as_lines(code))
    if not code.rejected_call:
        return code
    # The call of a convention case must reject images in this format, not images in the default one.
    return replace(code, rejected_call=(*conversions, *as_lines(code.rejected_call)))


def _convert_line(name: str, rank: int) -> str:
    return f"{name} = {name}.to(memory_format={MEMORY_FORMATS[rank]})"


# A composition converts x before each of its calls, although all calls but the first get it in the right format.
INPUT_CONVERSION_LINES = tuple(_convert_line("x", rank) for rank in MEMORY_FORMATS)


def without_repeated_conversion(lines: Sequence[str], _names: Sequence[str]) -> Sequence[str]:
    """Return the lines with one conversion of `x`: results of PyTorch have the memory format of their input.

    A conversion inside a function of the program is moved before it.
    """
    # torch.compile is not part of this surface; a function in the lines is one that divides by ones.
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
    """Return the lines followed by the gradient of one input; `grad` gets the same memory format as the images."""
    forward = without_repeated_conversion(lines, names)
    # With a gradient in the same format, the backward pass runs the channels-last kernels, too.
    grad = [line.replace("x", "grad") for line in INPUT_CONVERSION_LINES if line in forward]
    return autograd_gradient([*forward, *grad], names, input_name)
