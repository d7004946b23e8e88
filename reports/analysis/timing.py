"""Time in programs by surface, and by operator and backend, and the slowest programs."""

from __future__ import annotations

from collections import defaultdict
from heapq import nsmallest

from reports.results import Report, ResultRecord

MAX_SLOW_RESULTS = 20


def seconds_by_surface(report: Report) -> dict[str, float]:
    """Sum the seconds in programs by surface."""
    seconds = dict.fromkeys(report.surfaces, 0.0)
    for result in report.results:
        seconds[result.surface] += result.seconds
    return seconds


def seconds_by_operator(report: Report) -> dict[str, dict[str, float]]:
    """Sum the seconds in programs by operator and backend, the slowest operator first."""
    rows: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for backend in report.backends:
        for result in backend.results:
            row = rows[backend.cases[result.case].operator]
            row[backend.name] = row.get(backend.name, 0.0) + result.seconds
    return dict(sorted(rows.items(), key=lambda item: (-sum(item[1].values()), item[0])))


def slowest_results(report: Report) -> list[ResultRecord]:
    """Return the results with the slowest programs, the slowest first."""
    timed = (result for result in report.results if result.seconds)
    return nsmallest(MAX_SLOW_RESULTS, timed, key=lambda result: (-result.seconds, result.case, result.surface))
