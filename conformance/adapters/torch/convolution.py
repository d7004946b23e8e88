"""PyTorch: convolutions, and how the layers with weights give their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.adapters.api.source_text import (
    call,
    is_framework_same,
    per_axis,
    slices,
    text_unless_default,
    uses_framework_defaults,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.api.transposed import OutputCrop
from conformance.adapters.torch.calls import INTEGERS
from conformance.cases.steps import Step

Keywords = dict[str, str | None]
NO_GRADIENT_ARGUMENT = ", requires_grad=False"
LAYER_PARAMETERS: Mapping[str, str] = {"kernel": "conv.weight", "bias": "conv.bias"}
NO_ASYMMETRIC_PADDING = Unsupported("the padding before and after an axis is one number")
NO_DILATED_INTEGERS = Unsupported("convolution with holes has a kernel for int64, and for no other integers")
NO_RANDOM_INTEGER_WEIGHTS = Unsupported("layers draw their first weights at random, and PyTorch draws no integers")


def autograd_gradient(lines: Sequence[str], _names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input."""
    return (f"leaf = {input_name}.requires_grad_()", *lines, "(x,) = torch.autograd.grad(x, leaf, grad)")


def layer_autograd_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the same where the weights are those of a layer: their gradient is asked of the layer."""
    if input_name == "x":
        return autograd_gradient(lines, names, input_name)
    trained = (line.replace(NO_GRADIENT_ARGUMENT, "") for line in lines)
    return (*trained, f"(x,) = torch.autograd.grad(x, {LAYER_PARAMETERS[input_name]}, grad)")


def _padding_text(step: Step) -> str | None:
    if is_framework_same(step):
        return '"same"'
    return per_axis(step.symmetric) if step.padded else None


def _is_asymmetric(step: Step) -> bool:
    return not is_framework_same(step) and step.symmetric is None


def _convolution_keywords(step: Step) -> Keywords:
    ones = (1,) * step.rank
    return {
        "stride": per_axis(step.stride) if step.stride != ones else None,
        "padding": _padding_text(step),
        "dilation": per_axis(step.dilation) if step.dilated else None,
        "groups": text_unless_default(1, step.parameters["groups"]),
    }


def functional_conv(step: Step) -> Code:
    """Return the call, or why there is none."""
    if _is_asymmetric(step):
        return NO_ASYMMETRIC_PADDING
    if step.dilated and step.dtype in INTEGERS - {"int64"}:
        return NO_DILATED_INTEGERS
    return _functional_text("conv", step, _convolution_keywords(step))


def layer_conv(step: Step) -> Code:
    """Return the layer with the case's weights."""
    return NO_ASYMMETRIC_PADDING if _is_asymmetric(step) else _layer_lines("Conv", step, _convolution_keywords(step))


def _functional_text(name: str, step: Step, keywords: Keywords) -> str:
    return call(f"F.{name}{step.rank}d", "x", "kernel", "bias" if step.bias else None, **keywords)


def _layer_lines(name: str, step: Step, keywords: Keywords) -> tuple[str, ...]:
    channels = (str(step.shape[1]), str(step.channels), per_axis(step.window))
    extra = {"bias": None if step.bias else "False", "dtype": "x.dtype"}
    lines = [f"conv = {call(f'nn.{name}{step.rank}d', *channels, **keywords, **extra)}"]
    lines += [f"conv.weight = nn.Parameter(kernel{NO_GRADIENT_ARGUMENT})"]
    lines += [f"conv.bias = nn.Parameter(bias{NO_GRADIENT_ARGUMENT})"] * step.bias
    return (*lines, "x = conv(x)")


def _has_invalid_parameters(step: Step) -> bool:
    """Whether strides, holes or what is added at the end mean nothing, which the call is to find."""
    further = step.parameters["output_padding"]
    along = (step.stride or (), step.dilation, step.padding, further)
    wrong = min(*(step.stride or ()), *step.dilation) < 1 or min(further) < 0
    return step.symmetric is not None and (wrong or any(len(values) != step.rank for values in along))


def _transposed_keywords(step: Step, *, sliced: bool) -> tuple[Keywords, str] | Unsupported:
    """Return the keywords of the call, and the slice that its result needs; without a slice or with one."""
    if is_framework_same(step):
        return Unsupported("transposed convolution has no padding by name")
    if _has_invalid_parameters(step):
        given = step.parameters["output_padding"]
        return _convolution_keywords(step) | {"output_padding": per_axis(given) if any(given) else None}, ""
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("transposed convolution takes away from its output, and adds nothing before it")
    limits = [max(pair) for pair in zip(step.stride or (), step.dilation, strict=True)]
    pairs = zip(step.padding, step.parameters["output_padding"], limits, strict=True)
    axes = [OutputCrop.split(before, after - further, limit) for (before, after), further, limit in pairs]
    rest = any(axis.slice_before or axis.slice_after for axis in axes)
    if rest and not sliced:
        return Unsupported("transposed convolution takes the same from both ends, but for output_padding")
    if any(
        axis.output_padding >= limit for axis, limit in zip(axes, limits, strict=True)
    ) and not uses_framework_defaults(step):
        return Unsupported("output_padding must be smaller than either stride or dilation")
    padding, further = (tuple(getattr(axis, name) for axis in axes) for name in ("padding", "output_padding"))
    keywords = _convolution_keywords(step) | {"padding": per_axis(padding) if any(padding) else None}
    keywords["output_padding"] = per_axis(further) if any(further) else None
    bounds = [axis.slice_text for axis in axes]
    return keywords, slices(bounds, channels_last=False) if rest else ""


def functional_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return the call; `sliced`: with a slice of its result where more is taken from one end."""
    answer = _transposed_keywords(step, sliced=sliced)
    if isinstance(answer, Unsupported):
        return answer
    return _functional_text("conv_transpose", step, answer[0]) + answer[1]


def layer_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return the layer with the case's weights; `sliced` as above."""
    answer = _transposed_keywords(step, sliced=sliced)
    if isinstance(answer, Unsupported):
        return answer
    lines = _layer_lines("ConvTranspose", step, answer[0])
    return (*lines, f"x = x{answer[1]}") if answer[1] else lines
