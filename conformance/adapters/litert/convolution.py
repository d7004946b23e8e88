"""LiteRT: convolutions and transposed convolutions. Kernels are constants, which NumPy brings into their layouts."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    as_lines,
    call,
    is_depthwise,
    is_framework_same,
    single_group,
    slices,
    tuple_of,
    uncropped_group,
)
from conformance.adapters.litert.options import (
    AXIS_NAMES,
    NO_LARGE_NUMBERS,
    NO_PADDING,
    PLANE_RANK,
    VOLUME_RANK,
    axis_options,
    beyond_int32,
    first_reason,
    integers,
    limit_stride,
    node,
    padding_option,
)

NOT_TWO_OR_THREE_AXES = Unsupported("convolutions have two or three spatial axes")
NO_GROUPS = Unsupported("CONV_3D and transposed convolutions have no groups")
GROUPS_FROM_SHAPES = Unsupported("the operator infers the number of groups from the shapes")
NO_DILATION = Unsupported("TRANSPOSE_CONV has no dilation")
NO_NAMED_PADDING = Unsupported("padding by name needs a given output shape")


def _convolution_limit(step: Step) -> Unsupported | None:
    is_volume = step.rank == VOLUME_RANK
    return first_reason(
        (step.rank not in AXIS_NAMES, NOT_TWO_OR_THREE_AXES),
        (beyond_int32(step), NO_LARGE_NUMBERS),
        (_infers_other_groups(step), GROUPS_FROM_SHAPES),
        (is_volume and step.parameters["groups"] != 1, NO_GROUPS),
    )


def _operator_text(step: Step, x: str, kernel: str, bias: str) -> str | Unsupported:
    """Return CONV_2D or CONV_3D, or the reason why it is unsupported."""
    padding = _convolution_limit(step) or padding_option(step)
    if isinstance(padding, Unsupported):
        return padding
    options = _options(step, padding)
    if step.rank == VOLUME_RANK:
        weights = f"np.moveaxis({kernel}, (0, 1), (-1, -2))"
        return node("CONV_3D", [x, weights, bias], call("schema.Conv3DOptionsT", **options))
    text = node("CONV_2D", [x, f"np.moveaxis({kernel}, 1, -1)", bias], call("schema.Conv2DOptionsT", **options))
    return limit_stride(step, text)


def _options(step: Step, padding: str) -> dict[str, str]:
    """Return the options that all convolutions have."""
    strides, dilations = axis_options("stride", step.stride or ()), axis_options("dilation", step.dilation, "Factor")
    return {"padding": padding, **strides, **dilations}


def _infers_other_groups(step: Step) -> bool:
    """Whether the shapes imply another number of groups than the case has, which only a case to reject does."""
    groups, remainder = divmod(step.shape[1], step.kernel[1]) if step.kernel[1] else (step.parameters["groups"], 0)
    return remainder == 0 and groups != step.parameters["groups"]


def _bias_text(step: Step, channels: int) -> str:
    """Return the bias; CONV_2D needs one, and without one DEPTHWISE_CONV_2D ends the process."""
    return "bias" if step.bias else f"np.zeros({channels}, np.{step.dtype})"


def _depthwise_text(step: Step) -> Code:
    """Return DEPTHWISE_CONV_2D, or the reason why it is unsupported."""
    if step.rank != PLANE_RANK or not is_depthwise(step):
        return Unsupported("a depthwise convolution has two axes and one input channel in each group")
    padding = padding_option(step)
    if isinstance(padding, Unsupported):
        return padding
    multiplier = str(step.kernel[0] // step.shape[1])
    options = call("schema.DepthwiseConv2DOptionsT", **_options(step, padding), depthMultiplier=multiplier)
    kernel = "np.moveaxis(kernel, (0, 1), (-1, 0))"
    return node("DEPTHWISE_CONV_2D", ["x", kernel, _bias_text(step, step.kernel[0])], options)


def conv(step: Step) -> Code:
    """Return the convolution as one operator: DEPTHWISE_CONV_2D if each group has one input channel."""
    if step.rank == PLANE_RANK and is_depthwise(step) and not beyond_int32(step):
        return _depthwise_text(step)
    return grouped_conv(step)


def grouped_conv(step: Step, bias: str = "") -> Code:
    """Return CONV_2D or CONV_3D; CONV_2D has groups. bias: its text, by default that of the case or of zeros."""
    return _operator_text(step, "x", "kernel", bias or _bias_text(step, step.kernel[0]))


def conv_by_group(step: Step) -> Code:
    """Return one CONV_3D for each group of channels, concatenated along the channels."""
    groups = step.parameters["groups"]
    if step.rank != VOLUME_RANK or groups == 1 or _infers_other_groups(step):
        return conv(step)
    group = single_group(step)
    bias = "shift" if step.bias else _bias_text(step, group.kernel[0])
    text = _operator_text(group, "part", "weights", bias)
    return text if isinstance(text, Unsupported) else _by_group(step, text)


def _by_group(step: Step, text: str) -> tuple[str, ...]:
    """Return lines that apply an operator to the `part` of x and the `weights` of each group."""
    groups, channels = step.parameters["groups"], step.shape[1] // step.parameters["groups"]
    zeros, whole = [0] * (1 + step.rank), [-1] * (1 + step.rank)
    starts = f"np.int32([{', '.join(map(str, zeros))}, i])"
    part = node("SLICE", ["x", starts, integers([*whole, channels])])
    shifts = ("shift", f"np.split(bias, {groups})") if " shift" in text else ()
    names = ", ".join(["part", "weights", *shifts[:1]])
    arrays = ", ".join(["parts", f"np.split(kernel, {groups})", *shifts[1:]])
    joined = call(
        "graph.node",
        '"CONCATENATION"',
        f"[{text} for {names} in zip({arrays})]",
        "schema.ConcatenationOptionsT(axis=-1)",
    )
    return (f"parts = [{part} for i in range(0, {step.shape[1]}, {channels})]", f"x = {joined}")


def _transposed_padding(step: Step) -> str | Unsupported:
    """Return the padding with which the operator crops to the output of the step.

    It crops like the input of a convolution whose output is x: with VALID nothing before, with SAME half of the rest.
    """
    if not step.padded:
        small = all(added < stride for added, stride in zip(_added(step), step.stride or (), strict=True))
        return "schema.Padding.VALID" if small else NO_PADDING
    sizes = zip(step.shape[2:], step.output[2:], strict=True)
    axes = zip(sizes, step.stride or (), step.window, step.dilation, step.padding, strict=True)
    for (size, output), stride, window, dilation, (before, _) in axes:
        reach = (window - 1) * dilation + 1
        crop = max((size - 1) * stride + reach - output, 0)
        if -(-output // stride) != size or before != crop // 2:
            return NO_PADDING
    return "schema.Padding.SAME"


def _added(step: Step) -> Sequence[int]:
    added: Sequence[int] = step.parameters["output_padding"]
    return added


def _transposed_limit(step: Step) -> Unsupported | None:
    return first_reason(
        (step.rank not in AXIS_NAMES, NOT_TWO_OR_THREE_AXES),
        (beyond_int32(step), NO_LARGE_NUMBERS),
        (is_framework_same(step), NO_NAMED_PADDING),
        (step.parameters["groups"] != 1, NO_GROUPS),
        (step.dilated and step.rank == PLANE_RANK, NO_DILATION),
    )


def _transposed_text(step: Step, x: str = "x", kernel: str = "kernel") -> str | Unsupported:
    padding = _transposed_limit(step) or _transposed_padding(step)
    if isinstance(padding, Unsupported):
        return padding
    n, c, *spatial = step.output
    shape, bias = integers([n, *spatial, c]), ["bias"] * step.bias
    if step.rank == VOLUME_RANK:
        weights = f"np.moveaxis({kernel}, (0, 1), (-1, -2))"
        options = call("schema.Conv3DOptionsT", **_options(step, padding))
        return node("CONV_3D_TRANSPOSE", [shape, weights, x, *bias], options)
    # TRANSPOSE_CONV has no options for dilations.
    options = call("schema.TransposeConvOptionsT", padding=padding, **axis_options("stride", step.stride or ()))
    return limit_stride(step, node("TRANSPOSE_CONV", [shape, f"np.moveaxis({kernel}, 0, -1)", x, *bias], options))


def conv_transpose(step: Step) -> Code:
    """Return the transposed convolution as one operator."""
    return _transposed_text(step)


def composed_transpose(step: Step) -> Code:
    """Return an uncropped transposed convolution for each group, with slicing, padding and bias as operators."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    group = uncropped_group(step, _transposed_text)
    groups = step.parameters["groups"]
    text = _transposed_text(group, "part", "weights") if groups > 1 else _transposed_text(group)
    if isinstance(text, Unsupported):
        return text
    lines = as_lines(_by_group(step, text) if groups > 1 else text)
    return (*_dilation_lines(step, group), *lines, *_crop_lines(step, group.output[2:]), *_bias_lines(step))


def _dilation_lines(step: Step, group: Step) -> tuple[str, ...]:
    """Return lines that write zeros between the cells of the kernel."""
    if group.dilation == step.dilation:
        return ()
    shape = tuple_of([*step.kernel[:2], *group.window])
    index = slices([f"::{dilation}" for dilation in step.dilation], channels_last=False)
    return (f"dilated = np.zeros({shape}, kernel.dtype)", f"dilated{index} = kernel", "kernel = dilated")


def _crop_lines(step: Step, full_size: Sequence[int]) -> tuple[str, ...]:
    """Return lines that slice the output from the full one, and append zeros where it is longer."""
    starts = [max(before, 0) for before, _ in step.padding]
    ends = zip(starts, step.output[2:], full_size, strict=True)
    missing = [max(start + size - full, 0) for start, size, full in ends]
    sizes = [size - more for size, more in zip(step.output[2:], missing, strict=True)]
    lines: list[str] = []
    if any(starts) or sizes != list(full_size):
        lines += [f"x = {node('SLICE', ['x', integers([0, *starts, 0]), integers([-1, *sizes, -1])])}"]
    if any(missing):
        pairs = [[0, 0], *([0, more] for more in missing), [0, 0]]
        lines += [f"x = {node('PAD', ['x', f'np.int32({pairs})'])}"]
    return tuple(lines)


def _bias_lines(step: Step) -> tuple[str, ...]:
    # After the slicing: appended zeros get the bias, too.
    return (f"x = {node('ADD', ['x', 'bias'], 'schema.AddOptionsT()')}",) * step.bias
