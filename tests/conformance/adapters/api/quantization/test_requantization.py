"""Formulas of quantized convolution that are equal for the numbers of a step."""

from itertools import product

import numpy as np
import pytest

import reference
from conformance.adapters.api.quantization.requantization import (
    has_powers_of_two,
    has_requantization,
    unsupported_requantization,
)
from conformance.cases.operators import Requantization
from conformance.cases.steps import Step


def step(formula, x_scale=0.5, w_scale=0.25, y_scale=2, zero=0, **parameters):
    given = {"x_scale": x_scale, "w_scale": w_scale, "y_scale": y_scale, "y_zero_point": zero}
    return Step("quantized_conv", (1, 1, 3), "int8", {**given, "requantization": formula, **parameters}, (1, 1, 1))


FLOATING = frozenset(Requantization) - {Requantization.FIXED_POINT}


def test_every_formula_is_equal_for_powers_of_two_without_zero_point():
    assert all(has_requantization(step(given), own) for given, own in product(FLOATING, repeat=2))


def test_fixed_point_is_equal_to_no_other_formula():
    equal = [own for own in Requantization if has_requantization(step(Requantization.FIXED_POINT), own)]
    assert equal == [Requantization.FIXED_POINT]


def test_the_place_of_the_zero_point_matters_for_powers_of_two():
    groups = {
        frozenset(own for own in Requantization if has_requantization(step(given, zero=1), own)) for given in FLOATING
    }
    last = {Requantization.PRODUCT, Requantization.RECIPROCAL, Requantization.EXACT}
    assert groups == {frozenset(last), FLOATING - last}


def test_few_formulas_are_equal_for_other_scales():
    def equal(given, own, zero):
        return has_requantization(step(given, x_scale=0.3, zero=zero), own)

    assert equal(Requantization.PRODUCT, Requantization.FUSED, 0)
    assert equal(Requantization.EXACT, Requantization.FLOAT64, 0)
    assert not equal(Requantization.PRODUCT, Requantization.EXACT, 0)
    assert not any(equal(given, own, 1) for given, own in product(Requantization, repeat=2) if given is not own)


@pytest.mark.parametrize("scales", [(0.5, 0.25, 2), (0.31, 0.07, 1.3), (2.0**-14, 1, 1), (7.791667, 0.1, 1.1)])
@pytest.mark.parametrize("zero", [0, 1, 128])
def test_formulas_that_are_called_equal_have_equal_results(scales, zero):
    x, kernel = np.arange(256).astype(np.uint8).reshape(1, 1, -1), np.array([[[101]]], np.int8)
    numbers = dict(zip(("x_scale", "w_scale", "y_scale"), scales, strict=True))
    bias = np.array([2**23], np.int32)
    results = {
        one: reference.quantized_conv(
            x, kernel, bias, **numbers, x_zero_point=128, y_zero_point=zero, requantization=one.value
        ).tobytes()
        for one in Requantization
    }
    for given, own in product(Requantization, repeat=2):
        if has_requantization(step(given, *scales, zero=zero), own):
            assert results[given] == results[own], (given, own)


def test_omitted_formulas_are_those_of_the_call():
    omitted = Step("quantized_conv", (1, 1, 3), "int8", {"y_zero_point": 1}, (1, 1, 1))
    assert has_requantization(omitted, Requantization.STEPWISE)


def test_small_factors_and_other_scales_are_no_powers_of_two():
    assert has_powers_of_two(step(Requantization.PRODUCT, w_scale=(0.5, 1)))
    assert not has_powers_of_two(step(Requantization.PRODUCT, w_scale=(0.5, 0.3)))
    assert not has_powers_of_two(step(Requantization.PRODUCT, x_scale=2.0**-15, w_scale=1, y_scale=1))


def test_a_call_names_its_rounding_rule_and_its_formula():
    rounded = unsupported_requantization(step("product", round_mode="half_up"), Requantization.PRODUCT, "a call")
    other = unsupported_requantization(step("exact", x_scale=0.3), Requantization.PRODUCT, "a call")
    assert rounded.reason == "a call has the rounding rule half_even"
    assert other.reason == "a call computes the formula product"
