"""Flax: how the calls and layers of flax.linen and flax.nnx are read, with the defaults of Flax 0.12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.jax_layers import JNP, TRANSPOSED, jnp_pad, orientation, transposed
from conformance.dialects import Call, Dialect, Layer, Reading
from conformance.layer_arguments import SAME, count, flag, ones, padding, sizes, whole

WINDOW = {"window": sizes("window_shape"), "stride": ones("strides"), "padding": padding("padding", SAME)}
LINEN = (
    Layer("max_pool(inputs, window_shape, strides=None, padding='VALID')", "max_pool", WINDOW, data=("inputs",)),
    Layer(
        "avg_pool(inputs, window_shape, strides=None, padding='VALID', count_include_pad=True)",
        "avg_pool",
        {**WINDOW, "count_include_pad": flag("count_include_pad")},
        data=("inputs",),
    ),
    Layer("min_pool(inputs, window_shape, strides=None, padding='VALID')", "min_pool", WINDOW, data=("inputs",)),
)


def _extents(call: Call, value: Any) -> Any:
    """Read the extents of a kernel: one number is one axis."""
    return sizes("kernel_size").convert(call, (value,) if whole(value) else value)


FILTER = {
    "out_channels": count("features"),
    "window": Reading("kernel_size", _extents),
    "dilation": ones("kernel_dilation"),
    "bias": flag("use_bias"),
}
CONV = {
    **FILTER,
    "stride": ones("strides"),
    "padding": padding("padding", SAME),
    "groups": count("feature_group_count"),
}
DRAWN = ("dtype", "param_dtype", "precision", "kernel_init", "bias_init", "promote_dtype", "preferred_element_type")
IGNORED = (*DRAWN, "parent", "name")
NNX_IGNORED = (*DRAWN, "rngs", "kernel_metadata", "bias_metadata")
FEATURES = {"channels": count("in_features"), "out_channels": count("out_features")}
CONVOLVED = "input_dilation=1, kernel_dilation=1, feature_group_count=1, use_bias=True, mask=None"
CROPPED = "kernel_dilation=None, use_bias=True, mask=None"


def _filters(name: str, first: str, rest: str, operator: str, reads: Mapping[str, Reading], **more: Any) -> Layer:
    """Return a layer, whose arguments after the strides Flax's newer API takes by name only."""
    signature = f"{name}({first}, kernel_size, strides=1, {'*, ' if first.startswith('in') else ''}padding='SAME', "
    return Layer(f"{signature}{rest})", operator, reads, **more)


def _convolutions(first: str, reads: Mapping[str, Reading], ignored: tuple[str, ...]) -> tuple[Layer, ...]:
    """Return both layers with weights of one of Flax's APIs."""
    whole_input = {"input_dilation": (1, None), "mask": None}
    unmasked = {"mask": None, "transpose_kernel": (False, True)}
    return (
        _filters("Conv", first, CONVOLVED, "conv", {**CONV, **reads}, must=whole_input, ignored=ignored),
        _filters(
            "ConvTranspose",
            first,
            f"{CROPPED}, transpose_kernel=False",
            "conv_transpose",
            {**FILTER, **TRANSPOSED, **reads},
            must=unmasked,
            ignored=ignored,
            meaning=transposed,
            note=orientation,
        ),
    )


PADDED = jnp_pad(channels_last=True)
DIALECTS = {
    "flax.nnx": Dialect(
        ("nnx", "flax.nnx", *JNP),
        (*LINEN, *_convolutions("in_features, out_features", FEATURES, NNX_IGNORED), PADDED),
    ),
    "flax.linen": Dialect(
        ("nn", "linen", "flax.linen", *JNP), (*LINEN, *_convolutions("features", {}, IGNORED), PADDED), ("apply",)
    ),
}
