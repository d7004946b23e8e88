"""Formulas that are equal for the numbers of a step, and the composition of array operations."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.api.quantization.formulas import has_formula, is_per_channel, unsupported_quantization
from conformance.adapters.torch.quantization.tensors import RECIPE
from conformance.cases.operators import Formula
from conformance.cases.steps import Step

GIVEN = {"y_scale": 0.3, "y_zero_point": 1, "output_dtype": "int8", "round_mode": "half_even", "formula": "quotient"}


def step(**parameters):
    return Step("quantize", (1, 2, 3), "float32", {**GIVEN, **parameters})


@pytest.mark.parametrize("own", Formula)
def test_a_formula_is_only_itself_with_a_decimal_and_a_zero_point(own):
    assert [one for one in Formula if has_formula(step(formula=one), own)] == [own]


@pytest.mark.parametrize(
    ("parameters", "equal"),
    [
        ({"y_zero_point": 0}, {Formula.RECIPROCAL, Formula.RECIPROCAL_PLUS_ZERO_POINT, Formula.FUSED}),
        ({"y_scale": 0.25}, {Formula.QUOTIENT_PLUS_ZERO_POINT, Formula.RECIPROCAL_PLUS_ZERO_POINT, Formula.FUSED}),
        ({"y_scale": (0.25, 2), "y_zero_point": (0, 0)}, {*Formula}),
        ({"y_scale": (0.25, 0.3), "y_zero_point": (0, 1)}, {Formula.FUSED}),
    ],
)
def test_formulas_are_equal_without_a_zero_point_or_with_a_power_of_two(parameters, equal):
    assert {one for one in Formula if has_formula(step(formula=one, **parameters), Formula.FUSED)} == equal


def test_a_call_without_a_formula_has_every_formula():
    omitted = Step("quantize", (1, 2, 3), "float32", {name: GIVEN[name] for name in GIVEN if name != "formula"})
    assert all(has_formula(omitted, one) for one in Formula)


def test_a_call_has_one_rounding_rule():
    assert "half_even" in unsupported_quantization(step(round_mode="half_up"), Formula.QUOTIENT, "f").reason
    assert "formula reciprocal" in unsupported_quantization(step(), Formula.RECIPROCAL, "f").reason
    assert unsupported_quantization(step(), Formula.QUOTIENT, "f") is None


def test_one_list_makes_a_step_per_channel():
    assert not is_per_channel(step(), "y")
    assert is_per_channel(step(y_zero_point=(1, 2)), "y")


def test_the_composition_adds_the_zero_point_where_the_formula_does():
    after = RECIPE.quantize(step(round_mode="half_up"))
    before = RECIPE.quantize(step(formula="reciprocal_plus_zero_point"))
    assert after.index("x = x + zero") > after.index("x = torch.floor(x + 0.5)")
    assert before.index("x = x + zero") < before.index("x = torch.round(x)")
    assert "x = x * reciprocal" in before
    assert "x = x / scale" in after


def test_the_composition_has_no_fusion_and_no_defaults():
    assert isinstance(RECIPE.quantize(step(formula="fused")), Unsupported)
    assert isinstance(RECIPE.quantize(Step("quantize", (1, 2, 3), "float32", {"y_scale": 1})), Unsupported)
    # Without a zero point there is no sum to fuse.
    assert "x = x * reciprocal" in RECIPE.quantize(step(formula="fused", y_zero_point=0))
