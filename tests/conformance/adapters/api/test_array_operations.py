"""The module `array_operations`: templates of source text."""

import pytest

from conformance.adapters.api import ArrayOperations
from conformance.adapters.api.array_operations import assigned, fill


@pytest.mark.parametrize(
    ("operand", "text"),
    [
        ("x", "x.sum(0)"),
        ("x[0]", "x[0].sum(0)"),
        ("f(x)", "f(x).sum(0)"),
        ("x * y", "(x * y).sum(0)"),
        ("-x", "(-x).sum(0)"),
    ],
)
def test_operand_of_a_method_gets_parentheses_where_needed(operand, text):
    assert ArrayOperations().reduce("sum", operand, "0") == text
    assert fill("f({x})", x=operand) == f"f({operand})"


def test_reductions_have_the_names_and_arguments_of_the_framework():
    operations = ArrayOperations(
        reduction="Reduce{name}({x}, {axes}{keep})", reduction_names={"max": "Max"}, kept="", dropped=", keepdims=0"
    )
    assert operations.reduce("max", "x", "last") == "ReduceMax(x, last, keepdims=0)"
    assert operations.reduce("mean", "x", "last", keep=True) == "Reducemean(x, last)"


def test_axis_of_a_stack_is_left_out_if_it_is_the_first():
    operations = ArrayOperations(stack="stack({list}{axis})", stack_axis=", dim={number}")
    assert operations.stack_list("[x, y]") == "stack([x, y])"
    assert operations.stack_list("[x, y]", 2) == "stack([x, y], dim=2)"


def test_norm_uses_the_shorter_template_of_its_power():
    operations = ArrayOperations(norm="norm({x}, {p}, {axes})", norms={1: "{x}.abs().sum({axes})"})
    assert operations.norm_of(1, "x", "0", "float32") == "x.abs().sum(0)"
    assert operations.norm_of(2.5, "x", "0", "float32") == "norm(x, 2.5, 0)"


def test_norm_whose_gradient_is_used_has_its_own_template_except_for_the_first_power():
    operations = ArrayOperations(norm="norm({x}, {p}, {axes})", differentiable_norm="root({x}, {p}, {axes})")
    assert operations.norm_of(2, "x", "0", "float32", gradient=True) == "root(x, 2, 0)"
    assert operations.norm_of(2, "x", "0", "float32") == "norm(x, 2, 0)"
    assert operations.norm_of(1, "x", "0", "float32", gradient=True) == "norm(x, 1, 0)"


def test_lines_before_the_expression_stay_before_its_assignment():
    assert assigned("x", "zero = 0\nf(zero)") == ("zero = 0", "x = f(zero)")
    assert ArrayOperations().reshaped("x + y", (2, 3)) == "(x + y).reshape(2, 3)"
