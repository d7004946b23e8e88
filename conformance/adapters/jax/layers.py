"""JAX and Flax: how calls and layers are read, with the defaults of JAX 0.10 and Flax 0.12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import (
    SAME,
    Pairs,
    around,
    array_ends,
    choice,
    count,
    cropped,
    flag,
    number,
    ones,
    padding,
    pairs,
    reaches,
    sizes,
    spatial,
    spread,
    whole,
)
from conformance.adapters.api.layer_parser import Unread, Word
from conformance.adapters.api.layers import Call, Dialect, Layer, Reading

WORDS = {**SAME, "same_lower": "same_lower"}


def _axes(argument: str, words: Mapping[str, Any] | None = None) -> Reading:
    """Read what has a value for every axis of the array, channels first; None is 1."""

    def read(call: Call, value: Any) -> Any:
        if value is None:
            return 1
        if words is not None and isinstance(value, str):
            return padding(argument, words).convert(call, value)
        rest = spatial(value, channels_last=False)
        if value[:2] not in {(1, 1), ((0, 0), (0, 0))}:
            raise Unread("batch and channels take no part in a window here")
        return pairs(call, rest) if isinstance(value[0], tuple) else rest

    return Reading(argument, read)


def _reduction(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return which extreme it is; the first value must be the one that never wins."""
    del found
    operation, first = call.arguments["computation"], call.arguments["init_value"]
    operators = {"max": ("max_pool", "-"), "min": ("min_pool", "")}
    name = str(operation).rpartition(".")[2]
    if not isinstance(operation, Word) or name not in operators:
        raise Unread(f"computation={operation}: only lax.max and lax.min can be translated")
    operator, sign = operators[name]
    if str(first).rpartition(".")[2] not in {"inf"} or str(first).startswith("-") != bool(sign):
        raise Unread(f"init_value={first}: only {sign}jnp.inf never wins")
    return {"operator": operator}


def _named_axes(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Leave the meaning as it is, if the names of axes have those of space in one order."""
    del found
    names = call.arguments["dimension_numbers"]
    if names is None:
        return {}
    plain = isinstance(names, tuple) and len(names) == ARRAYS and all(isinstance(one, str) for one in names)
    outside = ("NC", "OI", "NC")
    orders = {one.translate(dict.fromkeys(map(ord, drop))) for one, drop in zip(names, outside, strict=plain)}
    if not plain or len(orders) != 1:
        raise Unread(f"dimension_numbers={names}: only letters for each axis, those of space in one order, can be read")
    return {}


ARRAYS = 3
NOT_TURNED = (
    "without transpose_kernel=True its kernel is not turned round: what follows has one that is flipped along every "
    "spatial axis"
)


def orientation(call: Call) -> str:
    """Return what is to be said of a kernel that is not turned round."""
    return NOT_TURNED if call.arguments["transpose_kernel"] is False else ""


def _laid_out(padding: Any, stride: tuple[int, ...], reach: tuple[int, ...]) -> Pairs:
    """Return the padding around the input with its holes that a word or numbers say, as JAX does."""
    if padding == "VALID":
        return tuple((cells - 1, max(cells, by) - 1) for cells, by in zip(reach, stride, strict=True))
    if padding == "SAME":
        both = [(cells + by - 2, cells, by) for cells, by in zip(reach, stride, strict=True)]
        first = [cells - 1 if by > cells - 1 else -(-total // 2) for total, cells, by in both]
        return tuple((before, total - before) for before, (total, *_) in zip(first, both, strict=True))
    if isinstance(padding, str):
        raise Unread(f"padding={padding!r}: neither 'SAME' nor 'VALID'")
    ends = spread(padding, len(stride))
    if len(ends) != len(stride):
        raise Unread(f"padding={padding}: not a pair for each spatial axis")
    return tuple(end if isinstance(end, tuple) else (end, end) for end in ends)


def transposed(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how far the output goes, which the padding around the input with its holes says."""
    window = found.get("window") or call.weights("how far its output goes")[2:]
    stride, holes = (spread(found.get(name, 1), len(window)) for name in ("stride", "dilation"))
    if not len(window) == len(stride) == len(holes):
        raise Unread(f"{len(stride)} strides for a kernel of {len(window)} spatial axes")
    said = found["padding"]
    laid = _laid_out(said, stride, reaches(window, holes))
    if call.arguments.get("use_consistent_padding") is True and not isinstance(said, str):
        return cropped(laid, stride, holes)
    return cropped(around(laid, window, holes), stride, holes)


def _as_it_stands(call: Call, value: Any) -> Any:
    """Read a word as such, numbers as pairs."""
    return value if isinstance(value, str) else padding("padding").convert(call, value)


TRANSPOSED = {"stride": ones("strides"), "padding": Reading("padding", _as_it_stands)}


def _edges(call: Call, value: Any) -> Any:
    """Read what comes before, after and between the cells of every axis of the array, channels first."""
    if not isinstance(value, tuple) or not all(
        isinstance(edge, tuple) and len(edge) == ARRAYS and whole(edge[2]) for edge in value
    ):
        raise Unread("not (before, after, between) for each axis of the array")
    if any(between for *_, between in value):
        raise Unread("padding between the cells has no words here")
    return array_ends(call, tuple((before, after) for before, after, _ in value), channels_last=False)


def jnp_pad(*, channels_last: bool) -> Layer:
    """Return `jnp.pad` as it is written for one layout, which crops nothing."""
    modes = ("constant", "edge", "reflect", "symmetric", "wrap")
    return Layer(
        "jnp.pad|jax.numpy.pad(array, pad_width, mode='constant', *, constant_values=0, reflect_type='even')",
        "pad",
        {
            "pads": Reading("pad_width", lambda call, value: array_ends(call, value, channels_last=channels_last)),
            "mode": choice("mode", {mode: mode for mode in modes}),
            "value": number("constant_values"),
        },
        data=("array",),
        must={"reflect_type": "even"},
    )


LAX = (
    Layer(
        "reduce_window(operand, init_value, computation, window_dimensions, window_strides=None, padding='VALID', "
        "base_dilation=None, window_dilation=None)",
        "max_pool",
        {
            "window": _axes("window_dimensions"),
            "stride": _axes("window_strides"),
            "padding": _axes("padding", SAME),
            "dilation": _axes("window_dilation"),
        },
        data=("operand",),
        must={"base_dilation": None},
        meaning=_reduction,
    ),
    Layer(
        "conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None, "
        "dimension_numbers=None, feature_group_count=1, batch_group_count=1)",
        "conv",
        {
            "stride": sizes("window_strides"),
            "padding": padding("padding", WORDS),
            "dilation": ones("rhs_dilation"),
            "groups": count("feature_group_count"),
        },
        data=("lhs", "rhs"),
        must={"lhs_dilation": None, "batch_group_count": 1},
        ignored=("precision", "preferred_element_type", "out_sharding"),
        meaning=_named_axes,
    ),
    Layer(
        "conv(lhs, rhs, window_strides, padding)",
        "conv",
        {"stride": sizes("window_strides"), "padding": padding("padding", WORDS)},
        data=("lhs", "rhs"),
        ignored=("precision", "preferred_element_type"),
    ),
    Layer(
        "conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None, transpose_kernel=False, "
        "precision=None, preferred_element_type=None, use_consistent_padding=False)",
        "conv_transpose",
        {**TRANSPOSED, "dilation": ones("rhs_dilation")},
        data=("lhs", "rhs"),
        must={"transpose_kernel": (False, True), "use_consistent_padding": (False, True)},
        meaning=lambda call, found: {**_named_axes(call, found), **transposed(call, found)},
        note=orientation,
    ),
    Layer(
        "pad(operand, padding_value, padding_config)",
        "pad",
        {"pads": Reading("padding_config", _edges), "value": number("padding_value")},
        data=("operand",),
    ),
)

JNP = ("jnp", "jax.numpy")
LAX_DIALECTS = {"jax.lax": Dialect(("lax", "jax.lax", *JNP), (*LAX, jnp_pad(channels_last=False)))}

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
    **LAX_DIALECTS,
    "flax.nnx": Dialect(
        ("nnx", "flax.nnx", *JNP),
        (*LINEN, *_convolutions("in_features, out_features", FEATURES, NNX_IGNORED), PADDED),
    ),
    "flax.linen": Dialect(
        ("nn", "linen", "flax.linen", *JNP), (*LINEN, *_convolutions("features", {}, IGNORED), PADDED), ("apply",)
    ),
}
