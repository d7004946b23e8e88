"""PyTorch: resizing by `interpolate` and the layer `Upsample`, written and read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.adapters.api import (
    BoundCall,
    Code,
    Step,
    UnreadableLayer,
    Unsupported,
    call,
    number,
    one_per_axis,
    sizes_argument,
    tuple_of,
)
from conformance.adapters.api.resizing.reading import ANTIALIASED_CUBIC_A, antialiasing, scales_argument
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    PREFER_CEIL,
    antialiases,
    excludes_outside,
    has_plain_kernel,
    has_rule,
    omits_coordinates,
)
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.operators import ResizeMode

ResizeWriter = Callable[..., Code]
# The modes that copy a cell, with the rules that documents and source give them.
NEAREST_MODES = {"nearest": (ASYMMETRIC, FLOOR), "nearest-exact": (HALF_PIXEL, PREFER_CEIL)}
LINEAR_MODES = {1: "linear", 2: "bilinear", 3: "trilinear"}
DEFAULT_CUBIC_A = -0.75
PLANE_RANK = 2


def functional_resize(**keywords: str | None) -> Code:
    """Return a call of `interpolate`."""
    return call("F.interpolate", "x", **keywords)


def layer_resize(**keywords: str | None) -> Code:
    """Return the layer `Upsample`, created and called."""
    if "antialias" in keywords:
        return Unsupported("the layer Upsample has no argument antialias")
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
    if not has_plain_kernel(step):
        other = _area if given["mode"] == ResizeMode.AREA else _antialiased
        return other(write_call, step, sizes)
    if given["mode"] == ResizeMode.CUBIC:
        if step.rank != PLANE_RANK or given.get("cubic_a", DEFAULT_CUBIC_A) != DEFAULT_CUBIC_A:
            return Unsupported("bicubic interpolation is for planes, with the parameter -0.75")
        mode = "bicubic"
    else:
        mode = LINEAR_MODES[step.rank]
    if omits_coordinates(step) or has_rule(step, HALF_PIXEL):
        return write_call(**sizes, mode=f'"{mode}"')
    if has_rule(step, ALIGN_CORNERS):
        return write_call(**sizes, mode=f'"{mode}"', align_corners="True")
    return Unsupported("the coordinates of linear and cubic interpolation are half_pixel or align_corners")


ANTIALIASED_MODES = {ResizeMode.LINEAR: "bilinear", ResizeMode.CUBIC: "bicubic", ResizeMode.LANCZOS3: "lanczos"}
"""The modes that have antialiasing. Without a smaller axis, it changes the cubic kernel and the ends only."""
NO_ANTIALIASED_RULE = Unsupported(
    "antialiasing is for bilinear, bicubic and lanczos interpolation of planes with half_pixel, where the cubic kernel "
    "has the parameter -0.5, and leaves out cells beyond x"
)


def _antialiased(write_call: ResizeWriter, step: Step, sizes: dict[str, str | None]) -> Code:
    given = step.parameters
    mode = ANTIALIASED_MODES.get(ResizeMode(given["mode"]))
    is_smaller = any(axis.step > 1 for axis in step.resampled)
    is_cubic = given["mode"] == ResizeMode.CUBIC and given.get("cubic_a", ANTIALIASED_CUBIC_A) != ANTIALIASED_CUBIC_A
    has_filter = excludes_outside(step) and antialiases(step) == is_smaller
    if mode is None or step.rank != PLANE_RANK or is_cubic or not has_filter or not has_rule(step, HALF_PIXEL):
        return NO_ANTIALIASED_RULE
    if step.dtype in SHORT_FLOATS:
        return Unsupported(f'"compute_index_ranges_weights" not implemented for {step.dtype}')
    return write_call(**sizes, mode=f'"{mode}"', antialias="True")


def _area(write_call: ResizeWriter, step: Step, sizes: dict[str, str | None]) -> Code:
    has_whole_cells = not omits_coordinates(step) and all(axis.step.denominator == 1 for axis in step.resampled)
    if omits_coordinates(step) or has_whole_cells:
        return write_call(**sizes, mode='"area"')
    return Unsupported("the mode area is the mean of all cells that an output cell touches, whole cells")


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


READINGS = {"size": sizes_argument("size"), "scale": scales_argument("scale_factor")}
LAYER_RULES: Mapping[str, Mapping[str, Any]] = {
    "Nearest": {"mode": ResizeMode.NEAREST.value, "coordinates": ASYMMETRIC, "nearest_rounding": FLOOR},
    "Bilinear": {"mode": ResizeMode.LINEAR.value, "coordinates": ALIGN_CORNERS},
}
"""Parameters of the layers that have a name for each mode."""
RANKS = {**{mode: rank for rank, mode in LINEAR_MODES.items()}, "bicubic": PLANE_RANK}
AREA = "area"
"""The mode for which torch/nn/functional.py calls adaptive average pooling."""


def read_size(given: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size or the scale of a layer for planes. Raises UnreadableLayer without exactly one of them."""
    return _size_or_scale(given, PLANE_RANK, recomputes=False)


def read_call(given: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a call of `interpolate`. Raises UnreadableLayer for a call that PyTorch rejects."""
    mode, align_corners = given.arguments["mode"], given.arguments["align_corners"]
    if given.arguments.get("antialias"):
        return _read_antialiased(given, mode, align_corners)
    if mode not in (*NEAREST_MODES, *RANKS, AREA):
        raise UnreadableLayer(f"mode={mode!r}: not one of {', '.join(map(repr, (*NEAREST_MODES, *RANKS, AREA)))}")
    if mode not in RANKS and align_corners is not None:
        raise UnreadableLayer(f"align_corners={align_corners!r}: the mode {mode!r} has no such option")
    given_sizes = [one for one in map(given.arguments.get, ("size", "scale_factor")) if isinstance(one, tuple)]
    rank = RANKS.get(mode) or given.spatial_axes(*given_sizes[:1])
    if given.shape is not None and len(given.shape) - 2 != rank:
        raise UnreadableLayer(f"mode={mode!r}: for {rank} spatial axes, and the input has {len(given.shape) - 2}")
    recomputes = mode == AREA or given.arguments["recompute_scale_factor"] is True
    sizes = _size_or_scale(replace(given, rank=rank), rank, recomputes=recomputes)
    if mode == AREA:
        return {"operator": "adaptive_avg_pool", "output_size": sizes["size"]}
    if mode in NEAREST_MODES:
        coordinates, rounding = NEAREST_MODES[mode]
        return {**sizes, "mode": ResizeMode.NEAREST.value, "coordinates": coordinates, "nearest_rounding": rounding}
    rule = ResizeMode.CUBIC if mode == "bicubic" else ResizeMode.LINEAR
    return {**sizes, "mode": rule.value, "coordinates": ALIGN_CORNERS if align_corners is True else HALF_PIXEL}


def _read_antialiased(given: BoundCall, mode: Any, align_corners: Any) -> Mapping[str, Any]:
    modes = {name: one for one, name in ANTIALIASED_MODES.items()}
    if mode not in modes or align_corners is True:
        raise UnreadableLayer(f"antialias=True: with {', '.join(map(repr, modes))}, and without align_corners")
    recomputes = given.arguments["recompute_scale_factor"] is True
    sizes = _size_or_scale(replace(given, rank=PLANE_RANK), PLANE_RANK, recomputes=recomputes)
    return {**sizes, "mode": modes[mode].value, "coordinates": HALF_PIXEL, **antialiasing(modes[mode])}


def _size_or_scale(given: BoundCall, rank: int, *, recomputes: bool) -> dict[str, Any]:
    """Return the size, or the scale, of each axis. recomputes: whether coordinates depend on the size only."""
    read = {name: reading.convert(given, given.arguments[reading.argument]) for name, reading in READINGS.items()}
    found = {name: one_per_axis(value, rank) for name, value in read.items() if value is not None}
    if len(found) != 1:
        raise UnreadableLayer("one of size and scale_factor is needed")
    if "size" in found or not recomputes:
        return found
    extents = given.input_extents("the size of the output")
    return {"size": tuple(math.floor(size * by) for size, by in zip(extents, found["scale"], strict=True))}
