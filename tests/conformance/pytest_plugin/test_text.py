"""Texts of failure reports."""

import pytest

from conformance.pytest_plugin.text import failure_headline, printable
from reports.results import ResultRecord
from reports.results.vocabulary import Outcome, Status


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


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        (
            "error in the program: NameError: name 'np' is not defined",
            "program error: NameError: name 'np' is not defined",
        ),
        ("signal 11", "crashed: signal 11"),
    ],
)
def test_error_in_a_program_is_not_called_a_crash(message, headline):
    result = ResultRecord(
        case="max_pool/a", surface="mine", status=Status.CRASHED, outcome=Outcome.CRASHED, message=message
    )
    assert failure_headline(result) == headline
