"""PaddlePaddle: resizing by `interpolate` and the layer `Upsample`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
)
from conformance.adapters.paddle.calls import no_kernel
from conformance.cases.operators import ResizeMode

LINEAR_MODES = {1: "linear", 2: "bilinear", 3: "trilinear"}
CUBIC_A = -0.75
PLANE_RANK = 2
# The arguments of linear interpolation for each rule; cubic interpolation has no align_mode.
RULES = {HALF_PIXEL: {}, ALIGN_CORNERS: {"align_corners": "True"}, ASYMMETRIC: {"align_mode": "1"}}
NEAREST_DTYPES = frozenset({"float16", "float32", "float64", "int32", "int64", "uint8"})
INTERPOLATION_DTYPES = frozenset({"float16", "float32"})
SIZE_WINS = Unsupported("interpolate ignores the scale if there is a size")
FLOAT32_COORDINATES = Unsupported("coordinates of float64 are rounded to float32")
NO_ROWS = Unsupported("\"'NEAREST' only support 4-D or 5-D tensor.\"")
NO_NEAREST_RULE = Unsupported("the mode nearest copies the cell at the corner")
NO_CUBIC = Unsupported("bicubic interpolation is for planes, with the parameter -0.75")
NO_CUBIC_RULE = Unsupported("the coordinates of bicubic interpolation are half_pixel or align_corners")
NO_LINEAR_RULE = Unsupported("the coordinates of linear interpolation are half_pixel, align_corners or asymmetric")


@plain_kernels_only
def resize(step: Step, *, layer: bool) -> Code:
    """Return the call, or the layer created and called."""
    given = step.parameters
    size, scale = given.get("size"), given.get("scale")
    if size is not None and scale is not None:
        return SIZE_WINS
    found = _limit(step) or _mode_and_rule(step)
    if isinstance(found, Unsupported):
        return found
    mode, rule = found
    arguments: dict[str, str | None] = {
        "size": None if size is None else str([int(one) for one in size]),
        "scale_factor": None if scale is None else f"[{', '.join(number(float(one)) for one in scale)}]",
        "mode": f'"{mode}"',
        **rule,
    }
    return f"{call('nn.Upsample', **arguments)}(x)" if layer else call("F.interpolate", "x", **arguments)


def _limit(step: Step) -> Unsupported | None:
    if step.parameters["mode"] == ResizeMode.NEAREST:
        if step.dtype not in NEAREST_DTYPES:
            return no_kernel("interpolate", step.dtype)
        return NO_ROWS if step.rank == 1 else None
    if step.dtype in INTERPOLATION_DTYPES:
        return None
    return FLOAT32_COORDINATES if step.dtype == "float64" else no_kernel("interpolate", step.dtype)


def _mode_and_rule(step: Step) -> tuple[str, dict[str, str]] | Unsupported:
    mode = step.parameters["mode"]
    if mode == ResizeMode.NEAREST:
        is_written = omits_coordinates(step) or has_rule(step, ASYMMETRIC, FLOOR)
        return ("nearest", {}) if is_written else NO_NEAREST_RULE
    is_cubic = mode == ResizeMode.CUBIC
    if is_cubic and (step.rank != PLANE_RANK or step.parameters.get("cubic_a", CUBIC_A) != CUBIC_A):
        return NO_CUBIC
    name = "bicubic" if is_cubic else LINEAR_MODES[step.rank]
    for coordinates, arguments in RULES.items():
        if is_cubic and coordinates == ASYMMETRIC:
            return NO_CUBIC_RULE
        if omits_coordinates(step) or has_rule(step, coordinates):
            return name, arguments
    return NO_LINEAR_RULE
