"""MLX: convolutions and transposed convolutions, and gradients by `mx.vjp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from conformance.adapters.api import (
    INDENT,
    Code,
    OutputCrop,
    Step,
    Unsupported,
    as_lines,
    call,
    crops,
    dilation_argument,
    groups_argument,
    is_framework_same,
    nonzero_argument,
    output_crops,
    per_axis,
    single_group,
    slices,
    stride_argument,
    too_many_axes,
    uses_framework_defaults,
)
from conformance.adapters.mlx.windows import NO_NAMED_PADDING

Keywords = dict[str, str | None]
NO_BIAS = Unsupported("functions for convolution have no bias")
NO_GROUPS = Unsupported("convolutions of volumes and transposed layers have no groups")
ONE_PADDING = Unsupported("layers have one padding for both ends of an axis")
NOT_CROPPED_AT_ONE_END = Unsupported(
    "transposed convolution removes the same from both ends, except for output_padding"
)
# Kernels are (*window, in, out) in programs, and (out, *window, in) in MLX.
KERNEL, TRANSPOSED_KERNEL = ".moveaxis(-1, 0)", ".moveaxis(-2, 0)"
PLANE_RANK = 2


def vjp_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines as a function, and the product of the gradient and its Jacobian for one input."""
    inputs = ", ".join(names)
    # A kernel gets the order of data, so that the result is converted like data.
    last = ("x = x.moveaxis(-1, 0)",) if input_name == "kernel" else ()
    return (
        f"def forward({inputs}):",
        *(f"{INDENT}{line}" for text in lines for line in text.split("\n")),
        f"{INDENT}return x",
        f"_, (x,) = mx.vjp(lambda {input_name}: forward({inputs}), [{input_name}], [grad])",
        *last,
    )


def _keywords(step: Step, padding: tuple[int, ...]) -> Keywords:
    return {
        "stride": stride_argument(step),
        "padding": nonzero_argument(padding),
        "dilation": dilation_argument(step),
        "groups": groups_argument(step),
    }


def _layer_lines(name: str, step: Step, kernel: str, keywords: Keywords) -> tuple[str, ...]:
    channels = (str(step.shape[1]), str(step.channels), per_axis(step.window))
    bias = None if step.bias else "False"
    lines = [f"conv = {call(f'nn.{name}{step.rank}d', *channels, **keywords, bias=bias)}"]
    lines += [f"conv.weight = kernel{kernel}"]
    lines += ["conv.bias = bias"] * step.bias
    return (*lines, "x = conv(x)")


def conv_layer(step: Step) -> Code:
    """Return the layer with the weights of the case, or Unsupported with the reason."""
    unsupported = _unsupported(step)
    if unsupported:
        return unsupported
    if step.symmetric is None:
        return ONE_PADDING
    return _layer_lines("Conv", step, KERNEL, _keywords(step, step.symmetric))


def conv(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    """Return the function; conv_general takes different padding at both ends."""
    unsupported = _unsupported(step) or (NO_BIAS if step.bias else None)
    if unsupported:
        return unsupported
    if step.symmetric is not None:
        return call(f"mx.conv{step.rank}d", x, f"{kernel}{KERNEL}", **_keywords(step, step.symmetric))
    before, after = ([int(pair[end]) for pair in step.padding] for end in (0, 1))
    keywords = {**_keywords(step, ()), "padding": f"({before}, {after})"}
    keywords["kernel_dilation"] = keywords.pop("dilation")
    return call("mx.conv_general", x, f"{kernel}{KERNEL}", **keywords)


def _unsupported(step: Step) -> Unsupported | None:
    if is_framework_same(step):
        return NO_NAMED_PADDING
    without_groups = step.rank > PLANE_RANK and step.parameters["groups"] != 1
    return too_many_axes(step) or (NO_GROUPS if without_groups else None)


def _crops(step: Step) -> list[OutputCrop]:
    return output_crops(step, [max(pair) for pair in zip(step.stride or (), step.dilation, strict=True)])


def _has_invalid_parameters(step: Step) -> bool:
    values = (step.stride or (), step.dilation, step.padding, step.parameters["output_padding"])
    if any(len(per) != step.rank for per in values):
        return True
    return min(*(step.stride or ()), *step.dilation) < 1 or min(step.parameters["output_padding"]) < 0


def _transposed_keywords(step: Step) -> Keywords | Unsupported:
    """Return the keywords of the call, or why one call cannot crop the output."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    if step.parameters["groups"] != 1:
        return Unsupported("the kernels of groups are in another order")
    if crops(step):
        return Unsupported("transposed convolution has no negative padding")
    if _has_invalid_parameters(step) or uses_framework_defaults(step):
        if step.symmetric is None:
            return NOT_CROPPED_AT_ONE_END
        padding, added = step.symmetric, tuple(step.parameters["output_padding"])
    else:
        axes = _crops(step)
        if any(axis.needs_slice for axis in axes):
            return NOT_CROPPED_AT_ONE_END
        padding, added = tuple(axis.padding for axis in axes), tuple(axis.output_padding for axis in axes)
    keywords = {**_keywords(step, padding), "output_padding": nonzero_argument(added)}
    return too_many_axes(step) or keywords


def transpose_layer(step: Step) -> Code:
    """Return the layer with the weights of the case, or Unsupported with the reason."""
    keywords = _transposed_keywords(step)
    if isinstance(keywords, Unsupported):
        return keywords
    return _layer_lines("ConvTranspose", step, TRANSPOSED_KERNEL, {k: v for k, v in keywords.items() if k != "groups"})


def transpose(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    """Return the function, or Unsupported with the reason."""
    if step.bias:
        return NO_BIAS
    keywords = _transposed_keywords(step)
    if isinstance(keywords, Unsupported):
        return keywords
    return call(f"mx.conv_transpose{step.rank}d", x, f"{kernel}{TRANSPOSED_KERNEL}", **keywords)


def _per_group(write_call: Callable[..., Code], step: Step) -> Code:
    """Return one convolution for each group of channels, joined along the channels."""
    groups = step.parameters["groups"]
    if groups == 1 or (write_call is conv and step.rank <= PLANE_RANK):
        return write_call(replace(step, bias=False))
    text = write_call(single_group(step), "part", "weights")
    if isinstance(text, Unsupported):
        return text
    parts = f"zip(mx.split(x, {groups}, -1), mx.split(kernel, {groups}, -1))"
    return f"mx.concatenate([{text} for part, weights in {parts}], -1)"


def _with_bias(step: Step, code: Code, crop: str = "") -> Code:
    if isinstance(code, Unsupported):
        return code
    return (*as_lines(code), *((f"x = x{crop}",) if crop else ()), *("x = x + bias",) * step.bias)


def fallback_conv(step: Step) -> Code:
    """Return the convolution of each group, and the addition of the bias."""
    return _with_bias(step, _per_group(conv, step))


def fallback_transpose(step: Step) -> Code:
    """Return the transposed convolution of each group, cropped by a slice, and the addition of the bias."""
    if is_framework_same(step) or _has_invalid_parameters(step):
        return NO_NAMED_PADDING if is_framework_same(step) else Unsupported("only one call rejects these parameters")
    axes = _crops(step)
    padding = tuple((axis.padding, axis.padding) for axis in axes)
    uncut = step.with_parameters(padding=padding, output_padding=tuple(axis.output_padding for axis in axes))
    bounds = [f"{axis.slice_before or ''}:{-axis.slice_after or ''}" for axis in axes]
    crop = slices(bounds, channels_last=True) if any(axis.needs_slice for axis in axes) else ""
    return _with_bias(step, _per_group(transpose, uncut), crop)
