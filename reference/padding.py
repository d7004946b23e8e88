"""Padding and cropping of the spatial axes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .arguments import BOOL, FLOATS, INTEGERS, Array, DType, Padding, Pads, choice, image, pairs
from .exact import Exact, selected
from .windows import whole

ACCEPTED = (*FLOATS, *INTEGERS, BOOL)
MODES = ("constant",)


def pad(x: npt.ArrayLike, pads: Padding, *, mode: str = "constant", value: float = 0) -> Exact:
    """Put a constant round the spatial axes; a negative pad crops, and all crops come before all pads.

    x: (n, c, *spatial) of any dtype. pads: a scalar, or a number or a pair (before, after) per spatial axis.
    value: rounded to a floating dtype; must be one of an integer dtype's own. Returns (n, c, *output).
    Raises ValueError if a crop exceeds the extent. Source: ONNX Pad-23, https://onnx.ai/onnx/operators/onnx__Pad.html
    """
    x = image(x, ACCEPTED)
    choice("mode", mode, MODES)
    if isinstance(pads, str):
        raise TypeError(f"pads {pads!r} must be a number, or a number or a pair (before, after) per axis")
    ends = pairs("pads", pads, x.ndim - 2, None)
    cropped = _crop(x, ends)
    widths = ((0, 0), (0, 0), *((max(before, 0), max(after, 0)) for before, after in ends))
    padded = np.pad(cropped, widths, constant_values=_constant(value, x.dtype))
    return selected(padded, np.ones((), np.int64))


def _crop(x: Array, ends: Pads) -> Array:
    kept = []
    for axis, (size, (before, after)) in enumerate(zip(x.shape[2:], ends, strict=True)):
        start, stop = max(-before, 0), size - max(-after, 0)
        if start > stop:
            raise ValueError(f"pads {(before, after)} crop more than the input {size} on axis {axis}")
        kept.append(slice(start, stop))
    cropped: Array = x[whole(tuple(kept))]
    return cropped


def _constant(value: Any, dtype: DType) -> Array:
    number = np.asarray(value)
    if number.ndim or number.dtype not in ACCEPTED:
        raise TypeError(f"value {value!r} must be one number")
    with np.errstate(all="ignore"):
        constant: Array = number.astype(dtype)
    if dtype not in FLOATS and constant.item() != number.item():
        raise ValueError(f"value {value!r} is no {dtype}")
    return constant
