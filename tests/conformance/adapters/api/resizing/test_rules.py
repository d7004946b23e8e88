"""Tests of conformance.adapters.api.resizing.rules."""

from conformance.adapters.api.resizing.rules import (
    PLAIN_ONLY,
    antialiases,
    axis_has_rule,
    excludes_outside,
    has_plain_kernel,
    has_remainder,
    has_rule,
    omits_coordinates,
    omits_filter,
    plain_kernels_only,
    region_ends,
    resized_extents,
    scale_of_each_axis,
)
from conformance.cases.steps import Step


def step(mode="linear", spatial=(8,), **parameters):
    usual = {"size": None, "scale": None, "mode": mode, "coordinates": "half_pixel"}
    usual |= {"nearest_rounding": "round_prefer_floor", "cubic_a": -0.75}
    return Step("resize", (1, 1, *spatial), "float32", {**usual, **parameters})


def test_the_own_rule_of_a_step():
    assert has_rule(step(size=(4,)), "half_pixel")
    assert not has_rule(step(size=(4,)), "asymmetric")
    assert not has_rule(step(size=(4,)), "align_corners")


def test_rules_with_equal_coordinates():
    assert has_rule(step(size=(8,)), "align_corners")
    assert has_rule(step(size=(4,), coordinates="pytorch_half_pixel"), "half_pixel")
    assert not has_rule(step(size=(1,), coordinates="pytorch_half_pixel"), "half_pixel")
    # Beyond the ends only linear interpolation gives the same.
    assert has_rule(step(spatial=(1,), size=(4,)), "align_corners")
    assert not has_rule(step("cubic", spatial=(1,), size=(4,)), "align_corners")


def test_a_kept_scale_differs_from_that_of_the_sizes():
    assert has_rule(step(scale=(2,)), "half_pixel", recomputes_scale=True)
    assert not has_rule(step(scale=(0.6,)), "half_pixel", recomputes_scale=True)
    assert has_rule(step(scale=(0.6,)), "half_pixel")


def test_nearest_rules_that_copy_the_same_cells():
    nearest = step("nearest", size=(16,))
    assert has_rule(nearest, "asymmetric", "floor")
    assert has_rule(nearest, "half_pixel", "round_prefer_ceil")
    # At a tie the two rules copy different cells.
    assert not has_rule(step("nearest", size=(4,)), "half_pixel", "round_prefer_ceil")


def test_a_rule_whose_cells_depend_on_rounding_is_not_the_same():
    nearest = step("nearest", spatial=(3,), size=(9,))
    assert not has_rule(nearest, "asymmetric", "floor")
    assert has_rule(step("nearest", spatial=(3,), size=(9,), coordinates="asymmetric", nearest_rounding="floor"),
                    "asymmetric", "floor")  # fmt: skip


def test_an_invalid_step_has_its_own_rule_only():
    both = step(size=(4,), scale=(0.5,))
    assert has_rule(both, "half_pixel")
    assert not has_rule(both, "asymmetric")


def test_extents_of_the_output():
    assert resized_extents(step(size=(5,))) == (5,)
    assert resized_extents(step(scale=(0.6,))) == (4,)
    assert not omits_coordinates(step(size=(5,)))
    assert omits_coordinates(Step("resize", (1, 1, 8), "float32", {"size": (4,), "mode": "linear"}))


def test_one_axis_can_have_a_rule_that_others_do_not_have():
    larger, smaller = step("nearest", spatial=(5, 5), size=(10, 3)).resampled
    assert axis_has_rule(larger, "round_prefer_floor", "asymmetric", "floor")
    assert not axis_has_rule(smaller, "round_prefer_floor", "asymmetric", "floor")


def test_a_size_becomes_a_scale_that_gives_it_back():
    assert scale_of_each_axis(step(spatial=(5, 4), size=(3, 8))) == (0.6, 2.0)
    assert scale_of_each_axis(step(scale=(0.3,))) == (0.3,)
    assert scale_of_each_axis(step(size=(3,)), lambda _size, _scale: 2) is None
    assert scale_of_each_axis(step(size=(-3,))) is None
    assert scale_of_each_axis(step(size=(3,), scale=(2,))) is None


def test_a_scale_that_does_not_give_a_whole_size_has_a_remainder():
    assert not has_remainder(step(spatial=(5,), scale=(0.6,)))
    assert has_remainder(step(spatial=(5,), scale=(0.5,)))
    assert not has_remainder(step(size=(3,)))


def test_antialiasing_needs_a_smaller_axis():
    assert antialiases(step(size=(4,), antialias=True))
    assert not antialiases(step(size=(8,), antialias=True))
    assert not antialiases(step(size=(4,), antialias=False))
    assert antialiases(step(spatial=(8, 8), size=(16, 7), antialias=True))
    # An invalid call has no extents.
    assert antialiases(step(size=(4,), scale=(0.5,), antialias=True))


def test_ends_of_the_linear_kernel_differ_with_antialiasing_only():
    assert excludes_outside(step("cubic", size=(16,), exclude_outside=True))
    assert not excludes_outside(step(size=(4,), exclude_outside=True))
    assert not excludes_outside(step(size=(16,), antialias=True, exclude_outside=True))
    assert excludes_outside(step(size=(4,), antialias=True, exclude_outside=True))


def test_lowering_of_plain_kernels():
    lowering = plain_kernels_only(lambda _step, name: name)
    assert lowering(step(size=(4,)), "call") == "call"
    assert lowering(step(size=(4,), antialias=True), name="call") is PLAIN_ONLY
    assert lowering(step("area", size=(4,)), "call") is PLAIN_ONLY
    assert has_plain_kernel(step("nearest", size=(4,)))
    assert not has_plain_kernel(step("lanczos3", size=(4,)))
    assert omits_filter(step(size=(4,)))
    assert not omits_filter(step(size=(4,), antialias=False))


CROP = {"coordinates": "tf_crop_and_resize", "size": (3,)}


def test_a_crop_has_another_rule_only_where_all_its_cells_are_cells_of_x():
    assert has_rule(step(**CROP), "align_corners")
    assert not has_rule(step(**CROP, roi_end=(0.5,)), "align_corners")
    # The coordinates are 0, 2 and 4. Those of asymmetric to the same size are 0, 1 and 2.
    beyond = step(spatial=(3,), **CROP, roi_end=(2,))
    assert has_rule(beyond, "tf_crop_and_resize")
    assert not has_rule(beyond, "asymmetric")


def test_a_cell_beyond_an_end_is_no_copy_of_the_end():
    (axis,) = step("nearest", spatial=(3,), coordinates="tf_crop_and_resize", size=(3,), roi_end=(1.25,)).resampled
    assert axis.nearest("floor").tolist() == [0, 1, 2]
    assert not axis_has_rule(axis, "floor", "asymmetric", "floor")


def test_the_size_of_a_scaled_region_is_that_of_no_other_rule():
    # The coordinates 0, 1 and 2 are those of asymmetric with a scale of 1, which gives 5 cells.
    region = step(spatial=(5,), scale=(1.2,), coordinates="tf_crop_and_resize", roi_end=(0.5,))
    assert [float(one) for one in region.resampled[0].all_coordinates] == [0, 1, 2]
    assert not has_rule(region, "asymmetric")
    assert scale_of_each_axis(region) is None


def test_ends_of_a_region():
    assert region_ends(step(**CROP, roi_end=(0.5,))) == ((0,), (0.5,))
    assert region_ends(step(spatial=(4, 4), size=(3, 3), roi_start=(0.5, 1))) == ((0.5, 1), (1, 1))
