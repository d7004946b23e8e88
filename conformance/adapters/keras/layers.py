"""Keras: how calls of keras.ops are read, with the defaults of Keras 3, whichever engine computes them."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance.adapters.api.layer_arguments import array_ends, choice, number, sizes
from conformance.adapters.api.layers import IMPLIED, Call, Dialect, Layer, Reading
from conformance.adapters.keras import VARIANTS
from conformance.adapters.tensorflow.keras_layers import CONV, POOL, filled
from conformance.adapters.tensorflow.keras_layers import DIALECTS as WITH_TENSORFLOW

MODES = {mode: mode for mode in ("constant", "edge", "reflect", "symmetric", "wrap")} | {"circular": "wrap"}
WALK = {key: CONV[key] for key in ("stride", "padding", "dilation")}
GIVEN: dict[str, Any] = {"data": ("inputs", "kernel")}
FILTERED = "inputs, kernel, strides=1, padding='valid'"
LAST = "data_format=None, dilation_rate=1"


def _channels(call: Call, _value: Any) -> int:
    """Return as many groups as the input has channels."""
    call.extents("how many groups there are, as many as channels,")
    return (call.shape or (0, 0))[1]


OPS = (
    *(
        Layer(
            f"{name}_pool(inputs, pool_size, strides=None, padding='valid', data_format=None)",
            operator,
            POOL,
            data=("inputs",),
        )
        for name, operator in (("max", "max_pool"), ("average", "avg_pool"))
    ),
    *(
        Layer(
            f"adaptive_{name}_pool(inputs, output_size, data_format=None)",
            operator,
            {"output_size": sizes("output_size")},
            data=("inputs",),
        )
        for name, operator in (("max", "adaptive_max_pool"), ("average", "adaptive_avg_pool"))
    ),
    Layer(f"conv({FILTERED}, {LAST})", "conv", WALK, always={"groups": IMPLIED}, **GIVEN),
    Layer(f"depthwise_conv({FILTERED}, {LAST})", "conv", {**WALK, "groups": Reading("inputs", _channels)}, **GIVEN),
    Layer(
        f"conv_transpose({FILTERED}, output_padding=None, {LAST})",
        "conv_transpose",
        {**WALK, "output_padding": sizes("output_padding")},
        meaning=filled,
        **GIVEN,
    ),
    Layer(
        "pad(x, pad_width, mode='constant', constant_values=None)",
        "pad",
        {
            "pads": Reading("pad_width", partial(array_ends, channels_last=True)),
            "mode": choice("mode", MODES),
            "value": number("constant_values"),
        },
        data=("x",),
    ),
)
CALLS = Dialect(("keras.ops", "ops", "tf.keras.ops"), OPS)
DIALECTS = {
    **{f"keras-{engine}.ops": CALLS for engine in VARIANTS},
    # Keras layers are read like the layers of tf.keras, on every engine.
    **{f"keras-{engine}.layers": WITH_TENSORFLOW["tf.keras.layers"] for engine in VARIANTS},
}
