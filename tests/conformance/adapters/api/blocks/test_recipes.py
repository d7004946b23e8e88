"""Tests of conformance.adapters.api.blocks.recipes: recipes are run with NumPy."""

import numpy as np
import pytest

import reference
from conformance.adapters.api import Unsupported
from conformance.adapters.api.blocks.recipes import (
    NO_RANK,
    NO_WHOLE_BLOCKS,
    BlockRecipe,
    call_or_recipe,
    least_block_of_two,
    planes_in_order,
)
from conformance.cases.steps import Step


def step(operator, shape, block=2, order="dcr"):
    return Step(operator, shape, "float32", {"block": block, "order": order})


def run(lines, x):
    names = {"x": x}
    exec("\n".join(lines), names)  # noqa: S102 - lines of the recipe
    return names["x"]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("order", ["dcr", "crd"])
@pytest.mark.parametrize("extents", [(4,), (4, 6), (2, 4, 6)])
@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("operator", ["depth_to_space", "space_to_depth"])
def test_a_recipe_computes_the_result_of_the_reference(operator, block, extents, order, channels_last):
    x = np.arange(2 * 16 * np.prod(extents)).reshape(2, 16, *extents)
    lines = BlockRecipe(channels_last=channels_last)(step(operator, x.shape, block, order))
    got = run(lines, np.moveaxis(x, 1, -1) if channels_last else x)
    expected = getattr(reference, operator)(x, block, order=order)
    np.testing.assert_array_equal(np.moveaxis(got, -1, 1) if channels_last else got, expected)


def test_a_recipe_is_the_same_for_every_size():
    small, large = (BlockRecipe()(step("depth_to_space", shape)) for shape in [(1, 4, 2, 3), (5, 64, 7, 9)])
    assert small == large


def test_a_recipe_needs_whole_blocks_and_three_axes_at_most():
    recipe = BlockRecipe()
    for invalid in (
        step("depth_to_space", (1, 6, 2, 2)),
        step("space_to_depth", (1, 2, 4, 3)),
        step("depth_to_space", (1, 8, 2, 2), 0),
    ):
        assert recipe(invalid) is NO_WHOLE_BLOCKS
    assert isinstance(recipe(step("depth_to_space", (1, 16, 2, 2, 2, 2))), Unsupported)


def test_a_call_is_for_planes_and_one_order():
    assert planes_in_order(step("depth_to_space", (1, 8, 2, 2)), "dcr", "call()") == "call()"
    assert planes_in_order(step("depth_to_space", (1, 8, 2)), "dcr", "call()") is NO_RANK
    assert isinstance(planes_in_order(step("depth_to_space", (1, 8, 2, 2)), "crd", "call()"), Unsupported)
    omitted = Step("depth_to_space", (1, 8, 2, 2), "float32", {"block": 2})
    assert planes_in_order(omitted, "crd", "call()") == "call()"


def test_a_block_of_one_cell_is_a_rejected_call_where_two_are_needed():
    found = least_block_of_two(step("depth_to_space", (1, 8, 2, 2), 1), "call()", "at least 2")
    assert (found.reason, found.rejected_call) == ("at least 2", "call()")
    assert least_block_of_two(step("depth_to_space", (1, 8, 2, 2)), "call()", "at least 2") == "call()"
    assert least_block_of_two(step("depth_to_space", (1, 8, 2), 1), NO_RANK, "at least 2") is NO_RANK


def test_a_recipe_replaces_an_unsupported_call():
    one = step("depth_to_space", (1, 8, 2, 2))
    assert call_or_recipe(lambda _step: NO_RANK, lambda _step: "recipe()", one) == "recipe()"
    assert call_or_recipe(lambda _step: "call()", lambda _step: "recipe()", one) == "call()"
