"""The module `resizing` of TensorFlow."""

import pytest

from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.tensorflow.programs import COMPILED, LAYERS, NN, lines

DEFAULTS = {"coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil", "cubic_a": -0.75}


def resizing(shape=(1, 2, 4, 4), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {**DEFAULTS, **parameters})


def reason(step, surface=NN):
    return lower_step(step, surface, native_only=False, inner=False).reason


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ({"mode": "linear"}, "tf.image.resize(x, [7, 7])"),
        ({"mode": "nearest"}, 'tf.image.resize(x, [7, 7], method="nearest")'),
        ({"mode": "linear", "coordinates": "asymmetric"}, "tf.compat.v1.image.resize_bilinear(x, [7, 7])"),
        (
            {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"},
            "tf.compat.v1.image.resize_nearest_neighbor(x, [7, 7])",
        ),
        ({"mode": "area"}, 'tf.image.resize(x, [7, 7], method="area")'),
        ({"mode": "lanczos5", "exclude_outside": True}, 'tf.image.resize(x, [7, 7], method="lanczos5")'),
        (
            {"mode": "cubic", "coordinates": "align_corners"},
            "tf.compat.v1.image.resize_bicubic(x, [7, 7], align_corners=True)",
        ),
    ],
)
def test_coordinates_select_the_function(parameters, call):
    assert lines(resizing(size=(7, 7), **parameters)) == ("native", [f"x = {call}"])


SMALLER = {"antialias": True, "exclude_outside": True, "size": (3, 3)}


@pytest.mark.parametrize(
    ("parameters", "method"),
    [
        ({"mode": "linear"}, "bilinear"),
        ({"mode": "cubic", "cubic_a": -0.5}, "bicubic"),
        ({"mode": "lanczos3"}, "lanczos3"),
    ],
)
def test_antialiasing_leaves_out_cells_beyond_x(parameters, method):
    call = f'x = tf.image.resize(x, [3, 3], method="{method}", antialias=True)'
    assert lines(resizing(**parameters, **SMALLER)) == ("native", [call])
    assert "weight 0" in reason(resizing(**{**parameters, **SMALLER, "exclude_outside": False}))


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (resizing((1, 2, 4), size=(8,), mode="linear"), "planes only"),
        (resizing(size=(8, 8), scale=(2, 2), mode="linear"), "no scale"),
        (resizing(size=(7, 7), mode="nearest", nearest_rounding="floor"), "takes a size"),
        (resizing(dtype="uint32", size=(8, 8), mode="nearest"), "no kernel for uint32"),
        (resizing(dtype="float64", size=(8, 8), mode="linear"), "return float32"),
        (resizing(size=(8, 8), mode="cubic"), "another kernel"),
        (resizing(size=(8, 8), mode="cubic", coordinates="align_corners"), "rounds coordinates to 1/1024"),
        (resizing(size=(7, 7), mode="cubic", coordinates="align_corners", cubic_a=-0.5), "another kernel"),
        (resizing(mode="cubic", **SMALLER), "another kernel"),
        (resizing(size=(7, 7), mode="cubic", cubic_a=-0.5, exclude_outside=True), "rounds coordinates to 1/1024"),
        (resizing(size=(7, 7), mode="area", coordinates="asymmetric"), "takes a size"),
    ],
)
def test_other_rules_are_not_written(step, text):
    assert text in reason(step)


def test_16_bit_results_are_converted_back_from_float32():
    lowered = lines(resizing(dtype="float16", size=(8, 8), mode="linear"))
    assert lowered == ("composed", ["dtype = x.dtype", "x = tf.cast(tf.image.resize(x, [8, 8]), dtype)"])


def test_layer_of_keras_is_created_and_called():
    call = 'x = tf.keras.layers.Resizing(8, 2, interpolation="bilinear", dtype=x.dtype)(x)'
    assert lines(resizing(size=(8, 2), mode="linear"), LAYERS) == ("native", [call])


CROP = {"coordinates": "tf_crop_and_resize", "size": (3, 5)}


def test_a_crop_has_one_box_for_each_image():
    crop = resizing(mode="linear", **CROP, roi_start=(0.25, -0.5), extrapolation_value=-7)
    text = "tf.image.crop_and_resize(x, [[0.25, -0.5, 1, 1]], [0], [3, 5], extrapolation_value=-7)"
    assert lines(crop) == ("native", [f"x = {text}"])
    nearest = resizing((2, 2, 4, 4), mode="nearest", **CROP, roi_end=(0.3, 0.7))
    text = 'tf.image.crop_and_resize(x, [[0, 0, 0.3, 0.7]] * 2, [0, 1], [3, 5], method="nearest")'
    assert lines(nearest) == ("native", [f"x = {text}"])


def test_limits_of_a_crop():
    assert "float32" in reason(resizing(dtype="float64", mode="linear", **CROP))
    for other in ({"mode": "cubic"}, {"mode": "nearest", "nearest_rounding": "floor", "roi_end": (0.5, 0.4)}):
        assert "nearest, which copies the upper cell at ties, and bilinear" in reason(resizing(**CROP, **other))
    assert "a size and no scale" in reason(resizing(mode="linear", **{**CROP, "size": None}, scale=(2, 2)))
    assert "CropAndResize" in reason(resizing(mode="linear", **CROP), COMPILED)
