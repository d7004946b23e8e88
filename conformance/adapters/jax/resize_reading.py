"""JAX: read the shape and the method of `jax.image.resize`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.adapters.api import BoundCall, LayerSignature, PlainName, UnreadableLayer, is_whole_number
from conformance.adapters.api.layer_parser import ExtentName
from conformance.adapters.api.resizing.reading import antialiasing
from conformance.adapters.api.resizing.rules import HALF_PIXEL, PREFER_CEIL
from conformance.adapters.jax.resizing import PYTORCH_CUBIC, PYTORCH_CUBIC_A
from conformance.cases.operators import ResizeMode

METHODS = MappingProxyType(
    {
        **{mode.value: mode for mode in ResizeMode},
        **dict.fromkeys(("bilinear", "trilinear", "triangle"), ResizeMode.LINEAR),
        **dict.fromkeys(("bicubic", "tricubic"), ResizeMode.CUBIC),
    }
)
PYTORCH_METHODS = frozenset({PYTORCH_CUBIC, f"bi{PYTORCH_CUBIC}"})
CONSTANT_PREFIX = "ResizeMethod."
"""Start of the names of methods that are not strings, such as `jax.image.ResizeMethod.LINEAR`."""
IMAGE_PREFIXES = ("jax.image", "image")
MIN_SHAPE_LENGTH = 3


def resize_signature(*, channels_last: bool) -> LayerSignature:
    """Return the signature for arrays (n, c, *spatial), or (n, *spatial, c)."""

    def read(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
        size = _size(call, channels_last=channels_last)
        return {"size": size, **_rule(call.arguments["method"], antialias=call.arguments["antialias"])}

    return LayerSignature(
        "jax.image.resize|image.resize(image, shape, method, antialias=True)",
        "resize",
        array_arguments=("image",),
        ignored_arguments=("precision",),
        required_values={"antialias": (False, True)},
        adjust=read,
    )


def _size(call: BoundCall, *, channels_last: bool) -> tuple[int, ...]:
    """Return the extents of the output. The batch and the channels must be those of the input."""
    shape = call.arguments["shape"]
    if not isinstance(shape, tuple) or len(shape) < MIN_SHAPE_LENGTH:
        raise UnreadableLayer(f"shape={shape}: not the batch, the channels and the extents of the output")
    # A function of JAX takes arrays of either layout.
    for is_last in (channels_last, not channels_last):
        places = (0, len(shape) - 1) if is_last else (0, 1)
        is_certain = is_last == channels_last or call.shape is not None
        if all(_is_extent_of_input(call, shape, places, number, is_certain=is_certain) for number in range(2)):
            return _positive_extents(shape[1:-1] if is_last else shape[2:])
    example = f"x.shape[{'-1' if channels_last else 1}]"
    raise UnreadableLayer(f"shape: batch and channels must be those of the input, for example x.shape[0] and {example}")


def _is_extent_of_input(
    call: BoundCall, shape: tuple[Any, ...], places: tuple[int, int], number: int, *, is_certain: bool
) -> bool:
    """Whether an item of the shape is the batch or the channels of the input.

    places: the axes of both. number: 0 for the batch, 1 for the channels. is_certain: whether a number may be one.
    """
    value = shape[places[number]]
    if isinstance(value, ExtentName):
        return value.axis % len(shape) == places[number]
    return is_certain and is_whole_number(value) and (call.shape is None or value == call.shape[number])


def _positive_extents(size: tuple[Any, ...]) -> tuple[int, ...]:
    if not all(is_whole_number(extent) and extent > 0 for extent in size):
        raise UnreadableLayer(f"shape: the extents of the output, {size}, must be positive integers")
    return tuple(size)


def _rule(method: Any, *, antialias: bool) -> Mapping[str, Any]:
    """Return the parameters of a method. Raises UnreadableLayer for a name that JAX does not have."""
    name = str(method)
    if isinstance(method, PlainName):
        name = name.rpartition(CONSTANT_PREFIX)[2].lower().replace("_", "-")
    is_pytorch = name in PYTORCH_METHODS
    mode = ResizeMode.CUBIC if is_pytorch else METHODS.get(name)
    if mode is None:
        known = ", ".join(map(repr, (*METHODS, *sorted(PYTORCH_METHODS))))
        raise UnreadableLayer(f"method={method!r}: not one of {known}")
    rule = {"mode": mode.value, "coordinates": HALF_PIXEL}
    if mode is ResizeMode.NEAREST:
        return {**rule, "nearest_rounding": PREFER_CEIL}
    if is_pytorch and not antialias:
        return {**rule, "cubic_a": PYTORCH_CUBIC_A}
    is_plain = mode is ResizeMode.AREA or (mode is ResizeMode.LINEAR and not antialias)
    return rule if is_plain else {**rule, **antialiasing(mode, antialias=antialias)}
