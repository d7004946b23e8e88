"""The module `windows` of ONNX."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import EVALUATOR, PLANE, ROW, RUNTIME, both, nodes


def test_evaluator_composes_indices_of_windows_with_stride_one(made):
    case = made("max_pool_with_indices", f"{PLANE}, window: [1, 2], stride: [1, 1], output: indices")
    assert "MaxPool" not in translate(case, EVALUATOR).text
    assert translate(case, RUNTIME).how == "native"


@pytest.mark.parametrize(("pads", "how"), [("[0, 1]", "composed"), ("[1, 0]", "native")])
def test_evaluator_composes_averages_if_a_window_starts_in_the_end_padding(made, pads, how):
    text = f"{ROW}, window: [1], stride: [1], padding: [{pads}], rounding: ceil, count_include_pad: true"
    assert translate(made("avg_pool", text), EVALUATOR).how == how


@both
def test_integers_that_pooling_does_not_take_are_cast_to_a_wider_type(made, surface):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]], dtype: int32}, window: [2], stride: [2]")
    types = [node.split('"')[1] for node in nodes(translate(case, surface))]
    assert types == ["Cast", "MaxPool", "Cast"]
    assert "to=TensorProto.DOUBLE" in translate(case, surface).text


@both
@pytest.mark.parametrize(("dtype", "casts"), [("float16", ["x", "draws"]), ("float32", [])])
def test_draws_are_cast_with_the_values_that_they_select(made, surface, dtype, casts):
    case = made(
        "stochastic_pool", f"x: {{values: [[[1, 2]]], dtype: {dtype}}}, draws: {{values: [[[0]]]}}, window: [2]"
    )
    inputs = [node.split('"')[3] for node in nodes(translate(case, surface)) if "TensorProto.FLOAT)" in f"{node})"]
    assert sorted(inputs) == sorted(casts)


@both
@pytest.mark.parametrize("operator", ["max_pool", "max_unpool"])
def test_pooling_of_four_axes_is_composed_or_unsupported(operator, surface):
    parameters = {"max_pool": {"window": 2}, "max_unpool": {"output_size": 4}}[operator]
    program = translate(CaseRequest(operator, parameters, shape=(1, 1, 2, 2, 2, 2)).case(), surface)
    assert isinstance(program, Unsupported) == (operator == "max_pool"), program
    assert operator == "max_pool" or "MaxUnpool" not in program.text
