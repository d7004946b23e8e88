from dataclasses import replace

import numpy as np
import pytest

from conformance.cases.geometry import has_crowded_windows, specials_alone_in_window
from conformance.judging.expected import compute_expected
from conformance.models.geometry import checked_layer
from conformance.models.layer import ModelLayer
from conformance.models.questions import Numbers, own_weights, questions_of

POOL = {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "rounding": "ceil"}
CONV = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}


def questions(layer):
    return {one.numbers: one for one in questions_of(checked_layer(layer))}


def pool(operator="max_pool", dtype="float32", **further):
    return ModelLayer("p", operator, {**POOL, **further}, (1, 8, 30, 30), dtype)


def test_integers_have_the_extents_of_the_model_and_other_numbers_shorter_ones():
    found = questions(pool("avg_pool"))
    assert found[Numbers.INTEGERS].candidate.case.shape == (1, 8, 30, 30)
    assert found[Numbers.NAN].candidate.case.shape[2] < 30


@pytest.mark.parametrize(
    ("shape", "crowded"),
    [((1, 832, 14, 14), True), ((1, 21, 14, 14), True), ((1, 20, 14, 14), False), ((1, 1, 5000, 6), True)],
)
def test_special_values_of_a_maximum_are_among_as_many_cells_as_in_the_model(shape, crowded):
    parameters = {**POOL, "window": (2, 2), "padding": ((0, 0), (0, 0))}
    found = questions(ModelLayer("p", "max_pool", parameters, shape))
    for numbers in (Numbers.NAN, Numbers.INFINITY, Numbers.MINUS_INFINITY):
        case = found[numbers].candidate.case
        assert has_crowded_windows(replace(case, inputs=first_item(case))) == crowded
        assert compute_expected(case).target is not None
        assert case.shape[1] <= shape[1]


def first_item(case):
    return {"x": replace(case.inputs["x"], shape=(1, *case.shape[1:]))}


def test_a_maximum_is_asked_with_negative_numbers_so_that_no_padding_can_win():
    x = questions(pool())[Numbers.NEGATIVE].candidate.case.inputs["x"].make()
    assert x.max() < 0


def test_an_average_is_asked_with_full_mantissas_and_a_maximum_is_not():
    assert Numbers.MANTISSAS in questions(pool("avg_pool"))
    assert Numbers.MANTISSAS not in questions(pool())


@pytest.mark.parametrize(
    ("operator", "further"),
    [
        ("max_pool", {"padding": ((1, 1), (1, 1))}),
        ("max_pool", {"window": (2, 2), "padding": ((0, 0), (0, 0))}),
        ("max_pool_with_indices", {}),
    ],
)
def test_every_window_of_a_maximum_is_filled_with_minus_infinity(operator, further):
    case = questions(pool(operator, **further))[Numbers.ONLY_MINUS_INFINITY].candidate.case
    expected = compute_expected(case)
    assert (expected.inputs["x"] == -np.inf).all()
    assert (expected.target.exact.value == -np.inf).all()
    assert specials_alone_in_window(case) == {"-inf"}


def test_bins_of_a_maximum_are_filled_with_minus_infinity():
    layer = ModelLayer("p", "adaptive_max_pool", {"output_size": (3, 2)}, (1, 8, 30, 30))
    assert Numbers.ONLY_MINUS_INFINITY in questions(layer)


@pytest.mark.parametrize(
    "layer",
    [
        pool("avg_pool"),
        pool("max_pool_with_indices", output="indices"),
        pool(dtype="int32"),
        ModelLayer("p", "global_max_pool", {}, (1, 8, 30, 30)),
        ModelLayer("c", "conv", CONV, (1, 4, 9, 9), kernel=(4, 4, 3, 3)),
    ],
)
def test_other_layers_are_not_filled_with_minus_infinity(layer):
    assert Numbers.INTEGERS in questions(layer)
    assert Numbers.ONLY_MINUS_INFINITY not in questions(layer)


def test_integer_layers_have_no_special_values():
    assert set(questions(pool(dtype="int32"))) == {Numbers.INTEGERS, Numbers.NEGATIVE}
    assert set(questions(pool(dtype="uint8"))) == {Numbers.INTEGERS}


def test_sums_in_16_bits_are_asked_of_averages_in_16_bits_only():
    assert Numbers.LARGE in questions(pool("avg_pool", "float16"))
    assert Numbers.LARGE not in questions(pool("avg_pool"))
    assert questions(pool("avg_pool", "float16"))[Numbers.LARGE].conventions == ("avg_pool/accumulation-in-float16",)


def test_the_case_has_the_parameters_of_the_layer():
    case = questions(pool("avg_pool", count_include_pad=True, divisor=5))[Numbers.INTEGERS].candidate.case
    assert case.parameters["rounding"] == "ceil"
    assert (case.parameters["count_include_pad"], case.parameters["divisor"]) == (True, 5)


def test_the_weights_of_the_model_are_used():
    kernel = np.arange(4 * 4 * 9, dtype=float).reshape(4, 4, 3, 3) / 7
    layer = ModelLayer("c", "conv", CONV, (1, 4, 9, 9), kernel=(4, 4, 3, 3), bias=True,
                       weights={"kernel": kernel.tolist(), "bias": [1.0, 2.0, 3.0, 4.0]})  # fmt: skip
    case = questions(layer)[Numbers.OWN_WEIGHTS].candidate.case
    assert np.array_equal(case.inputs["kernel"].make(), kernel.astype(np.float32))
    assert case.inputs["bias"].make().tolist() == [1, 2, 3, 4]


def test_no_weights_are_used_if_the_model_gave_too_few():
    layer = ModelLayer("c", "conv", CONV, (1, 4, 9, 9), kernel=(4, 4, 3, 3), weights={"kernel": [[[[1.0]]]]})
    assert own_weights(layer) == {}
    assert Numbers.OWN_WEIGHTS not in questions(layer)


def test_an_impossible_geometry_has_no_questions():
    layer = ModelLayer("c", "conv", {**CONV, "padding": ((0, 0), (0, 0))}, (1, 4, 2, 2), kernel=(4, 4, 3, 3))
    assert questions(layer) == {}


@pytest.mark.parametrize("numbers", [Numbers.NAN, Numbers.INFINITY])
def test_a_special_value_is_inside_the_plane(numbers):
    expected = compute_expected(questions(pool())[numbers].candidate.case)
    special = ~np.isfinite(expected.inputs["x"])
    assert special[0].any(axis=(1, 2)).all()
    assert not special[0, :, 0, 0].any()


@pytest.mark.parametrize(
    ("p", "conventions"),
    [(1, ("lp_pool/p-1-of-negative-values",)), (2, ()), (3, ("lp_pool/odd-p-of-negative-values",)), (1.5, ())],
)
def test_a_norm_observes_how_a_framework_sums_powers_of_negative_numbers(p, conventions):
    parameters = {"window": (3, 3), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "p": p}
    found = questions(ModelLayer("p", "lp_pool", parameters, (1, 1, 7, 7)))
    assert found[Numbers.INTEGERS].conventions == conventions
    assert found[Numbers.NAN].conventions == ()
