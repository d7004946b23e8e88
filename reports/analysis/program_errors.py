"""Results whose program is wrong. Their outcome is `crashed`, but no process has ended."""

from __future__ import annotations

from reports.results import Outcome, ResultRecord
from reports.results.vocabulary import PROGRAM_ERROR_PREFIX

PROGRAM_ERROR_EXPLANATION = "failed because of an error in the program that the adapter wrote"


def is_program_error(result: ResultRecord) -> bool:
    """Whether the program of a result is wrong."""
    return result.outcome == Outcome.CRASHED and (result.message or "").startswith(PROGRAM_ERROR_PREFIX)
