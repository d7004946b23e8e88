"""Check each record of a results file against the records before it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reports.results.json_structs import RecordError
from reports.results.key_set import KeySet
from reports.results.records import (
    AnyRecord,
    CaseRecord,
    ConventionRecord,
    Footer,
    Header,
    ProgramRecord,
    ResultRecord,
)
from reports.results.vocabulary import Status

ResultKey = tuple[str, str]
"""Id of the case, name of the surface."""


@dataclass
class RecordChecks:
    """What a results file contains so far. Readers and the writer of a file add all its records in order.

    cases: ids of the case records; programs: digests of the program records; results, conventions: case and surface of
    each result and convention record.
    """

    header: Header | None = None
    footer: Footer | None = None
    cases: KeySet = field(default_factory=KeySet)
    programs: KeySet = field(default_factory=KeySet)
    results: KeySet = field(default_factory=KeySet)
    conventions: KeySet = field(default_factory=KeySet)
    by_status: Counter[Status] = field(default_factory=Counter)

    def add(self, record: AnyRecord) -> None:
        """Register a record. Raises RecordError if it is not valid after the records before it."""
        kind = record.__struct_config__.tag
        if self.footer is not None:
            raise RecordError(f"the record {kind!r} follows the footer")
        if isinstance(record, Header):
            if self.header is not None:
                raise RecordError("a second header")
            self.header = record
            return
        if self.header is None:
            raise RecordError(f"missing header: the first record is {kind!r}")
        if isinstance(record, ResultRecord):
            self._add_result(record)
        elif isinstance(record, CaseRecord):
            self.declare_case(record.case)
        elif isinstance(record, ProgramRecord):
            self._check_surface(record.surface)
            if record.program in self.programs:
                raise RecordError(f"the program {record.program!r} is declared twice")
            self.programs.add(record.program)
        elif isinstance(record, ConventionRecord):
            key = self._check_key(record)
            if key in self.conventions:
                raise RecordError(f"a second answer to {record.case!r} on {record.surface!r}")
            self.conventions.add(key)
        else:
            self._add_footer(record)

    def declare_case(self, case: str) -> None:
        """Register a case record. Raises RecordError if the file has no header or declares the case twice."""
        if case in self.cases:
            raise RecordError(f"the case {case!r} is declared twice")
        self.cases.add(case)

    def _add_result(self, result: ResultRecord) -> None:
        key = self._check_key(result)
        if key in self.results:
            raise RecordError(f"a second result for the case {result.case!r} on {result.surface!r}")
        if result.program is not None and result.program not in self.programs:
            raise RecordError(f"the program {result.program!r} was never declared")
        self.results.add(key)
        self.by_status[result.status] += 1

    def _add_footer(self, footer: Footer) -> None:
        if footer.results != len(self.results):
            raise RecordError(f"the footer counts {footer.results} results, the file contains {len(self.results)}")
        counted = {status: count for status, count in footer.by_status.items() if count}
        if counted != self.by_status:
            raise RecordError(f"the footer counts {_counts(counted)}, the file contains {_counts(self.by_status)}")
        self.footer = footer

    def _check_key(self, record: ResultRecord | ConventionRecord) -> ResultKey:
        if record.case not in self.cases:
            raise RecordError(f"the case {record.case!r} was never declared")
        self._check_surface(record.surface)
        return record.case, record.surface

    def _check_surface(self, surface: str) -> None:
        if self.header is not None and surface not in self.header.surfaces:
            raise RecordError(f"the surface {surface!r} is not in the header")


def _counts(counts: Counter[Status] | dict[Status, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing"
