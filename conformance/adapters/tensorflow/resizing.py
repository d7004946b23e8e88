"""TensorFlow: resizing of planes by `tf.image.resize`, and by the functions of `tf.compat.v1` for other coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.adapters.api import FLOATING, Code, Step, Unsupported, call, number, text_unless_default
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP,
    FLOOR,
    HALF_PIXEL,
    LANCZOS_MODES,
    NO_AREA,
    NO_REPEATED_ENDS,
    PREFER_CEIL,
    antialiases,
    excludes_outside,
    has_plain_kernel,
    has_rule,
    omits_coordinates,
    region_ends,
    resized_extents,
)
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.operators import ResizeMode

PLANE_RANK = 2
NEAREST_DTYPES = FLOATING | {"int8", "uint8", "int16", "uint16", "int32", "int64"}
CUBIC_A = -0.75
# A table has the weights of this number of coordinates between two cells.
CUBIC_TABLE_SIZE = 1024
NO_RANK = Unsupported("tf.image.resize resizes planes only")
NO_RULE = Unsupported(
    "tf.image.resize takes a size, and its coordinates are half_pixel; those of tf.compat.v1 are asymmetric or "
    "align_corners"
)
FLOAT32_ONLY = Unsupported("linear and cubic interpolation return float32")
OTHER_KERNEL = Unsupported("bicubic interpolation with half_pixel has another kernel, which leaves out cells beyond x")
ROUNDED_COORDINATES = Unsupported("bicubic interpolation rounds coordinates to 1/1024")


def _names(mode: ResizeMode) -> tuple[str, str]:
    """Return the method of tf.image.resize, and the function of tf.compat.v1.image."""
    name = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "bilinear", ResizeMode.CUBIC: "bicubic"}[mode]
    return name, f"resize_{name}{'_neighbor' if mode is ResizeMode.NEAREST else ''}"


def _calls(step: Step) -> Iterator[tuple[str, str, str]]:
    """Yield every call with its coordinates and its rule for the nearest cell."""
    method, function = _names(ResizeMode(step.parameters["mode"]))
    size = list(map(int, resized_extents(step)))
    keyword = "" if method == "bilinear" else f', method="{method}"'
    yield f"tf.image.resize(x, {size}{keyword})", HALF_PIXEL, PREFER_CEIL
    old = f"tf.compat.v1.image.{function}(x, {size}"
    yield f"{old})", ASYMMETRIC, FLOOR
    yield f"{old}, align_corners=True)", ALIGN_CORNERS, PREFER_CEIL


def resize(step: Step) -> Code:
    """Return the call whose coordinates are those of the step."""
    given = step.parameters
    if step.rank != PLANE_RANK:
        return NO_RANK
    if given.get("size") is not None and given.get("scale") is not None:
        return Unsupported("tf.image.resize takes a size and no scale")
    mode = ResizeMode(given["mode"])
    if mode is ResizeMode.NEAREST and step.dtype not in NEAREST_DTYPES:
        return Unsupported(f"ResizeNearestNeighbor has no kernel for {step.dtype}")
    if mode is not ResizeMode.NEAREST and step.dtype != "float32":
        return FLOAT32_ONLY
    return _plain_or_filtered(step, mode)


def _plain_or_filtered(step: Step, mode: ResizeMode) -> Code:
    if not has_plain_kernel(step):
        return _filtered(step)
    if step.parameters.get("coordinates") == CROP:
        return _crop(step, mode)
    for text, coordinates, rounding in _calls(step):
        if omits_coordinates(step) or has_rule(step, coordinates, rounding, recomputes_scale=True):
            return _cubic_limit(step, coordinates) or text if mode is ResizeMode.CUBIC else text
    return NO_RULE


CROP_METHODS = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "bilinear"}
NO_CROP = Unsupported(
    "tf.image.crop_and_resize has nearest, which copies the upper cell at ties, and bilinear interpolation"
)
FLOAT32_CROP = Unsupported("tf.image.crop_and_resize returns float32")


def _crop(step: Step, mode: ResizeMode) -> Code:
    """Return tf.image.crop_and_resize with one box for each image."""
    if mode not in CROP_METHODS or (mode is ResizeMode.NEAREST and not has_rule(step, CROP, PREFER_CEIL)):
        return NO_CROP
    if step.parameters.get("scale") is not None:
        return Unsupported("tf.image.crop_and_resize takes a size and no scale")
    if step.dtype != "float32":
        return FLOAT32_CROP
    box = ", ".join(number(one) for ends in region_ends(step) for one in ends)
    boxes = f"[[{box}]]{f' * {step.shape[0]}' * (step.shape[0] != 1)}"
    return call(
        "tf.image.crop_and_resize",
        "x",
        boxes,
        str([*range(step.shape[0])]),
        str([*resized_extents(step)]),
        method=None if mode is ResizeMode.LINEAR else f'"{CROP_METHODS[mode]}"',
        extrapolation_value=text_unless_default(0, step.parameters.get("extrapolation_value")),
    )


SCALED_MODES = {
    ResizeMode.LINEAR: "bilinear",
    ResizeMode.CUBIC: "bicubic",
    ResizeMode.LANCZOS3: "lanczos3",
    ResizeMode.LANCZOS5: "lanczos5",
}
SCALED_CUBIC_A = -0.5


def _filtered(step: Step) -> Code:
    """Return tf.image.resize with a kernel that antialiases, leaves out cells beyond x, or is another one."""
    mode, smaller = ResizeMode(step.parameters["mode"]), antialiases(step)
    size = list(map(int, resized_extents(step)))
    if not has_rule(step, HALF_PIXEL, recomputes_scale=True):
        return NO_RULE
    if mode is ResizeMode.AREA:
        return f'tf.image.resize(x, {size}, method="area")'
    if not excludes_outside(step):
        return NO_REPEATED_ENDS
    if mode is ResizeMode.CUBIC and step.parameters.get("cubic_a", SCALED_CUBIC_A) != SCALED_CUBIC_A:
        return OTHER_KERNEL
    if mode is ResizeMode.CUBIC and not smaller and _has_rounded_coordinates(step):
        return ROUNDED_COORDINATES
    antialias = ", antialias=True" if smaller else ""
    return f'tf.image.resize(x, {size}, method="{SCALED_MODES[mode]}"{antialias})'


def _has_rounded_coordinates(step: Step) -> bool:
    parts = (one.denominator for axis in step.resampled for one in axis.all_coordinates)
    return any(CUBIC_TABLE_SIZE % part for part in parts)


def _cubic_limit(step: Step, coordinates: str) -> Unsupported | None:
    if "cubic_a" not in step.parameters:
        return None  # the convention about the default kernel
    if coordinates == HALF_PIXEL or step.parameters.get("cubic_a", CUBIC_A) != CUBIC_A:
        return OTHER_KERNEL
    return ROUNDED_COORDINATES if _has_rounded_coordinates(step) else None


def converted_resize(step: Step) -> Code:
    """Return linear interpolation of 16-bit floats, converted back from float32."""
    if step.dtype not in SHORT_FLOATS or step.parameters["mode"] == ResizeMode.NEAREST or not has_plain_kernel(step):
        return resize(step)
    if step.rank != PLANE_RANK:
        return NO_RANK
    for text, coordinates, _ in _calls(step):
        if has_rule(step, coordinates, recomputes_scale=True) and step.parameters["mode"] == ResizeMode.LINEAR:
            return ("dtype = x.dtype", f"x = tf.cast({text}, dtype)")
    return NO_RULE


INTERPOLATIONS = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "bilinear"}
NO_KERAS_CUBIC = Unsupported("the kernel of bicubic interpolation depends on the engine")


LANCZOS_ENGINES = frozenset({"jax", "tensorflow"})


def _interpolation(step: Step, engine: str) -> str | Unsupported:
    """Return the interpolation of Keras, and antialiasing if it is not the default."""
    mode, smaller = ResizeMode(step.parameters["mode"]), antialiases(step)
    if has_plain_kernel(step):
        is_default = mode is ResizeMode.CUBIC and "cubic_a" not in step.parameters
        return SCALED_MODES[mode] if is_default else INTERPOLATIONS.get(mode, NO_KERAS_CUBIC)
    if mode is ResizeMode.AREA or not excludes_outside(step):
        return NO_AREA if mode is ResizeMode.AREA else NO_REPEATED_ENDS
    return _keras_filter(step, engine, mode, smaller=smaller)


def _keras_filter(step: Step, engine: str, mode: ResizeMode, *, smaller: bool) -> str | Unsupported:
    if mode is ResizeMode.CUBIC and (step.parameters.get("cubic_a", SCALED_CUBIC_A) != SCALED_CUBIC_A or not smaller):
        return NO_KERAS_CUBIC
    if mode.value in LANCZOS_MODES and engine not in LANCZOS_ENGINES:
        return Unsupported("Resizing with Lanczos interpolation is not supported by the PyTorch backend")
    if engine == "torch" and step.dtype in SHORT_FLOATS:
        return Unsupported(f'"compute_index_ranges_weights" not implemented for {step.dtype}')
    return SCALED_MODES[mode]


def size_and_interpolation(step: Step, engine: str) -> tuple[str, str] | Unsupported:
    """Return the size, and the interpolation with antialiasing, or why there is no call."""
    given = step.parameters
    if engine == "tensorflow":
        limit = _keras_limit(step)
        if limit:
            return limit
    if step.rank != PLANE_RANK:
        return Unsupported("keras.ops.image.resize resizes planes only")
    if given.get("size") is not None and given.get("scale") is not None:
        return Unsupported("keras.ops.image.resize takes a size and no scale")
    interpolation = _interpolation(step, engine)
    if isinstance(interpolation, Unsupported):
        return interpolation
    if not (omits_coordinates(step) or has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)):
        return Unsupported("keras.ops.image.resize takes a size, and its coordinates are half_pixel")
    size = ", ".join(str(int(one)) for one in resized_extents(step))
    return size, f'"{interpolation}"{", antialias=True" if antialiases(step) else ""}'


def _keras_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use the functions of TensorFlow, which the engine calls."""
    if step.parameters["mode"] == ResizeMode.NEAREST:
        has_kernel = step.dtype in NEAREST_DTYPES
        return None if has_kernel else Unsupported(f"ResizeNearestNeighbor has no kernel for {step.dtype}")
    if step.dtype in SHORT_FLOATS and not has_plain_kernel(step):
        return FLOAT32_ONLY
    return Unsupported("linear interpolation computes float64 in float32") if step.dtype == "float64" else None


def layer_resize(step: Step, engine: str, module: str = "keras.layers", layout: str = "") -> Code:
    """Return the layer, created and called. layout: the argument that names it, if it is not the default."""
    found = size_and_interpolation(step, engine)
    if isinstance(found, Unsupported):
        return found
    size, interpolation = found
    return f"{module}.Resizing({size}, interpolation={interpolation}{layout}, dtype=x.dtype)(x)"
