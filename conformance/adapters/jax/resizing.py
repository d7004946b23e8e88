"""JAX: resizing by `jax.image.resize`, which takes the shape of the output only."""

from __future__ import annotations

from functools import partial

from conformance.adapters.api import Code, Lowering, Step, Unsupported
from conformance.adapters.api.resizing.rules import (
    HALF_PIXEL,
    LANCZOS_MODES,
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

METHODS = {mode: mode.value for mode in ResizeMode}
UNFILTERED = {METHODS[mode] for mode in (ResizeMode.NEAREST, ResizeMode.AREA)}
PYTORCH_CUBIC, PYTORCH_CUBIC_A = "cubic-pytorch", -0.75
CUBIC_A = -0.5
NO_CUBIC = Unsupported(
    "cubic interpolation that repeats the cells at the ends has the parameter -0.75, the one that leaves out cells "
    "beyond x has the parameter -0.5"
)


def _method(step: Step) -> str | Unsupported:
    mode = ResizeMode(step.parameters["mode"])
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
    # The default is True, which filters when the output is smaller. Two methods do not depend on it.
    is_default = method in UNFILTERED or antialiases(step) or "antialias" not in step.parameters
    antialias = "" if is_default else ", antialias=False"
    return f'jax.image.resize(x, {shape}, "{method}"{antialias})'


CHANNELS_FIRST: Lowering = partial(_resize, channels_last=False)
CHANNELS_LAST: Lowering = partial(_resize, channels_last=True)
