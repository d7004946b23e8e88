"""Image libraries: resizing, as each library computes it. Observed with the versions in `pyproject.toml`.

Sources: Pillow 13.0, Image.resize and Image.transform, https://pillow.readthedocs.io/en/stable/reference/Image.html;
OpenCV 5.0, resize, https://docs.opencv.org/5.x/da/d54/group__imgproc__transform.html;
scikit-image 0.26, transform.resize, https://scikit-image.org/docs/0.26.x/api/skimage.transform.html;
SciPy 1.17, ndimage.zoom, https://docs.scipy.org/doc/scipy-1.17.0/reference/generated/scipy.ndimage.zoom.html.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.adapters.api import Code, Step, Unsupported, call, number, tuple_of
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    PLAIN_ONLY,
    PREFER_CEIL,
    antialiases,
    excludes_outside,
    has_plain_kernel,
    has_rule,
    omits_coordinates,
    omits_filter,
    plain_kernels_only,
    resized_extents,
    scale_of_each_axis,
)
from conformance.cases.operators import ResizeMode

PLANE_RANK = 2
OPENCV_CUBIC_A = -0.75
NO_RANK = Unsupported("images have two spatial axes")
NO_BATCH = Unsupported("the library takes one image at a time, and an empty batch has none")
SIZE_ONLY = Unsupported("the call takes a size and no scale")
HALF_PIXEL_ONLY = Unsupported("the coordinates are half_pixel; in the mode nearest, the upper cell is copied at ties")
NO_CUBIC_EDGES = Unsupported(
    "bicubic interpolation of Pillow leaves out cells beyond x; if the output is smaller, it antialiases"
)
NO_OTHER_RANK = Unsupported("a number after those of the spatial axes is the number of channels")
SPLINE = Unsupported("the order 3 is a spline that passes through all cells, not the cubic kernel")
NOT_FLOAT32 = Unsupported("linear and cubic interpolation of OpenCV use coordinates and weights in float32")
NO_FLOAT16 = Unsupported("OpenCV does not interpolate float16")
NO_OPENCV_RULE = Unsupported(
    "the coordinates of OpenCV are half_pixel; those of INTER_NEAREST are asymmetric, rounded down"
)
OTHER_SIZE = Unsupported("OpenCV rounds the size to the nearest whole number")
OTHER_CUBIC = Unsupported("the parameter of INTER_CUBIC is -0.75")
NO_SCIPY_RULE = Unsupported(
    "the coordinates of ndimage.zoom are half_pixel or align_corners; at ties, the upper cell is copied"
)
NO_MIXED_AREA = Unsupported("INTER_AREA interpolates if one axis becomes larger and another one smaller")
GAUSSIAN = Unsupported("antialiasing of scikit-image is a Gaussian filter before the interpolation")
NO_ZOOM = Unsupported("ndimage.zoom computes the size from a factor, and no factor gives this size")
PILLOW_FILTERS: Mapping[ResizeMode, str] = {
    ResizeMode.NEAREST: "NEAREST",
    ResizeMode.LINEAR: "BILINEAR",
    ResizeMode.CUBIC: "BICUBIC",
    ResizeMode.LANCZOS3: "LANCZOS",
}
PILLOW_CUBIC_A = -0.5
NO_PILLOW_KERNEL = Unsupported("Pillow has no such kernel; BOX weighs whole cells")
ORDERS: Mapping[ResizeMode, int] = {ResizeMode.NEAREST: 0, ResizeMode.LINEAR: 1}


def _image_limit(step: Step) -> Unsupported | None:
    """Return why a library for planes cannot resize the input."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    return NO_BATCH if 0 in step.shape[:2] else None


def _has_both(step: Step) -> bool:
    return step.parameters.get("size") is not None and step.parameters.get("scale") is not None


def _has_half_pixel(step: Step) -> bool:
    return omits_coordinates(step) or has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)


def pillow_resize(step: Step) -> Code:
    """Return the call for each plane, or Unsupported with the reason."""
    mode = ResizeMode(step.parameters["mode"])
    unsupported = _image_limit(step) or (SIZE_ONLY if _has_both(step) else None)
    unsupported = unsupported or (None if _has_half_pixel(step) else HALF_PIXEL_ONLY) or _pillow_limit(step, mode)
    if unsupported:
        return unsupported
    size = resized_extents(step)
    image = f"Image.fromarray(plane).{_pillow_call(step, size, PILLOW_FILTERS[mode])}"
    return (
        f"planes = [np.asarray({image}) for plane in x.reshape(-1, *x.shape[2:])]",
        f"x = np.stack(planes).reshape(*x.shape[:2], {', '.join(map(str, size))})",
    )


def _pillow_limit(step: Step, mode: ResizeMode) -> Unsupported | None:
    """Return why Pillow has not the kernel of the step."""
    if mode not in PILLOW_FILTERS:
        return NO_PILLOW_KERNEL
    if has_plain_kernel(step):
        return NO_CUBIC_EDGES if mode is ResizeMode.CUBIC else None
    is_smaller = any(axis.step > 1 for axis in step.resampled)
    has_kernel = mode is not ResizeMode.CUBIC or step.parameters.get("cubic_a", PILLOW_CUBIC_A) == PILLOW_CUBIC_A
    return None if has_kernel and excludes_outside(step) and antialiases(step) == is_smaller else NO_CUBIC_EDGES


def _pillow_call(step: Step, size: Sequence[int], resample: str) -> str:
    width_first, resample = tuple_of(size[::-1]), f"Image.Resampling.{resample}"
    is_smaller = any(n > m > 0 for n, m in zip(step.shape[2:], size, strict=False))
    # Image.resize antialiases along an axis that becomes smaller. A call without a rule is that call all the same.
    is_filter = step.parameters["mode"] == ResizeMode.NEAREST or omits_filter(step) or not has_plain_kernel(step)
    if is_filter or omits_coordinates(step) or not is_smaller:
        return call("resize", width_first, resample)
    box = (0, 0, *step.shape[:1:-1])
    return call("transform", width_first, "Image.Transform.EXTENT", tuple_of(box), resample)


def opencv_resize(step: Step) -> Code:
    """Return the call for each image, or Unsupported with the reason."""
    interpolation = _image_limit(step) or _opencv_interpolation(step)
    if isinstance(interpolation, Unsupported):
        return interpolation
    size, scale = step.parameters.get("size"), step.parameters.get("scale")
    image = call(
        "cv2.resize",
        "image",
        "None" if size is None else tuple_of(size[::-1]),
        **{name: number(float(by)) for name, by in zip(("fx", "fy"), (scale or ())[::-1], strict=False)},
        interpolation=f"cv2.{interpolation}",
    )
    # The function drops an axis of one channel.
    return f"np.stack([{image}.reshape({', '.join(map(str, _opencv_size(step)))}, -1) for image in x])"


def _opencv_size(step: Step) -> tuple[int, ...]:
    """Return the size of the result: that of the call, or the one that OpenCV computes from the scale."""
    size: tuple[int, ...] | None = step.parameters.get("size")
    scale = step.parameters.get("scale") or ()
    return tuple(round(n * by) for n, by in zip(step.shape[2:], scale, strict=False)) if size is None else size


def _opencv_interpolation(step: Step) -> str | Unsupported:
    if not omits_coordinates(step) and _opencv_size(step) != resized_extents(step):
        return OTHER_SIZE
    mode = ResizeMode(step.parameters["mode"])
    other = {ResizeMode.NEAREST: _opencv_nearest, ResizeMode.AREA: _opencv_area}.get(mode)
    if other:
        return other(step)
    return _opencv_kernel(step, mode) if has_plain_kernel(step) else PLAIN_ONLY


def _opencv_kernel(step: Step, mode: ResizeMode) -> str | Unsupported:
    if step.dtype != "float32":
        return NO_FLOAT16 if step.dtype == "float16" else NOT_FLOAT32
    if not (omits_coordinates(step) or has_rule(step, HALF_PIXEL)):
        return NO_OPENCV_RULE
    if mode is ResizeMode.LINEAR:
        return "INTER_LINEAR"
    return "INTER_CUBIC" if step.parameters.get("cubic_a", OPENCV_CUBIC_A) == OPENCV_CUBIC_A else OTHER_CUBIC


def _opencv_area(step: Step) -> str | Unsupported:
    if step.dtype != "float32":
        return NO_FLOAT16 if step.dtype == "float16" else NOT_FLOAT32
    growths = [m - n for n, m in zip(step.shape[2:], resized_extents(step), strict=True)]
    if min(growths) < 0 < max(growths):
        return NO_MIXED_AREA
    has_cells = omits_coordinates(step) or has_rule(step, HALF_PIXEL, recomputes_scale=True)
    return "INTER_AREA" if has_cells else HALF_PIXEL_ONLY


def _opencv_nearest(step: Step) -> str | Unsupported:
    if omits_coordinates(step) or has_rule(step, ASYMMETRIC, FLOOR):
        return "INTER_NEAREST"
    is_exact = has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)
    return "INTER_NEAREST_EXACT" if is_exact else NO_OPENCV_RULE


@plain_kernels_only
def skimage_resize(step: Step) -> Code:
    """Return the call for each image, or Unsupported with the reason."""
    mode = ResizeMode(step.parameters["mode"])
    unsupported = SIZE_ONLY if _has_both(step) else GAUSSIAN if omits_filter(step) else None
    if unsupported or mode is ResizeMode.CUBIC:
        return unsupported or SPLINE
    if 0 in step.shape[:2]:
        return NO_BATCH
    if len(resized_extents(step)) != step.rank:
        return NO_OTHER_RANK
    if not _has_half_pixel(step):
        return HALF_PIXEL_ONLY
    image = call(
        "resize",
        "image",
        tuple_of(resized_extents(step)),
        order=str(ORDERS[mode]),
        mode='"edge"',
        anti_aliasing="False",
        preserve_range="True",
    )
    return f"np.stack([{image} for image in x])"


@plain_kernels_only
def scipy_zoom(step: Step) -> Code:
    """Return the call for the whole batch, or Unsupported with the reason."""
    mode = ResizeMode(step.parameters["mode"])
    if mode is ResizeMode.CUBIC:
        return SPLINE
    if _has_both(step):
        return SIZE_ONLY
    factors = scale_of_each_axis(step, lambda size, scale: round(size * scale))
    extents = resized_extents(step)
    sizes_differ = [round(n * by) != m for n, by, m in zip(step.shape[2:], factors or (), extents, strict=False)]
    if factors is None or any(sizes_differ):
        return NO_ZOOM
    grid = _grid_arguments(step)
    if isinstance(grid, Unsupported):
        return grid
    zoom = f"(1, 1, {', '.join(map(number, factors))})"
    return call("ndimage.zoom", "x", zoom, order=str(ORDERS[mode]), **grid)


def _grid_arguments(step: Step) -> Mapping[str, str] | Unsupported:
    if omits_coordinates(step) or has_rule(step, ALIGN_CORNERS, PREFER_CEIL, recomputes_scale=True):
        return {}
    # The default mode is "constant", which is zero beyond the centres of the outer cells.
    is_half_pixel = has_rule(step, HALF_PIXEL, PREFER_CEIL, recomputes_scale=True)
    return {"mode": '"nearest"', "grid_mode": "True"} if is_half_pixel else NO_SCIPY_RULE
