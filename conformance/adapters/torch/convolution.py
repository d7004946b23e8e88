"""PyTorch: convolutions and transposed convolutions, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    dilation_argument,
    groups_argument,
    is_framework_same,
    nonzero_argument,
    output_crops,
    output_slice,
    per_axis,
    stride_argument,
    uses_framework_defaults,
)
from conformance.adapters.torch.calls import INTEGERS

Keywords = dict[str, str | None]
# Parameters require a gradient by default. Only programs for the gradient of a weight remove this argument.
NO_GRADIENT_ARGUMENT = ", requires_grad=False"
LAYER_PARAMETERS: Mapping[str, str] = {"kernel": "conv.weight", "bias": "conv.bias"}
NO_ASYMMETRIC_PADDING = Unsupported("convolution has one padding for both ends of an axis")
NO_STRIDE_OF_SAME = Unsupported("padding by name takes no stride but 1")
NO_DILATED_INTEGERS = Unsupported("dilated convolution of integers has a kernel only for int64")
NO_RANDOM_INTEGER_WEIGHTS = Unsupported(
    "layers initialize weights with random numbers, which PyTorch lacks for integers"
)


def autograd_gradient(lines: Sequence[str], _names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input."""
    return (f"leaf = {input_name}.requires_grad_()", *lines, "(x,) = torch.autograd.grad(x, leaf, grad)")


def layer_autograd_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input; kernel and bias are parameters of the layer."""
    if input_name not in LAYER_PARAMETERS or not any(line.startswith("conv = ") for line in lines):
        return autograd_gradient(lines, names, input_name)
    # Without the argument, a parameter requires a gradient, and autograd.grad accepts it as an input.
    trainable = (line.replace(NO_GRADIENT_ARGUMENT, "") for line in lines)
    return (*trainable, f"(x,) = torch.autograd.grad(x, {LAYER_PARAMETERS[input_name]}, grad)")


def _is_asymmetric(step: Step) -> bool:
    return not is_framework_same(step) and step.symmetric is None


def _is_strided_same(step: Step) -> bool:
    return is_framework_same(step) and any(stride != 1 for stride in step.stride or ())


def _convolution_keywords(step: Step) -> Keywords:
    return {
        "stride": stride_argument(step),
        # Padding by name has no numbers, so nothing may read them in that case.
        "padding": '"same"' if is_framework_same(step) else nonzero_argument(step.symmetric or ()),
        "dilation": dilation_argument(step),
        "groups": groups_argument(step),
    }


def functional_conv(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    if _is_asymmetric(step):
        return NO_ASYMMETRIC_PADDING
    # Integers have no oneDNN kernel, and of PyTorch's own only the one for int64 is dilated.
    if step.dilated and step.dtype in INTEGERS - {"int64"}:
        return NO_DILATED_INTEGERS
    text = _functional_text("conv", step, _convolution_keywords(step))
    return replace(NO_STRIDE_OF_SAME, rejected_call=text) if _is_strided_same(step) else text


def layer_conv(step: Step) -> Code:
    """Return the layer with the weights of the case, or Unsupported with the reason."""
    if _is_asymmetric(step):
        return NO_ASYMMETRIC_PADDING
    lines = _layer_lines("Conv", step, _convolution_keywords(step))
    return replace(NO_STRIDE_OF_SAME, rejected_call=lines) if _is_strided_same(step) else lines


def written_convolution(step: Step, padding: str, *, layer: bool, mode: str = "zeros") -> Code:
    """Return the call or the layer with a text for its padding. A layer also states its padding mode."""
    if step.dilated and step.dtype in INTEGERS - {"int64"}:
        return NO_DILATED_INTEGERS
    keywords = _convolution_keywords(step) | {"padding": padding}
    if layer:
        return _layer_lines("Conv", step, {**keywords, "padding_mode": f'"{mode}"'})
    return _functional_text("conv", step, keywords)


def _functional_text(name: str, step: Step, keywords: Keywords) -> str:
    return call(f"F.{name}{step.rank}d", "x", "kernel", "bias" if step.bias else None, **keywords)


def _layer_lines(name: str, step: Step, keywords: Keywords) -> tuple[str, ...]:
    channels = (str(step.shape[1]), str(step.channels), per_axis(step.window))
    # By default a layer has weights of float32, and rejects an input of another dtype.
    extra = {"bias": None if step.bias else "False", "dtype": "x.dtype"}
    lines = [f"conv = {call(f'nn.{name}{step.rank}d', *channels, **keywords, **extra)}"]
    lines += [f"conv.weight = nn.Parameter(kernel{NO_GRADIENT_ARGUMENT})"]
    lines += [f"conv.bias = nn.Parameter(bias{NO_GRADIENT_ARGUMENT})"] * step.bias
    return (*lines, "x = conv(x)")


def _has_invalid_parameters(step: Step) -> bool:
    """Whether stride, dilation or output padding are invalid, so that the call must reject them."""
    output_padding = step.parameters["output_padding"]
    # A length that differs from the number of axes would otherwise fail in zip below, in place of the call.
    per_axis_values = (step.stride or (), step.dilation, step.padding, output_padding)
    out_of_range = min(*(step.stride or ()), *step.dilation) < 1 or min(output_padding) < 0
    wrong_length = any(len(values) != step.rank for values in per_axis_values)
    return step.symmetric is not None and (out_of_range or wrong_length)


def _transposed_keywords(step: Step, *, sliced: bool) -> tuple[Keywords, str] | Unsupported:
    """Return the keywords of the call and the slice of its result. sliced: whether a slice is allowed."""
    if is_framework_same(step):
        return Unsupported("transposed convolution has no padding by name")
    if _has_invalid_parameters(step):
        given = step.parameters["output_padding"]
        return _convolution_keywords(step) | {"output_padding": nonzero_argument(given)}, ""
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("transposed convolution has no negative padding")
    # Unlike other frameworks, PyTorch compares output_padding with the larger of stride and dilation.
    limits = [max(pair) for pair in zip(step.stride or (), step.dilation, strict=True)]
    axes = output_crops(step, limits)
    crop = output_slice(axes)
    if crop and not sliced:
        return Unsupported("transposed convolution removes the same from both ends, except for output_padding")
    # A convention case passes an output padding that is too large, to observe the rejection.
    too_large = any(axis.output_padding >= limit for axis, limit in zip(axes, limits, strict=True))
    if too_large and not uses_framework_defaults(step):
        return Unsupported("output_padding must be smaller than either stride or dilation")
    keywords = _convolution_keywords(step) | {"padding": nonzero_argument(tuple(axis.padding for axis in axes))}
    keywords["output_padding"] = nonzero_argument(tuple(axis.output_padding for axis in axes))
    return keywords, crop


def functional_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return the call. sliced: whether a slice may remove more from one end of the result."""
    call_parts = _transposed_keywords(step, sliced=sliced)
    if isinstance(call_parts, Unsupported):
        return call_parts
    keywords, crop = call_parts
    return _functional_text("conv_transpose", step, keywords) + crop


def layer_transpose(step: Step, *, sliced: bool = False) -> Code:
    """Return the layer with the weights of the case. sliced: as in functional_transpose."""
    call_parts = _transposed_keywords(step, sliced=sliced)
    if isinstance(call_parts, Unsupported):
        return call_parts
    keywords, crop = call_parts
    lines = _layer_lines("ConvTranspose", step, keywords)
    return (*lines, f"x = x{crop}") if crop else lines
