"""Keras: resizing of planes by `keras.ops.image.resize` and the layer `Resizing`, which take a size."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.resizing import HALF_PIXEL, PREFER_CEIL, has_rule, omits_coordinates, resized_extents
from conformance.adapters.tensorflow.resizing import NEAREST_DTYPES
from conformance.cases.operators import ResizeMode

PLANE_RANK = 2
INTERPOLATIONS = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "bilinear"}
NO_CUBIC = Unsupported("the kernel of bicubic interpolation depends on the engine")


def _arguments(step: Step, engine: str) -> tuple[str, str] | Unsupported:
    """Return the size and the interpolation, or why there is no call."""
    given = step.parameters
    if engine == "tensorflow":
        limit = _tensorflow_limit(step)
        if limit:
            return limit
    if step.rank != PLANE_RANK:
        return Unsupported("keras.ops.image.resize resizes planes only")
    if given.get("size") is not None and given.get("scale") is not None:
        return Unsupported("keras.ops.image.resize takes a size and no scale")
    if given["mode"] not in INTERPOLATIONS:
        return NO_CUBIC
    if not (omits_coordinates(step) or has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)):
        return Unsupported("keras.ops.image.resize takes a size, and its coordinates are half_pixel")
    return ", ".join(str(int(one)) for one in resized_extents(step)), INTERPOLATIONS[ResizeMode(given["mode"])]


def _tensorflow_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use the functions of TensorFlow, which the engine calls."""
    if step.parameters["mode"] == ResizeMode.NEAREST:
        has_kernel = step.dtype in NEAREST_DTYPES
        return None if has_kernel else Unsupported(f"ResizeNearestNeighbor has no kernel for {step.dtype}")
    return Unsupported("linear interpolation computes float64 in float32") if step.dtype == "float64" else None


def ops_resize(step: Step, engine: str) -> Code:
    """Return the call of keras.ops."""
    found = _arguments(step, engine)
    if isinstance(found, Unsupported):
        return found
    size, interpolation = found
    return f'keras.ops.image.resize(x, ({size}), interpolation="{interpolation}")'


def layer_resize(step: Step, engine: str, module: str = "keras.layers", layout: str = "") -> Code:
    """Return the layer, created and called. layout: the argument that names it, if it is not the default."""
    found = _arguments(step, engine)
    if isinstance(found, Unsupported):
        return found
    size, interpolation = found
    return f'{module}.Resizing({size}, interpolation="{interpolation}"{layout}, dtype=x.dtype)(x)'
