"""Variants of cases of conventions have the answers of their case in the stated parts of the output."""

import pytest

from conformance.cases.arrays import array_digest
from conformance.cases.case import Answers
from conformance.cases.operators import PARAMETERS
from conformance.catalogue import loading
from conformance.exploration.declared_answers.variants import NEUTRAL_PARAMETERS, OUTPUT_SIZES, variants_of
from conformance.judging.expected import compute_reference

OPERATORS = (
    "avg_pool", "conv", "global_max_pool", "grid_sample", "max_pool", "max_pool_grad", "pad", "max_unpool", "resize"
)  # fmt: skip


def convention(case_id):
    (case,) = [one for one in loading.load_convention_cases(case_id.partition("/")[0]) if one.id == case_id]
    return case


def names_of(case_id):
    return [variant.name for variant in variants_of(convention(case_id))]


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_answer_of_the_reference_is_in_every_part_of_every_variant(operator):
    """The reference gives the same named answer in the case and in each variant."""
    compared = 0
    for case in loading.load_convention_cases(operator):
        for variant in variants_of(case):
            own = [name for name, answer in variant.case.expect.named.items() if answer == {}]
            if not own:
                continue
            inputs = {name: spec.make() for name, spec in variant.case.inputs.items()}
            result = compute_reference(operator, inputs, variant.case.parameters).value
            expected = variant.expected.answers[own[0]].exact.value
            for part in variant.parts:
                assert array_digest(result[part]) == array_digest(expected), variant.case.id
                assert result[part].dtype == expected.dtype
                compared += 1
    assert compared > 50


def test_the_first_variant_is_the_case_itself():
    case = convention("max_pool/nan-in-window")
    first = next(variants_of(case))
    assert first.is_unchanged
    assert first.case == case


def test_variants_change_batch_channels_rank_extent_window_and_dtype():
    names = names_of("max_pool/window-of-minus-infinity")
    assert {"batch 2", "channels 17", "channel 1 of 3", "image 0 of 2", "float64", "bfloat16"} <= set(names)
    assert any(name.startswith("rank 3") for name in names)
    assert any(name.startswith("axis 0 of") for name in names)
    assert any(name.startswith("window of 65") for name in names_of("max_pool/nan-in-a-row-of-4"))
    assert "groups 8" in names_of("conv/infinite-weight-on-padding")


@pytest.mark.parametrize("operator", ["depth_to_space", "space_to_depth"])
def test_blocks_are_not_repeated_in_the_channels(operator):
    """With several channels, an answer to the order of channels is not that of each channel."""
    names = names_of(f"{operator}/order-by-default")
    assert "batch 2" in names
    assert not any(name.startswith("channel") for name in names)


def test_channels_that_depend_on_each_other_are_not_repeated():
    """Normalization adds the squares of neighboring channels, and affine_grid has a matrix per image."""
    for case_id in ("lrn/alpha-over-size", "affine_grid/align-corners-by-default"):
        names = names_of(case_id)
        assert "batch 2" in names
        assert not any(name.startswith("channel") for name in names)


def test_coordinates_are_repeated_in_the_batch_and_have_no_further_axis():
    names = names_of("grid_sample/nan-coordinate-with-nearest")
    assert {"batch 2", "channels 3"} <= set(names)
    assert not any(name.startswith("rank") for name in names)


def test_a_convention_about_a_dtype_has_no_variants_in_other_dtypes():
    assert not {"float64", "float16"} & set(names_of("avg_pool/sum-that-overflows"))
    assert not {"float64", "float16"} & set(names_of("max_pool/subnormals"))


def test_lowest_finite_numbers_become_those_of_the_dtype():
    (variant,) = [one for one in variants_of(convention("max_pool/window-of-nan")) if one.name == "float16"]
    assert variant.changes_dtype
    assert variant.expected.answers["lowest-finite"].exact.value.ravel().tolist() == [-65504]


def test_cells_beside_nan_change_answers_about_its_position():
    wider = {one.name: one for one in variants_of(convention("max_pool/nan-in-a-row-of-4")) if "window" in one.name}
    assert "after-the-last-nan" in wider["window of 8, first cells"].changed_answers
    assert "only-in-the-first-cell" in wider["window of 8, last cells"].changed_answers
    gradients = {one.name: one for one in variants_of(convention("max_pool_grad/nan")) if "window" in one.name}
    assert "nan-for-one-in-the-first-cell" in gradients["window of 4, last cells"].changed_answers
    assert "nan-for-one-in-the-first-cell" not in gradients["window of 4, first cells"].changed_answers
    ties = [one for one in variants_of(convention("max_pool_grad/tie")) if "window" in one.name]
    assert ties
    assert not any(one.changed_answers for one in ties)


def test_a_case_with_flat_pads_or_without_answers_has_no_variants():
    assert not list(variants_of(convention("pad/order-of-pads")))
    value = next(case for case in loading.load_catalogue().cases if not isinstance(case.expect, Answers))
    assert not list(variants_of(value))


def test_every_parameter_with_a_value_per_axis_has_a_value_for_an_added_axis():
    per_axis = {name for name, parameter in PARAMETERS.items() if parameter.is_per_axis}
    assert per_axis == set(NEUTRAL_PARAMETERS) | OUTPUT_SIZES


def test_an_added_axis_lies_in_the_whole_region_of_a_crop():
    names = names_of("resize/size-of-a-crop-in-one-dimension")
    assert {"rank 2, axes of 3 before", "rank 3, axes of 1 after"} <= set(names)
