"""ONNX: read the Resize node, whose scales and sizes are inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.adapters.api import (
    ADD_SHAPE,
    BoundCall,
    LayerSignature,
    UnreadableLayer,
    choice_argument,
    is_whole_number,
    modes_argument,
    number_argument,
)
from conformance.adapters.api.resizing.rules import ASYMMETRIC, CROP, FLOOR, PLAIN_MODES
from conformance.adapters.onnx.constants import constant_list
from conformance.cases.operators import Coordinates, NearestRounding, ResizeMode

INPUT_NAMES = ("x", "roi", "scales", "sizes")
# Resize-10 and Upsample-9 have two inputs, and one rule for coordinates.
OLD_INPUT_NAMES = ("x", "scales")
IMAGE_AXES = 2
"""Axes of an array before the spatial ones: batch and channels."""
KERNEL_PARAMETERS = ("antialias", "exclude_outside")


def resize_layers(node_parameters: str) -> tuple[LayerSignature, ...]:
    """Return the signatures of Resize and Upsample. node_parameters: the arguments of each node."""
    flags = {name: choice_argument(name, {0: False, 1: True}) for name in KERNEL_PARAMETERS}
    return (
        LayerSignature(
            f"Resize({node_parameters}mode='nearest', coordinate_transformation_mode='half_pixel', "
            "nearest_mode='round_prefer_floor', cubic_coeff_a=-0.75, antialias=0, exclude_outside=0, "
            "extrapolation_value=0.0, axes=None, keep_aspect_ratio_policy='stretch')",
            "resize",
            {
                "mode": modes_argument("mode", *sorted(PLAIN_MODES)),
                "coordinates": modes_argument("coordinate_transformation_mode", *map(str, Coordinates)),
                "nearest_rounding": modes_argument("nearest_mode", *map(str, NearestRounding)),
                "cubic_a": number_argument("cubic_coeff_a"),
                **flags,
                "extrapolation_value": number_argument("extrapolation_value"),
            },
            # The other policies change sizes.
            required_values={"keep_aspect_ratio_policy": "stretch"},
            adjust=_read_inputs,
        ),
        LayerSignature(
            f"Upsample({node_parameters}mode='nearest')",
            "resize",
            {"mode": modes_argument("mode", *sorted(PLAIN_MODES - {ResizeMode.CUBIC.value}))},
            adjust=_read_old_inputs,
        ),
    )


def _read_inputs(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size or the scale, and the region of a crop. Remove parameters that the mode does not have."""
    inputs = call.arguments["inputs"]
    if isinstance(inputs, tuple) and len(inputs) == len(OLD_INPUT_NAMES):
        mode = found["mode"]
        found.clear()
        return {"mode": mode, **_read_old_inputs(call, {"mode": mode})}
    is_nearest, is_crop = found["mode"] == ResizeMode.NEAREST, found["coordinates"] == CROP
    unused = {
        **dict.fromkeys(KERNEL_PARAMETERS, is_nearest),
        "nearest_rounding": not is_nearest,
        "cubic_a": found["mode"] != ResizeMode.CUBIC,
        "extrapolation_value": not is_crop,
    }
    for name in (name for name, is_unused in unused.items() if is_unused):
        del found[name]
    return {**_size_or_scale(call, INPUT_NAMES), **(_region(call) if is_crop else {})}


def _read_old_inputs(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the scale and the rules of Resize-10 and Upsample-9."""
    rounding = {"nearest_rounding": FLOOR} if found["mode"] == ResizeMode.NEAREST else {}
    return {**_size_or_scale(call, OLD_INPUT_NAMES), "coordinates": ASYMMETRIC, **rounding}


def _size_or_scale(call: BoundCall, names: Sequence[str]) -> Mapping[str, Any]:
    scales, sizes = (constant_list(call, names, name) for name in ("scales", "sizes"))
    if scales is not None and sizes is None:
        return {"scale": tuple(map(float, _spatial(call, scales, 1)))}
    if sizes is not None and scales is None:
        extents = _spatial(call, sizes, None)
        if not all(map(is_whole_number, extents)):
            raise UnreadableLayer(f"sizes {sizes!r}: not integers")
        return {"size": extents}
    raise UnreadableLayer("inputs: one of scales and sizes is needed")


def _region(call: BoundCall) -> Mapping[str, Any]:
    """Return the start and the end of the region on each spatial axis."""
    region = constant_list(call, INPUT_NAMES, "roi")
    if region is None or len(region) % 2:
        raise UnreadableLayer("inputs: roi has the starts of all axes, then the ends")
    half = len(region) // 2
    return {"roi_start": _spatial(call, region[:half], 0), "roi_end": _spatial(call, region[half:], 1)}


def _spatial(call: BoundCall, values: tuple[float, ...], unchanged: float | None) -> tuple[Any, ...]:
    """Return the values of the spatial axes. Raises UnreadableLayer if batch or channels change.

    values: those of the attribute `axes`, or of all axes. unchanged: that of an axis that is not resized, or None if it
    is the extent of x.
    """
    axes, shape = call.arguments.get("axes"), call.shape
    if axes is None:
        axes = tuple(range(len(values)))
    elif not isinstance(axes, tuple) or not all(map(is_whole_number, axes)):
        raise UnreadableLayer(f"axes {axes!r}: not integers")
    count = len(shape) if shape else max(axes) + 1
    by_axis = dict(zip([axis % count for axis in axes], values, strict=False))
    if len(axes) != len(values) or len(by_axis) != len(axes) or max(axes) >= count or min(axes) < -count:
        raise UnreadableLayer(f"{len(values)} numbers for the axes {axes}")
    missing = set(range(IMAGE_AXES, count)) - by_axis.keys()
    if missing and shape is None:
        raise UnreadableLayer(f"some axes are not resized: {ADD_SHAPE}")
    same = [shape[axis] if unchanged is None and shape else unchanged for axis in range(count)]
    if any(same[axis] not in (None, by_axis[axis]) for axis in by_axis.keys() & set(range(IMAGE_AXES))):
        raise UnreadableLayer("batch or channels are resized")
    return tuple(by_axis.get(axis, same[axis]) for axis in range(IMAGE_AXES, count))
