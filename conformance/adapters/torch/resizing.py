"""PyTorch: resizing by `interpolate` and the layer `Upsample`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.adapters.api import Code, Step, Unsupported, call, number, tuple_of
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    PREFER_CEIL,
    has_rule,
    omits_coordinates,
)
from conformance.cases.operators import ResizeMode

ResizeWriter = Callable[..., str]
# The modes that copy a cell, with the rules that documents and source give them.
NEAREST_MODES = {"nearest": (ASYMMETRIC, FLOOR), "nearest-exact": (HALF_PIXEL, PREFER_CEIL)}
LINEAR_MODES = {1: "linear", 2: "bilinear", 3: "trilinear"}
DEFAULT_CUBIC_A = -0.75
PLANE_RANK = 2


def functional_resize(**keywords: str | None) -> str:
    """Return a call of `interpolate`."""
    return call("F.interpolate", "x", **keywords)


def layer_resize(**keywords: str | None) -> str:
    """Return the layer `Upsample`, created and called."""
    return call("nn.Upsample", **keywords) + "(x)"


def resize(write_call: ResizeWriter, step: Step) -> Code:
    """Return the call: a nearest mode, or linear or cubic interpolation with or without align_corners."""
    given = step.parameters
    size, scale = given.get("size"), given.get("scale")
    sizes = {
        "size": None if size is None else tuple_of(size),
        "scale_factor": None if scale is None else _scales(scale),
    }
    if given["mode"] == ResizeMode.NEAREST:
        return _nearest(write_call, step, sizes)
    if given["mode"] == ResizeMode.CUBIC:
        if step.rank != PLANE_RANK or given["cubic_a"] != DEFAULT_CUBIC_A:
            return Unsupported("bicubic interpolation is for planes, with the parameter -0.75")
        mode = "bicubic"
    else:
        mode = LINEAR_MODES[step.rank]
    if omits_coordinates(step) or has_rule(step, HALF_PIXEL):
        return write_call(**sizes, mode=f'"{mode}"')
    if has_rule(step, ALIGN_CORNERS):
        return write_call(**sizes, mode=f'"{mode}"', align_corners="True")
    return Unsupported("the coordinates of linear and cubic interpolation are half_pixel or align_corners")


def _scales(scale: Sequence[float]) -> str:
    numbers = ", ".join(number(float(one)) for one in scale)
    return f"({numbers},)" if len(scale) == 1 else f"({numbers})"


def _nearest(write_call: ResizeWriter, step: Step, sizes: dict[str, str | None]) -> Code:
    for mode, (coordinates, rounding) in NEAREST_MODES.items():
        if omits_coordinates(step) or has_rule(step, coordinates, rounding):
            return write_call(**sizes, mode=f'"{mode}"')
    return Unsupported(
        "the nearest modes copy the cell at the corner, or the cell nearest to the centre, upper at ties"
    )
