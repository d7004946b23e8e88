"""OpenVINO: convolutions. Grouped ones use a separate operation, whose kernel has an axis for the groups."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from conformance.adapters.api import Code, Lowering, Step, Unsupported, call, is_framework_same
from conformance.adapters.openvino.padding import pad_lists

NO_BIAS = Unsupported("convolutions have no bias")
# Uninitialized memory, such as 5.8e+20: the output that is a sum of no terms is never written.
NO_EMPTY_CONVOLUTION = Unsupported("a convolution over 0 channels compiles but does not write its output")
NO_NAMED_PADDING = Unsupported("named padding needs a given output shape")


def _grouped_kernel(step: Step, groups: int) -> str:
    """Return the kernel; for several groups, with a leading axis for the groups."""
    if groups == 1:
        return "kernel"
    # The False after the shape disables special_zero, which would give a size of 0 the meaning "as in the input".
    return f"ops.reshape(kernel, {[groups, step.kernel[0] // groups, *step.kernel[1:]]}, False)"


def with_bias(lowering: Lowering, step: Step) -> Code:
    """Return the lines of the step without its bias, and the addition of the bias."""
    code = lowering(replace(step, bias=False))
    if isinstance(code, Unsupported) or not step.bias:
        return code
    return (f"x = {code}", f"x = ops.add(x, ops.reshape(bias, {[1, -1, *[1] * step.rank]}, False))")


def grouped_operands(step: Step) -> tuple[str, str, str]:
    """Return the prefix of the operation's name, "group_" for several groups, and its operands."""
    groups = int(step.parameters["groups"])
    return ("" if groups == 1 else "group_"), "x", _grouped_kernel(step, groups)


def conv(step: Step) -> Code:
    """Return the convolution, which takes no bias."""
    if step.bias:
        return NO_BIAS
    if not step.shape[1]:
        return NO_EMPTY_CONVOLUTION
    prefix, *operands = grouped_operands(step)
    zeros = str([0] * step.rank)
    pads = (zeros, zeros) if is_framework_same(step) else pad_lists(step)
    # same_upper computes the pads from the input size, as SAME of TensorFlow; the given pads are then ignored.
    auto_pad = '"same_upper"' if is_framework_same(step) else None
    arguments = (str([*(step.stride or ())]), *pads, str([*step.dilation]))
    return call(f"ops.{prefix}convolution", *operands, *arguments, auto_pad=auto_pad)


def conv_transpose(step: Step) -> Code:
    """Return the transposed convolution, which takes no bias."""
    if step.bias:
        return NO_BIAS
    if is_framework_same(step):
        return NO_NAMED_PADDING
    prefix, *operands = grouped_operands(step)
    before, after = pad_lists(step)
    # Pads, dilations and output_padding have defaults here, unlike in the forward convolution.
    output_padding = step.parameters["output_padding"]
    return call(
        f"ops.{prefix}convolution_backprop_data",
        *operands,
        str([*(step.stride or ())]),
        pads_begin=before if step.padded else None,
        pads_end=after if step.padded else None,
        dilations=str([*step.dilation]) if step.dilated else None,
        output_padding=str([*output_padding]) if any(output_padding) else None,
    )


biased_conv = partial(with_bias, conv)
biased_transpose = partial(with_bias, conv_transpose)
