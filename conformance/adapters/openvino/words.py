"""OpenVINO: calls with `auto_pad`."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Lowering, Step, Unsupported, call, named_padding
from conformance.adapters.openvino.convolution import grouped_operands
from conformance.adapters.openvino.pooling import NO_DILATIONS
from conformance.cases.operators import PaddingWord

PADDING_NAMES = {
    PaddingWord.VALID: "valid",
    PaddingWord.SAME_UPPER: "same_upper",
    PaddingWord.SAME_LOWER: "same_lower",
}
NO_NAME = Unsupported("auto_pad has no name for the padding")


def max_pool(step: Step) -> Code:
    """Return max pooling with `auto_pad`."""
    name = named_padding(step, PADDING_NAMES)
    if name is None:
        return NO_NAME
    numbers = _list(step.stride), _list(step.dilation), *_zeros(step), _list(step.window)
    return f"{call('ops.max_pool', 'x', *numbers, auto_pad=name)}.output(0)"


def avg_pool(step: Step, *, has_dilations: bool = True) -> Code:
    """Return average pooling with `auto_pad`. has_dilations: see pooling.avg_pool."""
    if step.dilated and not has_dilations:
        return NO_DILATIONS
    name = named_padding(step, PADDING_NAMES)
    if name is None or step.parameters["divisor"] is not None:
        return NO_NAME
    exclude = str(not step.parameters["count_include_pad"])
    numbers = _list(step.stride), *_zeros(step), _list(step.window), exclude
    dilations = _list(step.dilation) if has_dilations else None
    return call("ops.avg_pool", "x", *numbers, auto_pad=name, dilations=dilations)


def conv(step: Step) -> Code:
    """Return the convolution with `auto_pad`."""
    name = named_padding(step, PADDING_NAMES)
    if name is None or step.bias:
        return NO_NAME
    prefix, *operands = grouped_operands(step)
    numbers = _list(step.stride), *_zeros(step), _list(step.dilation)
    return call(f"ops.{prefix}convolution", *operands, *numbers, auto_pad=name)


def _list(values: tuple[int, ...] | None) -> str:
    return str([*(values or ())])


def _zeros(step: Step) -> tuple[str, str]:
    zeros = str([0] * step.rank)
    return zeros, zeros


WORDS: Mapping[str, Lowering] = {"max_pool": max_pool, "avg_pool": avg_pool, "conv": conv}
