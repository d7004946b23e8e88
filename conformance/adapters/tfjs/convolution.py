"""Convolutions and transposed convolutions of TensorFlow.js."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import Code, Step, Unsupported, is_depthwise, is_framework_same, named_padding
from conformance.adapters.api.javascript import call, list_of, per_axis
from conformance.adapters.tfjs.pooling import (
    LARGE_SIZE,
    MAX_SIZE,
    NEEDS_STRIDES,
    NO_STRIDED_DILATION,
    PLANE_RANK,
    SAME,
    VOLUME_RANK,
    padding_text,
)
from conformance.cases.operators import PaddingWord

VALID, SAME_UPPER = PaddingWord.VALID, PaddingWord.SAME_UPPER
ONE_GROUP = Unsupported("convolutions have one group")
NO_BIAS = Unsupported("only tf.fused.conv2d adds a bias")
NOT_OPPOSITE = Unsupported("the input is then not the output of the convolution in the opposite direction")
NO_PADDED_VOLUME = Unsupported("transposed convolutions of three axes take no padding by numbers")
LAYOUTS = {1: '"NWC"', 2: '"NHWC"', 3: '"NDHWC"'}


def _limit(step: Step, pads: str | None) -> Unsupported | None:
    """Return why no convolution supports the step, None if one does."""
    if step.stride is None:
        return NEEDS_STRIDES
    if step.dilated and any(stride != 1 for stride in step.stride):
        return NO_STRIDED_DILATION
    if step.gradient and step.dilated:
        return Unsupported('"dilation rates greater than 1 are not yet supported in gradients"')
    if step.rank != PLANE_RANK and pads not in ('"valid"', SAME):
        return Unsupported("convolutions of one and three axes take no padding by numbers for each axis")
    return None


def conv(step: Step) -> Code:
    """Return `tf.conv{1,2,3}d`, `tf.depthwiseConv2d`, or `tf.fused.conv2d` with a bias."""
    pads = padding_text(step, step.padding) if step.rank != 1 else _word(step)
    limit = _limit(step, pads)
    if limit:
        return limit
    groups = int(step.parameters.get("groups") or 1)
    strides, dilations = per_axis(step.stride or (), step.rank), per_axis(step.dilation, step.rank)
    arguments = (strides, pads, *((LAYOUTS[step.rank], dilations) if step.dilated else ()))
    if step.bias:
        if step.rank != PLANE_RANK or groups != 1:
            return NO_BIAS
        options = f"strides: {strides}, pad: {pads}, dilations: {dilations}"
        return f"tf.fused.conv2d({{ x, filter: kernel, {options}, bias }})"
    if groups == 1:
        return call(f"tf.conv{step.rank}d", "x", "kernel", *arguments)
    if step.rank != PLANE_RANK or not is_depthwise(step):
        return ONE_GROUP
    shape = list_of((*step.window, step.shape[1], step.kernel[0] // step.shape[1]))
    return call("tf.depthwiseConv2d", "x", f"tf.reshape(kernel, {shape})", *arguments)


def _word(step: Step) -> str | None:
    """Return the padding of a convolution of one axis, which takes a word."""
    return SAME if is_framework_same(step) else named_padding(step, {VALID: "valid", SAME_UPPER: "same"})


def checked(step: Step) -> Code:
    """Return a convolution whose kernel checks no arguments."""
    if not step.shape[1]:
        return Unsupported("without input channels the result is uninitialized memory")
    is_large = max((*(step.stride or ()), *step.dilation, *step.window)) > MAX_SIZE
    return LARGE_SIZE if is_large else conv(step)


def several_calls(step: Step) -> Code:
    """Return a convolution of each group, or a convolution and the addition of its bias."""
    groups = int(step.parameters.get("groups") or 1)
    without_bias = replace(step, bias=False)
    code = conv(without_bias)
    lines: tuple[str, ...]
    if isinstance(code, str):
        lines = (f"x = {code}",)
    elif groups == 1 or code is not ONE_GROUP:
        return code
    else:
        parameters = {**step.parameters, "groups": 1}
        one = conv(replace(without_bias, parameters=parameters))
        if not isinstance(one, str):
            return one
        one = one.replace("kernel", "kernels[n]")
        lines = (
            f"kernels = tf.split(kernel, {groups}, -1)",
            f"x = tf.concat(tf.split(x, {groups}, -1).map((x, n) => {one}), -1)",
        )
    return (*lines, "x = tf.add(x, bias)") if step.bias else lines


def _transpose_limit(step: Step) -> Unsupported | None:
    """Return why no transposed convolution supports the step, None if one does."""
    surplus = zip(step.parameters.get("output_padding") or (), step.stride or (), strict=False)
    is_padded = not is_framework_same(step) and step.padded
    limits = (
        (step.stride is None, NEEDS_STRIDES),
        (step.bias, Unsupported("transposed convolutions add no bias")),
        (int(step.parameters.get("groups") or 1) != 1, ONE_GROUP),
        (step.dilated, Unsupported("transposed convolutions have no dilation")),
        (any(added >= stride for added, stride in surplus), NOT_OPPOSITE),
        (min(step.stride or (1,)) < 1, Unsupported("with a stride of 0 the kernel never returns")),
        (step.rank == VOLUME_RANK and is_padded, NO_PADDED_VOLUME),
    )
    return next((unsupported for applies, unsupported in limits if applies), None)


def conv_transpose(step: Step) -> Code:
    """Return `tf.conv{2,3}dTranspose`."""
    limit = _transpose_limit(step)
    if limit:
        return limit
    is_same = is_framework_same(step)
    stride, pairs = [*(step.stride or ())], [] if is_same else [*step.padding]
    scaled = [size * factor for size, factor in zip(step.shape[2:], stride, strict=True)]
    output = scaled if is_same else [*step.output[2:]]
    x, kernel = "x", "kernel"
    if step.rank == 1:
        output, stride, pairs = [1, *output], [1, *stride], [(0, 0), *pairs]
        x, kernel = "tf.expandDims(x, 1)", "tf.expandDims(kernel, 0)"
    shape = list_of((step.shape[0], *output, step.channels))
    name = "tf.conv3dTranspose" if step.rank == VOLUME_RANK else "tf.conv2dTranspose"
    text = call(name, x, kernel, shape, per_axis(stride, len(stride)), padding_text(step, pairs))
    return f"tf.squeeze({text}, [1])" if step.rank == 1 else text


def transpose_with_bias(step: Step) -> Code:
    """Return a transposed convolution and the addition of its bias."""
    code = conv_transpose(replace(step, bias=False))
    return (f"x = {code}", "x = tf.add(x, bias)") if step.bias and isinstance(code, str) else code
