"""Resizing: whether a rule of a framework has the meaning of a step, compared cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.operators import REGION_PARAMETERS, Coordinates, NearestRounding, ResizeMode
from conformance.cases.steps import Step
from reference import ResampledAxis


def omits_coordinates(step: Step) -> bool:
    """Whether the call must not name a rule for coordinates, because its convention is about the default."""
    return "coordinates" not in step.parameters


def resized_extents(step: Step) -> tuple[int, ...]:
    """Return the size of the output: the size of the call if it has one, otherwise the one computed from the scale."""
    size: tuple[int, ...] | None = step.parameters.get("size")
    return tuple(axis.output for axis in step.resampled) if size is None else size


def region_ends(step: Step) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the region of a crop: the start and the end on each axis."""
    start, end = map(step.parameters.get, REGION_PARAMETERS)
    return start or (0,) * step.rank, end or (1,) * step.rank


def scale_of_each_axis(
    step: Step, extent: Callable[[int, float], int] = lambda size, scale: int(size * scale)
) -> tuple[float, ...] | None:
    """Return the scales for a call that takes no size: the quotients of the sizes, or None if they give other sizes.

    Also None for a region with a scale, whose output is smaller or larger than that of all of x.
    extent: the size of the output that the call computes from the size of x and a scale.
    """
    size, scale = step.parameters.get("size"), step.parameters.get("scale")
    if size is None and scale and any(map(step.parameters.get, REGION_PARAMETERS)):
        return None
    if size is None:
        return tuple(map(float, scale or ()))
    if scale is not None or len(size) != step.rank:
        return None
    scales = tuple(int(m) / n for n, m in zip(step.shape[2:], size, strict=True))
    is_given = [extent(n, by) == m > 0 for n, m, by in zip(step.shape[2:], size, scales, strict=True)]
    return scales if all(is_given) else None


def has_remainder(step: Step) -> bool:
    """Whether a scale does not give a whole size, so that coordinates depend on whether the call keeps the scale."""
    scales = step.parameters.get("scale") or ()
    return any(size * Fraction(str(by)) % 1 for size, by in zip(step.shape[2:], scales, strict=False))


def has_rule(
    step: Step, coordinates: str, nearest_rounding: str | None = None, *, recomputes_scale: bool = False
) -> bool:
    """Whether a rule gives every output cell of the step the same coordinate, or in the mode nearest the same cell.

    nearest_rounding: the rule that selects a cell; only in the mode nearest. recomputes_scale: whether the call takes
    or uses the size only, so that coordinates do not use the scale of the step.
    """
    given, is_nearest = step.parameters, step.parameters["mode"] == ResizeMode.NEAREST
    same_words = given.get("coordinates") == coordinates and (
        not is_nearest or given.get("nearest_rounding") == nearest_rounding
    )
    try:
        axes = step.resampled
    except (ValueError, TypeError, KeyError):
        return same_words  # an invalid call, or a convention
    if coordinates != CROP and _has_own_cells(step):
        return False
    steps = [Fraction(axis.size, axis.output) if recomputes_scale else axis.step for axis in axes]
    if same_words and all(axis.step == own for axis, own in zip(axes, steps, strict=True)):
        return True
    others = [replace(axis, coordinates=coordinates, step=own) for axis, own in zip(axes, steps, strict=True)]
    if not is_nearest:
        is_linear = given["mode"] == ResizeMode.LINEAR
        return _all_coordinates(axes, clamped=is_linear) == _all_coordinates(others, clamped=is_linear)
    rounding = given.get("nearest_rounding", NearestRounding.ROUND_PREFER_FLOOR.value)
    rule = nearest_rounding or rounding
    return all(_same_cells(axis, rounding, one, rule) for axis, one in zip(axes, others, strict=True))


def _has_own_cells(step: Step) -> bool:
    """Whether some output cell of a crop has no cell of x, or the size of the output depends on the region."""
    is_scaled_region = step.parameters.get("scale") and any(axis.end - axis.start != 1 for axis in step.resampled)
    return bool(is_scaled_region) or any(axis.is_extrapolated.any() for axis in step.resampled)


def omits_filter(step: Step) -> bool:
    """Whether the call must not name antialiasing, because its convention is about the default."""
    return "antialias" not in step.parameters


def antialiases(step: Step) -> bool:
    """Whether antialiasing changes weights: some axis has fewer cells in the output."""
    if not step.parameters.get("antialias"):
        return False
    try:
        return any(axis.step > 1 for axis in step.resampled)
    except (ValueError, TypeError, KeyError):
        return True  # an invalid call, or a convention


def excludes_outside(step: Step) -> bool:
    """Whether cells beyond an end have the weight 0, and the weights without it are others."""
    is_same = step.parameters["mode"] == ResizeMode.LINEAR and not antialiases(step)
    return bool(step.parameters.get("exclude_outside")) and not is_same


PLAIN_MODES = frozenset({ResizeMode.NEAREST.value, ResizeMode.LINEAR.value, ResizeMode.CUBIC.value})
LANCZOS_MODES = frozenset({ResizeMode.LANCZOS3.value, ResizeMode.LANCZOS5.value})
PLAIN_ONLY = Unsupported(
    "the modes are nearest, linear and cubic without antialiasing, and the cells at the ends are repeated"
)
NO_LANCZOS = Unsupported("the call has no kernel of Lanczos")
NO_AREA = Unsupported("the call has no mean of the covered part")
NO_REPEATED_ENDS = Unsupported("with antialiasing, cells beyond an end have the weight 0")


def has_plain_kernel(step: Step) -> bool:
    """Whether the mode is nearest, linear or cubic without antialiasing, and cells at the ends are repeated."""
    return step.parameters["mode"] in PLAIN_MODES and not antialiases(step) and not excludes_outside(step)


def plain_kernels_only(lowering: Callable[..., Code]) -> Callable[..., Code]:
    """Return a lowering that has no other kernels than those of has_plain_kernel."""

    @wraps(lowering)
    def limited(step: Step, *arguments: Any, **keywords: Any) -> Code:
        return lowering(step, *arguments, **keywords) if has_plain_kernel(step) else PLAIN_ONLY

    return limited


def axis_has_rule(axis: ResampledAxis, rounding: str, coordinates: str, nearest_rounding: str) -> bool:
    """Whether a rule that uses the size only copies the same cells of an axis in the mode nearest.

    rounding: that of the step. coordinates, nearest_rounding: the rule.
    """
    step = Fraction(axis.size, axis.output)
    return _same_cells(axis, rounding, replace(axis, coordinates=coordinates, step=step), nearest_rounding)


def _same_cells(axis: ResampledAxis, rounding: str, other: ResampledAxis, rule: str) -> bool:
    # Where the cell of the other rule depends on the rounding of a coordinate, the rules are not the same.
    same = (axis.nearest(rounding) == other.nearest(rule)) & (axis.is_extrapolated == other.is_extrapolated)
    return not other.has_inexact_steps_at(rule) and bool(same.all())


def _all_coordinates(axes: Sequence[ResampledAxis], *, clamped: bool) -> list[list[Fraction]]:
    """Return the coordinates of each axis; clamped: those beyond an end are moved to the end."""
    return [
        [min(max(one, Fraction(0)), Fraction(axis.size - 1)) if clamped else one for one in axis.all_coordinates]
        for axis in axes
    ]


HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, CROP = (
    Coordinates.HALF_PIXEL.value,
    Coordinates.ASYMMETRIC.value,
    Coordinates.ALIGN_CORNERS.value,
    Coordinates.TF_CROP_AND_RESIZE.value,
)
FLOOR, PREFER_FLOOR, PREFER_CEIL = (
    NearestRounding.FLOOR.value,
    NearestRounding.ROUND_PREFER_FLOOR.value,
    NearestRounding.ROUND_PREFER_CEIL.value,
)

NOT_WRITTEN_REASON = "the adapter does not write resizing yet"
NOT_WRITTEN: Mapping[str, Lowering] = {"resize": unsupported_lowering(NOT_WRITTEN_REASON)}
"""Lowering of surfaces whose frameworks resize, and for which no call is written."""
