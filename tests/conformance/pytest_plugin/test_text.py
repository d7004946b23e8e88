"""Texts of failure reports."""

import pytest

from conformance.pytest_plugin.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("value 0.5", "value 0.5"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb", "a\\nb"),
        ("\u202ex", "\\u202ex"),
        ("é", "é"),
    ],
)
def test_characters_that_a_terminal_would_interpret_are_escaped(text, shown):
    assert printable(text) == shown
