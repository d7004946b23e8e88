"""The module `resizing` of JAX."""

import pytest

from conformance.adapters.api import Unsupported
from tests.conformance.adapters.jax.programs import PLANE, lines, program


def test_channels_are_first_in_lax_and_last_in_flax():
    given = {"x": PLANE, "size": [8, 3], "mode": "linear"}
    assert lines("jax.lax", "resize", **given) == [
        'x = jax.image.resize(x, (*x.shape[:2], 8, 3), "linear", antialias=False)'
    ]
    text = program("flax.nnx", "resize", **given).text
    assert 'x = jax.image.resize(x, (x.shape[0], 8, 3, x.shape[-1]), "linear", antialias=False)' in text


def test_a_scale_becomes_the_size_if_coordinates_are_the_same():
    assert lines("jax.lax", "resize", x=PLANE, scale=[0.5, 2], mode="linear") == [
        'x = jax.image.resize(x, (*x.shape[:2], 2, 10), "linear", antialias=False)'
    ]
    # 5 · 0.5 is not a whole number of cells, so the size has other coordinates.
    assert lines("jax.lax", "resize", x=PLANE, scale=[0.5, 0.5], mode="linear") == [
        "x = jax.image.scale_and_translate("
        'x, (*x.shape[:2], 2, 2), (2, 3), np.float32([0.5, 0.5]), np.float32([0.0, 0.0]), "linear", antialias=False)'
    ]


def test_nearest_cell_is_the_upper_one_at_a_tie():
    given = {"x": PLANE, "size": [2, 5], "mode": "nearest"}
    (text,) = lines("jax.lax", "resize", **given, nearest_rounding="round_prefer_ceil")
    assert text == 'x = jax.image.resize(x, (*x.shape[:2], 2, 5), "nearest")'
    assert isinstance(program("jax.lax", "resize", **given, nearest_rounding="round_prefer_floor"), Unsupported)


@pytest.mark.parametrize(("parameter", "reason"), [(-0.75, None), (-0.5, "-0.75")])
def test_cubic_interpolation_has_the_parameter_of_pytorch(parameter, reason):
    translated = program("jax.lax", "resize", x=PLANE, size=[8, 8], mode="cubic", cubic_a=parameter)
    if reason is None:
        assert '"cubic-pytorch", antialias=False' in translated.text
    else:
        assert reason in translated.reason


def test_size_and_scale_are_not_given_together():
    given = {"size": [2, 2], "scale": [0.5, 0.5], "expect": {"rejected": "SizeAndScale"}}
    assert "no scale" in program("jax.lax", "resize", x=PLANE, mode="linear", **given).reason


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"mode": "linear", "size": [2, 3], "antialias": True, "exclude_outside": True}, '"linear"'),
        ({"mode": "cubic", "cubic_a": -0.5, "size": [2, 3], "antialias": True, "exclude_outside": True}, '"cubic"'),
        ({"mode": "cubic", "cubic_a": -0.5, "size": [8, 8], "exclude_outside": True}, '"cubic", antialias=False'),
        ({"mode": "lanczos5", "size": [2, 3], "exclude_outside": True}, '"lanczos5", antialias=False'),
    ],
)
def test_antialiasing_is_the_default(given, arguments):
    (text,) = lines("jax.lax", "resize", x=PLANE, **given)
    size = ", ".join(map(str, given["size"]))
    assert text == f"x = jax.image.resize(x, (*x.shape[:2], {size}), {arguments})"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"mode": "linear", "size": [2, 3], "antialias": True}, "weight 0"),
        ({"mode": "lanczos3", "size": [2, 3]}, "weight 0"),
        ({"mode": "cubic", "size": [2, 3], "antialias": True}, "-0.75"),
        ({"mode": "cubic", "size": [8, 8], "exclude_outside": True}, "-0.5"),
    ],
)
def test_other_kernels_are_not_written(given, reason):
    assert reason in program("jax.lax", "resize", x=PLANE, **given).reason


def test_the_area_has_a_method():
    text = program("jax.lax", "resize", x=PLANE, mode="area", size=[2, 3]).text
    assert 'jax.image.resize(x, (*x.shape[:2], 2, 3), "area")' in text


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        # In its documentation: scale = (n - 1) / (m - 1), translation = (1 - scale) / 2.
        ({"size": [7, 9], "coordinates": "align_corners"}, ("[2.0, 2.0]", "[-0.5, -0.5]")),
        ({"scale": [2, 0.5], "coordinates": "asymmetric"}, ("[2.0, 0.5]", "[-0.5, 0.25]")),
        ({"size": [1, 5], "coordinates": "pytorch_half_pixel"}, ("[0.25, 1.0]", "[0.375, 0.0]")),
        (
            {"size": [2, 5], "coordinates": "tf_crop_and_resize", "roi_start": [0.5, 0], "roi_end": [1, 1]},
            ("[0.6666666666666666, 1.0]", "[-0.8333333333333334, 0.0]"),
        ),
    ],
)
def test_coordinates_are_a_scale_and_a_translation(given, numbers):
    (text,) = lines("jax.lax", "resize", x=PLANE, mode="linear", **given)
    assert text.startswith("x = jax.image.scale_and_translate(x, (*x.shape[:2], ")
    assert f", (2, 3), np.float32({numbers[0]}), np.float32({numbers[1]})," in text


def test_axes_are_those_of_the_layout_and_float64_has_its_own_scale():
    given = {"size": [7, 9], "mode": "cubic", "coordinates": "align_corners"}
    text = program("flax.nnx", "resize", x={**PLANE, "dtype": "float64"}, **given).text
    assert "(x.shape[0], 7, 9, x.shape[-1]), (1, 2), np.float64([2.0, 2.0])" in text


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        # The last coordinate is 14/3, and the last cell ends at 9/2.
        ({"scale": [1, 3], "mode": "linear", "coordinates": "asymmetric"}, "half a cell"),
        ({"size": [4, 9], "mode": "nearest", "coordinates": "align_corners"}, "no mode nearest"),
        (
            {
                "size": [2, 3],
                "mode": "linear",
                "coordinates": "align_corners",
                "antialias": True,
                "exclude_outside": True,
            },
            "filter",
        ),
        (
            {
                "size": [2, 5],
                "mode": "linear",
                "coordinates": "tf_crop_and_resize",
                "roi_start": [0, 0],
                "roi_end": [1.125, 1],
            },
            "half a cell",
        ),
    ],
)
def test_coordinates_beyond_half_a_cell_and_other_filters_are_unsupported(given, reason):
    assert reason in program("jax.lax", "resize", x=PLANE, **given).reason


def test_a_coordinate_at_half_a_cell_needs_a_power_of_two():
    given = {"x": {"values": "integers", "shape": [1, 2, 3]}, "mode": "linear", "coordinates": "asymmetric"}
    # The last coordinate is 5/2 in both calls: 5 · 1/2 and 6 · 5/12.
    assert "scale_and_translate" in lines("jax.lax", "resize", **given, scale=[2])[0]
    assert isinstance(program("jax.lax", "resize", **given, scale=[2.4]), Unsupported)


def test_words_name_the_scale_and_the_translation():
    (text,) = lines("jax.lax", "resize", x=PLANE, size=[8, 3], mode="linear", words=True)
    assert "np.float32([2.0, 0.6]), np.float32([0.0, 0.0])" in text
