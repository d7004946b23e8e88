"""Apache MXNet: signatures of Gluon layers and of npx and nd calls, with the defaults of MXNet 1.9.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.adapters.api import (
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    UnreadableLayer,
    axis_letters,
    choice_argument,
    count_argument,
    flag_argument,
    is_whole_number,
    modes_argument,
    number_argument,
    rounding_argument,
    sizes_argument,
)
from conformance.adapters.api.blocks.reading import block_layers
from conformance.adapters.api.columns.reading import ColumnArguments, column_layers
from conformance.adapters.api.normalization.reading import normalization_layer
from conformance.cases.operators import BlockOrder

POOLING_ARGUMENTS = {
    "window": sizes_argument("pool_size"),
    "stride": sizes_argument("strides"),
    "padding": sizes_argument("padding"),
    # ceil_mode selects the convention `full`, which keeps a last window that starts in the padding.
    "rounding": rounding_argument("ceil_mode", "full"),
}
AVERAGE_POOLING_ARGUMENTS = {**POOLING_ARGUMENTS, "count_include_pad": flag_argument("count_include_pad")}
WEIGHTED_ARGUMENTS = {
    "out_channels": count_argument("channels"),
    "window": sizes_argument("kernel_size"),
    "stride": sizes_argument("strides"),
    "padding": sizes_argument("padding"),
    "dilation": sizes_argument("dilation"),
    "groups": count_argument("groups"),
    "bias": flag_argument("use_bias"),
    # 0 means that the layer infers the number at the first call.
    "channels": ArgumentReading("in_channels", lambda _call, value: value or None),
}
IGNORED_ARGUMENTS = ("weight_initializer", "bias_initializer", "prefix", "params")


def _layers_by_rank(
    name: str, signature: str, operator: str, readings: Mapping[str, ArgumentReading], **required: Any
) -> Iterator[LayerSignature]:
    """Yield the layer for 1, 2 and 3 spatial axes. The word `layout` in the signature becomes the default layout."""
    for rank in (1, 2, 3):
        layout = f"NC{axis_letters(rank)}"
        with_layout = signature.replace("layout", f"layout='{layout}'")
        yield LayerSignature(
            f"{name.format(rank)}({with_layout})",
            operator,
            readings,
            ignored_arguments=IGNORED_ARGUMENTS,
            required_values={"layout": (None, layout), **required},
        )


def _with_ceil_mode_first(layers: Iterator[LayerSignature], *ranks: int) -> Iterator[LayerSignature]:
    """Yield the layers; for the given ranks, `ceil_mode` comes before `layout`, as in MXNet's signatures."""
    for rank, layer in enumerate(layers, 1):
        before, layout, after = layer.signature.partition(f"layout='NC{axis_letters(rank)}'")
        reordered = f"{before}ceil_mode=False, {layout}{after.replace(', ceil_mode=False', '', 1)}"
        yield replace(layer, signature=reordered) if rank in ranks else layer


POOLING_SIGNATURE = "pool_size=2, strides=None, padding=0, layout, ceil_mode=False"
CONVOLUTION_SIGNATURE = (
    "channels, kernel_size, strides=1, padding=0, {}dilation=1, groups=1, layout, activation=None, use_bias=True, "
)
CONVOLUTION_SIGNATURE += "weight_initializer=None, bias_initializer='zeros', in_channels=0"
# In Gluon, the position of `layout` among the arguments of a pooling layer depends on the number of axes.
GLUON_LAYERS = (
    *_with_ceil_mode_first(_layers_by_rank("MaxPool{}D", POOLING_SIGNATURE, "max_pool", POOLING_ARGUMENTS), 3),
    *_with_ceil_mode_first(
        _layers_by_rank(
            "AvgPool{}D", f"{POOLING_SIGNATURE}, count_include_pad=True", "avg_pool", AVERAGE_POOLING_ARGUMENTS
        ),
        2,
        3,
    ),
    *_layers_by_rank("GlobalMaxPool{}D", "layout", "global_max_pool", {}),
    *_layers_by_rank("GlobalAvgPool{}D", "layout", "global_avg_pool", {}),
    *_layers_by_rank("Conv{}D", CONVOLUTION_SIGNATURE.format(""), "conv", WEIGHTED_ARGUMENTS, activation=None),
    *_layers_by_rank(
        "Conv{}DTranspose",
        CONVOLUTION_SIGNATURE.format("output_padding=0, "),
        "conv_transpose",
        {**WEIGHTED_ARGUMENTS, "output_padding": sizes_argument("output_padding")},
        activation=None,
    ),
)


def _read_per_axis(call: BoundCall, value: Any) -> Any:
    """Return one size per axis; an empty tuple means the default."""
    # An empty tuple is the default of every shape parameter of an MXNet operator.
    if value is None or value == ():
        return None
    return sizes_argument("kernel").convert(call, value)


def _npx_argument(argument: str) -> ArgumentReading:
    return ArgumentReading(argument, _read_per_axis)


def _pooling_operator(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator given by pool_type and global_pool, and remove parameters that it does not have."""
    kind = {"max": "max_pool", "avg": "avg_pool", "lp": "lp_pool"}.get(str(call.arguments["pool_type"]))
    if kind is None:
        raise UnreadableLayer(f"pool_type={call.arguments['pool_type']!r}: only max, avg and lp can be translated")
    if call.arguments["global_pool"] is True:
        if kind == "lp_pool":
            raise UnreadableLayer("global_pool=True: only max and avg can be translated")
        found.clear()
        return {"operator": f"global_{kind}"}
    if "window" not in found:
        raise UnreadableLayer("kernel is required unless global_pool=True")
    # One signature serves all kinds of pooling, and their operators have different parameters.
    for word in {"count_include_pad", "p"} - {{"avg_pool": "count_include_pad", "lp_pool": "p"}.get(kind)}:
        found.pop(word, None)
    # Unlike Gluon, whose stride defaults to the window.
    found.setdefault("stride", 1)
    return {"operator": kind, "stride": found["stride"]}


CONVOLUTION_ARGUMENTS = {
    "window": _npx_argument("kernel"),
    "stride": _npx_argument("stride"),
    "dilation": _npx_argument("dilate"),
    "padding": _npx_argument("pad"),
    "out_channels": count_argument("num_filter"),
    "groups": count_argument("num_group"),
    # The argument is negative, and its default differs: False for convolution, True for deconvolution.
    "bias": choice_argument("no_bias", {False: True, True: False}),
}
TUNING_ARGUMENTS = ("workspace", "cudnn_tune", "cudnn_off", "layout", "name")
NPX_LAYERS = (
    LayerSignature(
        "pooling(data, kernel=(), pool_type='max', global_pool=False, cudnn_off=False, pooling_convention='valid', "
        "stride=(), pad=(), p_value=2, count_include_pad=True, layout=None)",
        "max_pool",
        {
            "window": _npx_argument("kernel"),
            "stride": _npx_argument("stride"),
            "padding": _npx_argument("pad"),
            "rounding": choice_argument("pooling_convention", {"valid": "floor", "full": "full"}),
            "p": number_argument("p_value"),
            "count_include_pad": flag_argument("count_include_pad"),
        },
        array_arguments=("data",),
        required_values={"layout": None},
        adjust=_pooling_operator,
    ),
    LayerSignature(
        "convolution(data, weight, bias=None, kernel=(), stride=(), dilate=(), pad=(), num_filter=None, num_group=1, "
        "no_bias=False)",
        "conv",
        CONVOLUTION_ARGUMENTS,
        array_arguments=("data", "weight", "bias"),
        ignored_arguments=TUNING_ARGUMENTS,
    ),
    LayerSignature(
        "deconvolution(data, weight, bias=None, kernel=(), stride=(), dilate=(), pad=(), adj=(), target_shape=None, "
        "num_filter=None, num_group=1, no_bias=True)",
        "conv_transpose",
        {**CONVOLUTION_ARGUMENTS, "output_padding": _npx_argument("adj")},
        array_arguments=("data", "weight", "bias"),
        required_values={"target_shape": None},
        ignored_arguments=TUNING_ARGUMENTS,
    ),
)

# mx.nd names operators by class; npx renamed them in lower case.
ND_NAMES = {"pooling": "Pooling", "convolution": "Convolution", "deconvolution": "Deconvolution"}


def _nd_layer(layer: LayerSignature) -> LayerSignature:
    """Return the same call under its name in mxnet.nd."""
    name, bracket, arguments = layer.signature.partition("(")
    return replace(layer, signature=f"{ND_NAMES[name]}{bracket}{arguments}")


def _read_flat_pads(_call: BoundCall, value: Any) -> Any:
    """Read the padding before and after each axis; batch and channels must have no padding."""
    # Two numbers for each axis of the array, the first axis first.
    if (
        not isinstance(value, tuple)
        or len(value) % 2
        or value[:4] != (0, 0, 0, 0)
        or not all(map(is_whole_number, value))
    ):
        raise UnreadableLayer("expected two numbers for each axis, and zeros for batch and channels")
    return tuple(zip(value[4::2], value[5::2], strict=True))


ND_LAYERS = (
    *map(_nd_layer, NPX_LAYERS),
    LayerSignature(
        "pad|Pad(data, mode='constant', pad_width=(), constant_value=0)",
        "pad",
        {
            "pads": ArgumentReading("pad_width", _read_flat_pads),
            "mode": modes_argument("mode", "constant", "edge", "reflect"),
            "value": number_argument("constant_value"),
        },
        array_arguments=("data",),
        ignored_arguments=("name",),
    ),
    LayerSignature(
        "AdaptiveAvgPooling2D(data, output_size)",
        "adaptive_avg_pool",
        {"output_size": sizes_argument("output_size")},
        array_arguments=("data",),
        ignored_arguments=("name",),
    ),
)

COLUMN_SIGNATURE = "stride=1, dilate=1, pad=0, name=None"
COLUMN_LAYERS = column_layers(
    {
        "unfold": f"im2col(data, kernel, {COLUMN_SIGNATURE})",
        "fold": f"col2im(data, output_size, kernel, {COLUMN_SIGNATURE})",
    },
    BlockOrder.CRD,
    ColumnArguments("kernel", "stride", "pad", "dilate"),
    array="data",
    ignored=("name",),
)
BLOCK_LAYERS = block_layers(
    {
        "depth_to_space": "depth_to_space(data, block_size, name=None)",
        "space_to_depth": "space_to_depth(data, block_size, name=None)",
    },
    BlockOrder.DCR,
    array="data",
)

NORMALIZATION_LAYER = normalization_layer(
    "LRN(data, alpha=0.0001, beta=0.75, knorm=2, nsize=None, name=None)",
    side=None,
    size="nsize",
    bias="knorm",
    array="data",
    ignored=("name",),
)

DIALECTS = {
    "mxnet.nd": Dialect(
        ("nd", "mx.nd", "mxnet.nd", "mx.nd.contrib", "nd.contrib"),
        (*ND_LAYERS, *BLOCK_LAYERS, *COLUMN_LAYERS, NORMALIZATION_LAYER),
    ),
    "mxnet.gluon": Dialect(("nn", "gluon.nn", "mxnet.gluon.nn", "mx.gluon.nn"), GLUON_LAYERS),
    "mxnet.npx": Dialect(("npx", "mxnet.npx", "mx.npx"), NPX_LAYERS),
}
