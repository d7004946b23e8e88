"""Update the results of an earlier run to the current catalogue, ledger and declarations, without running programs.

A result with an unchanged case and program has the same verdict, and gets its status from the current ledger. A result
whose case, program, setup or declaration has changed or no longer exists is dropped. `conformance run --resume` runs
the missing ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api.surface import Backend, Surface, Unsupported
from conformance.cases.arrays import SHORT_FLOATS
from conformance.cases.case import Case
from conformance.catalogue.loading import Catalogue
from conformance.execution.records import NO_BOUND_REASON, case_record_line, declaration_record, result_status
from conformance.execution.results_file import RESULTS_FORMAT, record_line
from conformance.execution.selection import Shard
from conformance.execution.task import ComputeExpected
from conformance.judging.ledger import Ledger
from conformance.judging.tolerance import accumulation_convention
from conformance.judging.verdict import OutcomeVerdict, declaration_text
from conformance.system.atomic_write import write_atomically
from conformance.translation.lowering import translate

JsonObject = dict[str, Any]
ResultKey = tuple[str, str]
"""Id of the case, name of the surface."""


@dataclass
class RejudgedResults:
    """Records of the updated results file, and a summary of the changes.

    status_changes: counts by (old status, new status); invalid_results: dropped results; complete: whether no result
    is missing.
    """

    records: list[JsonObject] = field(default_factory=list)
    status_changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    invalid_results: list[ResultKey] = field(default_factory=list)
    complete: bool = False


def rejudge_file(
    path: Path, backend: Backend, catalogue: Catalogue, ledger: Ledger, compute_expected: ComputeExpected
) -> RejudgedResults:
    """Update the results of a file. Raises ConformanceError, with path and line, if it is not a results file."""
    records = list(read_records(path))
    if records[0]["record"] != "header" or records[0].get("format") != RESULTS_FORMAT:
        raise ConformanceError(f"{path}:1: not the header of a results file of format {RESULTS_FORMAT}")
    try:
        return _Rejudge(records, backend, catalogue, ledger, compute_expected).results()
    except (KeyError, TypeError, AttributeError) as error:
        raise ConformanceError(f"{path}: a record has a missing or malformed field: {error!r}") from None


def read_records(path: Path) -> Iterator[JsonObject]:
    """Yield the records of a results file, without an incomplete last line."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise ConformanceError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(text.rpartition("\n")[0].split("\n"), 1):
        try:
            record = json.loads(line)
            record["record"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ConformanceError(f"{path}:{number}: this line is not a record of a results file") from None
        yield record


def replace_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Replace the file with these records atomically. Raises ConformanceError if it cannot be written."""
    try:
        write_atomically(path, "".join(f"{record_line(record)}\n" for record in records))
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


class _Rejudge:
    """The records of one file, compared with the current catalogue and backend."""

    def __init__(
        self,
        records: list[JsonObject],
        backend: Backend,
        catalogue: Catalogue,
        ledger: Ledger,
        compute_expected: ComputeExpected,
    ) -> None:
        self.header, self.records = records[0], records
        self.backend, self.catalogue, self.ledger, self.compute_expected = backend, catalogue, ledger, compute_expected
        self.case_records = {record["case"]: record for record in self._records_of("case")}
        self.programs = {record["program"]: record for record in self._records_of("program")}
        self.answers: dict[ResultKey, JsonObject] = {
            (record["case"], record["surface"]): record for record in self._records_of("convention")
        }
        self.previous_declarations = {
            (record["surface"], record["question"]): record["declared"] for record in self.answers.values()
        }
        self._is_case_unchanged: dict[str, bool] = {}

    def _records_of(self, kind: str) -> Iterator[JsonObject]:
        return (record for record in self.records if record["record"] == kind)

    @cached_property
    def surfaces(self) -> dict[str, Surface]:
        """The current surfaces of the run's selection, by name."""
        names = self.header["selection"]["surfaces"]
        features = self.header["environment"].get("cpu", ())
        return {
            surface.name: surface.for_processor(features)
            for surface in self.backend.surfaces
            if not names or surface.name in names
        }

    @cached_property
    def selected(self) -> list[Case]:
        """The cases that the run's filters and level select from the current catalogue."""
        filters = self.header["selection"]
        return self.catalogue.select(self.header["level"], filters["operators"], filters["cases"])

    @cached_property
    def cases(self) -> dict[str, Case]:
        """The selected cases of the shard, or of the whole run, by id."""
        shard = Shard(**self.header["shard"]) if "shard" in self.header else None
        return {case.id: case for case in self.selected if shard is None or shard.contains(case.id, case.convention_id)}

    def results(self) -> RejudgedResults:
        """Return the valid results in the order of the file, with a footer if the run is complete."""
        rejudged = RejudgedResults([self._new_header()])
        declared: set[str] = set()
        for record in self._records_of("result"):
            key = record["case"], record["surface"]
            updated = self._rejudge_result(record)
            if updated is None:
                rejudged.invalid_results.append(key)
                continue
            if updated["status"] != record["status"]:
                rejudged.status_changes[record["status"], updated["status"]] += 1
            rejudged.records += [*self._preceding_records(key, updated, declared), updated]
        self._add_footer(rejudged)
        return rejudged

    def _new_header(self) -> JsonObject:
        identity = {"version": self.catalogue.version, "digest": self.catalogue.digest, "cases": len(self.selected)}
        setup = dict.fromkeys(self.surfaces, self.backend.threads + self.backend.setup)
        return {
            **self.header,
            "catalogue": identity,
            "ledger": self.ledger.digest,
            "own_ledger": self.ledger.own_digest,
            "surfaces": list(self.surfaces),
            "environment": {**self.header["environment"], "setup": setup},
        }

    def _preceding_records(self, key: ResultKey, result: JsonObject, declared: set[str]) -> Iterator[JsonObject]:
        """Yield the case and program records of a result unless already declared, and its convention record."""
        for name, records in ((key[0], self.case_records), (result["program"], self.programs)):
            if name is not None and name not in declared:
                declared.add(name)
                yield records[name]
        if key in self.answers:
            convention_id = self.answers[key]["question"]
            yield {**self.answers[key], **declaration_record(self.surfaces[key[1]], convention_id)}

    def _rejudge_result(self, record: JsonObject) -> JsonObject | None:
        """Return a result with its current status, None if a run would run another case or program today."""
        case, surface = self.cases.get(record["case"]), self.surfaces.get(record["surface"])
        if case is None or surface is None or not self._is_still_valid(case, surface):
            return None
        missing = surface.missing_requirement and surface.missing_requirement()
        program = Unsupported(missing) if missing else translate(case, surface)
        if isinstance(program, Unsupported):
            was_unsupported = record["outcome"] == "unsupported"
            return {**record, "reason": program.reason, "issue": program.issue} if was_unsupported else None
        if record["program"] != program.digest or not self._has_same_verdict(record, case, surface):
            return None
        return record if record.get("reason") == NO_BOUND_REASON else self._with_current_status(record, case)

    def _is_still_valid(self, case: Case, surface: Surface) -> bool:
        """Whether the case and the setup of the surface are unchanged, and a run would include them."""
        setup = self.header["environment"]["setup"].get(surface.name)
        if setup != self.backend.threads + self.backend.setup:
            return False
        if not self._is_run(case, surface):
            return False
        if case.id not in self._is_case_unchanged:
            expected = self.compute_expected(case)
            self._is_case_unchanged[case.id] = (
                json.loads(expected.record_line or case_record_line(case, expected)) == self.case_records[case.id]
            )
        return self._is_case_unchanged[case.id]

    def _is_run(self, case: Case, surface: Surface) -> bool:
        return surface.is_run(case.level, case.tags, self.header["level"], slow=self.header.get("slow", False))

    def _has_same_verdict(self, record: JsonObject, case: Case, surface: Surface) -> bool:
        """Whether the verdict is the same under the current declarations."""
        if (case.id, surface.name) not in self.answers:
            # The error bound of 16-bit results depends on the declared precision of the accumulator.
            convention_id = accumulation_convention(case)
            declared = declaration_record(surface, convention_id)["declared"]
            previous = self.previous_declarations.get((surface.name, convention_id))
            return case.dtype not in SHORT_FLOATS or previous == declared
        answer = self.answers[case.id, surface.name]
        declaration = surface.declarations.get(answer["question"])
        if record["verdict"] == "agree":
            return declaration is not None and declaration.answer == answer["observed"]
        # The message of a difference contains the declaration that the answer was compared with.
        return record["verdict"] is None or declaration_text(declaration) in record.get("message", "")

    def _with_current_status(self, record: JsonObject, case: Case) -> JsonObject:
        """Return a result with its status according to the current ledger."""
        environment = self.header["environment"]
        features, device = environment.get("cpu", ()), self.backend.device.name
        entry = self.ledger.find_entry(case, record["surface"], environment["packages"], features, device)
        verdict = OutcomeVerdict(record["verdict"], record["kind"])
        status = result_status(record["outcome"], verdict, entry, flaky="flaky" in record)
        unchanged = {key: value for key, value in record.items() if key not in {"reason", "issue"}}
        reason = {"reason": entry.reason, "issue": entry.issue} if entry and status in {"known", "stale"} else {}
        return {**unchanged, "status": status, **reason}

    def _add_footer(self, rejudged: RejudgedResults) -> None:
        """Append the footer if the file had one and each case that a run would include has its result."""
        counts = Counter(record["status"] for record in rejudged.records if record["record"] == "result")
        total = sum(self._is_run(case, surface) for case in self.cases.values() for surface in self.surfaces.values())
        footer = next(self._records_of("footer"), None)
        rejudged.complete = footer is not None and sum(counts.values()) == total
        if footer is not None and rejudged.complete:
            rejudged.records.append({**footer, "results": total, "by_status": dict(sorted(counts.items()))})
