"""Padding and cropping of the spatial axes."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    BOOL_DTYPE,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    Array,
    PaddingArgument,
    PadPairs,
    check_choice,
    check_image,
    check_plane_size,
    number_of_dtype,
    pairs_per_axis,
)
from reference.arithmetic.exact import Exact, selection_result
from reference.geometry.blocks import BLOCK_BYTES
from reference.geometry.windows import all_planes_index
from reference.registry import operator

PADDED_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES, BOOL_DTYPE)


def _reflect_positions(cells: Array, size: int) -> Array:
    places: Array = cells % max(2 * (size - 1), 1)
    return np.where(places < size, places, 2 * (size - 1) - places)


def _mirror_positions(cells: Array, size: int) -> Array:
    places: Array = cells % (2 * size)
    return np.where(places < size, places, 2 * size - 1 - places)


# The input cell, 0 … size - 1, that a mode copies to a position before or after the input.
SOURCE_POSITIONS: dict[str, Callable[[Array, int], Array]] = {
    "edge": lambda cells, size: np.clip(cells, 0, size - 1),
    "reflect": _reflect_positions,
    "symmetric": _mirror_positions,
    "wrap": lambda cells, size: cells % size,
}
PADDING_MODES = ("constant", *SOURCE_POSITIONS)


@operator
def pad(x: npt.ArrayLike, pads: PaddingArgument, *, mode: str = "constant", value: float = 0) -> Exact:
    """Put cells round the spatial axes; a negative pad crops, and all crops come before all pads.

    x: (n, c, *spatial) of any dtype. pads: a scalar, or a number or a pair (before, after) per spatial axis. For the
    cells a b c d, the mode puts round them

        constant   v v v | a b c d | v v v    v: the value, rounded to a floating dtype; exact in an integer dtype
        edge       a a a | a b c d | d d d
        reflect    d c b | a b c d | c b a    the period is a b c d c b, and 1 for a single cell
        symmetric  c b a | a b c d | d c b    the period is a b c d d c b a
        wrap       b c d | a b c d | a b c

    and so on for ever, pads larger than the input included (as in NumPy; PyTorch and TensorFlow refuse these).
    Returns (n, c, *output). Raises ValueError if a crop exceeds the extent, if a mode other than constant has no
    cell to take, or is given a value. Sources: ONNX Pad-23, https://onnx.ai/onnx/operators/onnx__Pad.html; symmetric:
    https://numpy.org/doc/stable/reference/generated/numpy.pad.html
    """
    x = check_image(x, PADDED_DTYPES)
    check_choice("mode", mode, PADDING_MODES)
    if isinstance(pads, str):
        raise TypeError(f"pads {pads!r} must be a number, or a number or a pair (before, after) per axis")
    ends = pairs_per_axis("pads", pads, x.ndim - 2, None)
    cropped = _crop_ends(x, ends)
    constant = number_of_dtype("value", value, x.dtype)
    if mode != "constant" and constant.astype(bool):
        raise ValueError(f"value {value!r} has no place in mode {mode}")
    around = tuple((max(before, 0), max(after, 0)) for before, after in ends)
    padded = _pad_constant(cropped, around, constant)
    for axis in range(len(around) if mode != "constant" else 0):
        _extend_axis(padded, axis, around[axis], mode)
    return selection_result(padded, np.ones((), np.int64))


def _pad_constant(x: Array, around: PadPairs, value: Array) -> Array:
    output = [size + before + after for size, (before, after) in zip(x.shape[2:], around, strict=True)]
    check_plane_size(f"pads {around}: output", output)
    padded = np.full((*x.shape[:2], *output), value)
    inner = tuple(slice(before, before + size) for size, (before, _) in zip(x.shape[2:], around, strict=True))
    padded[all_planes_index(inner)] = x
    return padded


def _extend_axis(padded: Array, axis: int, around: tuple[int, int], mode: str) -> None:
    """Fill both ends of one axis, in place, all along the axes before it and after it, a few cells at a time."""
    size = padded.shape[2 + axis] - sum(around)
    if sum(around) and not size:
        raise ValueError(f"pads {around} in mode {mode} have no input cell to take on axis {axis}")
    planes = padded.reshape(math.prod(padded.shape[:2]), *padded.shape[2:])
    together = max(BLOCK_BYTES // max(planes[:1].nbytes, 1), 1)
    row = planes[:together].nbytes // max(padded.shape[2 + axis], 1)
    for cells in _outside_positions(size, around, max(BLOCK_BYTES // max(row, 1), 1)):
        sources = SOURCE_POSITIONS[mode](cells, size)
        for start in range(0, len(planes), together):
            along = np.moveaxis(planes[start : start + together], 1 + axis, 0)
            along[cells + around[0]] = along[sources + around[0]]


def _outside_positions(size: int, around: tuple[int, int], step: int) -> Iterator[Array]:
    """Yield the places before 0 and from `size` on, so many at once at most."""
    for first, end in ((-around[0], 0), (size, size + around[1])):
        for start in range(first, end, step):
            yield np.arange(start, min(start + step, end))


def _crop_ends(x: Array, ends: PadPairs) -> Array:
    kept = []
    for axis, (size, (before, after)) in enumerate(zip(x.shape[2:], ends, strict=True)):
        start, stop = max(-before, 0), size - max(-after, 0)
        if start > stop:
            raise ValueError(f"pads {(before, after)} crop more than the input {size} on axis {axis}")
        kept.append(slice(start, stop))
    cropped: Array = x[all_planes_index(tuple(kept))]
    return cropped
