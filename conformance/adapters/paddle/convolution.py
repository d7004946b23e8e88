"""PaddlePaddle: convolutions and transposed convolutions, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    crops,
    dilation_argument,
    groups_argument,
    is_framework_same,
    nonzero_argument,
    per_axis,
    stride_argument,
    uses_framework_defaults,
)
from conformance.adapters.paddle.calls import ambiguous_padding, padding_text

Keywords = dict[str, str | None]
MASKED_LEAVES: Mapping[str, str] = {"x": "image", "offset": "offset", "kernel": "kernel", "mask": "mask"}
"""The inputs of deformable convolution with a mask whose gradients are computed together, by their variables."""
LAYER_PARAMETERS: Mapping[str, str] = {"kernel": "conv.weight", "bias": "conv.bias"}


def autograd_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input."""
    if input_name == "grid":
        return _grid_gradient(lines)
    if "mask" in names and input_name in MASKED_LEAVES:
        return _masked_gradient(lines, input_name, "kernel")
    return (f"leaf = {input_name}", "leaf.stop_gradient = False", *lines, "(x,) = paddle.grad(x, leaf, grad)")


def _grid_gradient(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines followed by the gradients of both inputs: that of the grid alone ends the process."""
    leaves = ("image, leaf = x, grid", "image.stop_gradient = leaf.stop_gradient = False")
    return (*leaves, *lines, "_, x = paddle.grad(x, [image, leaf], grad)")


def _masked_gradient(lines: Sequence[str], input_name: str, kernel: str) -> Sequence[str]:
    """Return the lines followed by the gradients of all inputs with a mask: that of some alone ends the process."""
    leaves = {**MASKED_LEAVES, "kernel": kernel}
    given = [name for name in leaves.values() if "." not in name]  # a weight of a layer is a leaf
    return (
        "image = x",
        *(f"{name}.stop_gradient = False" for name in given),
        *lines,
        f"x = paddle.grad(x, [{', '.join(leaves.values())}], grad)[{list(leaves).index(input_name)}]",
    )


def layer_autograd_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input; kernel and bias are parameters of the layer."""
    if "mask" in names and input_name in MASKED_LEAVES:
        return _masked_gradient(lines, input_name, LAYER_PARAMETERS["kernel"])
    if input_name not in LAYER_PARAMETERS or not any(line.startswith("conv = ") for line in lines):
        return autograd_gradient(lines, names, input_name)
    return (*lines, f"(x,) = paddle.grad(x, {LAYER_PARAMETERS[input_name]}, grad)")


def convolution_keywords(step: Step) -> Keywords:
    """Return the arguments that convolutions and transposed convolutions share."""
    return {
        "stride": stride_argument(step),
        "padding": padding_text(step),
        "dilation": dilation_argument(step),
        "groups": groups_argument(step),
    }


def convolution(step: Step, *, layer: bool, **changes: str | None) -> Code:
    """Return the call or the layer, or Unsupported with the reason. changes: arguments that differ from the step."""
    keywords = convolution_keywords(step) | changes
    return ambiguous_padding(step) or (
        layer_lines(f"Conv{step.rank}D", step, keywords)
        if layer
        else call(f"F.conv{step.rank}d", "x", "kernel", "bias" if step.bias else None, **keywords)
    )


def layer_lines(name: str, step: Step, keywords: Keywords, *, module: str = "nn") -> tuple[str, ...]:
    """Return lines that create a layer with the weights of the case, and call it."""
    channels = (str(step.shape[1]), str(step.channels), per_axis(step.window))
    layer = call(f"{module}.{name}", *channels, **keywords, bias_attr=None if step.bias else "False")
    # By default a layer has weights of float32, and rejects an input of another dtype.
    lines = [f"conv = {layer}" + (f'.to(dtype="{step.dtype}")' if step.dtype != "float32" else "")]
    lines += ["conv.weight.set_value(kernel)"]
    lines += ["conv.bias.set_value(bias)"] * step.bias
    return (*lines, "x = conv(x)")


def transposed_convolution(step: Step, *, layer: bool, folded: bool = False) -> Code:
    """Return the call or the layer. folded: whether the padding at the end contains the output padding."""
    unsupported = ambiguous_padding(step)
    if unsupported:
        return unsupported
    if folded:
        step = _with_folded_output_padding(step)
    if not is_framework_same(step) and crops(step):
        return Unsupported("transposed convolution has no negative padding")
    output_padding = tuple(step.parameters["output_padding"])
    keywords = convolution_keywords(step) | {"output_padding": nonzero_argument(output_padding)}
    name = f"Conv{step.rank}DTranspose" if layer else f"F.conv{step.rank}d_transpose"
    code: Code = (
        layer_lines(name, step, keywords)
        if layer
        else call(name, "x", "kernel", "bias" if step.bias else None, **keywords)
    )
    # An output padding that is less than the dilation, but not than the stride, passes the first check and fails later.
    too_large = any(added >= stride > 0 for added, stride in zip(output_padding, step.stride or (), strict=False))
    if too_large and not uses_framework_defaults(step):
        return Unsupported("output_padding must be smaller than the stride")
    return code


def _with_folded_output_padding(step: Step) -> Step:
    """Return the step with less padding at the end in place of output padding."""
    if is_framework_same(step):
        return step
    pairs = zip(step.padding, step.parameters["output_padding"], strict=True)
    padding = tuple((before, after - added) for (before, after), added in pairs)
    return step.with_parameters(padding=padding, output_padding=(0,) * step.rank)
