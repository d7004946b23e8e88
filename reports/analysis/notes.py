"""Sentences about results that are listed although they do not fail a run."""

from __future__ import annotations

from reports.analysis.summary import status_sentence
from reports.results import Report, Status


def report_notes(report: Report) -> list[str]:
    """Return the notes of a report, one sentence each."""
    slow = any(result.status == Status.SLOW for result in report.results)
    return [status_sentence(Status.SLOW, report)] if slow else []
