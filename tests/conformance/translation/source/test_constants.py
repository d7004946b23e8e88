"""Bounded evaluation of expressions in a source text."""

import ast
import math

import pytest

from conformance.translation.source.constants import NotLiteral, Symbol, argument_value, evaluate

NAMES = {"width": 32, "self.groups": 4, "planes": Symbol("planes"), "stride": Symbol("stride", 1, has_default=True)}


def value(text):
    return evaluate(ast.parse(text, mode="eval").body, NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * width", 64),
        ("(width // 3, -1)", (10, -1)),
        ("[2**3, self.groups]", (8, 4)),
        ("width % 5 + 1.5", 3.5),
        ("int(width / 2)", 16),
        ("not width", False),
        ("'same'", "same"),
        ("-np.inf", -math.inf),
        ("float('inf')", math.inf),
    ],
)
def test_literals_and_arithmetic_have_a_value(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "planes * 2",
        "unknown",
        "10 ** 10 ** 10",
        "2 ** 10000",
        "2.0 ** 64 ** 64",
        "9999999999 ** 3",
        "'a' * 10**9",
        "'a' + 'b'",
        "(1,) * 10**9",
        "1 // 0",
        "1 << 100000",
        "(-8) ** 0.5",
        "__import__('os').system('false')",
        "open('/etc/passwd').read()",
        "f'{width}'",
        f"'{'a' * 1000}'",
        "+".join("1" * 80),
        "float('1' * 9)",
        "[x for x in range(10**9)]",
    ],
)
def test_other_expressions_have_none(text):
    with pytest.raises(NotLiteral):
        value(text)


def test_symbol_has_values_in_place_of_known_names():
    found = argument_value(ast.parse("(planes * self.groups, 3, stride)", mode="eval").body, NAMES)
    assert found == (Symbol("planes * 4"), 3, Symbol("stride", 1, has_default=True))
