"""The module `grid_sampling` of the adapter for JAX."""

import pytest

from conformance.adapters import registry
from conformance.adapters.jax.grid_sampling import NO_CUBIC, NO_DEFAULTS, grid_sample
from conformance.cases.steps import Step

GIVEN = {"mode": "linear", "padding_mode": "zeros", "align_corners": False}


def step(**parameters):
    return Step("grid_sample", (1, 2, 4, 6), "float32", {**GIVEN, **parameters})


def test_points_are_converted_to_coordinates_in_the_order_of_the_axes():
    assert grid_sample(step()) == (
        "sizes = jnp.array(x.shape[:1:-1], grid.dtype)",
        "points = jnp.moveaxis(((grid + 1) * sizes - 1) / 2, -1, 1)[:, ::-1]",
        "sample = jax.vmap(jax.vmap(lambda plane, at: "
        'jax.scipy.ndimage.map_coordinates(plane, at, 1, "constant"), (0, None)))',
        "x = sample(x, points)",
    )


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ({"mode": "nearest"}, '0, "constant"'),
        ({"padding_mode": "border"}, '1, "nearest"'),
        ({"padding_mode": "reflection"}, '1, "reflect"'),
        ({"padding_mode": "reflection", "align_corners": True}, '1, "mirror"'),
    ],
)
def test_each_mode_has_a_name(parameters, arguments):
    assert f"(plane, at, {arguments})" in grid_sample(step(**parameters))[2]


def test_the_centres_of_the_cells_at_the_ends_are_one_cell_less_apart():
    assert "(grid + 1) * ((sizes - 1) / 2)" in grid_sample(step(align_corners=True))[1]


def test_cubic_interpolation_and_defaults_are_unsupported():
    assert grid_sample(step(mode="cubic")) is NO_CUBIC
    assert grid_sample(Step("grid_sample", (1, 2, 4, 6), "float32", {"mode": "linear"})) is NO_DEFAULTS


def test_only_the_surfaces_of_whole_programs_sample():
    surfaces = registry.get_backend("jax").surfaces
    assert [one.name for one in surfaces if "grid_sample" in one.fallbacks] == ["jax.lax", "jax.jit"]
