"""Texts of failure reports."""

import pytest

from conformance.pytest_plugin.text import failure_headline
from reports.results import ResultRecord
from reports.results.vocabulary import Outcome, Status


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
