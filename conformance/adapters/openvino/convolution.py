"""OpenVINO: convolutions; those in groups have an operation of their own, whose kernel has an axis for the groups."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from conformance.adapters.api.source_text import call, is_framework_same
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.openvino.padding import pad_lists
from conformance.cases.steps import Step

NO_BIAS = Unsupported("convolutions have no bias")
NO_EMPTY_CONVOLUTION = Unsupported("a convolution of no channels is compiled, and its output never written")
NO_NAMED_PADDING = Unsupported("padding by name is for an output whose shape is given")


def _grouped_kernel(step: Step, groups: int) -> str:
    """Return the kernel with an axis for the groups in front, where there are any."""
    if groups == 1:
        return "kernel"
    return f"ops.reshape(kernel, {[groups, step.kernel[0] // groups, *step.kernel[1:]]}, False)"


def _with_bias(lowering: Lowering, step: Step) -> Code:
    answer = lowering(replace(step, bias=False))
    if isinstance(answer, Unsupported) or not step.bias:
        return answer
    return (f"x = {answer}", f"x = ops.add(x, ops.reshape(bias, {[1, -1, *[1] * step.rank]}, False))")


def _operand_texts(step: Step) -> tuple[str, str, str]:
    """Return the operands, after the word that names the operation for groups."""
    groups = int(step.parameters["groups"])
    return ("" if groups == 1 else "group_"), "x", _grouped_kernel(step, groups)


def conv(step: Step) -> Code:
    """Return the call, which adds no bias."""
    if step.bias:
        return NO_BIAS
    if not step.shape[1]:
        return NO_EMPTY_CONVOLUTION
    grouped, *operands = _operand_texts(step)
    zeros = str([0] * step.rank)
    pads = (zeros, zeros) if is_framework_same(step) else pad_lists(step)
    same = '"same_upper"' if is_framework_same(step) else None
    arguments = (str([*(step.stride or ())]), *pads, str([*step.dilation]))
    return call(f"ops.{grouped}convolution", *operands, *arguments, auto_pad=same)


def conv_transpose(step: Step) -> Code:
    """Return the call, which adds no bias."""
    if step.bias:
        return NO_BIAS
    if is_framework_same(step):
        return NO_NAMED_PADDING
    grouped, *operands = _operand_texts(step)
    before, after = pad_lists(step)
    further = step.parameters["output_padding"]
    return call(
        f"ops.{grouped}convolution_backprop_data",
        *operands,
        str([*(step.stride or ())]),
        pads_begin=before if step.padded else None,
        pads_end=after if step.padded else None,
        dilations=str([*step.dilation]) if step.dilated else None,
        output_padding=str([*further]) if any(further) else None,
    )


biased_conv = partial(_with_bias, conv)
biased_transpose = partial(_with_bias, conv_transpose)
