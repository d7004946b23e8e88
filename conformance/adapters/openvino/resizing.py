"""OpenVINO: resizing by `interpolate`, whose words are those of ONNX."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, number, spatial_axes
from conformance.adapters.api.resizing.rules import omits_coordinates
from conformance.cases.operators import ResizeMode

MODES = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "linear_onnx", ResizeMode.CUBIC: "cubic"}
DEFAULT_CUBIC_A = -0.75


def resize(step: Step) -> Code:
    """Return the call."""
    given = step.parameters
    mode, size = ResizeMode(given["mode"]), given.get("size")
    scales = given.get("scale") or ()
    if size is not None and scales:
        return Unsupported("interpolate takes sizes or scales, in one input")
    sizes = [int(one) for one in size] if size is not None else f"np.float32([{', '.join(map(number, scales))}])"
    is_default = omits_coordinates(step) or given["coordinates"] == "half_pixel"
    rounding = given.get("nearest_rounding", "round_prefer_floor")
    is_usual = mode is not ResizeMode.NEAREST or rounding == "round_prefer_floor"
    is_cubic = mode is ResizeMode.CUBIC and given["cubic_a"] != DEFAULT_CUBIC_A
    return call(
        "ops.interpolate",
        "x",
        str(sizes),
        f'"{MODES[mode]}"',
        '"scales"' if size is None else '"sizes"',
        coordinate_transformation_mode=None if is_default else f'"{given["coordinates"]}"',
        nearest_mode=None if is_usual else f'"{rounding}"',
        cube_coeff=number(given["cubic_a"]) if is_cubic else None,
        axes=str([*spatial_axes(step)]),
    )
