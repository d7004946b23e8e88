"""Convolutions in JAX: `jax.lax` channels first, `flax.linen` layers that get the case's weights."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapter import Code, Unsupported
from conformance.adapters.jax_windows import jitted, padding_text
from conformance.code import call, number, tuple_of, unless
from conformance.left import by_default, own_same
from conformance.steps import Pairs, Step
from conformance.values import DTYPES

SPATIAL = "DHW"
NO_BIAS = Unsupported("lax convolutions have no bias")
NO_FURTHER = Unsupported("padding alone says how far the output goes")
NO_NAMES = Unsupported("axes beyond three have no names here")


def _holes(step: Step) -> str | None:
    return tuple_of(step.dilation) if step.dilated else None


def _convolved(step: Step, *lines: str) -> Code:
    """Return lines that convolve, and add the bias if there is one, as one function."""
    added = f"x = x + bias.reshape(1, -1{', 1' * step.rank})"
    names = ("x", "kernel", "bias") if step.bias else ("x", "kernel")
    return jitted(*lines, *(added,) * step.bias, names=names, called="convolve")


def lax_conv(step: Step) -> Code:
    """Return the call."""
    if step.bias:
        return NO_BIAS
    groups = unless(1, step.parameters["groups"])
    arguments = (tuple_of(step.stride or ()), padding_text(step.padding, step))
    return call(
        "lax.conv_general_dilated", "x", "kernel", *arguments, rhs_dilation=_holes(step), feature_group_count=groups
    )


def biased_conv(step: Step) -> Code:
    """Return the call, and the bias added."""
    return _convolved(step, f"x = {lax_conv(replace(step, bias=False))}")


def _further(step: Step) -> Pairs:
    """Return the padding of the convolution whose adjoint it is, shorter by the output padding."""
    further = zip(step.padding, step.parameters["output_padding"], strict=True)
    return tuple((before, after - more) for (before, after), more in further)


def _laid_out(step: Step) -> Pairs:
    """Return the padding around the input with its holes: what the kernel reaches, less the padding of the output."""
    axes = zip(step.window, step.dilation, _further(step), strict=True)
    return tuple((d * (w - 1) - before, d * (w - 1) - after) for w, d, (before, after) in axes)


def _by_default(step: Step) -> Unsupported | None:
    """Return why a question cannot be put to a call that is told no orientation of its kernel."""
    if any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution has no output padding")
    return None if own_same(step) or not step.padded else Unsupported("the padding is around the input with holes")


def lax_transpose(step: Step) -> Code:
    """Return the call; only with consistent padding its numbers are those of the convolution."""
    if step.bias:
        return NO_BIAS
    if step.parameters["groups"] != 1:
        return Unsupported("lax.conv_transpose has no groups")
    if min(step.parameters["output_padding"]) < 0:
        return NO_FURTHER
    if step.rank > len(SPATIAL):
        return NO_NAMES
    names = SPATIAL[-step.rank :]
    if by_default(step):
        return _by_default(step) or call(
            "lax.conv_transpose",
            "x",
            "kernel",
            tuple_of(step.stride or ()),
            padding_text(step.padding, step),
            dimension_numbers=str((f"NC{names}", f"IO{names}", f"NC{names}")).replace("'", '"'),
        )
    return call(
        "lax.conv_transpose",
        "x",
        "kernel",
        tuple_of(step.stride or ()),
        str(_further(step)),
        rhs_dilation=_holes(step),
        dimension_numbers=str((f"NC{names}", f"OI{names}", f"NC{names}")).replace("'", '"'),
        transpose_kernel="True",
        use_consistent_padding="True",
    )


def composed_transpose(step: Step) -> Code:
    """Return the convolution of the input with holes; its kernel is turned round and its groups put in order."""
    if step.parameters["groups"] == 1:
        answer = lax_transpose(replace(step, bias=False))
        return answer if isinstance(answer, Unsupported) else _convolved(step, f"x = {answer}")
    groups, (channels, outputs), window = int(step.parameters["groups"]), step.kernel[:2], step.window
    parts = tuple_of((groups, channels // groups, outputs, *window))
    whole = tuple_of((groups * outputs, channels // groups, *window))
    turned = f"jnp.flip(kernel, {tuple_of(range(2, 2 + step.rank))}).reshape{parts}"
    convolved = call(
        "lax.conv_general_dilated",
        "x",
        "turned",
        tuple_of((1,) * step.rank),
        str(_laid_out(step)),
        lhs_dilation=tuple_of(step.stride or ()),
        rhs_dilation=_holes(step),
        feature_group_count=number(groups),
    )
    return _convolved(step, f"turned = {turned}.swapaxes(1, 2).reshape{whole}", f"x = {convolved}")


def _layer(name: str, features: int, step: Step, padding: str, **keywords: str | None) -> str:
    return call(
        f"nn.{name}",
        str(features),
        tuple_of(step.window),
        strides=tuple_of(step.stride or ()),
        padding=padding,
        kernel_dilation=_holes(step),
        **keywords,
        use_bias=None if step.bias else "False",
    )


def _whole(step: Step) -> Unsupported | None:
    if DTYPES[step.dtype].kind in "fV":
        return None
    return Unsupported("flax layers compute whole numbers in float32")


def _weights(step: Step) -> str:
    return '{"kernel": kernel, "bias": bias}' if step.bias else '{"kernel": kernel}'


def linen_conv(step: Step) -> Code:
    """Return the layer, applied with the case's weights."""
    groups = unless(1, step.parameters["groups"])
    layer = _layer("Conv", step.kernel[0], step, padding_text(step.padding, step), feature_group_count=groups)
    return _whole(step) or f'{layer}.apply({{"params": {_weights(step)}}}, x)'


def linen_transpose(step: Step) -> Code:
    """Return the layer; its padding goes around the input with its holes."""
    if step.parameters["groups"] != 1:
        return Unsupported("flax.linen.ConvTranspose has no groups")
    if by_default(step):
        layer = _layer("ConvTranspose", step.kernel[1], step, padding_text(step.padding, step))
        return _by_default(step) or f'{layer}.apply({{"params": {_weights(step)}}}, x)'
    if min(step.parameters["output_padding"]) < 0:
        return NO_FURTHER
    layer = _layer("ConvTranspose", step.kernel[1], step, str(_laid_out(step)), transpose_kernel="True")
    return _whole(step) or f'{layer}.apply({{"params": {_weights(step)}}}, x)'


def linen_groups(step: Step) -> Code:
    """Return one layer a group, side by side."""
    groups = int(step.parameters["groups"])
    if _whole(step) or groups == 1:
        return linen_transpose(step)
    layer = _layer("ConvTranspose", step.kernel[1], step, str(_laid_out(step)), transpose_kernel="True")
    arrays = {"x": "part", "kernel": "weights"} | ({"bias": "shift"} if step.bias else {})
    split = ", ".join(f"jnp.split({name}, {groups}, -1)" for name in arrays)
    weights = ", ".join(f'"{name}": {part}' for name, part in arrays.items() if name != "x")
    loop = f"for {', '.join(arrays.values())} in zip({split})"
    return (f"layer = {layer}", f'x = jnp.concatenate([layer.apply({{"params": {{{weights}}}}}, part) {loop}], -1)')
