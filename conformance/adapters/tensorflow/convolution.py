"""Convolutions and transposed convolutions, of `tf.nn` and of Keras layers."""

from __future__ import annotations

from conformance.adapters.api import (
    FLOATING,
    ChannelsLastComposition,
    Code,
    Step,
    Unsupported,
    call,
    dilation_argument,
    groups_argument,
    is_framework_same,
    per_axis,
    single_group,
    stride_argument,
    text_unless_default,
    tuple_of,
    uses_framework_defaults,
    with_dilated_kernel,
)
from conformance.adapters.tensorflow.dtypes import (
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    PLANE_RANK,
    VOLUME_RANK,
    array_padding_text,
    ones_per_axis,
    padding_name,
)
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
# On the CPU, transposed convolutions have groups and dilations in float32 and bfloat16 only, and other cropping than
# VALID and SAME in two dimensions only.
COMPOSITION = ChannelsLastComposition(
    scatter="tf.scatter_nd",
    split="tf.split({name}, {groups}, -1)",
    concatenate="tf.concat({parts}, -1)",
    pad="tf.pad",
    biased="tf.nn.bias_add(x, bias)",
)


# The one- and two-dimensional calls expand one number to all spatial axes; conv3d does not.
def _array_axes_text(step: Step, numbers: tuple[int, ...] | None) -> str | None:
    """Return strides or dilations as text: three-dimensional convolutions need a number for every axis of the array."""
    return per_axis(numbers) if step.rank != VOLUME_RANK else tuple_of([1, *(numbers or ()), 1])


def _convolution_text(step: Step, x: str = "x", kernel: str = "kernel") -> Code:
    padding = padding_name(step)
    # conv1d and conv3d accept the names only; conv2d also takes a list of pads.
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
    if infers_other_groups(step):
        return GROUPS_FROM_SHAPES
    if step.parameters["groups"] == 1:
        return None
    if step.rank == VOLUME_RANK:
        return NO_GROUPS_3D
    return None if not step.gradient or _uses_onednn(step, padding) else NO_GROUP_GRADIENT


def infers_other_groups(step: Step) -> bool:
    """Whether the shapes do not imply the number of groups: in a case to reject, or without channels."""
    if not step.kernel[1]:
        return bool(step.parameters["groups"] != 1)
    groups, remainder = divmod(step.shape[1], step.kernel[1])
    return remainder == 0 and groups != step.parameters["groups"]


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
        text = COMPOSITION.per_group(single_group(step), step.parameters["groups"], _convolution_text)
    return _with_bias(step, text)


def _with_bias(step: Step, text: Code) -> Code:
    return f"tf.nn.bias_add({text}, bias)" if step.bias and isinstance(text, str) else text


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
    # VALID and SAME are tried first: with explicit pads, oneDNN would not compute the call.
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
    name, dilations = f"tf.nn.conv{step.rank}d_transpose", dilation_argument(step)
    return call(name, x, kernel, output, per_axis(step.stride), text, dilations=dilations)


PADDING_RULES = {"VALID": "valid", "SAME": "same_upper"}


def native_transpose(step: Step) -> Code:
    """Return a transposed convolution as one call. Its cropping follows from the output shape that is passed to it."""
    if is_framework_same(step):
        sizes = (size * stride for size, stride in zip(step.shape[2:], step.stride or (), strict=True))
        output = tuple_of([step.shape[0], *sizes, step.channels])
        return call(f"tf.nn.conv{step.rank}d_transpose", "x", "kernel", output, per_axis(step.stride), '"SAME"')
    if uses_framework_defaults(step) and any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution takes the output shape, not output_padding")
    # TensorFlow compares the channels of the input and of the kernel, and takes the quotient as the groups.
    if step.parameters["groups"] < 1 or step.shape[1] % step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    return NO_BIAS if step.bias else _transposed_text(step)


def composed_transpose(step: Step) -> Code:
    """Return a transposed convolution whose groups, dilation, cropping and bias are separate calls where needed."""
    text = _transposed_text(step)
    return _with_bias(step, text) if isinstance(text, str) else COMPOSITION.transposed_lines(step, _transposed_text)


def layer_convolution(step: Step) -> Code:
    """Return a convolution as a layer with the weights of the case."""
    padding = padding_name(step)
    if padding is None:
        return LAYER_PADDING_ONLY
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    same = text_unless_default("VALID", padding, '"same"')
    layer = _layer_text(f"Conv{step.rank}D", step, step.kernel[0], padding=same, groups=groups_argument(step))
    return _weighted_layer_lines(layer, step)


def keras_layer_text(name: str, step: Step, filters: int, *, default_initializer: bool, **arguments: str | None) -> str:
    """Return the expression of a convolution layer of Keras. name: with its module.

    default_initializer: whether the layer can draw its initial weights.
    """
    return call(
        name,
        str(filters),
        per_axis(step.window),
        strides=stride_argument(step),
        # In the order of the signature: padding and output_padding come before dilation_rate.
        **{"padding": arguments.pop("padding"), "output_padding": arguments.pop("output_padding", None)},
        dilation_rate=dilation_argument(step),
        groups=arguments.pop("groups", None),
        use_bias=None if step.bias else "False",
        kernel_initializer=None if default_initializer else '"zeros"',
        **arguments,
        # Without a dtype, a layer casts its input to float32.
        dtype="x.dtype",
    )


def _layer_text(name: str, step: Step, filters: int, **arguments: str | None) -> str:
    # The default initializer, glorot_uniform, does not support integers.
    has_default = step.dtype in FLOATING
    return keras_layer_text(f"tf.keras.layers.{name}", step, filters, default_initializer=has_default, **arguments)


def _weighted_layer_lines(layer: str, step: Step) -> Code:
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    # build() first: the weights are variables that exist only then.
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
    return COMPOSITION.transposed_lines(step, _stateless_layer_text, _built_layer_lines)


def _stateless_layer_text(step: Step, x: str, kernel: str) -> Code:
    layer = _transposed_layer_text(step)
    return layer if isinstance(layer, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def _built_layer_lines(step: Step) -> tuple[str, ...]:
    shape = tuple_of([step.shape[0], *step.shape[2:], step.shape[1]])
    return (f"conv = {_transposed_layer_text(step)}", f"conv.build({shape})")
