"""Results of an earlier run, brought up to the catalogue, the ledger and the declarations as they stand now.

What a backend did with a program is a fact; its status is not. A result whose case and program are what they were keeps
its verdict, and is held against the ledger of today. One whose case, program, setup or declaration has changed, or is
gone, is dropped: `conformance run --resume` runs what is missing.
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
from conformance.execution.run import ComputeExpected
from conformance.execution.selection import Shard
from conformance.judging.ledger import Ledger
from conformance.judging.tolerance import accumulation_convention
from conformance.judging.verdict import OutcomeVerdict, declaration_text
from conformance.system.atomic_write import write_atomically
from conformance.translation.lowering import translate

JsonObject = dict[str, Any]
ResultKey = tuple[str, str]
"""A case and a surface."""


@dataclass
class RejudgedResults:
    """What became of the results of one file: the records of the new one, and what a person wants to know.

    changed: how many went from one status to another; dropped: results that hold no longer; complete: nothing is left
    to run.
    """

    records: list[JsonObject] = field(default_factory=list)
    status_changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    invalid_results: list[ResultKey] = field(default_factory=list)
    complete: bool = False


def rejudge_file(
    path: Path, backend: Backend, catalogue: Catalogue, ledger: Ledger, compute_expected: ComputeExpected
) -> RejudgedResults:
    """Judge the results of a file anew. Raises ConformanceError, with file and line, for what is no results file."""
    records = list(read_records(path))
    if records[0]["record"] != "header" or records[0].get("format") != RESULTS_FORMAT:
        raise ConformanceError(f"{path}:1: not the header of a results file of format {RESULTS_FORMAT}")
    try:
        return _Rejudge(records, backend, catalogue, ledger, compute_expected).results()
    except (KeyError, TypeError, AttributeError) as error:
        raise ConformanceError(f"{path}: a record lacks something, or has it otherwise: {error!r}") from None


def read_records(path: Path) -> Iterator[JsonObject]:
    """Yield the records of a results file, without a last line that was cut."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise ConformanceError(f"{path}: cannot be read: {error.strerror}") from None
    for number, one in enumerate(text.rpartition("\n")[0].split("\n"), 1):
        try:
            record = json.loads(one)
            record["record"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ConformanceError(f"{path}:{number}: this line is not a record of a results file") from None
        yield record


def replace_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Put the records in the place of the file, all or none. Raises ConformanceError if that cannot be done."""
    try:
        write_atomically(path, "".join(f"{record_line(record)}\n" for record in records))
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


class _Rejudge:
    """The records of one file, beside what the catalogue and the backend make of the same cases today."""

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
            (one["case"], one["surface"]): one for one in self._records_of("convention")
        }
        self.previous_declarations = {
            (one["surface"], one["question"]): one["declared"] for one in self.answers.values()
        }
        self._is_case_unchanged: dict[str, bool] = {}

    def _records_of(self, kind: str) -> Iterator[JsonObject]:
        return (record for record in self.records if record["record"] == kind)

    @cached_property
    def surfaces(self) -> dict[str, Surface]:
        """The surfaces that such a run has today."""
        asked = self.header["selection"]["surfaces"]
        features = self.header["environment"].get("cpu", ())
        return {
            one.name: one.for_processor(features) for one in self.backend.surfaces if not asked or one.name in asked
        }

    @cached_property
    def selected(self) -> list[Case]:
        """The cases that such a run selects today."""
        asked = self.header["selection"]
        return self.catalogue.select(self.header["level"], asked["operators"], asked["cases"])

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Those that such a run, or such a shard of one, has today, by id."""
        part = Shard(**self.header["shard"]) if "shard" in self.header else None
        return {one.id: one for one in self.selected if part is None or part.contains(one.id, one.convention_id)}

    def results(self) -> RejudgedResults:
        """Return what holds, in the order of the file, with a footer if nothing is missing."""
        made = RejudgedResults([self._new_header()])
        said: set[str] = set()
        for record in self._records_of("result"):
            key = record["case"], record["surface"]
            anew = self._rejudge_result(record)
            if anew is None:
                made.invalid_results.append(key)
                continue
            if anew["status"] != record["status"]:
                made.status_changes[record["status"], anew["status"]] += 1
            made.records += [*self._preceding_records(key, anew, said), anew]
        self._with_footer(made)
        return made

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

    def _preceding_records(self, key: ResultKey, anew: JsonObject, said: set[str]) -> Iterator[JsonObject]:
        """Yield what must stand before a result: its case and its program once, and the answer to its question."""
        for name, kept in ((key[0], self.case_records), (anew["program"], self.programs)):
            if name is not None and name not in said:
                said.add(name)
                yield kept[name]
        if key in self.answers:
            question = self.answers[key]["question"]
            yield {**self.answers[key], **declaration_record(self.surfaces[key[1]], question)}

    def _rejudge_result(self, record: JsonObject) -> JsonObject | None:
        """Return a result as it counts today; None if what was run is no longer what would be run."""
        case, surface = self.cases.get(record["case"]), self.surfaces.get(record["surface"])
        if case is None or surface is None or not self._is_still_valid(case, surface):
            return None
        why = surface.missing_requirement and surface.missing_requirement()
        program = Unsupported(why) if why else translate(case, surface)
        if isinstance(program, Unsupported):
            same = record["outcome"] == "unsupported"
            return {**record, "reason": program.reason, "issue": program.issue} if same else None
        if record["program"] != program.digest or not self._has_same_verdict(record, case, surface):
            return None
        return record if record.get("reason") == NO_BOUND_REASON else self._with_current_status(record, case)

    def _is_still_valid(self, case: Case, surface: Surface) -> bool:
        """Whether a case is what it was, on a surface that is set up as it was."""
        setup = self.header["environment"]["setup"].get(surface.name)
        if setup != self.backend.threads + self.backend.setup:
            return False
        if not self._is_run(case, surface):
            return False
        if case.id not in self._is_case_unchanged:
            wanted = self.compute_expected(case)
            self._is_case_unchanged[case.id] = (
                json.loads(wanted.record_line or case_record_line(case, wanted)) == self.case_records[case.id]
            )
        return self._is_case_unchanged[case.id]

    def _is_run(self, case: Case, surface: Surface) -> bool:
        return surface.is_run(case.level, case.tags, self.header["level"], slow=self.header.get("slow", False))

    def _has_same_verdict(self, record: JsonObject, case: Case, surface: Surface) -> bool:
        """Whether a declaration of today would have led to the same verdict."""
        if (case.id, surface.name) not in self.answers:
            question = accumulation_convention(case)
            now = declaration_record(surface, question)["declared"]
            return case.dtype not in SHORT_FLOATS or self.previous_declarations.get((surface.name, question)) == now
        answer = self.answers[case.id, surface.name]
        declaration = surface.declarations.get(answer["question"])
        if record["verdict"] == "agree":
            return declaration is not None and declaration.answer == answer["observed"]
        return record["verdict"] is None or declaration_text(declaration) in record.get("message", "")

    def _with_current_status(self, record: JsonObject, case: Case) -> JsonObject:
        """Return a result with the status that the ledger of today gives it."""
        where = self.header["environment"]
        features, device = where.get("cpu", ()), self.backend.device.name
        entry = self.ledger.find_entry(case, record["surface"], where["packages"], features, device)
        verdict = OutcomeVerdict(record["verdict"], record["kind"])
        status = result_status(record["outcome"], verdict, entry, flaky="flaky" in record)
        plain = {key: value for key, value in record.items() if key not in {"reason", "issue"}}
        said = {"reason": entry.reason, "issue": entry.issue} if entry and status in {"known", "stale"} else {}
        return {**plain, "status": status, **said}

    def _with_footer(self, made: RejudgedResults) -> None:
        """Add the footer if every case that would be run has its result, and the file had one."""
        counts = Counter(record["status"] for record in made.records if record["record"] == "result")
        wanted = sum(self._is_run(case, surface) for case in self.cases.values() for surface in self.surfaces.values())
        footer = next(self._records_of("footer"), None)
        made.complete = footer is not None and sum(counts.values()) == wanted
        if footer is not None and made.complete:
            made.records.append({**footer, "results": wanted, "by_status": dict(sorted(counts.items()))})
