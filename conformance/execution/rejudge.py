"""Update the results of an earlier run to the current catalogue, ledger and declarations, without running programs.

A result with an unchanged case and program has the same verdict, and gets its status from the current ledger. A result
whose case, program, setup or declaration has changed or no longer exists is dropped. `conformance run --resume` runs
the missing ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from conformance import ConformanceError
from conformance.adapters.api import Backend, Surface, Unsupported
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.case import Case
from conformance.catalogue.loading import Catalogue
from conformance.execution.records import (
    NO_BOUND_REASON,
    case_record_line,
    declared_answer,
    ledger_reason,
    refusal_reason,
    result_status,
)
from conformance.execution.results_file import make_footer, reading_results
from conformance.execution.selection import Shard
from conformance.execution.task import ComputeExpected, ledger_surfaces
from conformance.judging.ledger import Ledger
from conformance.judging.tolerance import accumulation_convention
from conformance.judging.verdict import JUDGED_OUTCOMES, OutcomeVerdict, declaration_text
from conformance.system.atomic_write import write_atomically
from conformance.translation.lowering import translate
from reports.results import (
    AnyRecord,
    CatalogueIdentity,
    Header,
    Outcome,
    RecordChecks,
    ResultRecord,
    RunBuilder,
    Status,
    Verdict,
    encode_line,
    read_records,
)
from reports.results.files import open_regular

ResultKey = tuple[str, str]
"""Id of the case, name of the surface."""


@dataclass
class RejudgedResults:
    """Records of the updated results file, and a summary of the changes.

    status_changes: counts by (old status, new status); invalid_results: dropped results.
    """

    records: list[AnyRecord] = field(default_factory=list)
    contents: RecordChecks = field(default_factory=RecordChecks)
    status_changes: Counter[tuple[Status, Status]] = field(default_factory=Counter)
    invalid_results: list[ResultKey] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether no result is missing."""
        return self.contents.footer is not None

    def add(self, record: AnyRecord) -> None:
        """Append a record."""
        self.contents.add(record)
        self.records.append(record)


def read_results_file(path: Path) -> RunBuilder:
    """Return the records of a results file. Raises ConformanceError, with path and line, if it is invalid."""
    builder = RunBuilder()
    try:
        with reading_results("rejudge"), open_regular(path) as stream:
            for line in read_records(path, stream, builder.checks):
                builder.collect(line.record)
    except OSError as error:
        raise ConformanceError(f"{path}: cannot be read: {error.strerror}") from None
    return builder


def rejudge_results(
    builder: RunBuilder, backend: Backend, catalogue: Catalogue, ledger: Ledger, compute_expected: ComputeExpected
) -> RejudgedResults:
    """Update the results of a file that `read_results_file` has read."""
    return _Rejudge(builder, backend, catalogue, ledger, compute_expected).results()


def replace_records(path: Path, records: Iterable[AnyRecord]) -> None:
    """Replace the file with these records atomically. Raises ConformanceError if it cannot be written."""
    try:
        write_atomically(path, "".join(f"{encode_line(record)}\n" for record in records))
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


class _Rejudge:
    """The records of one file, compared with the current catalogue and backend."""

    def __init__(
        self,
        builder: RunBuilder,
        backend: Backend,
        catalogue: Catalogue,
        ledger: Ledger,
        compute_expected: ComputeExpected,
    ) -> None:
        self.builder, self.header = builder, builder.header
        self.backend, self.catalogue, self.ledger, self.compute_expected = backend, catalogue, ledger, compute_expected
        self.programs = {record.program: record for record in builder.programs}
        self.answers = {(record.case, record.surface): record for record in builder.conventions}
        self.previous_declarations = {
            (record.surface, record.question): record.declared for record in builder.conventions
        }
        self._is_case_unchanged: dict[str, bool] = {}

    @cached_property
    def surfaces(self) -> dict[str, Surface]:
        """The current surfaces of the run's selection, by name; without a selection, those that run some case."""
        names = self.header.selection.surfaces
        return {
            surface.name: surface.for_processor(self.header.environment.cpu)
            for surface in self.backend.surfaces
            if (surface.name in names if names else any(self._is_run(case, surface) for case in self.selected))
        }

    @cached_property
    def selected(self) -> Sequence[Case]:
        """The cases that the run's filters and level select from the current catalogue."""
        filters = self.header.selection
        return self.catalogue.select(self.header.level, filters.operators, filters.cases)

    @cached_property
    def cases(self) -> dict[str, Case]:
        """The selected cases of the shard, or of the whole run, by id."""
        recorded = self.header.shard
        shard = Shard(recorded.number, recorded.of) if recorded else None
        return {case.id: case for case in self.selected if shard is None or shard.contains(case.id, case.convention_id)}

    def results(self) -> RejudgedResults:
        """Return the valid results in the order of the file, with a footer if the run is complete."""
        rejudged = RejudgedResults()
        rejudged.add(self._new_header())
        for result in self.builder.results:
            updated = self._rejudge_result(result)
            if updated is None:
                rejudged.invalid_results.append((result.case, result.surface))
                continue
            if updated.status != result.status:
                rejudged.status_changes[result.status, updated.status] += 1
            for record in (*self._preceding_records(updated, rejudged.contents), updated):
                rejudged.add(record)
        self._add_footer(rejudged)
        return rejudged

    def _new_header(self) -> Header:
        catalogue = self.catalogue
        setup = dict.fromkeys(self.surfaces, self.backend.threads + self.backend.setup)
        return replace(
            self.header,
            catalogue=CatalogueIdentity(version=catalogue.version, digest=catalogue.digest, cases=len(self.selected)),
            ledger=self.ledger.digest,
            own_ledger=self.ledger.own_digest,
            surfaces=tuple(self.surfaces),
            environment=replace(self.header.environment, setup=setup),
        )

    def _preceding_records(self, result: ResultRecord, contents: RecordChecks) -> Iterator[AnyRecord]:
        """Yield the case and program records of a result unless they were yielded before, and its convention record."""
        if result.case not in contents.cases:
            yield self.builder.cases[result.case]
        if result.program is not None and result.program not in contents.programs:
            yield self.programs[result.program]
        answer = self.answers.get((result.case, result.surface))
        if answer is not None:
            declared, source = declared_answer(self.surfaces[result.surface], answer.question, answer.case)
            yield replace(answer, declared=declared, source=source)

    def _rejudge_result(self, result: ResultRecord) -> ResultRecord | None:
        """Return a result with its current status, None if a run would run another case or program today."""
        case, surface = self.cases.get(result.case), self.surfaces.get(result.surface)
        if case is None or surface is None or not self._is_still_valid(case, surface):
            return None
        missing = surface.missing_requirement and surface.missing_requirement()
        program = Unsupported(missing) if missing else translate(case, surface)
        if isinstance(program, Unsupported):
            was_unsupported = result.outcome == Outcome.UNSUPPORTED
            return replace(result, reason=program.reason, issue=program.issue) if was_unsupported else None
        if result.program != program.digest or not self._has_same_verdict(result, case, surface):
            return None
        # Such a result has no verdict, from which its status could be computed again.
        return result if result.reason == NO_BOUND_REASON else self._with_current_status(result, case)

    def _is_still_valid(self, case: Case, surface: Surface) -> bool:
        """Whether the case and the setup of the surface are unchanged, and a run would include them."""
        setup = self.header.environment.setup.get(surface.name)
        if setup != self.backend.threads + self.backend.setup:
            return False
        if not self._is_run(case, surface):
            return False
        if case.id not in self._is_case_unchanged:
            expected = self.compute_expected(case)
            line = expected.record_line or case_record_line(case, expected)
            self._is_case_unchanged[case.id] = line == encode_line(self.builder.cases[case.id])
        return self._is_case_unchanged[case.id]

    def _is_run(self, case: Case, surface: Surface) -> bool:
        return surface.is_run(case.level, case.tags, self.header.level, operator=case.operator, slow=self.header.slow)

    def _has_same_verdict(self, result: ResultRecord, case: Case, surface: Surface) -> bool:
        """Whether the verdict is the same under the current declarations."""
        answer = self.answers.get((case.id, surface.name))
        if answer is None:
            # The error bound of 16-bit results depends on the declared precision of the accumulator.
            convention_id = accumulation_convention(case)
            declared, _ = declared_answer(surface, convention_id, convention_id)
            previous = self.previous_declarations.get((surface.name, convention_id))
            return case.dtype not in SHORT_FLOATS or previous == declared
        declaration = surface.declaration_for(answer.question, case.id)
        if result.verdict == Verdict.AGREE:
            return declaration is not None and declaration.answer == answer.observed
        if result.verdict is None and result.outcome in JUDGED_OUTCOMES:
            return declaration is None
        # The message of a difference contains the declaration that the answer was compared with.
        return result.verdict is None or declaration_text(declaration) in (result.message or "")

    def _with_current_status(self, result: ResultRecord, case: Case) -> ResultRecord:
        """Return a result with its status according to the current ledger."""
        environment, device = self.header.environment, self.backend.device.name
        cause = None if result.verdict == Verdict.AGREE else result.changed_by
        names = ledger_surfaces(self.surfaces[result.surface], cause)
        machine = environment.packages, environment.cpu, device
        entry = next(filter(None, (self.ledger.find_entry(case, name, *machine) for name in names)), None)
        verdict = OutcomeVerdict(result.verdict, result.kind)
        part = result.changed_by
        status = result_status(result.outcome, verdict, entry, flaky=result.flaky, slow=result.slow, part=part)
        reason, issue = ledger_reason(status, entry)
        if status == Status.REFUSED:
            reason = refusal_reason(part, result.message)
        return replace(result, status=status, reason=reason, issue=issue)

    def _add_footer(self, rejudged: RejudgedResults) -> None:
        """Append the footer if the file had one and each case that a run would include has its result."""
        total = sum(self._is_run(case, surface) for case in self.cases.values() for surface in self.surfaces.values())
        # Without a footer, `conformance run --resume` continues the file.
        footer = self.builder.checks.footer
        if footer is not None and len(rejudged.contents.results) == total:
            rejudged.add(make_footer(rejudged.contents, footer.seconds))
