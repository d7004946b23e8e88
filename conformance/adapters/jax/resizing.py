"""JAX: resizing by `jax.image.resize`, which takes the shape of the output only, written and read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from conformance.adapters.api import (
    BoundCall,
    Code,
    LayerSignature,
    Lowering,
    Step,
    UnreadableLayer,
    Unsupported,
    is_whole_number,
)
from conformance.adapters.api.resizing.reading import antialiasing
from conformance.adapters.api.resizing.rules import (
    HALF_PIXEL,
    LANCZOS_MODES,
    NO_AREA,
    NO_REPEATED_ENDS,
    PREFER_CEIL,
    antialiases,
    excludes_outside,
    has_rule,
    omits_coordinates,
    omits_filter,
    resized_extents,
)
from conformance.cases.operators import ResizeMode

PLANE_RANK = 2
METHODS = {mode: mode.value for mode in ResizeMode if mode is not ResizeMode.AREA}
PYTORCH_CUBIC, PYTORCH_CUBIC_A = "cubic-pytorch", -0.75
CUBIC_A = -0.5
NO_CUBIC = Unsupported(
    "cubic interpolation that repeats the cells at the ends has the parameter -0.75, the one that leaves out cells "
    "beyond x has the parameter -0.5"
)


def _method(step: Step) -> str | Unsupported:
    mode = ResizeMode(step.parameters["mode"])
    if mode is ResizeMode.AREA:
        return NO_AREA
    if mode is ResizeMode.CUBIC and "cubic_a" in step.parameters and not excludes_outside(step):
        is_pytorch = step.parameters["cubic_a"] == PYTORCH_CUBIC_A and not antialiases(step)
        return PYTORCH_CUBIC if is_pytorch else NO_CUBIC
    if mode is ResizeMode.CUBIC and step.parameters.get("cubic_a", CUBIC_A) != CUBIC_A:
        return NO_CUBIC
    repeats = not excludes_outside(step) and not omits_filter(step)
    has_ends = antialiases(step) or mode.value in LANCZOS_MODES
    return NO_REPEATED_ENDS if repeats and has_ends else METHODS[mode]


def _resize(step: Step, *, channels_last: bool) -> Code:
    method = _method(step)
    if isinstance(method, Unsupported):
        return method
    if not (omits_coordinates(step) or has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)):
        return Unsupported("jax.image.resize takes a shape, and its coordinates are half_pixel")
    if step.parameters.get("size") is not None and step.parameters.get("scale") is not None:
        return Unsupported("jax.image.resize takes a shape and no scale")
    extents = ", ".join(map(str, resized_extents(step)))
    shape = f"(x.shape[0], {extents}, x.shape[-1])" if channels_last else f"(*x.shape[:2], {extents})"
    # The default is True, which filters when the output is smaller.
    is_default = method == METHODS[ResizeMode.NEAREST] or antialiases(step) or "antialias" not in step.parameters
    antialias = "" if is_default else ", antialias=False"
    return f'jax.image.resize(x, {shape}, "{method}"{antialias})'


READ_METHODS: Mapping[str, ResizeMode] = {
    "nearest": ResizeMode.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMode.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMode.CUBIC),
    "lanczos3": ResizeMode.LANCZOS3,
    "lanczos5": ResizeMode.LANCZOS5,
}
"""The words of jax.image.ResizeMethod, and the mode of each."""


def _read_size(given: BoundCall) -> tuple[int, ...]:
    """Return the size of the spatial axes: with the shape of the input, of its layout, otherwise channels first."""
    shape = given.arguments["shape"]
    is_list = isinstance(shape, tuple) and len(shape) > PLANE_RANK
    if not is_list or not all(is_whole_number(one) and one > 0 for one in shape):
        raise UnreadableLayer(f"shape={shape!r}: not the positive extents of batch, channels and spatial axes")
    if given.shape is None or shape[:2] == tuple(given.shape[:2]):
        return (*shape[2:],)
    if (shape[0], shape[-1]) == tuple(given.shape[:2]):
        return (*shape[1:-1],)
    raise UnreadableLayer(f"shape={shape!r}: the batch and the channels of the input are {given.shape[:2]}")


def _resized(given: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size and the rule of `jax.image.resize`."""
    method, antialias = given.arguments["method"], given.arguments["antialias"]
    mode = READ_METHODS.get(str(method).lower())
    if mode is None or not isinstance(antialias, bool):
        word, value = ("method", method) if mode is None else ("antialias", antialias)
        raise UnreadableLayer(
            f"{word}={value!r}: not one of {', '.join(READ_METHODS) if mode is None else 'True, False'}"
        )
    common = {"size": _read_size(given), "mode": mode.value, "coordinates": HALF_PIXEL}
    if mode is ResizeMode.NEAREST:
        return {**common, "nearest_rounding": PREFER_CEIL}
    return {**common, **(antialiasing(mode, antialias=antialias) if antialias or mode is not ResizeMode.LINEAR else {})}


RESIZE = LayerSignature(
    "jax.image.resize|image.resize(image, shape, method, antialias=True, precision=None)",
    "resize",
    array_arguments=("image",),
    ignored_arguments=("precision",),
    adjust=_resized,
)
"""The call as users write it. Without antialiasing, linear interpolation is the same with and without the ends."""

CHANNELS_FIRST: Lowering = partial(_resize, channels_last=False)
CHANNELS_LAST: Lowering = partial(_resize, channels_last=True)
