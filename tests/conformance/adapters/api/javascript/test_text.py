"""JavaScript as source text."""

import numpy as np
import pytest

from conformance.adapters.api.javascript import JAVASCRIPT, number


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (-0.0, "-0.0"), (0.1, "0.1"), (float("inf"), "Infinity"), (float("nan"), "NaN"), (1e300, "1e+300")],
)
def test_numbers_are_javascript(value, text):
    assert number(value) == text


def test_a_variable_is_declared_where_it_is_assigned_first():
    text = JAVASCRIPT.program(["x"], ["scale = 2", "scale = 3", "x = tf.mul(x, scale)", "return x"])
    assert text == "function run(x) {\n  let scale = 2;\n  scale = 3;\n  x = tf.mul(x, scale);\n  return x;\n}\n"


def test_constant_array_has_every_bit_and_its_shape():
    array = np.array([[1.5, -0.0]], np.float32)
    assert JAVASCRIPT.array(array) == '{ data: Float32Array.of(1.5, -0.0), shape: [1, 2], dtype: "float32" }'


@pytest.mark.parametrize(("count", "start"), [(65_535, "Int32Array.of(0, "), (65_536, "Int32Array.from([0, ")])
def test_constant_array_of_many_numbers_is_not_a_call_with_many_arguments(count, start):
    assert f"{{ data: {start}" in JAVASCRIPT.array(np.zeros(count, np.int32))


def test_a_line_with_an_open_list_has_no_semicolon():
    assert JAVASCRIPT.program(["x"], ["x = f(", "  [", "    x,", "  ],", ")", "return x"]) == (
        "function run(x) {\n  x = f(\n    [\n      x,\n    ],\n  );\n  return x;\n}\n"
    )
