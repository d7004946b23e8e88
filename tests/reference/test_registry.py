"""The table of operators, and the forms that return values alone."""

import numpy as np

import reference
from reference.arguments import Array
from reference.arithmetic.exact import Exact
from reference.registry import OPERATORS, operator, values_only


def test_decorated_function_is_in_the_table_under_its_name(monkeypatch):
    def doubled(x):
        return x + x

    monkeypatch.delitem(OPERATORS, "doubled", raising=False)
    assert operator(doubled) is doubled
    assert OPERATORS.pop("doubled") is doubled


def test_entry_returns_an_exact_result_and_the_exported_form_its_value():
    x = np.array([[[1, 3, 2]]], np.float32)
    exact = OPERATORS["max_pool"](x, 2, stride=1)
    assert isinstance(exact, Exact)
    assert exact.value.tolist() == reference.max_pool(x, 2, stride=1).tolist() == [[[3, 3]]]


def test_several_results_become_a_tuple_of_values():
    values, indices = reference.max_pool_with_indices(np.array([[[1, 3, 2]]], np.float32), 3)
    assert (values.tolist(), indices.tolist()) == ([[[3]]], [[[1]]])


def test_form_has_the_name_and_the_documentation_of_its_operator():
    form = values_only(OPERATORS["pad"])
    assert (form.__name__, form.__doc__) == ("pad", OPERATORS["pad"].__doc__)
    assert OPERATORS["pad"].__annotations__["return"] in {Exact, "Exact"}
    assert form.__annotations__["return"] is Array
