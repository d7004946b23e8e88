"""JAX and Flax: how calls and layers are read, with the defaults of JAX 0.10 and Flax 0.12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import (
    SAME_AND_VALID_WORDS,
    Pairs,
    array_pads,
    choice_argument,
    count_argument,
    crop_from_padding,
    flag_argument,
    is_whole_number,
    kernel_reach,
    number_argument,
    one_per_axis,
    padding_argument,
    padding_from_crop,
    read_pairs,
    sizes_argument,
    sizes_or_ones_argument,
    spatial_entries,
)
from conformance.adapters.api.layer_parser import PlainName, UnreadableLayer
from conformance.adapters.api.layers import ArgumentReading, BoundCall, Dialect, LayerSignature

PADDING_WORDS = {**SAME_AND_VALID_WORDS, "same_lower": "same_lower"}


def _per_axis_argument(argument: str, words: Mapping[str, Any] | None = None) -> ArgumentReading:
    """Read what has a value for every axis of the array, channels first; None is 1."""

    def read(call: BoundCall, value: Any) -> Any:
        if value is None:
            return 1
        if words is not None and isinstance(value, str):
            return padding_argument(argument, words).convert(call, value)
        rest = spatial_entries(value, channels_last=False)
        if value[:2] not in {(1, 1), ((0, 0), (0, 0))}:
            raise UnreadableLayer("batch and channels take no part in a window here")
        return read_pairs(call, rest) if isinstance(value[0], tuple) else rest

    return ArgumentReading(argument, read)


def _reduction_operator(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return which extreme it is; the first value must be the one that never wins."""
    del found
    operation, first = call.arguments["computation"], call.arguments["init_value"]
    operators = {"max": ("max_pool", "-"), "min": ("min_pool", "")}
    name = str(operation).rpartition(".")[2]
    if not isinstance(operation, PlainName) or name not in operators:
        raise UnreadableLayer(f"computation={operation}: only lax.max and lax.min can be translated")
    operator, sign = operators[name]
    if str(first).rpartition(".")[2] not in {"inf"} or str(first).startswith("-") != bool(sign):
        raise UnreadableLayer(f"init_value={first}: only {sign}jnp.inf never wins")
    return {"operator": operator}


def _check_axis_names(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Leave the meaning as it is, if the names of axes have those of space in one order."""
    del found
    names = call.arguments["dimension_numbers"]
    if names is None:
        return {}
    plain = (
        isinstance(names, tuple) and len(names) == ARRAY_ARGUMENT_COUNT and all(isinstance(one, str) for one in names)
    )
    outside = ("NC", "OI", "NC")
    orders = {one.translate(dict.fromkeys(map(ord, drop))) for one, drop in zip(names, outside, strict=plain)}
    if not plain or len(orders) != 1:
        raise UnreadableLayer(
            f"dimension_numbers={names}: only letters for each axis, those of space in one order, can be read"
        )
    return {}


ARRAY_ARGUMENT_COUNT = 3
KERNEL_NOT_FLIPPED_NOTE = (
    "without transpose_kernel=True its kernel is not turned round: what follows has one that is flipped along every "
    "spatial axis"
)


def orientation_note(call: BoundCall) -> str:
    """Return what is to be said of a kernel that is not turned round."""
    return KERNEL_NOT_FLIPPED_NOTE if call.arguments["transpose_kernel"] is False else ""


def _transposed_padding(padding: Any, stride: tuple[int, ...], reach: tuple[int, ...]) -> Pairs:
    """Return the padding around the input with its holes that a word or numbers say, as JAX does."""
    if padding == "VALID":
        return tuple((cells - 1, max(cells, by) - 1) for cells, by in zip(reach, stride, strict=True))
    if padding == "SAME":
        both = [(cells + by - 2, cells, by) for cells, by in zip(reach, stride, strict=True)]
        first = [cells - 1 if by > cells - 1 else -(-total // 2) for total, cells, by in both]
        return tuple((before, total - before) for before, (total, *_) in zip(first, both, strict=True))
    if isinstance(padding, str):
        raise UnreadableLayer(f"padding={padding!r}: neither 'SAME' nor 'VALID'")
    ends = one_per_axis(padding, len(stride))
    if len(ends) != len(stride):
        raise UnreadableLayer(f"padding={padding}: not a pair for each spatial axis")
    return tuple(end if isinstance(end, tuple) else (end, end) for end in ends)


def transposed_parameters(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how far the output goes, which the padding around the input with its holes says."""
    window = found.get("window") or call.weight_shape("how far its output goes")[2:]
    stride, holes = (one_per_axis(found.get(name, 1), len(window)) for name in ("stride", "dilation"))
    if not len(window) == len(stride) == len(holes):
        raise UnreadableLayer(f"{len(stride)} strides for a kernel of {len(window)} spatial axes")
    said = found["padding"]
    laid = _transposed_padding(said, stride, kernel_reach(window, holes))
    if call.arguments.get("use_consistent_padding") is True and not isinstance(said, str):
        return padding_from_crop(laid, stride, holes)
    return padding_from_crop(crop_from_padding(laid, window, holes), stride, holes)


def _read_padding(call: BoundCall, value: Any) -> Any:
    """Read a word as such, numbers as pairs."""
    return value if isinstance(value, str) else padding_argument("padding").convert(call, value)


TRANSPOSED_ARGUMENTS = {
    "stride": sizes_or_ones_argument("strides"),
    "padding": ArgumentReading("padding", _read_padding),
}


def _read_edges(call: BoundCall, value: Any) -> Any:
    """Read what comes before, after and between the cells of every axis of the array, channels first."""
    if not isinstance(value, tuple) or not all(
        isinstance(edge, tuple) and len(edge) == ARRAY_ARGUMENT_COUNT and is_whole_number(edge[2]) for edge in value
    ):
        raise UnreadableLayer("not (before, after, between) for each axis of the array")
    if any(between for *_, between in value):
        raise UnreadableLayer("padding between the cells has no words here")
    return array_pads(call, tuple((before, after) for before, after, _ in value), channels_last=False)


def jnp_pad_signature(*, channels_last: bool) -> LayerSignature:
    """Return `jnp.pad` as it is written for one layout, which crops nothing."""
    modes = ("constant", "edge", "reflect", "symmetric", "wrap")
    return LayerSignature(
        "jnp.pad|jax.numpy.pad(array, pad_width, mode='constant', *, constant_values=0, reflect_type='even')",
        "pad",
        {
            "pads": ArgumentReading(
                "pad_width", lambda call, value: array_pads(call, value, channels_last=channels_last)
            ),
            "mode": choice_argument("mode", {mode: mode for mode in modes}),
            "value": number_argument("constant_values"),
        },
        array_arguments=("array",),
        required_values={"reflect_type": "even"},
    )


LAX_LAYERS = (
    LayerSignature(
        "reduce_window(operand, init_value, computation, window_dimensions, window_strides=None, padding='VALID', "
        "base_dilation=None, window_dilation=None)",
        "max_pool",
        {
            "window": _per_axis_argument("window_dimensions"),
            "stride": _per_axis_argument("window_strides"),
            "padding": _per_axis_argument("padding", SAME_AND_VALID_WORDS),
            "dilation": _per_axis_argument("window_dilation"),
        },
        array_arguments=("operand",),
        required_values={"base_dilation": None},
        adjust=_reduction_operator,
    ),
    LayerSignature(
        "conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, "
        "dimension_numbers=None, feature_group_count=1, batch_group_count=1)",
        "conv",
        {
            "stride": sizes_argument("window_strides"),
            "padding": padding_argument("padding", PADDING_WORDS),
            "dilation": sizes_or_ones_argument("rhs_dilation"),
            "groups": count_argument("feature_group_count"),
        },
        array_arguments=("lhs", "rhs"),
        required_values={"lhs_dilation": None, "batch_group_count": 1},
        ignored_arguments=("precision", "preferred_element_type", "out_sharding"),
        adjust=_check_axis_names,
    ),
    LayerSignature(
        "conv(lhs, rhs, window_strides, padding)",
        "conv",
        {"stride": sizes_argument("window_strides"), "padding": padding_argument("padding", PADDING_WORDS)},
        array_arguments=("lhs", "rhs"),
        ignored_arguments=("precision", "preferred_element_type"),
    ),
    LayerSignature(
        "conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None, transpose_kernel=False, "
        "precision=None, preferred_element_type=None, use_consistent_padding=False)",
        "conv_transpose",
        {**TRANSPOSED_ARGUMENTS, "dilation": sizes_or_ones_argument("rhs_dilation")},
        array_arguments=("lhs", "rhs"),
        required_values={"transpose_kernel": (False, True), "use_consistent_padding": (False, True)},
        adjust=lambda call, found: {**_check_axis_names(call, found), **transposed_parameters(call, found)},
        note=orientation_note,
    ),
    LayerSignature(
        "pad(operand, padding_value, padding_config)",
        "pad",
        {"pads": ArgumentReading("padding_config", _read_edges), "value": number_argument("padding_value")},
        array_arguments=("operand",),
    ),
)

JNP_PREFIXES = ("jnp", "jax.numpy")
LAX_DIALECTS = {
    "jax.lax": Dialect(("lax", "jax.lax", *JNP_PREFIXES), (*LAX_LAYERS, jnp_pad_signature(channels_last=False)))
}

WINDOW_ARGUMENTS = {
    "window": sizes_argument("window_shape"),
    "stride": sizes_or_ones_argument("strides"),
    "padding": padding_argument("padding", SAME_AND_VALID_WORDS),
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
    """Read the extents of a kernel: one number is one axis."""
    return sizes_argument("kernel_size").convert(call, (value,) if is_whole_number(value) else value)


KERNEL_ARGUMENTS = {
    "out_channels": count_argument("features"),
    "window": ArgumentReading("kernel_size", _read_kernel_extents),
    "dilation": sizes_or_ones_argument("kernel_dilation"),
    "bias": flag_argument("use_bias"),
}
CONVOLUTION_ARGUMENTS = {
    **KERNEL_ARGUMENTS,
    "stride": sizes_or_ones_argument("strides"),
    "padding": padding_argument("padding", SAME_AND_VALID_WORDS),
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
    name: str, first: str, rest: str, operator: str, reads: Mapping[str, ArgumentReading], **more: Any
) -> LayerSignature:
    """Return a layer, whose arguments after the strides Flax's newer API takes by name only."""
    signature = f"{name}({first}, kernel_size, strides=1, {'*, ' if first.startswith('in') else ''}padding='SAME', "
    return LayerSignature(f"{signature}{rest})", operator, reads, **more)


def _convolution_layers(
    first: str, reads: Mapping[str, ArgumentReading], ignored: tuple[str, ...]
) -> tuple[LayerSignature, ...]:
    """Return both layers with weights of one of Flax's APIs."""
    whole_input = {"input_dilation": (1, None), "mask": None}
    unmasked = {"mask": None, "transpose_kernel": (False, True)}
    return (
        _weighted_layer(
            "Conv",
            first,
            CONVOLUTION_DEFAULTS,
            "conv",
            {**CONVOLUTION_ARGUMENTS, **reads},
            must=whole_input,
            ignored=ignored,
        ),
        _weighted_layer(
            "ConvTranspose",
            first,
            f"{TRANSPOSED_DEFAULTS}, transpose_kernel=False",
            "conv_transpose",
            {**KERNEL_ARGUMENTS, **TRANSPOSED_ARGUMENTS, **reads},
            must=unmasked,
            ignored=ignored,
            meaning=transposed_parameters,
            note=orientation_note,
        ),
    )


PAD_SIGNATURE = jnp_pad_signature(channels_last=True)
DIALECTS = {
    **LAX_DIALECTS,
    "flax.nnx": Dialect(
        ("nnx", "flax.nnx", *JNP_PREFIXES),
        (
            *LINEN_POOLING_LAYERS,
            *_convolution_layers("in_features, out_features", CHANNEL_ARGUMENTS, NNX_IGNORED_ARGUMENTS),
            PAD_SIGNATURE,
        ),
    ),
    "flax.linen": Dialect(
        ("nn", "linen", "flax.linen", *JNP_PREFIXES),
        (*LINEN_POOLING_LAYERS, *_convolution_layers("features", {}, IGNORED_ARGUMENTS), PAD_SIGNATURE),
        ("apply",),
    ),
}
