"""Convolutions and transposed convolutions, of `tf.nn` and of Keras layers.

Parameters that a call does not support are composed: groups by splitting the channels, dilation by a kernel with zeros
between its cells, and the padding of a transposed convolution by cropping its output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.adapters.api.source_text import (
    call,
    is_framework_same,
    pairs_for_all_axes,
    pairs_of,
    per_axis,
    slices,
    text_unless_default,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.tensorflow.dtypes import (
    FLOATING,
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    PLANE_RANK,
    VOLUME_RANK,
    array_padding_text,
    ones_per_axis,
    padding_name,
)
from conformance.cases.steps import Step
from reference import Windows

GROUPS_ISSUE = "https://github.com/tensorflow/tensorflow/issues/50397"
DILATION_ISSUE = "https://github.com/tensorflow/tensorflow/issues/28264"
NO_BIAS = Unsupported("tf.nn convolutions have no bias")
GROUPS_FROM_SHAPES = Unsupported("the call infers the number of groups from the shapes")
NO_GROUPS_3D = Unsupported("three-dimensional convolutions have no groups on the CPU")
NO_GROUPS_TRANSPOSED = Unsupported(
    "transposed convolutions have groups for float32 and bfloat16 only on the CPU, without explicit padding",
    GROUPS_ISSUE,
)
NO_GROUP_GRADIENT = Unsupported(
    "grouped convolutions have a gradient for float32 and bfloat16 only on the CPU, without explicit padding",
    GROUPS_ISSUE,
)
NO_DILATION_3D = Unsupported("three-dimensional dilated convolutions exist for float32 and bfloat16 only on the CPU")
NO_DILATION_TRANSPOSED = Unsupported(
    "dilated transposed convolutions exist for float32 and bfloat16 only on the CPU, without explicit padding",
    DILATION_ISSUE,
)
NO_DILATION_GRADIENT = Unsupported(
    "dilated convolutions have a gradient for float32 and bfloat16 only on the CPU, without explicit padding",
    DILATION_ISSUE,
)
NO_INTEGERS_3D = Unsupported("three-dimensional convolutions have no kernels for integers")
LAYER_PADDING_ONLY = Unsupported("layers support valid and same padding only")
ConvolutionWriter = Callable[[Step, str, str], Code]
"""Writes a convolution without bias, from the step and the names of its input and its kernel."""
PreparationLines = Callable[[Step], tuple[str, ...]]
"""Returns the lines that a surface needs before such a convolution."""


def _array_axes_text(step: Step, numbers: tuple[int, ...] | None) -> str | None:
    """Return strides or dilations as text: three-dimensional convolutions need a number for every axis of the array."""
    return per_axis(numbers) if step.rank != VOLUME_RANK else tuple_of([1, *(numbers or ()), 1])


def _convolution_text(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = padding_name(step)
    if padding is None and step.rank != PLANE_RANK:
        return Unsupported("explicit padding exists for two-dimensional convolutions only")
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    unsupported = _unsupported_groups(step, padding) or _unsupported_dilation(step, padding)
    if unsupported in (NO_DILATION_3D, NO_DILATION_GRADIENT) and padding and step.stride == ones_per_axis(step):
        # tf.nn.convolution splits the input into undilated parts where the kernels have no dilation.
        return call("tf.nn.convolution", x, kernel, padding=f'"{padding}"', dilations=per_axis(step.dilation))
    if unsupported:
        return unsupported
    text = f'"{padding}"' if padding else array_padding_text(step)
    dilations = _array_axes_text(step, step.dilation) if step.dilated else None
    return call(f"tf.nn.conv{step.rank}d", x, kernel, _array_axes_text(step, step.stride), text, dilations=dilations)


def _unsupported_groups(step: Step, padding: str | None) -> Unsupported | None:
    """Return why the call does not support the groups; None if it does."""
    groups, remainder = divmod(step.shape[1], step.kernel[1])
    if remainder == 0 and groups != step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    if step.parameters["groups"] == 1:
        return None
    if step.rank == VOLUME_RANK:
        return NO_GROUPS_3D
    return None if not step.gradient or _uses_onednn(step, padding) else NO_GROUP_GRADIENT


def _unsupported_dilation(step: Step, padding: str | None) -> Unsupported | None:
    """Return why the call does not support the dilation; None if it does."""
    if not step.dilated or _uses_onednn(step, padding):
        return None
    if step.rank == VOLUME_RANK:
        return NO_DILATION_3D
    return NO_DILATION_GRADIENT if step.gradient else None


def _uses_onednn(step: Step, padding: str | None) -> bool:
    """Whether oneDNN computes the convolution and its gradient. It does not support explicit padding."""
    return step.dtype in ONEDNN_DTYPES and padding is not None


def native_convolution(step: Step) -> Code:
    """Return a convolution as one call."""
    return NO_BIAS if step.bias else _convolution_text(step)


def composed_convolution(step: Step) -> Code:
    """Return a convolution followed by the bias addition, with one call for each group if the call has no groups."""
    text = _convolution_text(step)
    if isinstance(text, Unsupported) and step.parameters["groups"] != 1:
        text = _split_groups(single_group(step), step.parameters["groups"], _convolution_text)
    return _with_bias(step, text)


def _with_bias(step: Step, text: Code) -> Code:
    return f"tf.nn.bias_add({text}, bias)" if step.bias and isinstance(text, str) else text


def single_group(step: Step) -> Step:
    """Return the step of one group, without bias."""
    groups = step.parameters["groups"]
    kernel = (step.kernel[0] // groups, *step.kernel[1:])
    shape = (step.shape[0], step.shape[1] // groups, *step.shape[2:])
    return replace(step.with_parameters(groups=1), shape=shape, kernel=kernel, bias=False)


def _split_groups(group: Step, groups: int, write_call: ConvolutionWriter) -> Code:
    """Return one convolution for each group of channels, concatenated along the channels."""
    if groups == 1:
        return write_call(group, "x", "kernel")
    text = write_call(group, "part", "weights")
    if isinstance(text, Unsupported):
        return text
    pairs = f"zip(tf.split(x, {groups}, -1), tf.split(kernel, {groups}, -1))"
    return f"tf.concat([{text} for part, weights in {pairs}], -1)"


def _matches_forward_convolution(step: Step, padding: str | tuple[tuple[int, int], ...]) -> bool:
    """Whether a forward convolution with this padding maps the output extents to the input extents, with the same pads.

    TensorFlow defines a transposed convolution as the gradient of such a forward convolution.
    """
    try:  # Windows.of raises ValueError if a window exceeds the padded array
        windows = Windows.of(step.output[2:], step.window, step.stride, padding, step.dilation)
    except ValueError:
        return False
    return windows.output == step.shape[2:] and windows.pads == step.padding


def _transposed_text(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = next((name for name, rule in PADDING_RULES.items() if _matches_forward_convolution(step, rule)), None)
    if step.rank == VOLUME_RANK and step.parameters["groups"] != 1:
        return NO_GROUPS_3D
    if step.parameters["groups"] != 1 and not _uses_onednn(step, padding):
        return NO_GROUPS_TRANSPOSED
    if step.dilated and not _uses_onednn(step, padding):
        return NO_DILATION_TRANSPOSED
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    if padding is None and (step.rank != PLANE_RANK or not _matches_forward_convolution(step, step.padding)):
        return Unsupported("transposed convolutions support explicit padding in two dimensions only")
    output = tuple_of([step.output[0], *step.output[2:], step.output[1]])  # channels last
    text = f'"{padding}"' if padding else array_padding_text(step)
    dilations = per_axis(step.dilation) if step.dilated else None
    return call(
        f"tf.nn.conv{step.rank}d_transpose", x, kernel, output, per_axis(step.stride), text, dilations=dilations
    )


PADDING_RULES = {"VALID": "valid", "SAME": "same_upper"}


def native_transpose(step: Step) -> Code:
    """Return a transposed convolution as one call. Its cropping follows from the output shape that is passed to it."""
    if is_framework_same(step):
        sizes = (size * stride for size, stride in zip(step.shape[2:], step.stride or (), strict=True))
        output = tuple_of([step.shape[0], *sizes, step.channels])
        return call(f"tf.nn.conv{step.rank}d_transpose", "x", "kernel", output, per_axis(step.stride), '"SAME"')
    if uses_framework_defaults(step) and any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution takes the output shape, not output_padding")
    if step.parameters["groups"] < 1 or step.shape[1] % step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    return NO_BIAS if step.bias else _transposed_text(step)


def composed_transpose(step: Step) -> Code:
    """Return a transposed convolution whose groups, dilation, cropping and bias are separate calls where needed."""
    text = _transposed_text(step)
    return _with_bias(step, text) if isinstance(text, str) else _crop_and_add_bias(step, _transposed_text)


def _crop_and_add_bias(step: Step, write_call: ConvolutionWriter, prepare: PreparationLines = lambda _step: ()) -> Code:
    """Return an uncropped transposed convolution, then the slicing of the output, then the bias addition.

    prepare: returns lines that must precede the call, such as those that build a layer.
    """
    dilation: tuple[str, ...] = ()
    full = replace(step.with_parameters(padding=((0, 0),) * step.rank, output_padding=(0,) * step.rank), bias=False)
    if step.dilated and isinstance(write_call(single_group(full), "x", "kernel"), Unsupported):
        dilation, full = (_dilated_kernel_line(step),), with_dilated_kernel(full)
    text = _split_groups(single_group(full), step.parameters["groups"], write_call)
    if isinstance(text, Unsupported):
        return text
    lines = (*dilation, *prepare(single_group(full)), f"x = {text}", *_crop_lines(step, full))
    return (*lines, "x = tf.nn.bias_add(x, bias)") if step.bias else lines


def _crop_lines(step: Step, full: Step) -> tuple[str, ...]:
    """Return lines that slice the output from the full one, and append zeros where it is longer."""
    bounds, pads = [], []
    for (before, _), size, full_size in zip(step.padding, step.output[2:], full.output[2:], strict=True):
        stop = before + size
        bounds.append(f"{before or ''}:{'' if stop >= full_size else stop}")
        pads.append((0, max(stop - full_size, 0)))
    crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
    pads_text = pairs_of(pairs_for_all_axes(tuple(pads), channels_last=True))
    return (*crop, f"x = tf.pad(x, {pads_text})") if any(after for _, after in pads) else crop


def with_dilated_kernel(step: Step) -> Step:
    """Return the undilated step whose kernel has zeros between its cells."""
    extents = tuple((window - 1) * dilation + 1 for window, dilation in zip(step.window, step.dilation, strict=True))
    return replace(step.with_parameters(dilation=ones_per_axis(step)), kernel=(*step.kernel[:2], *extents))


def _dilated_kernel_line(step: Step) -> str:
    """Return the line that writes zeros between the cells of the kernel."""
    extents = with_dilated_kernel(step).window
    ranges = ", ".join(f"0:{extent}:{dilation}" for extent, dilation in zip(extents, step.dilation, strict=True))
    places = f"np.moveaxis(np.mgrid[{ranges},], 0, -1)" if step.rank == 1 else f"np.moveaxis(np.mgrid[{ranges}], 0, -1)"
    return f"kernel = tf.scatter_nd({places}, kernel, {tuple_of([*extents, step.kernel[1], step.kernel[0]])})"


def layer_convolution(step: Step) -> Code:
    """Return a convolution as a layer with the weights of the case."""
    padding = padding_name(step)
    if padding is None:
        return LAYER_PADDING_ONLY
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    same, groups = text_unless_default("VALID", padding, '"same"'), text_unless_default(1, step.parameters["groups"])
    layer = _layer_text(f"Conv{step.rank}D", step, step.kernel[0], padding=same, groups=groups)
    return _weighted_layer_lines(layer, step)


def _layer_text(name: str, step: Step, filters: int, **arguments: str | None) -> str:
    return call(
        f"tf.keras.layers.{name}",
        str(filters),
        per_axis(step.window),
        strides=per_axis(step.stride) if step.stride != ones_per_axis(step) else None,
        # In the order of the signature: padding and output_padding come before dilation_rate.
        **{"padding": arguments.pop("padding"), "output_padding": arguments.pop("output_padding", None)},
        dilation_rate=per_axis(step.dilation) if step.dilated else None,
        groups=arguments.pop("groups", None),
        use_bias=None if step.bias else "False",
        # The default initializer does not support integers.
        kernel_initializer=None if step.dtype in FLOATING else '"zeros"',
        dtype="x.dtype",
    )


def _weighted_layer_lines(layer: str, step: Step) -> Code:
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (f"conv = {layer}", "conv.build(x.shape)", f"conv.set_weights({weights})", "x = conv(x)")


def _transposed_layer_text(step: Step) -> str | Unsupported:
    """Return the expression of the layer, before its weights are set."""
    if step.parameters["groups"] != 1:
        return Unsupported("layers of transposed convolutions have no groups")
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    if step.dilated and step.dtype not in ONEDNN_DTYPES:
        return NO_DILATION_TRANSPOSED
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    cropping = layer_crop_arguments(step)
    if isinstance(cropping, Unsupported):
        return cropping
    return _layer_text(f"Conv{step.rank}DTranspose", step, step.kernel[1], **cropping)


def layer_crop_arguments(step: Step) -> dict[str, str | None] | Unsupported:
    """Return the padding arguments of a layer.

    `valid` crops nothing. `same` crops the output to input size times stride.
    """
    if is_framework_same(step):
        return {"padding": '"same"'}
    strides, output_padding = step.stride or ones_per_axis(step), tuple(step.parameters["output_padding"])
    scaled = tuple(size * stride for size, stride in zip(step.shape[2:], strides, strict=True))
    if step.padded and step.output[2:] == scaled and _matches_forward_convolution(step, "same_upper"):
        return {"padding": '"same"'}
    if step.padded:
        return Unsupported("layers of transposed convolutions support valid and same padding only")
    too_large = any(added >= stride for added, stride in zip(output_padding, strides, strict=True))
    if too_large and not uses_framework_defaults(step):
        return Unsupported("output_padding of layers must be less than the stride")
    # By default, a layer adds output padding if the stride is larger than the kernel; an explicit 0 prevents it.
    has_default = any(stride > size for stride, size in zip(strides, with_dilated_kernel(step).window, strict=True))
    return {"padding": None, "output_padding": per_axis(output_padding) if has_default or any(output_padding) else None}


def layer_transpose(step: Step) -> Code:
    """Return a transposed convolution as a layer with the weights of the case."""
    layer = _transposed_layer_text(step)
    return layer if isinstance(layer, Unsupported) else _weighted_layer_lines(layer, step)


def composed_layer_transpose(step: Step) -> Code:
    """Return a stateless layer call for each group, with dilation, cropping and bias as separate operations."""
    return _crop_and_add_bias(step, _stateless_layer_text, _layer_with_weights)


def _stateless_layer_text(step: Step, x: str, kernel: str) -> Code:
    layer = _transposed_layer_text(step)
    return layer if isinstance(layer, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def _layer_with_weights(step: Step) -> tuple[str, ...]:
    shape = tuple_of([step.shape[0], *step.shape[2:], step.shape[1]])
    return (f"conv = {_transposed_layer_text(step)}", f"conv.build({shape})")
