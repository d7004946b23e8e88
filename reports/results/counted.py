"""Results that a summary only counts. Equal ones are stored once, with their number, so that they need no memory each.

A case is shown if one of its results is not only counted, or if it observes a convention. All its results are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

from reports.results.arrays import RecordedAnswers
from reports.results.compatibility import UnreadableResults
from reports.results.files import open_regular
from reports.results.json_structs import RecordError
from reports.results.key_set import KeySet
from reports.results.lazy_cases import CaseFile
from reports.results.reader import BackendRun, RunBuilder, complete_lines, read_records
from reports.results.records import (
    CaseRecord,
    ConventionRecord,
    ProgramRecord,
    ResultRecord,
    decode_line,
    without_label,
)
from reports.results.vocabulary import Level, Outcome, Status, Verdict

CASE_LINE_START = b'{"record": "case"'
PROGRAM_LINE_START = b'{"record": "program"'
"""Starts of lines that `encode_line` writes."""


def is_only_counted(result: ResultRecord) -> bool:
    """Whether views only count a result: it agrees, or it is unsupported, and nothing else was observed."""
    if result.after_others or result.changed_state:
        return False
    return result.outcome == Outcome.UNSUPPORTED or (result.status, result.verdict) == (Status.PASS, Verdict.AGREE)


class CountedKind(NamedTuple):
    """What results that are only counted have in common."""

    surface: str
    operator: str
    status: str
    outcome: str
    verdict: str | None
    reason: str | None
    issue: str | None

    @classmethod
    def of(cls, result: ResultRecord) -> CountedKind:
        """Return the kind of a result."""
        operator = result.case.partition("/")[0]
        reason = result.reason if result.reason is not None else result.message
        return cls(result.surface, operator, result.status, result.outcome, result.verdict, reason, result.issue)

    def placeholder(self) -> ResultRecord:
        """Return a result of this kind. Its case is a placeholder for the operator."""
        return ResultRecord(
            case=f"{self.operator}/*", surface=self.surface, status=Status(self.status), outcome=Outcome(self.outcome),
            verdict=Verdict(self.verdict) if self.verdict else None, reason=self.reason, issue=self.issue,
        )  # fmt: skip


def placeholder_case(name: str) -> CaseRecord:
    """Return the case with the name of a placeholder."""
    operator = name.partition("/")[0]
    return CaseRecord(
        case=name, operator=operator, level=Level.SMOKE, about="", source="", via=(), question=None,
        parameters={}, inputs={}, expected=RecordedAnswers({}), digest="", pinned=0, terms=0,
    )  # fmt: skip


class CountedResults(Collection[ResultRecord]):
    """Results in which equal results are stored once, with their number."""

    def __init__(self, single: Sequence[ResultRecord], counted: Sequence[tuple[ResultRecord, int]]) -> None:
        self._single_results, self._counted_results = single, counted

    def __iter__(self) -> Iterator[ResultRecord]:
        return chain(self._single_results, *(repeat(result, number) for result, number in self._counted_results))

    def __len__(self) -> int:
        return len(self._single_results) + sum(number for _, number in self._counted_results)

    def __contains__(self, result: object) -> bool:
        return result in self._single_results or any(result == one for one, _ in self._counted_results)


def load_counted_run(path: Path) -> tuple[BackendRun, KeySet]:
    """Read a results file into a run whose results are counted where possible. Return also the ids of all cases.

    The file is read twice, because a result that is only counted may belong to a case that is shown. Raises
    UnreadableResults.
    """
    try:
        return _read_counted_run(path, _shown_cases(path))
    except OSError as error:
        raise UnreadableResults(path, None, f"cannot be read: {error.strerror}") from None


def _shown_cases(path: Path) -> set[str]:
    """Return the ids of the cases that are shown. Invalid lines are reported when the file is read again."""
    shown: set[str] = set()
    with open_regular(path) as stream:
        for _, line in complete_lines(stream):
            if line.startswith((CASE_LINE_START, PROGRAM_LINE_START)):  # most of the file
                continue
            try:
                record = decode_line(line)
            except RecordError:
                break
            if isinstance(record, ConventionRecord) or (
                isinstance(record, ResultRecord) and not is_only_counted(record)
            ):
                shown.add(record.case)
    return shown


def _read_counted_run(path: Path, shown: Collection[str]) -> tuple[BackendRun, KeySet]:
    counts: Counter[CountedKind] = Counter()
    with open_regular(path) as stream:
        builder = RunBuilder(case_file=CaseFile(stream))
        for line in read_records(path, stream, builder.checks):
            record = line.record
            if isinstance(record, ResultRecord) and record.case not in shown:
                counts[CountedKind.of(record)] += 1
            elif not isinstance(record, ProgramRecord) and not (
                isinstance(record, CaseRecord) and record.case not in shown
            ):
                builder.collect(record, line.offset, line.length)
    builder.programs = list(_programs(path, {result.program for result in builder.results}))
    placeholders = {name: placeholder_case(name) for name in {kind.placeholder().case for kind in counts}}
    builder.cases.update(placeholders)
    run = builder.build()
    label = run.header.backend.removeprefix(without_label(run.header.backend))
    counted = [(kind._replace(surface=kind.surface + label).placeholder(), number) for kind, number in counts.items()]
    return replace(run, results=CountedResults(tuple(run.results), counted)), builder.checks.cases


def _programs(path: Path, digests: Collection[str | None]) -> Iterator[ProgramRecord]:
    """Yield the programs with these digests."""
    with open_regular(path) as stream:
        for _, line in complete_lines(stream):
            if line.startswith(PROGRAM_LINE_START):
                record = decode_line(line)
                if isinstance(record, ProgramRecord) and record.program in digests:
                    yield record
