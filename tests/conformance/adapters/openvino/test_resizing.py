"""The module `resizing` of OpenVINO."""

import pytest

from tests.conformance.adapters.openvino.programs import ROW, lines, program

PLANE = {"values": "integers", "shape": [1, 2, 4, 4]}


def test_defaults_are_not_written():
    assert lines("resize", x=PLANE, size=[8, 2], mode="linear") == [
        'x = ops.interpolate(x, [8, 2], "linear_onnx", "sizes", axes=[2, 3])'
    ]


def test_other_rules_are_named():
    assert lines("resize", x=ROW, size=[4], mode="nearest", coordinates="asymmetric", nearest_rounding="floor") == [
        'x = ops.interpolate(x, [4], "nearest", "sizes", coordinate_transformation_mode="asymmetric", '
        'nearest_mode="floor", axes=[2])'
    ]
    (text,) = lines("resize", x=PLANE, size=[8, 8], mode="cubic", cubic_a=-0.5)
    assert "cube_coeff=-0.5" in text


def test_scales_are_float32():
    (text,) = lines("resize", x=PLANE, scale=[0.5, 2], mode="linear")
    assert text == 'x = ops.interpolate(x, np.float32([0.5, 2]), "linear_onnx", "scales", axes=[2, 3])'


def test_sizes_and_scales_are_one_input():
    given = {"size": [2, 2], "scale": [0.5, 0.5], "expect": {"rejected": "SizeAndScale"}}
    assert "in one input" in program("resize", x=PLANE, mode="linear", **given).reason


def test_modes_of_pillow_antialias_and_leave_out_cells_beyond_x():
    given = {"x": PLANE, "size": [2, 2], "antialias": True, "exclude_outside": True}
    (text,) = lines("resize", mode="linear", **given)
    assert text == 'x = ops.interpolate(x, [2, 2], "bilinear_pillow", "sizes", axes=[2, 3])'
    (text,) = lines("resize", mode="cubic", cubic_a=-0.5, **given)
    assert '"bicubic_pillow", "sizes", cube_coeff=-0.5' in text
    for other in ({"mode": "cubic"}, {"mode": "lanczos3"}, {"mode": "linear", "coordinates": "asymmetric"}):
        assert "antialias" in program("resize", **given, **other).reason
    assert "antialias" in program("resize", mode="linear", **{**given, "exclude_outside": False}).reason


def test_coordinates_without_a_word_are_written_where_another_rule_has_the_same_result():
    given = {"x": PLANE, "mode": "linear"}
    (text,) = lines("resize", **given, size=[8, 2], coordinates="half_pixel_symmetric")
    assert text == 'x = ops.interpolate(x, [8, 2], "linear_onnx", "sizes", axes=[2, 3])'
    (text,) = lines("resize", **given, size=[8, 2], coordinates="tf_crop_and_resize")
    assert 'coordinate_transformation_mode="align_corners"' in text
    (text,) = lines("resize", **given, size=[8, 2], coordinates="tf_half_pixel_for_nn")
    assert 'coordinate_transformation_mode="tf_half_pixel_for_nn"' in text
    for other in ({"scale": [0.6, 0.6], "coordinates": "half_pixel_symmetric"},
                  {"size": [8, 2], "coordinates": "tf_crop_and_resize", "roi_end": [0.5, 1]}):  # fmt: skip
        assert "neither half_pixel_symmetric nor tf_crop_and_resize" in program("resize", **given, **other).reason


@pytest.mark.parametrize(
    ("given", "aligns"),
    [
        ({"x": PLANE, "size": [7, 7], "mode": "linear", "coordinates": "align_corners"}, True),
        ({"x": PLANE, "size": [8, 3], "mode": "linear", "coordinates": "asymmetric"}, False),
        ({"x": ROW, "size": [8], "mode": "linear", "coordinates": "half_pixel"}, False),
        ({"x": ROW, "scale": [2], "mode": "cubic", "coordinates": "asymmetric"}, False),
        (
            {"x": PLANE, "size": [8, 4], "mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"},
            False,
        ),
        (
            {"x": PLANE, "size": [3, 4], "mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "ceil"},
            False,
        ),
    ],
)
def test_words_are_those_of_the_first_opset(given, aligns):
    (text,) = lines("resize", **given, words=True)
    assert text.startswith("x = ov.opset1.interpolate(x, np.int64([")
    assert text.endswith(f'"mode": "{given["mode"]}", "align_corners": {aligns}}})')


@pytest.mark.parametrize(
    "given",
    [
        {"x": PLANE, "size": [8, 3], "mode": "linear", "coordinates": "half_pixel"},
        {"x": ROW, "size": [8], "mode": "linear", "coordinates": "asymmetric"},
        {"x": PLANE, "size": [8, 8], "mode": "cubic", "coordinates": "asymmetric", "cubic_a": -0.5},
        {"x": PLANE, "size": [3, 7], "mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"},
        {"x": PLANE, "size": [3, 3], "mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"},
    ],
)
def test_other_rules_are_those_of_the_fourth_opset(given):
    (text,) = lines("resize", **given, words=True)
    scales = ", ".join(str(m / n) for n, m in zip(given["x"]["shape"][2:], given["size"], strict=True))
    assert text.startswith(f"x = ov.opset10.interpolate(x, {given['size']}, np.float32([{scales}]), ")
    assert '"sizes"' in text


def test_a_scale_is_written_as_it_is():
    (text,) = lines("resize", x=ROW, scale=[0.4], mode="linear", coordinates="half_pixel", words=True)
    assert text == 'x = ov.opset10.interpolate(x, [2], np.float32([0.4]), "linear_onnx", "scales", axes=[2])'


def test_earlier_opsets_do_not_antialias():
    given = {"x": PLANE, "size": [2, 2], "mode": "linear", "antialias": True, "exclude_outside": True}
    assert "no word of its own" in program("resize", **given, words=True).reason
