"""JAX: resizing by `jax.image.resize`, and by `jax.image.scale_and_translate` where coordinates are not half_pixel.

The first call takes the shape of the output only, the second one also a scale and a translation of each axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial

from conformance.adapters.api import Code, Lowering, Step, Unsupported, call, number, spatial_axes
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
from conformance.cases.operators import REGION_PARAMETERS, ResizeMode
from reference import ResampledAxis

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
    if step.parameters.get("size") is not None and step.parameters.get("scale") is not None:
        return Unsupported("jax.image.resize takes a shape and no scale")
    if not (omits_coordinates(step) or has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)):
        return _scale_and_translate(step, channels_last=channels_last)
    return f"jax.image.resize(x, {_shape(step, channels_last=channels_last)}, {_method_arguments(step, method)})"


def _shape(step: Step, *, channels_last: bool) -> str:
    extents = ", ".join(map(str, resized_extents(step)))
    return f"(x.shape[0], {extents}, x.shape[-1])" if channels_last else f"(*x.shape[:2], {extents})"


def _method_arguments(step: Step, method: str) -> str:
    # The default is True, which filters when the output is smaller. Two methods do not depend on it.
    is_default = method in UNFILTERED or antialiases(step) or "antialias" not in step.parameters
    return f'"{method}"' if is_default else f'"{method}", antialias=False'


def _scale_and_translate(step: Step, *, channels_last: bool) -> Code:
    """Return the call whose scale and translation give the coordinates of the step."""
    method = _method(step)
    if isinstance(method, Unsupported):
        return method
    reason = NO_UNFILTERED_METHOD if method in UNFILTERED else _unsupported_coordinates(step)
    if reason:
        return reason
    axes = step.resampled
    shape, first = _shape(step, channels_last=channels_last), 1 if channels_last else 2
    dims, arguments = str(spatial_axes(step, first)), _method_arguments(step, method)
    numbers = [_vector(step, [1 / _spacing(axis) for axis in axes]), _vector(step, map(_translation, axes))]
    return call("jax.image.scale_and_translate", "x", shape, dims, *numbers, arguments)


def _unsupported_coordinates(step: Step) -> Unsupported | None:
    """Return why a scale and a translation do not give the coordinates of the step, None if they do."""
    try:
        axes = step.resampled
    except (ValueError, TypeError, KeyError):
        return NO_RANGE  # an invalid call, or a convention
    if step.parameters.get("scale") and any(map(step.parameters.get, REGION_PARAMETERS)):
        return NO_SCALED_REGION
    if antialiases(step) and any(_spacing(axis) != axis.step for axis in axes):
        return NO_OTHER_FILTER
    return None if all(map(_is_inside, axes)) else NO_RANGE


def _vector(step: Step, values: Iterable[Fraction]) -> str:
    dtype = "np.float64" if step.dtype == "float64" else "np.float32"
    return f"{dtype}([{', '.join(number(float(value)) for value in values)}])"


def _spacing(axis: ResampledAxis) -> Fraction:
    """Return the distance of the first two coordinates."""
    return axis.coordinate(1) - axis.coordinate(0) if axis.output > 1 else axis.step


def _translation(axis: ResampledAxis) -> Fraction:
    """Return the translation with which output cell 0 has its coordinate, (1/2 - translation) / scale - 1/2."""
    half = Fraction(1, 2)
    return half - (axis.coordinate(0) + half) / _spacing(axis)


NO_UNFILTERED_METHOD = Unsupported(
    "jax.image.resize takes a shape, and its coordinates are half_pixel. jax.image.scale_and_translate has "
    "no mode nearest, and is not used for areas"
)
NO_SCALED_REGION = Unsupported("jax.image.scale_and_translate takes the shape of the output, and no scale of a crop")
NO_OTHER_FILTER = Unsupported("the filter of jax.image.scale_and_translate has the width of its scale")
NO_RANGE = Unsupported(
    "jax.image.scale_and_translate returns 0 for coordinates more than half a cell beyond the first or the last"
)


def _is_inside(axis: ResampledAxis) -> bool:
    """Whether all coordinates are evenly spaced, and at most half a cell beyond the ends.

    A coordinate at that limit is exact in float32 if the scale is a power of two, and may be rounded otherwise.
    """
    if not axis.output or not axis.size or _spacing(axis) <= 0 or axis.is_extrapolated.any():
        return False
    places, spacing, half = axis.all_coordinates, _spacing(axis), Fraction(1, 2)
    if any(place != places[0] + n * spacing for n, place in enumerate(places)):
        return False
    lowest, highest = -half, axis.size - half
    is_exact = _is_power_of_two(spacing)
    return all(lowest < place < highest or (is_exact and lowest <= place <= highest) for place in places)


def _is_power_of_two(value: Fraction) -> bool:
    return all(one & (one - 1) == 0 for one in (value.numerator, value.denominator))


CHANNELS_FIRST: Lowering = partial(_resize, channels_last=False)
CHANNELS_LAST: Lowering = partial(_resize, channels_last=True)
WORD: Lowering = partial(_scale_and_translate, channels_last=False)
CHANNELS_LAST_WORD: Lowering = partial(_scale_and_translate, channels_last=True)
