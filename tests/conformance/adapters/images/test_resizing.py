"""Programs of image libraries: the call for each mode, its coordinates, and what a call cannot express."""

import pytest

from conformance.adapters.images.resizing import (
    HALF_PIXEL_ONLY,
    NO_BATCH,
    NO_CUBIC_EDGES,
    NO_FLOAT16,
    NO_OPENCV_RULE,
    NO_OTHER_RANK,
    NO_RANK,
    NO_SCIPY_RULE,
    NO_ZOOM,
    NOT_FLOAT32,
    OTHER_CUBIC,
    OTHER_SIZE,
    SIZE_ONLY,
    SPLINE,
    opencv_resize,
    pillow_resize,
    scipy_zoom,
    skimage_resize,
)
from conformance.cases.steps import Step

LOWERINGS = (pillow_resize, opencv_resize, skimage_resize, scipy_zoom)
UPPER = {"mode": "nearest", "coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil"}
CORNER = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
LINEAR = {"mode": "linear", "coordinates": "half_pixel"}
CUBIC = {"mode": "cubic", "coordinates": "half_pixel", "cubic_a": -0.75}

AREA = {"mode": "area", "coordinates": "half_pixel"}
LANCZOS = {"mode": "lanczos3", "coordinates": "half_pixel"}
FILTER = {"size": (2, 2), "antialias": True, "exclude_outside": True}


def text(lowering, size=(8, 6), shape=(2, 3, 4, 4), dtype="float32", **given):
    code = lowering(Step("resize", shape, dtype, {"size": size, "antialias": False, "exclude_outside": False, **given}))
    return "\n".join(code) if isinstance(code, tuple) else code


@pytest.mark.parametrize(
    ("lowering", "given", "part"),
    [
        (pillow_resize, UPPER, ".resize((6, 8), Image.Resampling.NEAREST)"),
        (pillow_resize, LINEAR, ".resize((6, 8), Image.Resampling.BILINEAR)"),
        (opencv_resize, CORNER, "cv2.resize(image, (6, 8), interpolation=cv2.INTER_NEAREST)"),
        (opencv_resize, UPPER, "cv2.resize(image, (6, 8), interpolation=cv2.INTER_NEAREST_EXACT)"),
        (opencv_resize, LINEAR, "cv2.resize(image, (6, 8), interpolation=cv2.INTER_LINEAR)"),
        (opencv_resize, CUBIC, "cv2.resize(image, (6, 8), interpolation=cv2.INTER_CUBIC)"),
        (pillow_resize, FILTER | LINEAR, ".resize((2, 2), Image.Resampling.BILINEAR)"),
        (pillow_resize, FILTER | CUBIC | {"cubic_a": -0.5}, ".resize((2, 2), Image.Resampling.BICUBIC)"),
        (pillow_resize, FILTER | LANCZOS, ".resize((2, 2), Image.Resampling.LANCZOS)"),
        (opencv_resize, AREA | {"size": (2, 3)}, "cv2.resize(image, (3, 2), interpolation=cv2.INTER_AREA)"),
        (skimage_resize, UPPER, 'resize(image, (8, 6), order=0, mode="edge", anti_aliasing=False'),
        (skimage_resize, LINEAR, 'resize(image, (8, 6), order=1, mode="edge", anti_aliasing=False'),
        (scipy_zoom, UPPER, 'ndimage.zoom(x, (1, 1, 2.0, 1.5), order=0, mode="nearest", grid_mode=True)'),
        (scipy_zoom, LINEAR, 'ndimage.zoom(x, (1, 1, 2.0, 1.5), order=1, mode="nearest", grid_mode=True)'),
        (
            scipy_zoom,
            {"mode": "linear", "coordinates": "align_corners"},
            "ndimage.zoom(x, (1, 1, 2.0, 1.5), order=1)",
        ),
    ],
)
def test_each_mode_is_one_call(lowering, given, part):
    assert part in text(lowering, **given)


def test_pillow_interpolates_a_smaller_image_without_antialiasing_by_transform():
    given = {"size": (2, 8), **LINEAR}
    extent = "Image.Transform.EXTENT, (0, 0, 5, 4), Image.Resampling.BILINEAR"
    assert f".transform((8, 2), {extent})" in text(pillow_resize, shape=(1, 1, 4, 5), **given)
    assert ".resize((5, 4), " in text(pillow_resize, shape=(1, 1, 4, 5), **{**given, "size": (4, 5)})
    assert ".resize((8, 2), Image.Resampling.NEAREST)" in text(
        pillow_resize, shape=(1, 1, 4, 4), **{**UPPER, "size": (2, 8)}
    )


def test_calls_without_a_rule_are_the_default_of_each_library():
    assert ".resize((2, 2), Image.Resampling.BILINEAR)" in text(pillow_resize, (2, 2), mode="linear")
    assert "cv2.INTER_NEAREST)" in text(opencv_resize, (2, 2), mode="nearest")
    assert text(scipy_zoom, (2, 2), mode="linear") == "ndimage.zoom(x, (1, 1, 0.5, 0.5), order=1)"


def test_opencv_takes_a_scale_that_coordinates_use():
    code = text(opencv_resize, None, scale=(2, 0.6), **LINEAR)
    assert text(opencv_resize, None, shape=(1, 1, 4, 5), scale=(2, 1.5), **LINEAR) is OTHER_SIZE
    assert "cv2.resize(image, None, fx=0.6, fy=2.0, interpolation=cv2.INTER_LINEAR).reshape(8, 2, -1)" in code


@pytest.mark.parametrize(
    ("lowering", "given", "reason"),
    [
        (pillow_resize, CUBIC, NO_CUBIC_EDGES),
        (pillow_resize, CORNER, HALF_PIXEL_ONLY),
        (skimage_resize, CORNER, HALF_PIXEL_ONLY),
        (skimage_resize, CUBIC, SPLINE),
        (scipy_zoom, CUBIC, SPLINE),
        (scipy_zoom, CORNER, NO_SCIPY_RULE),
        (opencv_resize, {"mode": "linear", "coordinates": "align_corners"}, NO_OPENCV_RULE),
        (opencv_resize, {**CUBIC, "cubic_a": -0.5}, OTHER_CUBIC),
        (opencv_resize, {**LINEAR, "dtype": "float64"}, NOT_FLOAT32),
        (opencv_resize, {**LINEAR, "dtype": "float16"}, NO_FLOAT16),
        (pillow_resize, {**LINEAR, "shape": (1, 1, 4), "size": (8,)}, NO_RANK),
        (opencv_resize, {**LINEAR, "shape": (1, 1, 4, 4, 4), "size": (8, 8, 8)}, NO_RANK),
        (skimage_resize, {**LINEAR, "size": (8, 8, 3)}, NO_OTHER_RANK),
        (scipy_zoom, {**LINEAR, "size": (8, 0)}, NO_ZOOM),
        *((lowering, {**LINEAR, "shape": (0, 1, 4, 4)}, NO_BATCH) for lowering in LOWERINGS[:3]),
        *(
            (lowering, {**LINEAR, "scale": (2, 2)}, SIZE_ONLY)
            for lowering in (pillow_resize, skimage_resize, scipy_zoom)
        ),
    ],
)
def test_other_meanings_are_not_written(lowering, given, reason):
    assert text(lowering, **given) is reason


@pytest.mark.parametrize("lowering", [skimage_resize, scipy_zoom])
@pytest.mark.parametrize(("shape", "size"), [((1, 2, 4), (8,)), ((1, 2, 4, 4, 4), (8, 8, 8))])
def test_scikit_image_and_scipy_take_any_number_of_axes(lowering, shape, size):
    assert isinstance(text(lowering, size, shape, **LINEAR), str)
