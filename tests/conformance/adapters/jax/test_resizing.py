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
    assert isinstance(program("jax.lax", "resize", x=PLANE, scale=[0.5, 0.5], mode="linear"), Unsupported)


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
