"""Resizing: read the size, the scale and the mode of a layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.adapters.api.layer_arguments import is_whole_number, one_per_axis
from conformance.adapters.api.layer_parser import PlainName, UnreadableLayer
from conformance.adapters.api.layers import ArgumentReading, BoundCall
from conformance.adapters.api.resizing.rules import HALF_PIXEL, PREFER_CEIL
from conformance.cases.operators import ResizeMode

PLANE_RANK = 2
ANTIALIASED_CUBIC_A = -0.5


def scales_argument(argument: str) -> ArgumentReading:
    """Read one positive number, or one for each spatial axis; None leaves the parameter out."""
    return ArgumentReading(argument, _read_scales)


def _read_scales(call: BoundCall, value: Any) -> Any:
    if value is None:
        return None
    axes = call.spatial_axes(value)
    scales = one_per_axis(value, axes)
    numbers = [one for one in scales if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(numbers) != axes or not all(0 < one < math.inf for one in numbers):
        raise UnreadableLayer(f"{value!r}: neither a positive number nor one for each of {axes} spatial axes")
    return tuple(map(float, scales))


def whole_scales_argument(argument: str) -> ArgumentReading:
    """Read one positive integer, or one for each spatial axis, as scales."""

    def read(call: BoundCall, value: Any) -> Any:
        if not all(map(is_whole_number, value if isinstance(value, tuple) else (value,))):
            raise UnreadableLayer("neither an integer nor one for each spatial axis")
        return _read_scales(call, value)

    return ArgumentReading(argument, read)


def plane_size(size: Any) -> tuple[int, ...]:
    """Return the height and the width of an output. Raises UnreadableLayer unless both are positive integers."""
    is_pair = isinstance(size, tuple) and len(size) == PLANE_RANK
    if not is_pair or not all(is_whole_number(one) and one > 0 for one in size):
        raise UnreadableLayer(f"size {size!r}: not two positive integers")
    return (*size,)


WITHOUT_KERNEL = frozenset({ResizeMode.NEAREST, ResizeMode.AREA})
LANCZOS = {mode.value: mode for mode in (ResizeMode.LANCZOS3, ResizeMode.LANCZOS5)}


def half_pixel_interpolation(
    interpolation: Any, *, antialias: Any = False, others: Mapping[str, ResizeMode] = MappingProxyType({})
) -> Mapping[str, Any]:
    """Return the parameters of an interpolation in Keras and tf.image: coordinates are those of the centre.

    others: further methods; in Keras, the kernel of `bicubic` without antialiasing depends on the engine.
    Raises UnreadableLayer for another interpolation.
    """
    if not isinstance(antialias, bool):
        raise UnreadableLayer(f"antialias={antialias!r}: neither True nor False")
    modes = {"nearest": ResizeMode.NEAREST, "bilinear": ResizeMode.LINEAR, **LANCZOS}
    modes |= {**others, **({"bicubic": ResizeMode.CUBIC} if antialias else {})}
    name = str(interpolation).lower()
    if isinstance(interpolation, PlainName):  # a constant, such as tf.image.ResizeMethod.NEAREST_NEIGHBOR
        name = name.rpartition(".")[2].removesuffix("_neighbor")
    mode = modes.get(name)
    if mode is None:
        raise UnreadableLayer(
            f"interpolation {interpolation!r}: only {', '.join(map(repr, modes))} can be translated"
            f"{'' if 'bicubic' in modes else ', and bicubic with antialias=True'}"
        )
    nearest = {"nearest_rounding": PREFER_CEIL} if mode is ResizeMode.NEAREST else {}
    excludes = antialias or mode in {ResizeMode.CUBIC, *LANCZOS.values()}
    options = antialiasing(mode, antialias=antialias) if excludes and mode not in WITHOUT_KERNEL else {}
    return {"mode": mode.value, "coordinates": HALF_PIXEL, **nearest, **options}


def antialiasing(mode: ResizeMode, *, antialias: bool = True) -> Mapping[str, Any]:
    """Return the parameters of a kernel without the cells beyond the ends, as most frameworks have it."""
    kernel = {"cubic_a": ANTIALIASED_CUBIC_A} if mode is ResizeMode.CUBIC else {}
    return {"antialias": antialias, "exclude_outside": True, **kernel}
