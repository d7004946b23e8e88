"""Sentences about results that are listed although they do not fail a run."""

from __future__ import annotations

from collections import defaultdict

from reports.analysis.summary import count_text, list_text, status_sentences
from reports.results import Report, Status

MAX_LISTED_CONVENTIONS = 40  # in one sentence; more are counted


def report_notes(report: Report) -> list[str]:
    """Return the notes of a report, one sentence each."""
    return [*_undeclared_notes(report), *status_sentences(Status.SLOW, report), *_after_others_notes(report)]


def _after_others_notes(report: Report) -> list[str]:
    """Return a sentence about the results that differed after other programs had run, if there are any."""
    found = [result for run in report.runs for result in run.results if result.after_others]
    if not found:
        return []
    first = f"{found[0].case} on {found[0].surface}: {found[0].after_others}"
    counted = f"{count_text(len(found), 'result')} differed after other programs had run in the process"
    return [f"{counted}, and count as they are alone in a process. The first one: {first}"]


def _undeclared_notes(report: Report) -> list[str]:
    """Return a sentence for each group of surfaces that leave the same conventions undeclared."""
    cases = report.cases
    conventions: defaultdict[str, set[str]] = defaultdict(set)
    for result in report.results:
        if result.status == Status.UNDECLARED:
            conventions[result.surface].add(cases[result.case].question or result.case)
    surfaces: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for surface, names in sorted(conventions.items()):
        surfaces[tuple(sorted(names))].append(surface)
    return [
        f"{count_text(len(names), 'convention')} without a declared answer on {list_text(group)}: "
        f"{list_text(names, MAX_LISTED_CONVENTIONS)} (`conformance declare` writes the observed answers)."
        for names, group in surfaces.items()
    ]
