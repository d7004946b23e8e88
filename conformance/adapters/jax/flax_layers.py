"""Signatures of Flax functions and layers, with the defaults of Flax 0.12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    CAUSAL,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    causal_padding,
    count_argument,
    flag_argument,
    is_whole_number,
    padding_argument,
    sizes_argument,
)
from conformance.adapters.jax.layers import (
    JNP_PREFIXES,
    PADDING_NAMES,
    TRANSPOSED_ARGUMENTS,
    jnp_pad_signature,
    orientation_note,
    transposed_parameters,
)
from conformance.adapters.jax.resize_reading import IMAGE_PREFIXES, resize_signature

WINDOW_ARGUMENTS = {
    "window": sizes_argument("window_shape"),
    "stride": sizes_argument("strides", default=1),
    "padding": padding_argument("padding", PADDING_NAMES),
}
LINEN_POOLING_LAYERS = (
    LayerSignature(
        "max_pool(inputs, window_shape, strides=None, padding='VALID')",
        "max_pool",
        WINDOW_ARGUMENTS,
        array_arguments=("inputs",),
    ),
    LayerSignature(
        "avg_pool(inputs, window_shape, strides=None, padding='VALID', count_include_pad=True)",
        "avg_pool",
        {**WINDOW_ARGUMENTS, "count_include_pad": flag_argument("count_include_pad")},
        array_arguments=("inputs",),
    ),
    LayerSignature(
        "min_pool(inputs, window_shape, strides=None, padding='VALID')",
        "min_pool",
        WINDOW_ARGUMENTS,
        array_arguments=("inputs",),
    ),
)


def _read_kernel_extents(call: BoundCall, value: Any) -> Any:
    """Read the extents of a kernel. A single number means one spatial axis."""
    # nn.Conv(8, 3) is one-dimensional in Flax for every input; other frameworks have the rank in the name.
    return sizes_argument("kernel_size").convert(call, (value,) if is_whole_number(value) else value)


KERNEL_ARGUMENTS = {
    "out_channels": count_argument("features"),
    "window": ArgumentReading("kernel_size", _read_kernel_extents),
    "dilation": sizes_argument("kernel_dilation", default=1),
    "bias": flag_argument("use_bias"),
}
CONVOLUTION_ARGUMENTS = {
    **KERNEL_ARGUMENTS,
    "stride": sizes_argument("strides", default=1),
    "padding": padding_argument("padding", {**PADDING_NAMES, CAUSAL: CAUSAL}),
    "groups": count_argument("feature_group_count"),
}
INITIALISER_ARGUMENTS = (
    "dtype",
    "param_dtype",
    "precision",
    "kernel_init",
    "bias_init",
    "promote_dtype",
    "preferred_element_type",
)
IGNORED_ARGUMENTS = (*INITIALISER_ARGUMENTS, "parent", "name")
NNX_IGNORED_ARGUMENTS = (*INITIALISER_ARGUMENTS, "rngs", "kernel_metadata", "bias_metadata")
CHANNEL_ARGUMENTS = {"channels": count_argument("in_features"), "out_channels": count_argument("out_features")}
CONVOLUTION_DEFAULTS = "input_dilation=1, kernel_dilation=1, feature_group_count=1, use_bias=True, mask=None"
TRANSPOSED_DEFAULTS = "kernel_dilation=None, use_bias=True, mask=None"


def _weighted_layer(
    name: str, features: str, defaults: str, operator: str, readings: Mapping[str, ArgumentReading], **fields: Any
) -> LayerSignature:
    """Return a layer with weights. In NNX, the arguments after the strides are keyword-only."""
    # In Linen a layer is a dataclass, whose fields are positional; NNX has constructors.
    keyword_only = "*, " if features.startswith("in") else ""
    signature = f"{name}({features}, kernel_size, strides=1, {keyword_only}padding='SAME', {defaults})"
    return LayerSignature(signature, operator, readings, **fields)


def _convolution_layers(
    features: str, readings: Mapping[str, ArgumentReading], ignored: tuple[str, ...]
) -> tuple[LayerSignature, ...]:
    """Return the convolution layers of one API of Flax. features: its arguments for the numbers of channels."""
    # input_dilation inserts cells between those of the input; a mask multiplies the kernel.
    undilated_input = {"input_dilation": (1, None), "mask": None}
    unmasked = {"mask": None, "transpose_kernel": (False, True)}
    return (
        _weighted_layer(
            "Conv",
            features,
            CONVOLUTION_DEFAULTS,
            "conv",
            {**CONVOLUTION_ARGUMENTS, **readings},
            required_values=undilated_input,
            ignored_arguments=ignored,
            adjust=causal_padding,
        ),
        _weighted_layer(
            "ConvTranspose",
            features,
            f"{TRANSPOSED_DEFAULTS}, transpose_kernel=False",
            "conv_transpose",
            {**KERNEL_ARGUMENTS, **TRANSPOSED_ARGUMENTS, **readings},
            required_values=unmasked,
            ignored_arguments=ignored,
            adjust=transposed_parameters,
            note=orientation_note,
        ),
    )


# Flax has no padding of its own; its users call jnp.pad, with channels last.
PAD_SIGNATURE = jnp_pad_signature(channels_last=True)
RESIZE_SIGNATURE = resize_signature(channels_last=True)
DIALECTS = {
    "flax.nnx": Dialect(
        ("nnx", "flax.nnx", *JNP_PREFIXES, *IMAGE_PREFIXES),
        (
            *LINEN_POOLING_LAYERS,
            *_convolution_layers("in_features, out_features", CHANNEL_ARGUMENTS, NNX_IGNORED_ARGUMENTS),
            PAD_SIGNATURE,
            RESIZE_SIGNATURE,
        ),
    ),
    "flax.linen": Dialect(
        ("nn", "linen", "flax.linen", *JNP_PREFIXES, *IMAGE_PREFIXES),
        (
            *LINEN_POOLING_LAYERS,
            *_convolution_layers("features", {}, IGNORED_ARGUMENTS),
            PAD_SIGNATURE,
            RESIZE_SIGNATURE,
        ),
        ("apply",),
    ),
}
