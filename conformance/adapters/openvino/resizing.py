"""OpenVINO: resizing by `interpolate`, whose words are those of ONNX, and by those of earlier opsets.

The functions of opset1 to opset9 create Interpolate-1, that of opset10 Interpolate-4, the later ones Interpolate-11.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.adapters.api import Code, Step, Unsupported, call, number, spatial_axes
from conformance.adapters.api.resizing.rules import (
    CROP,
    HALF_PIXEL,
    antialiases,
    excludes_outside,
    has_plain_kernel,
    has_rule,
    omits_coordinates,
    resized_extents,
)
from conformance.cases.operators import Coordinates, NearestRounding, ResizeMode

MODES = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "linear_onnx", ResizeMode.CUBIC: "cubic"}
DEFAULT_CUBIC_A = -0.75
PLANE_RANK = 2


PILLOW_MODES = {ResizeMode.LINEAR: "bilinear_pillow", ResizeMode.CUBIC: "bicubic_pillow"}
PILLOW_CUBIC_A = -0.5
NO_PILLOW_RULE = Unsupported(
    "bilinear_pillow and bicubic_pillow antialias, leave out cells beyond x, and have half_pixel and the parameter -0.5"
)


RULES = tuple(one.value for one in Coordinates if one.value not in {CROP, Coordinates.HALF_PIXEL_SYMMETRIC.value})
NO_RULE = Unsupported("interpolate has neither half_pixel_symmetric nor tf_crop_and_resize")


def _coordinates(step: Step) -> str | None:
    """Return the word for the coordinates; another one where half_pixel_symmetric or a crop has the same result."""
    given = HALF_PIXEL if omits_coordinates(step) else step.parameters["coordinates"]
    rounding = step.parameters.get("nearest_rounding")
    return given if given in RULES else next((one for one in RULES if has_rule(step, one, rounding)), None)


def _mode_name(step: Step) -> str | Unsupported:
    mode = ResizeMode(step.parameters["mode"])
    if has_plain_kernel(step):
        return MODES[mode] if _coordinates(step) else NO_RULE
    is_smaller = any(axis.step > 1 for axis in step.resampled)
    has_filter = excludes_outside(step) and antialiases(step) == is_smaller
    has_coordinates = has_rule(step, HALF_PIXEL, recomputes_scale=True)
    has_kernel = mode is ResizeMode.LINEAR or step.parameters.get("cubic_a", PILLOW_CUBIC_A) == PILLOW_CUBIC_A
    if mode not in PILLOW_MODES or step.rank != PLANE_RANK or not (has_filter and has_coordinates and has_kernel):
        return NO_PILLOW_RULE
    return PILLOW_MODES[mode]


def resize(step: Step) -> Code:
    """Return the call."""
    given = step.parameters
    name = _mode_name(step)
    if isinstance(name, Unsupported):
        return name
    size, scales = given.get("size"), given.get("scale")
    if size is not None and scales:
        return Unsupported("interpolate takes sizes or scales, in one input")
    sizes = str([int(one) for one in size]) if size is not None else _vector(scales or ())
    return call("ops.interpolate", "x", sizes, *_shape_calculation(step, name), **_keywords(step))


def _vector(numbers: Iterable[float]) -> str:
    return f"np.float32([{', '.join(map(number, numbers))}])"


def _shape_calculation(step: Step, mode: str) -> tuple[str, str]:
    return f'"{mode}"', '"scales"' if step.parameters.get("size") is None else '"sizes"'


def _keywords(step: Step) -> dict[str, str | None]:
    given, mode = step.parameters, ResizeMode(step.parameters["mode"])
    coordinates = _coordinates(step)
    rounding = given.get("nearest_rounding", "round_prefer_floor")
    is_usual = mode is not ResizeMode.NEAREST or rounding == "round_prefer_floor"
    is_cubic = mode is ResizeMode.CUBIC and given.get("cubic_a", DEFAULT_CUBIC_A) != DEFAULT_CUBIC_A
    return {
        "coordinate_transformation_mode": None if coordinates == HALF_PIXEL else f'"{coordinates}"',
        "nearest_mode": None if is_usual else f'"{rounding}"',
        "cube_coeff": number(given["cubic_a"]) if is_cubic else None,
        "axes": str([*spatial_axes(step)]),
    }


def earlier_resize(step: Step) -> Code:
    """Return the call of Interpolate-1, or that of Interpolate-4 if the first one has no such rule."""
    if (
        omits_coordinates(step)
        or not has_plain_kernel(step)
        or (step.parameters.get("size") and step.parameters.get("scale"))
    ):
        return NO_EARLIER_KERNEL
    first = _first_resize(step)
    return first if isinstance(first, str) else _fourth_resize(step)


def _fourth_resize(step: Step) -> Code:
    name = _mode_name(step)
    if isinstance(name, Unsupported):
        return name
    extents = resized_extents(step)
    scales = step.parameters.get("scale") or [m / n for n, m in zip(step.shape[2:], extents, strict=True)]
    sizes = str([int(one) for one in extents])
    calculation = _shape_calculation(step, name)
    return call("ov.opset10.interpolate", "x", sizes, _vector(scales), *calculation, **_keywords(step))


NO_EARLIER_KERNEL = Unsupported("earlier opsets have the modes nearest, linear and cubic without antialiasing")
NO_FIRST_RULE = Unsupported(
    "Interpolate-1 takes a size, and has the coordinates align_corners and asymmetric, or half_pixel for linear "
    "interpolation that is not of planes; it copies the lower cell if the output is larger, the upper if it is smaller"
)


def _first_resize(step: Step) -> Code:
    given = step.parameters
    mode = ResizeMode(given["mode"])
    if mode is ResizeMode.CUBIC and given.get("cubic_a", DEFAULT_CUBIC_A) != DEFAULT_CUBIC_A:
        return Unsupported("Interpolate-1 has the parameter -0.75")
    rounding = _first_rounding(step) if mode is ResizeMode.NEAREST else None
    # The document does not say which coordinates align_corners=False has.
    is_centred = mode is ResizeMode.LINEAR and step.rank != PLANE_RANK
    rules = {False: HALF_PIXEL if is_centred else Coordinates.ASYMMETRIC.value, True: Coordinates.ALIGN_CORNERS.value}
    same = [one for one, rule in rules.items() if has_rule(step, rule, rounding, recomputes_scale=True)]
    if not same or (mode is ResizeMode.NEAREST and rounding is None):
        return NO_FIRST_RULE
    aligns = same[0]
    attributes = f'{{"axes": np.int64({[*spatial_axes(step)]}), "mode": "{mode.value}", "align_corners": {aligns}}}'
    sizes = [int(one) for one in resized_extents(step)]
    return call("ov.opset1.interpolate", "x", f"np.int64({sizes})", attributes)


def _first_rounding(step: Step) -> str | None:
    """Return the rule that selects a cell in Interpolate-1, None if it differs between the axes."""
    steps = [axis.step for axis in step.resampled]
    if all(one <= 1 for one in steps):
        return NearestRounding.FLOOR.value
    return NearestRounding.CEIL.value if all(one >= 1 for one in steps) else None
