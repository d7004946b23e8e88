"""Layers of formats whose arrays are (n, *spatial, c), in the terms of the suite.

Scripts of readers import this module.

Padding by name becomes pads, so that the same layer has the same parameters in each format. It needs NumPy, and nothing
of the suite. Python 3.8 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from extraction import Model, first_channels

WEIGHT_CHANNELS = (4, 4)
"""Number of output and input channels of a kernel whose weights are read."""
LEAST_RANK = 3
"""Number of axes of the smallest array with windows: batch, one spatial axis and channels."""
DTYPES = frozenset({"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8"})
GLOBAL_OPERATORS = {"max": "global_max_pool", "mean": "global_avg_pool"}


class Problem(Exception):
    """A layer with a window that cannot be checked."""


def channels_first(shape: Sequence[int]) -> list[int]:
    """Return (n, c, *spatial) of (n, *spatial, c)."""
    return [shape[0], shape[-1], *shape[1:-1]]


def same_pads(
    extents: Sequence[int], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[list[int]]:
    """Return the pads of SAME: the output has ceil(extent / stride) cells, and the odd cell comes after the input."""
    pads = []
    for extent, size, step, rate in zip(extents, window, stride, dilation):
        total = max((-(-extent // step) - 1) * step + (size - 1) * rate + 1 - extent, 0)
        pads.append([total // 2, total - total // 2])
    return pads


def named_pads(
    name: str, extents: Sequence[int], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[list[int]]:
    """Return the pads of SAME, VALID or CAUSAL."""
    if min((*stride, *window, *dilation, *extents), default=1) < 1:
        raise Problem("a number of its window, its stride or its input is not positive")
    word = name.upper()
    if word == "SAME":
        return same_pads(extents, window, stride, dilation)
    if word == "CAUSAL":
        return [[rate * (size - 1), 0] for size, rate in zip(window, dilation)]
    if word != "VALID":
        raise Problem(f"unknown padding {name!r}")
    return [[0, 0] for _ in extents]


def dilated(block: Sequence[int], pads: Any, crops: Any, settings: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """Return the dilation and the pads of a convolution between space-to-batch and batch-to-space.

    settings: stride, dilation and pads of the convolution itself, which sees each `block`-th cell.
    """
    stride, dilation, own = settings
    if any(step != 1 for step in stride) or any(map(any, own)) or len(block) != len(stride):
        raise Problem("it is between space-to-batch and batch-to-space, with a stride or padding of its own")
    padding = [[int(pad) - int(crop) for pad, crop in zip(*axis)] for axis in zip(pads, crops)]
    if any(int(crop[0]) for crop in crops) or min(map(min, padding)) < 0:
        raise Problem("it is between space-to-batch and batch-to-space, which crop cells")
    return [step * rate for step, rate in zip(block, dilation)], padding


def transposed_padding(
    name: str,
    extents: Sequence[int],
    outputs: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> dict[str, list[Any]]:
    """Return the padding and output padding of a transposed convolution from its output size.

    SAME crops both ends, the odd cell after the output. VALID crops none. A larger output has zeros after it.
    """
    padding, added = [], []
    for extent, output, size, step, rate in zip(extents, outputs, window, stride, dilation):
        crop = (extent - 1) * step + (size - 1) * rate + 1 - output
        before = max(crop, 0) // 2 if name.upper() == "SAME" else 0
        padding.append([before, max(crop, 0) - before])
        added.append(max(-crop, 0))
    return {"padding": padding, "output_padding": added}


def kernel_first(kernel: Any) -> Any:
    """Return a kernel (*window, a, b) as (b, a, *window)."""
    return np.moveaxis(kernel, (-1, -2), (0, 1))


def depthwise_shape(kernel: Sequence[int]) -> list[int]:
    """Return the shape (c * multiplier, 1, *window) of a kernel (*window, c, multiplier)."""
    return [kernel[-2] * kernel[-1], 1, *kernel[:-2]]


def depthwise_first(kernel: Any) -> Any:
    """Return a kernel (*window, c, multiplier) as (c * multiplier, 1, *window)."""
    return np.moveaxis(kernel.reshape((*kernel.shape[:-2], 1, -1)), (-1, -2), (0, 1))


def weights(kernel: Any, bias: Any = None, *, has_bias: bool = False) -> dict[str, Any]:
    """Return the first channels of the weights, {} if one of them is unknown.

    kernel: in the layout of the suite. has_bias: whether the layer has a bias, which may be unknown.
    """
    if kernel is None or (has_bias and bias is None):
        return {}
    arrays = {"kernel": kernel} if bias is None else {"kernel": kernel, "bias": np.ravel(bias)}
    found = {name: first_channels(array, WEIGHT_CHANNELS) for name, array in arrays.items()}
    return found if all(one is not None for one in found.values()) else {}


def add_pool(
    model: Model,
    name: str,
    operator: str,
    window: Sequence[int],
    stride: Sequence[int],
    padding: str,
    fields: Mapping[str, Any],
    further: Mapping[str, Any] | None = None,
) -> None:
    """Add pooling of an input (n, c, *spatial), whose shape is in `fields`. Padding is not counted in averages."""
    extents = fields["shape"][2:]
    if len(window) != len(extents) or len(stride) != len(extents):
        raise Problem(f"its window {list(window)} does not fit its input {list(fields['shape'])}")
    pads = named_pads(padding, extents, window, stride, [1] * len(window))
    parameters: dict[str, Any] = {"window": list(window), "stride": list(stride), "padding": pads, **(further or {})}
    if operator == "avg_pool":
        parameters["count_include_pad"] = False
    model.add(name, operator, parameters, padding_word=padding.lower(), **fields)


def add_pad(
    model: Model, name: str, pads: Sequence[Sequence[int]], mode: str, value: float, fields: Mapping[str, Any]
) -> None:
    """Add padding of an input (n, *spatial, c), whose shape is in `fields`, with pads for each axis."""
    if len(pads) != len(fields["shape"]):
        raise Problem(f"it has pads for {len(pads)} axes, its input {list(fields['shape'])} has others")
    if not any(map(any, pads)):
        model.add_other("Pad by nothing")
        return
    if len(pads) < LEAST_RANK or any(pads[0]) or any(pads[-1]):
        model.add_other("Pad of batch or channels")
        return
    parameters: dict[str, Any] = {"pads": [list(pair) for pair in pads[1:-1]], "mode": mode}
    if mode == "constant":
        parameters["value"] = int(value) if float(value).is_integer() else float(value)
    model.add(name, "pad", parameters, **{**fields, "shape": channels_first(fields["shape"])})


def spatial_axes(axes: Sequence[int], rank: int) -> bool:
    """Whether axes are all spatial axes of an array (n, *spatial, c)."""
    return rank >= LEAST_RANK and sorted({axis % rank for axis in axes}) == list(range(1, rank - 1))


def add_reduction(model: Model, name: str, kind: str, axes: Sequence[int], fields: Mapping[str, Any]) -> bool:
    """Add the mean or maximum of an input (n, *spatial, c) if it is that of all spatial axes; return whether it is."""
    if not spatial_axes(axes, len(fields["shape"])):
        return False
    model.add(name, GLOBAL_OPERATORS[kind], {}, **{**fields, "shape": channels_first(fields["shape"])})
    return True
