"""Counts, problems and the overall verdict, shared by all views."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.analysis.deviation import PROGRAM_ERROR_EXPLANATION, is_program_error
from reports.results import (
    BackendRun,
    ConventionRecord,
    DifferenceKind,
    Outcome,
    Report,
    ResultRecord,
    Status,
)
from reports.results.vocabulary import AGREEING_STATUSES

UNEXPECTED_STATUSES = (Status.FAIL, Status.CRASHED, Status.TIMED_OUT, Status.FLAKY, Status.STALE)
"""Statuses that make a run fail."""
UNJUDGED_STATUSES = frozenset({Status.UNSUPPORTED, Status.UNDECLARED, Status.REFUSED})
DIFFERING_STATUSES = (*UNEXPECTED_STATUSES, Status.KNOWN)
# The keys of these tables are also looked up by text, which may be the empty text or an answer.
STATUS_RANKS: dict[str, int] = {status: rank for rank, status in enumerate(Status)}
STATUS_SIGNS: dict[str, str] = {
    Status.PASS: "✓", Status.KNOWN: "≈", Status.UNSUPPORTED: "–", Status.FAIL: "✗",
    Status.CRASHED: "!", Status.TIMED_OUT: "…", Status.FLAKY: "~", Status.STALE: "?",
    Status.UNDECLARED: "○", Status.SLOW: "◷", Status.REFUSED: "⊘",
}  # fmt: skip
STATUS_TEXTS: dict[str, str] = {status: status.replace("_", " ") for status in Status}
STATUS_EXPLANATIONS = {
    Status.FAIL: "failed without a matching ledger entry",
    Status.CRASHED: "crashed the process",
    Status.TIMED_OUT: "timed out",
    Status.FLAKY: "differed between repetitions (flaky)",
    Status.STALE: "agreed although the ledger says that they differ (stale)",
    Status.SLOW: "exceeded the time limit once and agreed in a second run (slow)",
}
HEADLINE_TEXTS = {
    Status.SLOW: "slow",
    Status.KNOWN: "known to deviate",
    Status.UNDECLARED: "undeclared",
    Status.REFUSED: "refused by an exporter or a runtime",
    Status.UNSUPPORTED: "not supported",
}
"""Statuses that restrict the statement of the headline, in this order."""
MAX_LISTED_NAMES = 6  # surfaces in one sentence
KIND_ACTIONS: dict[str, str] = {
    DifferenceKind.SHAPE: "returns another shape",
    DifferenceKind.DTYPE: "returns another dtype",
    DifferenceKind.VALUE: "returns other values",
    DifferenceKind.SPECIAL: "treats NaN or infinity differently",
    DifferenceKind.PINNED: "does not match a printed output",
    DifferenceKind.ACCEPTED: "accepts what must be rejected",
    DifferenceKind.REJECTED: "rejects what must be accepted",
    DifferenceKind.CONVENTION: "contradicts its declared answer to a convention",
    DifferenceKind.CHANGED: "contradicts the recorded answer to a convention",
    Outcome.CRASHED: "crashes the process",
    Outcome.TIMED_OUT: "times out",
    Status.FLAKY: "is flaky",
}
StatusCounts = dict[Status, int]
"""Number of results by status."""
GroupKind = DifferenceKind | Outcome | Status
"""The kind of a difference. It is an outcome if the program did not return, and a status if the result is flaky."""


@dataclass(frozen=True)
class ReportVerdict:
    """The overall verdict of a report: a headline and a sentence."""

    is_good: bool
    headline: str
    sentence: str


def count_by_status(results: Iterable[ResultRecord]) -> StatusCounts:
    """Count results by status. Only statuses that occur, worst first."""
    counted = Counter(result.status for result in results)
    return {status: counted[status] for status in Status if counted[status]}


def counts_by_surface(report: Report) -> dict[str, StatusCounts]:
    """Count the results of each surface by status. Includes surfaces without results."""
    results: dict[str, list[ResultRecord]] = {surface: [] for surface in report.surfaces}
    for result in report.results:
        results[result.surface].append(result)
    return {surface: count_by_status(surface_results) for surface, surface_results in results.items()}


def judged_count(counts: StatusCounts) -> int:
    """Count the judged results: all but the unsupported, the refused and the undeclared ones."""
    return sum(number for status, number in counts.items() if status not in UNJUDGED_STATUSES)


def agreeing_count(counts: StatusCounts) -> int:
    """Count the results that agree."""
    return sum(number for status, number in counts.items() if status in AGREEING_STATUSES)


def unexpected_count(counts: StatusCounts) -> int:
    """Count the unexpected results."""
    return sum(counts.get(status, 0) for status in UNEXPECTED_STATUSES)


def occurring_statuses(counts: dict[str, StatusCounts]) -> list[Status]:
    """List the statuses in counts by surface, worst first. Always contains `pass`."""
    return [status for status in Status if status == Status.PASS or any(status in one for one in counts.values())]


def counts_by_operator(report: Report) -> dict[str, dict[str, StatusCounts]]:
    """Count results by operator and surface. Operators are sorted; surfaces without results are omitted."""
    cells: defaultdict[tuple[str, str], list[ResultRecord]] = defaultdict(list)
    cases = report.cases
    for result in report.results:
        cells[cases[result.case].operator, result.surface].append(result)
    rows: dict[str, dict[str, StatusCounts]] = {}
    for (operator, surface), results in sorted(cells.items()):
        rows.setdefault(operator, {})[surface] = count_by_status(results)
    return rows


def nothing_ran(backend: BackendRun) -> bool:
    """Whether a backend executed no program. Always false for a shard or an exploration, which may have no programs."""
    complete_catalogue = backend.header.shard is None and backend.header.explored is None
    return complete_catalogue and all(result.outcome == Outcome.UNSUPPORTED for result in backend.results)


def report_problems(report: Report) -> list[str]:
    """Return the problems of the runs and their results, one sentence each."""
    statuses = [sentence for status in UNEXPECTED_STATUSES for sentence in status_sentences(status, report)]
    findings = [
        f"{name}: exploration found {count_text(number, 'unknown difference')}."
        for name, number in _finding_counts(report).items()
    ]
    return [*_run_level_problems(report), *statuses, *findings]


def reliability_problems(report: Report) -> list[str]:
    """Return the problems that make a report unreliable: mixed or partial runs and stale entries of the ledger."""
    return [*_run_level_problems(report), *status_sentences(Status.STALE, report)]


def _run_level_problems(report: Report) -> list[str]:
    problems = [] if report.runs else ["There are no results."]
    return [*problems, *report.mixture_notes, *(problem for run in report.runs for problem in run_problems(run))]


def run_problems(backend: BackendRun) -> list[str]:
    """Return the problems of a run as a whole, one sentence each."""
    partial = f"{backend.name}: partial run, stopped after {count_text(len(backend.results), 'result')}."
    return [*([] if backend.complete else [partial]), *([f"{backend.name}: nothing ran."] * nothing_ran(backend))]


def _finding_counts(report: Report) -> dict[str, int]:
    """Count the findings of each exploration with findings."""
    explored = {run.name: run.header.explored for run in report.explorations}
    return {name: len(one.findings) for name, one in explored.items() if one and one.findings}


def status_sentences(status: Status, report: Report) -> list[str]:
    """Return the number of results that have a status, with the surfaces that have most; one sentence per cause."""
    by_cause: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in report.results:
        if result.status == status:
            cause = PROGRAM_ERROR_EXPLANATION if is_program_error(result) else STATUS_EXPLANATIONS[status]
            by_cause[cause][result.surface] += 1
    counted = ((count_text(counts.total(), "result"), cause, counts) for cause, counts in by_cause.items())
    return [f"{number} {cause}: {_ranked_text(counts)}." for number, cause, counts in counted]


def _ranked_text(counts: Counter[str]) -> str:
    names = [f"{surface} ({number:,})" for surface, number in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    more = [f"{len(names) - MAX_LISTED_NAMES} more"] if len(names) > MAX_LISTED_NAMES else []
    return ", ".join(names[:MAX_LISTED_NAMES] + more)


def report_verdict(report: Report) -> ReportVerdict:
    """Return the overall verdict of a report."""
    counted = count_by_status(report.results)
    unexpected = unexpected_count(counted)
    complete = not report.mixture_notes and not any(run_problems(run) for run in report.runs)
    good = bool(report.runs) and complete and not unexpected and not _finding_counts(report)
    return ReportVerdict(
        good,
        _verdict_headline(report, unexpected, complete),
        " ".join([*_counts_sentence(report), *_exploration_sentences(report)]),
    )


def _verdict_headline(report: Report, unexpected: int, complete: bool) -> str:
    findings = sum(_finding_counts(report).values())
    if unexpected or findings:
        counted = [
            *([count_text(unexpected, "unexpected result")] if unexpected else []),
            *([count_text(findings, "finding")] if findings else []),
        ]
        return ", ".join(counted)
    if all(nothing_ran(run) for run in report.runs):
        return "Nothing ran"
    if not complete:
        return "The runs cannot be combined" if report.mixture_notes else "The run is incomplete"
    return _agreement_headline(report) if report.backends else "No findings"


def _agreement_headline(report: Report) -> str:
    """Return how many of the judged results agree, and everything that restricts the statement."""
    counts = count_by_status(report.results)
    selected = {name for run in report.backends for name in run.header.selection.operators}
    parts = [
        f"{agreeing_count(counts):,} of {judged_count(counts):,} judged agree",
        *(f"{counts[status]:,} {text}" for status, text in HEADLINE_TEXTS.items() if status in counts),
        *([f"only {', '.join(sorted(selected))}"] if 0 < len(selected) <= MAX_LISTED_NAMES else []),
        *([f"only {len(selected)} operators"] if len(selected) > MAX_LISTED_NAMES else []),
    ]
    return "; ".join(parts)


def _exploration_sentences(report: Report) -> list[str]:
    """Return a sentence about each exploration."""
    findings = _finding_counts(report)
    return [
        f"Exploration of {run.name} tried {count_text(run.header.explored.cases, 'case')}: "
        f"{count_text(findings.get(run.name, 0), 'finding')}."
        for run in report.explorations
        if run.header.explored
    ]


def _counts_sentence(report: Report) -> list[str]:
    """Return sentences with the numbers of results by status; empty if there are only explorations."""
    if report.explorations and not report.backends:
        return []
    counted = count_by_status(report.results)
    surfaces, backends = count_text(len(report.surfaces), "surface"), count_text(len(report.backends), "backend")
    parts = ", ".join(f"{counted[status]:,} {STATUS_TEXTS[status]}" for status in Status if status in counted)
    total = count_text(sum(counted.values()), "result")
    cases = count_text(report.size, "case")
    shards = [f"{one.name}: only shard {one.header.shard}." for one in report.backends if one.header.shard]
    counts = f"{total} of {cases} on {surfaces} of {backends}" + (f": {parts}." if parts else ".")
    return [counts, *shards]


def normalise_explanation(explanation: str) -> str:
    """Replace numbers and memory addresses in an explanation by `#`, so that explanations can be compared."""
    return re.sub(r"0x[0-9a-fA-F]+|\d+", "#", explanation)


def difference_kind(result: ResultRecord) -> GroupKind:
    """Return the kind of a difference: "flaky", a kind recorded in the result, or the outcome."""
    return result.status if result.status == Status.FLAKY else result.kind or result.outcome


def answers_by_convention(report: Report) -> dict[str, dict[str, ConventionRecord]]:
    """Return the answers by convention and surface, both sorted.

    Of several cases, a contradiction is preferred, then an observed answer.
    """
    rows: dict[str, dict[str, ConventionRecord]] = {}
    records = [convention for backend in report.backends for convention in backend.conventions]
    for convention in sorted(records, key=_answer_order):
        rows.setdefault(convention.question, {}).setdefault(convention.surface, convention)
    return rows


def _answer_order(answer: ConventionRecord) -> tuple[str, str, bool, bool]:
    return answer.question, answer.surface, not answer.contradicted, answer.observed is None


def unsupported_by_reason(report: Report) -> dict[str, list[ResultRecord]]:
    """Return the unsupported results by reason, the most frequent reason first."""
    by_reason: defaultdict[str, list[ResultRecord]] = defaultdict(list)
    for result in report.results:
        if result.status == Status.UNSUPPORTED:
            by_reason[result.reason or result.message or "no reason given"].append(result)
    return dict(sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])))


def predicate_text(predicate: str) -> str:
    """Split a predicate name into words: WindowExceedsPaddedInput becomes "window exceeds padded input"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", predicate).lower()


def count_text(number: int, noun: str) -> str:
    """Write a number with its noun: "1 case", "1,200 cases"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def list_text(names: Sequence[str], longest: int | None = None) -> str:
    """Write names as a list: "a, b and c". longest: number of names before the others are counted."""
    if longest is not None and len(names) > longest:
        names = [*names[:longest], f"{len(names) - longest} more"]
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def escape_control_characters(text: str) -> str:
    """Escape control and formatting characters, which a terminal would interpret."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def single_line(text: str, longest: int) -> str:
    """Return a text as one line of at most `longest` characters, with control characters escaped."""
    line = escape_control_characters(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"
