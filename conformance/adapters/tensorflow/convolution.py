"""Convolutions and transposed convolutions, of `tf.nn` and of Keras layers.

What the calls lack is written with what they have: groups by splitting the channels, holes as zeros in the kernel,
padding of a transposed convolution by cropping what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.adapters.api.source_text import (
    all_axes,
    by_default,
    call,
    own_same,
    pairs_of,
    per_axis,
    slices,
    tuple_of,
    unless,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.tensorflow.dtypes import (
    FLOATING,
    HOLES_AND_STRIDE,
    IMAGE,
    ONEDNN,
    SPATIAL,
    explicit,
    named,
    ones,
)
from conformance.cases.steps import Step
from reference import Windows

GROUPS = "https://github.com/tensorflow/tensorflow/issues/50397"
HOLES = "https://github.com/tensorflow/tensorflow/issues/28264"
NO_BIAS = Unsupported("tf.nn convolutions have no bias")
IMPLIED_GROUPS = Unsupported("the call takes as many groups as the shapes say")
NO_GROUPS_3D = Unsupported("three-dimensional convolutions have no groups on the CPU")
NO_GROUPS_TRANSPOSED = Unsupported(
    "transposed convolutions have groups for float32 and bfloat16 only on the CPU, without explicit padding",
    GROUPS,
)
NO_GROUP_GRADIENT = Unsupported(
    "grouped convolutions have a gradient for float32 and bfloat16 only on the CPU, without explicit padding", GROUPS
)
NO_HOLES_3D = Unsupported("three-dimensional dilated convolutions exist for float32 and bfloat16 only on the CPU")
NO_HOLES_TRANSPOSED = Unsupported(
    "dilated transposed convolutions exist for float32 and bfloat16 only on the CPU, without explicit padding",
    HOLES,
)
NO_HOLES_GRADIENT = Unsupported(
    "dilated convolutions have a gradient for float32 and bfloat16 only on the CPU, without explicit padding", HOLES
)
NO_INTEGERS_3D = Unsupported("three-dimensional convolutions have no kernels for integers")
LAYER_PADDING = Unsupported("the padding of layers is valid or same")
Spelling = Callable[[Step, str, str], Code]
"""How a surface writes a convolution without bias: the step, and the names of its input and its kernel."""
Preparation = Callable[[Step], tuple[str, ...]]
"""What lines a surface needs before that."""


def _axes(step: Step, numbers: tuple[int, ...] | None) -> str | None:
    """Three-dimensional convolutions want a number for every axis of the array."""
    return per_axis(numbers) if step.rank != SPATIAL else tuple_of([1, *(numbers or ()), 1])


def _conv(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = named(step)
    if padding is None and step.rank != IMAGE:
        return Unsupported("explicit padding exists for two-dimensional convolutions only")
    if step.rank == SPATIAL and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    lacking = _lacking_groups(step, padding) or _lacking_holes(step, padding)
    if lacking in (NO_HOLES_3D, NO_HOLES_GRADIENT) and padding and step.stride == ones(step):
        # This one cuts the input up where the kernels know no dilation.
        return call("tf.nn.convolution", x, kernel, padding=f'"{padding}"', dilations=per_axis(step.dilation))
    if lacking:
        return lacking
    text = f'"{padding}"' if padding else explicit(step)
    dilations = _axes(step, step.dilation) if step.dilated else None
    return call(f"tf.nn.conv{step.rank}d", x, kernel, _axes(step, step.stride), text, dilations=dilations)


def _lacking_groups(step: Step, padding: str | None) -> Unsupported | None:
    """Return why the call has no groups, None where it has or needs none."""
    groups, left = divmod(step.shape[1], step.kernel[1])
    if left == 0 and groups != step.parameters["groups"]:
        return IMPLIED_GROUPS
    if step.parameters["groups"] == 1:
        return None
    if step.rank == SPATIAL:
        return NO_GROUPS_3D
    return None if not step.gradient or _by_onednn(step, padding) else NO_GROUP_GRADIENT


def _lacking_holes(step: Step, padding: str | None) -> Unsupported | None:
    """Return why the call has no dilation, None where it has or needs none."""
    if not step.dilated or _by_onednn(step, padding):
        return None
    if step.rank == SPATIAL:
        return NO_HOLES_3D
    return NO_HOLES_GRADIENT if step.gradient else None


def _by_onednn(step: Step, padding: str | None) -> bool:
    """Whether oneDNN computes it, gradients included: it knows no explicit padding."""
    return step.dtype in ONEDNN and padding is not None


def native_conv(step: Step) -> Code:
    """Write a convolution as one call."""
    return NO_BIAS if step.bias else _conv(step)


def composed_conv(step: Step) -> Code:
    """Write the bias after the convolution, and groups one by one where there are none."""
    text = _conv(step)
    if isinstance(text, Unsupported) and step.parameters["groups"] != 1:
        text = _split(part(step), step.parameters["groups"], _conv)
    return _biased(step, text)


def _biased(step: Step, text: Code) -> Code:
    return f"tf.nn.bias_add({text}, bias)" if step.bias and isinstance(text, str) else text


def part(step: Step) -> Step:
    """Return the convolution of one group."""
    groups = step.parameters["groups"]
    kernel = (step.kernel[0] // groups, *step.kernel[1:])
    shape = (step.shape[0], step.shape[1] // groups, *step.shape[2:])
    return replace(step.with_parameters(groups=1), shape=shape, kernel=kernel, bias=False)


def _split(part: Step, groups: int, spell: Spelling) -> Code:
    """Write one convolution for each group of channels, side by side."""
    if groups == 1:
        return spell(part, "x", "kernel")
    text = spell(part, "part", "weights")
    if isinstance(text, Unsupported):
        return text
    pairs = f"zip(tf.split(x, {groups}, -1), tf.split(kernel, {groups}, -1))"
    return f"tf.concat([{text} for part, weights in {pairs}], -1)"


def _walks_back(step: Step, padding: str | tuple[tuple[int, int], ...]) -> bool:
    """Whether the convolution with this padding leads from the output's extents to the input's, and pads as much."""
    try:
        walk = Windows.of(step.output[2:], step.window, step.stride, padding, step.dilation)
    except ValueError:
        return False
    return walk.output == step.shape[2:] and walk.pads == step.padding


def _transpose(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = next((name for name, word in PADDINGS.items() if _walks_back(step, word)), None)
    if step.rank == SPATIAL and step.parameters["groups"] != 1:
        return NO_GROUPS_3D
    if step.parameters["groups"] != 1 and not _by_onednn(step, padding):
        return NO_GROUPS_TRANSPOSED
    if step.dilated and not _by_onednn(step, padding):
        return NO_HOLES_TRANSPOSED
    if step.rank == SPATIAL and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    if padding is None and (step.rank != IMAGE or not _walks_back(step, step.padding)):
        return Unsupported("transposed convolutions crop by VALID or SAME, in two dimensions also by explicit padding")
    output = tuple_of([step.output[0], *step.output[2:], step.output[1]])
    text = f'"{padding}"' if padding else explicit(step)
    dilations = per_axis(step.dilation) if step.dilated else None
    return call(
        f"tf.nn.conv{step.rank}d_transpose", x, kernel, output, per_axis(step.stride), text, dilations=dilations
    )


PADDINGS = {"VALID": "valid", "SAME": "same_upper"}


def native_transpose(step: Step) -> Code:
    """Write a transposed convolution as one call; the shape of the output says how much it crops."""
    if own_same(step):
        sizes = (size * by for size, by in zip(step.shape[2:], step.stride or (), strict=True))
        output = tuple_of([step.shape[0], *sizes, step.channels])
        return call(f"tf.nn.conv{step.rank}d_transpose", "x", "kernel", output, per_axis(step.stride), '"SAME"')
    if by_default(step) and any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution is told the shape of its output")
    if step.parameters["groups"] < 1 or step.shape[1] % step.parameters["groups"]:
        return IMPLIED_GROUPS
    return NO_BIAS if step.bias else _transpose(step)


def composed_transpose(step: Step) -> Code:
    """Write the bias, groups, holes and cropping of a transposed convolution by themselves."""
    text = _transpose(step)
    return _biased(step, text) if isinstance(text, str) else _cropped(step, _transpose)


def _cropped(step: Step, spell: Spelling, prepare: Preparation = lambda _part: ()) -> Code:
    """Write all that a transposed convolution lays out, then what of it is the output, then the bias."""
    holes: tuple[str, ...] = ()
    whole = replace(step.with_parameters(padding=((0, 0),) * step.rank, output_padding=(0,) * step.rank), bias=False)
    if step.dilated and isinstance(spell(part(whole), "x", "kernel"), Unsupported):
        holes, whole = (_zeros_between(step),), with_zeros_between(whole)
    text = _split(part(whole), step.parameters["groups"], spell)
    if isinstance(text, Unsupported):
        return text
    lines = (*holes, *prepare(part(whole)), f"x = {text}", *_kept(step, whole))
    return (*lines, "x = tf.nn.bias_add(x, bias)") if step.bias else lines


def _kept(step: Step, whole: Step) -> tuple[str, ...]:
    """Write which cells stay, and zeros after them where the output goes on."""
    bounds, pads = [], []
    for (before, _), size, laid in zip(step.padding, step.output[2:], whole.output[2:], strict=True):
        stop = before + size
        bounds.append(f"{before or ''}:{'' if stop >= laid else stop}")
        pads.append((0, max(stop - laid, 0)))
    crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
    written = pairs_of(all_axes(tuple(pads), channels_last=True))
    return (*crop, f"x = tf.pad(x, {written})") if any(after for _, after in pads) else crop


def with_zeros_between(step: Step) -> Step:
    """Return the convolution whose kernel has zeros in place of holes."""
    extents = tuple((window - 1) * dilation + 1 for window, dilation in zip(step.window, step.dilation, strict=True))
    return replace(step.with_parameters(dilation=ones(step)), kernel=(*step.kernel[:2], *extents))


def _zeros_between(step: Step) -> str:
    """Write a kernel with holes as one with zeros."""
    extents = with_zeros_between(step).window
    every = ", ".join(f"0:{extent}:{dilation}" for extent, dilation in zip(extents, step.dilation, strict=True))
    places = f"np.moveaxis(np.mgrid[{every},], 0, -1)" if step.rank == 1 else f"np.moveaxis(np.mgrid[{every}], 0, -1)"
    return f"kernel = tf.scatter_nd({places}, kernel, {tuple_of([*extents, step.kernel[1], step.kernel[0]])})"


def layer_conv(step: Step) -> Code:
    """Write a convolution as a layer that is given the weights."""
    padding = named(step)
    if padding is None:
        return LAYER_PADDING
    if step.dilated and step.stride != ones(step):
        return HOLES_AND_STRIDE
    if step.rank == SPATIAL and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    words = {"padding": unless("VALID", padding, '"same"')}
    layer = _layer(f"Conv{step.rank}D", step, step.kernel[0], **words, groups=unless(1, step.parameters["groups"]))
    return _weighted(layer, step)


def _layer(name: str, step: Step, filters: int, **words: str | None) -> str:
    return call(
        f"tf.keras.layers.{name}",
        str(filters),
        per_axis(step.window),
        strides=per_axis(step.stride) if step.stride != ones(step) else None,
        **{"padding": words.pop("padding"), "output_padding": words.pop("output_padding", None)},
        dilation_rate=per_axis(step.dilation) if step.dilated else None,
        groups=words.pop("groups", None),
        use_bias=None if step.bias else "False",
        # The usual one draws no integers.
        kernel_initializer=None if step.dtype in FLOATING else '"zeros"',
        dtype="x.dtype",
    )


def _weighted(layer: str, step: Step) -> Code:
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (f"conv = {layer}", "conv.build(x.shape)", f"conv.set_weights({weights})", "x = conv(x)")


def _layer_transposed(step: Step) -> str | Unsupported:
    """Return the layer that crops as the step does, without weights."""
    if step.parameters["groups"] != 1:
        return Unsupported("layers of transposed convolutions have no groups")
    if step.dilated and step.stride != ones(step):
        return HOLES_AND_STRIDE
    if step.dilated and step.dtype not in ONEDNN:
        return NO_HOLES_TRANSPOSED
    if step.rank == SPATIAL and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    words = layer_cropping(step)
    return (
        words if isinstance(words, Unsupported) else _layer(f"Conv{step.rank}DTranspose", step, step.kernel[1], **words)
    )


def layer_cropping(step: Step) -> dict[str, str | None] | Unsupported:
    """Return the arguments that say how much a layer crops: nothing, or as much as leaves input times stride."""
    if own_same(step):
        return {"padding": '"same"'}
    stride, further = step.stride or ones(step), tuple(step.parameters["output_padding"])
    multiplied = tuple(size * by for size, by in zip(step.shape[2:], stride, strict=True))
    if step.padded and step.output[2:] == multiplied and _walks_back(step, "same_upper"):
        return {"padding": '"same"'}
    if step.padded:
        return Unsupported("layers of transposed convolutions crop by valid or same")
    if any(more >= by for more, by in zip(further, stride, strict=True)) and not by_default(step):
        return Unsupported("output_padding of layers is less than the stride")
    # Without output_padding a stride that is larger than the kernel is filled up.
    filled = any(by > size for by, size in zip(stride, with_zeros_between(step).window, strict=True))
    return {"padding": None, "output_padding": per_axis(further) if filled or any(further) else None}


def layer_transpose(step: Step) -> Code:
    """Write a transposed convolution as a layer that is given the weights."""
    layer = _layer_transposed(step)
    return layer if isinstance(layer, Unsupported) else _weighted(layer, step)


def composed_layer_transpose(step: Step) -> Code:
    """Write groups, holes and cropping around a layer, which computes with the weights that it is handed."""
    return _cropped(step, _stateless, _built)


def _stateless(step: Step, x: str, kernel: str) -> Code:
    layer = _layer_transposed(step)
    return layer if isinstance(layer, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def _built(step: Step) -> tuple[str, ...]:
    shape = tuple_of([step.shape[0], *step.shape[2:], step.shape[1]])
    return (f"conv = {_layer_transposed(step)}", f"conv.build({shape})")
