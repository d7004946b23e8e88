"""Signatures of `jax.lax` functions and of `jnp.pad`, with the defaults of JAX 0.10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    SAME_AND_VALID_WORDS,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    Pairs,
    PlainName,
    UnreadableLayer,
    array_pads,
    batch_and_channel_entries,
    count_argument,
    crop_from_padding,
    is_whole_number,
    kernel_reach,
    modes_argument,
    number_argument,
    one_per_axis,
    padding_argument,
    padding_from_crop,
    read_pairs,
    sizes_argument,
    spatial_entries,
)
from conformance.adapters.jax.resizing import RESIZE

OPERAND_COUNT = 3
"""Length of `dimension_numbers`: input, kernel and output."""
EDGE_LENGTH = 3
"""Length of an axis entry in `padding_config`: before, after and between the cells."""
PADDING_NAMES = {**SAME_AND_VALID_WORDS, "same_lower": "same_lower"}


NEUTRAL_ENTRIES = {(1, 1), ((0, 0), (0, 0))}
"""Entries of a window, stride or padding for batch and channels."""
CHANNELS_LAST_NOTE = "read as a call for arrays with channels last, because the second axis is part of the window"


def _has_channels_last(call: BoundCall) -> bool:
    """Whether the window includes the second axis and not the last one, as for arrays (n, *spatial, c)."""
    names = ("window_dimensions", "window_strides", "window_dilation", "padding")
    values = [value for value in map(call.arguments.get, names) if isinstance(value, tuple) and len(value) > 2]  # noqa: PLR2004
    channels_first = all(batch_and_channel_entries(one, channels_last=False) in NEUTRAL_ENTRIES for one in values)
    return not channels_first and all(
        batch_and_channel_entries(one, channels_last=True) in NEUTRAL_ENTRIES for one in values
    )


def _per_axis_argument(argument: str, names: Mapping[str, Any] | None = None) -> ArgumentReading:
    """Read a value for every axis of the array; None means 1. names: padding by name, if accepted."""

    def read(call: BoundCall, value: Any) -> Any:
        if value is None:
            return 1
        if names is not None and isinstance(value, str):
            return padding_argument(argument, names).convert(call, value)
        channels_last = _has_channels_last(call)
        spatial = spatial_entries(value, channels_last=channels_last)
        if batch_and_channel_entries(value, channels_last=channels_last) not in NEUTRAL_ENTRIES:
            raise UnreadableLayer("batch and channels cannot be part of a window")
        return read_pairs(call, spatial) if isinstance(value[0], tuple) else spatial

    return ArgumentReading(argument, read)


def _reduction_operator(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Return whether it is max or min pooling. The initial value must be the neutral element of that operation."""
    del parameters
    operation, initial = call.arguments["computation"], call.arguments["init_value"]
    operators = {"max": ("max_pool", "-"), "min": ("min_pool", "")}
    name = str(operation).rpartition(".")[2]
    if not isinstance(operation, PlainName) or name not in operators:
        raise UnreadableLayer(f"computation={operation}: only lax.max and lax.min can be translated")
    operator, sign = operators[name]
    # Another initial value would be an additional operand of every window.
    if str(initial).rpartition(".")[2] not in {"inf"} or str(initial).startswith("-") != bool(sign):
        raise UnreadableLayer(f"init_value={initial}: only {sign}jnp.inf can be translated")
    return {"operator": operator}


def _check_axis_names(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Check that `dimension_numbers` is the default or names the spatial axes of all arrays in one order.

    Returns no parameters, since the names then change nothing.
    """
    del parameters
    names = call.arguments["dimension_numbers"]
    if names is None:
        return {}
    has_letters = (
        isinstance(names, tuple) and len(names) == OPERAND_COUNT and all(isinstance(letters, str) for letters in names)
    )
    # Letters of the non-spatial axes are removed; what remains is the order of the spatial axes.
    non_spatial = ("NC", "OI", "NC")
    orders = {
        letters.translate(dict.fromkeys(map(ord, dropped)))
        for letters, dropped in zip(names, non_spatial, strict=has_letters)
    }
    if not has_letters or len(orders) != 1:
        raise UnreadableLayer(
            f"dimension_numbers={names}: only strings of axis letters with the spatial axes in one order can be read"
        )
    return {}


# The default of JAX and Flax. The case is the same convolution with a flipped kernel, so the text needs a note.
KERNEL_NOT_FLIPPED_NOTE = (
    "without transpose_kernel=True the kernel is not flipped: the translated case has a kernel flipped along every "
    "spatial axis"
)


def orientation_note(call: BoundCall) -> str:
    """Return the note for a layer that does not flip its kernel."""
    return KERNEL_NOT_FLIPPED_NOTE if call.arguments["transpose_kernel"] is False else ""


def _dilated_input_padding(padding: Any, strides: tuple[int, ...], reach: tuple[int, ...]) -> Pairs:
    """Return the padding of the dilated input, from a padding name or from numbers, as JAX computes it."""
    if padding == "VALID":
        return tuple((extent - 1, max(extent, stride) - 1) for extent, stride in zip(reach, strides, strict=True))
    # lax._conv_transpose_padding: SAME is defined by the output size, not by the padding of a forward convolution.
    if padding == "SAME":
        axes = [(extent + stride - 2, extent, stride) for extent, stride in zip(reach, strides, strict=True)]
        starts = [extent - 1 if stride > extent - 1 else -(-total // 2) for total, extent, stride in axes]
        return tuple((before, total - before) for before, (total, *_) in zip(starts, axes, strict=True))
    if isinstance(padding, str):
        raise UnreadableLayer(f"padding={padding!r}: neither 'SAME' nor 'VALID'")
    # Numbers are the padding of the dilated input itself.
    ends = one_per_axis(padding, len(strides))
    if len(ends) != len(strides):
        raise UnreadableLayer(f"padding={padding}: not a pair for each spatial axis")
    return tuple(end if isinstance(end, tuple) else (end, end) for end in ends)


def transposed_parameters(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Return the padding and output padding, from the padding of the dilated input."""
    window = parameters.get("window") or call.weight_shape("the output size")[2:]
    strides, dilation = (one_per_axis(parameters.get(name, 1), len(window)) for name in ("stride", "dilation"))
    if not len(window) == len(strides) == len(dilation):
        raise UnreadableLayer(f"{len(strides)} strides for a kernel of {len(window)} spatial axes")
    padding = parameters["padding"]
    pads = _dilated_input_padding(padding, strides, kernel_reach(window, dilation))
    # With consistent padding, numbers mean the padding of the forward convolution, while names are unchanged.
    if call.arguments.get("use_consistent_padding") is True and not isinstance(padding, str):
        return padding_from_crop(pads, strides, dilation)
    return padding_from_crop(crop_from_padding(pads, window, dilation), strides, dilation)


TRANSPOSED_ARGUMENTS = {
    "stride": sizes_argument("strides", default=1),
    # A name is resolved later, once stride and dilation are known.
    "padding": ArgumentReading(
        "padding",
        lambda call, value: value if isinstance(value, str) else padding_argument("padding").convert(call, value),
    ),
}


def _read_edges(call: BoundCall, value: Any) -> Any:
    """Read the padding before, after and between the cells of every axis of the array, channels first."""
    if not isinstance(value, tuple) or not all(
        isinstance(edge, tuple) and len(edge) == EDGE_LENGTH and is_whole_number(edge[2]) for edge in value
    ):
        raise UnreadableLayer("not (before, after, between) for each axis of the array")
    if any(between for *_, between in value):
        raise UnreadableLayer("padding between the cells cannot be translated")
    return array_pads(call, tuple((before, after) for before, after, _ in value), channels_last=False)


def jnp_pad_signature(*, channels_last: bool) -> LayerSignature:
    """Return the signature of `jnp.pad` for one layout."""
    return LayerSignature(
        "jnp.pad|jax.numpy.pad(array, pad_width, mode='constant', *, constant_values=0, reflect_type='even')",
        "pad",
        {
            "pads": ArgumentReading(
                "pad_width", lambda call, value: array_pads(call, value, channels_last=channels_last)
            ),
            "mode": modes_argument("mode", "constant", "edge", "reflect", "symmetric", "wrap"),
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
        # A base dilation inserts cells between those of the input, which no parameter of the catalogue does.
        required_values={"base_dilation": None},
        adjust=_reduction_operator,
        note=lambda call: CHANNELS_LAST_NOTE if _has_channels_last(call) else "",
    ),
    LayerSignature(
        "conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, "
        "dimension_numbers=None, feature_group_count=1, batch_group_count=1)",
        "conv",
        {
            "stride": sizes_argument("window_strides"),
            "padding": padding_argument("padding", PADDING_NAMES),
            "dilation": sizes_argument("rhs_dilation", default=1),
            "groups": count_argument("feature_group_count"),
        },
        array_arguments=("lhs", "rhs"),
        # lhs_dilation makes the call a transposed convolution, batch_group_count a gradient.
        required_values={"lhs_dilation": None, "batch_group_count": 1},
        ignored_arguments=("precision", "preferred_element_type", "out_sharding"),
        adjust=_check_axis_names,
    ),
    LayerSignature(
        "conv(lhs, rhs, window_strides, padding)",
        "conv",
        {"stride": sizes_argument("window_strides"), "padding": padding_argument("padding", PADDING_NAMES)},
        array_arguments=("lhs", "rhs"),
        ignored_arguments=("precision", "preferred_element_type"),
    ),
    LayerSignature(
        "conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None, transpose_kernel=False, "
        "precision=None, preferred_element_type=None, use_consistent_padding=False)",
        "conv_transpose",
        {**TRANSPOSED_ARGUMENTS, "dilation": sizes_argument("rhs_dilation", default=1)},
        array_arguments=("lhs", "rhs"),
        required_values={"transpose_kernel": (False, True), "use_consistent_padding": (False, True)},
        adjust=lambda call, parameters: {
            **_check_axis_names(call, parameters),
            **transposed_parameters(call, parameters),
        },
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
DIALECTS = {
    "jax.lax": Dialect(
        ("lax", "jax.lax", "jax.image", "image", *JNP_PREFIXES),
        (*LAX_LAYERS, RESIZE, jnp_pad_signature(channels_last=False)),
    )
}
