"""Convolutions and transposed convolutions, of `tf.nn` and of Keras layers.

What the calls lack is written with what they have: groups by splitting the channels, holes as zeros in the kernel,
padding of a transposed convolution by cropping what comes out.
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
GROUPS_FROM_SHAPES = Unsupported("the call takes as many groups as the shapes say")
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
LAYER_PADDING_ONLY = Unsupported("the padding of layers is valid or same")
ConvolutionWriter = Callable[[Step, str, str], Code]
"""How a surface writes a convolution without bias: the step, and the names of its input and its kernel."""
PreparationLines = Callable[[Step], tuple[str, ...]]
"""What lines a surface needs before that."""


def _array_axes_text(step: Step, numbers: tuple[int, ...] | None) -> str | None:
    """Three-dimensional convolutions want a number for every axis of the array."""
    return per_axis(numbers) if step.rank != VOLUME_RANK else tuple_of([1, *(numbers or ()), 1])


def _convolution_text(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = padding_name(step)
    if padding is None and step.rank != PLANE_RANK:
        return Unsupported("explicit padding exists for two-dimensional convolutions only")
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    lacking = _unsupported_groups(step, padding) or _unsupported_dilation(step, padding)
    if lacking in (NO_DILATION_3D, NO_DILATION_GRADIENT) and padding and step.stride == ones_per_axis(step):
        # This one cuts the input up where the kernels know no dilation.
        return call("tf.nn.convolution", x, kernel, padding=f'"{padding}"', dilations=per_axis(step.dilation))
    if lacking:
        return lacking
    text = f'"{padding}"' if padding else array_padding_text(step)
    dilations = _array_axes_text(step, step.dilation) if step.dilated else None
    return call(f"tf.nn.conv{step.rank}d", x, kernel, _array_axes_text(step, step.stride), text, dilations=dilations)


def _unsupported_groups(step: Step, padding: str | None) -> Unsupported | None:
    """Return why the call has no groups, None where it has or needs none."""
    groups, left = divmod(step.shape[1], step.kernel[1])
    if left == 0 and groups != step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    if step.parameters["groups"] == 1:
        return None
    if step.rank == VOLUME_RANK:
        return NO_GROUPS_3D
    return None if not step.gradient or _uses_onednn(step, padding) else NO_GROUP_GRADIENT


def _unsupported_dilation(step: Step, padding: str | None) -> Unsupported | None:
    """Return why the call has no dilation, None where it has or needs none."""
    if not step.dilated or _uses_onednn(step, padding):
        return None
    if step.rank == VOLUME_RANK:
        return NO_DILATION_3D
    return NO_DILATION_GRADIENT if step.gradient else None


def _uses_onednn(step: Step, padding: str | None) -> bool:
    """Whether oneDNN computes it, gradients included: it knows no explicit padding."""
    return step.dtype in ONEDNN_DTYPES and padding is not None


def native_convolution(step: Step) -> Code:
    """Write a convolution as one call."""
    return NO_BIAS if step.bias else _convolution_text(step)


def composed_convolution(step: Step) -> Code:
    """Write the bias after the convolution, and groups one by one where there are none."""
    text = _convolution_text(step)
    if isinstance(text, Unsupported) and step.parameters["groups"] != 1:
        text = _split_groups(single_group(step), step.parameters["groups"], _convolution_text)
    return _with_bias(step, text)


def _with_bias(step: Step, text: Code) -> Code:
    return f"tf.nn.bias_add({text}, bias)" if step.bias and isinstance(text, str) else text


def single_group(step: Step) -> Step:
    """Return the convolution of one group."""
    groups = step.parameters["groups"]
    kernel = (step.kernel[0] // groups, *step.kernel[1:])
    shape = (step.shape[0], step.shape[1] // groups, *step.shape[2:])
    return replace(step.with_parameters(groups=1), shape=shape, kernel=kernel, bias=False)


def _split_groups(part: Step, groups: int, write_call: ConvolutionWriter) -> Code:
    """Write one convolution for each group of channels, side by side."""
    if groups == 1:
        return write_call(part, "x", "kernel")
    text = write_call(part, "part", "weights")
    if isinstance(text, Unsupported):
        return text
    pairs = f"zip(tf.split(x, {groups}, -1), tf.split(kernel, {groups}, -1))"
    return f"tf.concat([{text} for part, weights in {pairs}], -1)"


def _matches_forward_convolution(step: Step, padding: str | tuple[tuple[int, int], ...]) -> bool:
    """Whether the convolution with this padding leads from the output's extents to the input's, and pads as much."""
    try:
        walk = Windows.of(step.output[2:], step.window, step.stride, padding, step.dilation)
    except ValueError:
        return False
    return walk.output == step.shape[2:] and walk.pads == step.padding


def _transposed_text(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = next((name for name, word in PADDING_WORDS.items() if _matches_forward_convolution(step, word)), None)
    if step.rank == VOLUME_RANK and step.parameters["groups"] != 1:
        return NO_GROUPS_3D
    if step.parameters["groups"] != 1 and not _uses_onednn(step, padding):
        return NO_GROUPS_TRANSPOSED
    if step.dilated and not _uses_onednn(step, padding):
        return NO_DILATION_TRANSPOSED
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    if padding is None and (step.rank != PLANE_RANK or not _matches_forward_convolution(step, step.padding)):
        return Unsupported("transposed convolutions crop by VALID or SAME, in two dimensions also by explicit padding")
    output = tuple_of([step.output[0], *step.output[2:], step.output[1]])
    text = f'"{padding}"' if padding else array_padding_text(step)
    dilations = per_axis(step.dilation) if step.dilated else None
    return call(
        f"tf.nn.conv{step.rank}d_transpose", x, kernel, output, per_axis(step.stride), text, dilations=dilations
    )


PADDING_WORDS = {"VALID": "valid", "SAME": "same_upper"}


def native_transpose(step: Step) -> Code:
    """Write a transposed convolution as one call; the shape of the output says how much it crops."""
    if is_framework_same(step):
        sizes = (size * by for size, by in zip(step.shape[2:], step.stride or (), strict=True))
        output = tuple_of([step.shape[0], *sizes, step.channels])
        return call(f"tf.nn.conv{step.rank}d_transpose", "x", "kernel", output, per_axis(step.stride), '"SAME"')
    if uses_framework_defaults(step) and any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution is told the shape of its output")
    if step.parameters["groups"] < 1 or step.shape[1] % step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    return NO_BIAS if step.bias else _transposed_text(step)


def composed_transpose(step: Step) -> Code:
    """Write the bias, groups, holes and cropping of a transposed convolution by themselves."""
    text = _transposed_text(step)
    return _with_bias(step, text) if isinstance(text, str) else _crop_and_add_bias(step, _transposed_text)


def _crop_and_add_bias(step: Step, write_call: ConvolutionWriter, prepare: PreparationLines = lambda _part: ()) -> Code:
    """Write all that a transposed convolution lays out, then what of it is the output, then the bias."""
    holes: tuple[str, ...] = ()
    whole = replace(step.with_parameters(padding=((0, 0),) * step.rank, output_padding=(0,) * step.rank), bias=False)
    if step.dilated and isinstance(write_call(single_group(whole), "x", "kernel"), Unsupported):
        holes, whole = (_dilate_kernel_lines(step),), with_dilated_kernel(whole)
    text = _split_groups(single_group(whole), step.parameters["groups"], write_call)
    if isinstance(text, Unsupported):
        return text
    lines = (*holes, *prepare(single_group(whole)), f"x = {text}", *_retained_slices(step, whole))
    return (*lines, "x = tf.nn.bias_add(x, bias)") if step.bias else lines


def _retained_slices(step: Step, whole: Step) -> tuple[str, ...]:
    """Write which cells stay, and zeros after them where the output goes on."""
    bounds, pads = [], []
    for (before, _), size, laid in zip(step.padding, step.output[2:], whole.output[2:], strict=True):
        stop = before + size
        bounds.append(f"{before or ''}:{'' if stop >= laid else stop}")
        pads.append((0, max(stop - laid, 0)))
    crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
    written = pairs_of(pairs_for_all_axes(tuple(pads), channels_last=True))
    return (*crop, f"x = tf.pad(x, {written})") if any(after for _, after in pads) else crop


def with_dilated_kernel(step: Step) -> Step:
    """Return the convolution whose kernel has zeros in place of holes."""
    extents = tuple((window - 1) * dilation + 1 for window, dilation in zip(step.window, step.dilation, strict=True))
    return replace(step.with_parameters(dilation=ones_per_axis(step)), kernel=(*step.kernel[:2], *extents))


def _dilate_kernel_lines(step: Step) -> str:
    """Write a kernel with holes as one with zeros."""
    extents = with_dilated_kernel(step).window
    every = ", ".join(f"0:{extent}:{dilation}" for extent, dilation in zip(extents, step.dilation, strict=True))
    places = f"np.moveaxis(np.mgrid[{every},], 0, -1)" if step.rank == 1 else f"np.moveaxis(np.mgrid[{every}], 0, -1)"
    return f"kernel = tf.scatter_nd({places}, kernel, {tuple_of([*extents, step.kernel[1], step.kernel[0]])})"


def layer_convolution(step: Step) -> Code:
    """Write a convolution as a layer that is given the weights."""
    padding = padding_name(step)
    if padding is None:
        return LAYER_PADDING_ONLY
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    words = {"padding": text_unless_default("VALID", padding, '"same"')}
    layer = _layer_text(
        f"Conv{step.rank}D", step, step.kernel[0], **words, groups=text_unless_default(1, step.parameters["groups"])
    )
    return _weighted_layer_lines(layer, step)


def _layer_text(name: str, step: Step, filters: int, **words: str | None) -> str:
    return call(
        f"tf.keras.layers.{name}",
        str(filters),
        per_axis(step.window),
        strides=per_axis(step.stride) if step.stride != ones_per_axis(step) else None,
        **{"padding": words.pop("padding"), "output_padding": words.pop("output_padding", None)},
        dilation_rate=per_axis(step.dilation) if step.dilated else None,
        groups=words.pop("groups", None),
        use_bias=None if step.bias else "False",
        # The usual one draws no integers.
        kernel_initializer=None if step.dtype in FLOATING else '"zeros"',
        dtype="x.dtype",
    )


def _weighted_layer_lines(layer: str, step: Step) -> Code:
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (f"conv = {layer}", "conv.build(x.shape)", f"conv.set_weights({weights})", "x = conv(x)")


def _transposed_layer_text(step: Step) -> str | Unsupported:
    """Return the layer that crops as the step does, without weights."""
    if step.parameters["groups"] != 1:
        return Unsupported("layers of transposed convolutions have no groups")
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    if step.dilated and step.dtype not in ONEDNN_DTYPES:
        return NO_DILATION_TRANSPOSED
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    words = layer_crop_arguments(step)
    return (
        words
        if isinstance(words, Unsupported)
        else _layer_text(f"Conv{step.rank}DTranspose", step, step.kernel[1], **words)
    )


def layer_crop_arguments(step: Step) -> dict[str, str | None] | Unsupported:
    """Return the arguments that say how much a layer crops: nothing, or as much as leaves input times stride."""
    if is_framework_same(step):
        return {"padding": '"same"'}
    stride, further = step.stride or ones_per_axis(step), tuple(step.parameters["output_padding"])
    multiplied = tuple(size * by for size, by in zip(step.shape[2:], stride, strict=True))
    if step.padded and step.output[2:] == multiplied and _matches_forward_convolution(step, "same_upper"):
        return {"padding": '"same"'}
    if step.padded:
        return Unsupported("layers of transposed convolutions crop by valid or same")
    if any(more >= by for more, by in zip(further, stride, strict=True)) and not uses_framework_defaults(step):
        return Unsupported("output_padding of layers is less than the stride")
    # Without output_padding a stride that is larger than the kernel is filled up.
    filled = any(by > size for by, size in zip(stride, with_dilated_kernel(step).window, strict=True))
    return {"padding": None, "output_padding": per_axis(further) if filled or any(further) else None}


def layer_transpose(step: Step) -> Code:
    """Write a transposed convolution as a layer that is given the weights."""
    layer = _transposed_layer_text(step)
    return layer if isinstance(layer, Unsupported) else _weighted_layer_lines(layer, step)


def composed_layer_transpose(step: Step) -> Code:
    """Write groups, holes and cropping around a layer, which computes with the weights that it is handed."""
    return _crop_and_add_bias(step, _stateless_layer_text, _layer_with_weights)


def _stateless_layer_text(step: Step, x: str, kernel: str) -> Code:
    layer = _transposed_layer_text(step)
    return layer if isinstance(layer, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def _layer_with_weights(step: Step) -> tuple[str, ...]:
    shape = tuple_of([step.shape[0], *step.shape[2:], step.shape[1]])
    return (f"conv = {_transposed_layer_text(step)}", f"conv.build({shape})")
