"""Signatures of `keras.ops` functions, with the defaults of Keras 3. They are the same on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from conformance.adapters.api import (
    IMPLIED_GROUPS,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    array_pads,
    choice_argument,
    named_padding_argument,
    number_argument,
    sizes_argument,
)
from conformance.adapters.api.blocks.reading import block_layers
from conformance.adapters.api.resizing.reading import half_pixel_interpolation, plane_size
from conformance.adapters.keras import VARIANTS
from conformance.adapters.tensorflow.keras_layers import (
    CONVOLUTION_ARGUMENTS,
    DIALECTS as TF_KERAS_DIALECTS,
    FILL_ARGUMENTS,
    POOLING_ARGUMENTS,
    WHOLE_IMAGE,
    transposed_parameters,
)
from conformance.cases.operators import BlockOrder

# The modes of keras.ops.pad are those of NumPy; an engine may also accept its own names, such as PyTorch's circular.
PADDING_MODES = {mode: mode for mode in ("constant", "edge", "reflect", "symmetric", "wrap")} | {"circular": "wrap"}
WINDOW_ARGUMENTS = {key: CONVOLUTION_ARGUMENTS[key] for key in ("stride", "padding", "dilation")}
ARRAY_ARGUMENTS: dict[str, Any] = {"array_arguments": ("inputs", "kernel")}
CONVOLUTION_SIGNATURE = "inputs, kernel, strides=1, padding='valid'"
TRAILING_DEFAULTS = "data_format=None, dilation_rate=1"


def _input_channels(call: BoundCall, _value: Any) -> int:
    """Return the number of input channels as the number of groups."""
    call.input_extents("the number of groups")
    return (call.shape or (0, 0))[1]


OPS_LAYERS = (
    *(
        LayerSignature(
            f"{name}_pool(inputs, pool_size, strides=None, padding='valid', data_format=None)",
            operator,
            POOLING_ARGUMENTS,
            array_arguments=("inputs",),
        )
        for name, operator in (("max", "max_pool"), ("average", "avg_pool"))
    ),
    *(
        LayerSignature(
            f"adaptive_{name}_pool(inputs, output_size, data_format=None)",
            operator,
            {"output_size": sizes_argument("output_size")},
            array_arguments=("inputs",),
        )
        for name, operator in (("max", "adaptive_max_pool"), ("average", "adaptive_avg_pool"))
    ),
    LayerSignature(
        f"conv({CONVOLUTION_SIGNATURE}, {TRAILING_DEFAULTS})",
        "conv",
        WINDOW_ARGUMENTS,
        fixed_parameters={"groups": IMPLIED_GROUPS},
        **ARRAY_ARGUMENTS,
    ),
    LayerSignature(
        f"depthwise_conv({CONVOLUTION_SIGNATURE}, {TRAILING_DEFAULTS})",
        "conv",
        {**WINDOW_ARGUMENTS, "groups": ArgumentReading("inputs", _input_channels)},
        **ARRAY_ARGUMENTS,
    ),
    LayerSignature(
        f"conv_transpose({CONVOLUTION_SIGNATURE}, output_padding=None, {TRAILING_DEFAULTS})",
        "conv_transpose",
        {**WINDOW_ARGUMENTS, "output_padding": sizes_argument("output_padding")},
        adjust=transposed_parameters,
        **ARRAY_ARGUMENTS,
    ),
    LayerSignature(
        "pad(x, pad_width, mode='constant', constant_values=None)",
        "pad",
        {
            "pads": ArgumentReading("pad_width", partial(array_pads, channels_last=True)),
            "mode": choice_argument("mode", PADDING_MODES),
            "value": number_argument("constant_values"),
        },
        array_arguments=("x",),
    ),
)


def _resized(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size and the rule of `image.resize`."""
    read = half_pixel_interpolation(call.arguments["interpolation"], antialias=call.arguments["antialias"])
    return {"size": plane_size(call.arguments["size"]), **read}


RESIZE = LayerSignature(
    "keras.ops.image.resize|ops.image.resize(images, size, interpolation='bilinear', antialias=False, "
    "crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, data_format=None)",
    "resize",
    array_arguments=("images",),
    required_values=WHOLE_IMAGE,
    ignored_arguments=FILL_ARGUMENTS,
    adjust=_resized,
)


def _default_stride(_call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the stride of patches, which is the window by default."""
    return {"stride": found.get("stride", found["window"])}


PATCHES_LAYER = LayerSignature(
    "extract_patches|extract_patches_3d(images, size, strides=None, dilation_rate=1, padding='valid', "
    "data_format='channels_last')",
    "unfold",
    {
        "window": sizes_argument("size"),
        "stride": sizes_argument("strides"),
        "dilation": sizes_argument("dilation_rate"),
        "padding": named_padding_argument("padding"),
    },
    adjust=_default_stride,
    array_arguments=("images",),
    required_values={"data_format": (None, "channels_last")},
    fixed_parameters={"order": BlockOrder.DCR.value},
    has_rank_in_name=False,
)
BLOCK_LAYERS = block_layers(
    {operator: f"{operator}(x, block_size, data_format=None)" for operator in ("depth_to_space", "space_to_depth")},
    BlockOrder.DCR,
    array="x",
    # With channels first, the order depends on the engine.
    required_values={"data_format": (None, "channels_last")},
)
# keras.ops and keras.layers are the same on every engine; only the behaviour differs.
OPS_DIALECT = Dialect(
    ("keras.ops", "ops", "tf.keras.ops", "keras.ops.image", "ops.image"),
    (*OPS_LAYERS, RESIZE, PATCHES_LAYER, *BLOCK_LAYERS),
)
DIALECTS = {
    **{f"keras-{engine}.ops": OPS_DIALECT for engine in VARIANTS},
    # The layers of Keras 3 have the same signatures as those of tf.keras.
    **{f"keras-{engine}.layers": TF_KERAS_DIALECTS["tf.keras.layers"] for engine in VARIANTS},
}
