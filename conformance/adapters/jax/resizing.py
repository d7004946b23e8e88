"""JAX: resizing by `jax.image.resize`, which takes the shape of the output only."""

from __future__ import annotations

from functools import partial

from conformance.adapters.api import Code, Lowering, Step, Unsupported
from conformance.adapters.api.resizing.rules import (
    HALF_PIXEL,
    PREFER_CEIL,
    has_rule,
    omits_coordinates,
    resized_extents,
)
from conformance.cases.operators import ResizeMode

METHODS = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "linear", ResizeMode.CUBIC: "cubic-pytorch"}
PYTORCH_CUBIC_A = -0.75


def _resize(step: Step, *, channels_last: bool) -> Code:
    mode = ResizeMode(step.parameters["mode"])
    if mode is ResizeMode.CUBIC and step.parameters["cubic_a"] != PYTORCH_CUBIC_A:
        # The method `cubic` has this parameter, but leaves out the cells beyond the ends.
        return Unsupported("cubic interpolation that repeats the cells at the ends has the parameter -0.75")
    if not (omits_coordinates(step) or has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)):
        return Unsupported("jax.image.resize takes a shape, and its coordinates are half_pixel")
    if step.parameters.get("size") is not None and step.parameters.get("scale") is not None:
        return Unsupported("jax.image.resize takes a shape and no scale")
    extents = ", ".join(map(str, resized_extents(step)))
    shape = f"(x.shape[0], {extents}, x.shape[-1])" if channels_last else f"(*x.shape[:2], {extents})"
    # The default is True, which filters when the output is smaller.
    antialias = "" if mode is ResizeMode.NEAREST else ", antialias=False"
    return f'jax.image.resize(x, {shape}, "{METHODS[mode]}"{antialias})'


CHANNELS_FIRST: Lowering = partial(_resize, channels_last=False)
CHANNELS_LAST: Lowering = partial(_resize, channels_last=True)
