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
from conformance.cases.arrays import HALF
from conformance.cases.case import Case
from conformance.catalogue.loading import Catalogue
from conformance.execution.records import NO_BOUND, case_line, declared, status_of
from conformance.execution.results_file import FORMAT, line
from conformance.execution.run import Ask
from conformance.execution.selection import Part
from conformance.judging.ledger import Ledger
from conformance.judging.tolerance import accumulation
from conformance.judging.verdict import Verdict, declares
from conformance.system.atomic_write import put
from conformance.translation.lowering import translate

Json = dict[str, Any]
Key = tuple[str, str]
"""A case and a surface."""


@dataclass
class Rejudged:
    """What became of the results of one file: the records of the new one, and what a person wants to know.

    changed: how many went from one status to another; dropped: results that hold no longer; complete: nothing is left
    to run.
    """

    records: list[Json] = field(default_factory=list)
    changed: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped: list[Key] = field(default_factory=list)
    complete: bool = False


def rejudge(path: Path, backend: Backend, catalogue: Catalogue, ledger: Ledger, expect: Ask) -> Rejudged:
    """Judge the results of a file anew. Raises ConformanceError, with file and line, for what is no results file."""
    records = list(read(path))
    if records[0]["record"] != "header" or records[0].get("format") != FORMAT:
        raise ConformanceError(f"{path}:1: not the header of a results file of format {FORMAT}")
    try:
        return _Anew(records, backend, catalogue, ledger, expect).results()
    except (KeyError, TypeError, AttributeError) as error:
        raise ConformanceError(f"{path}: a record lacks something, or has it otherwise: {error!r}") from None


def read(path: Path) -> Iterator[Json]:
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


def write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Put the records in the place of the file, all or none. Raises ConformanceError if that cannot be done."""
    try:
        put(path, "".join(f"{line(record)}\n" for record in records))
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


class _Anew:
    """The records of one file, beside what the catalogue and the backend make of the same cases today."""

    def __init__(
        self, records: list[Json], backend: Backend, catalogue: Catalogue, ledger: Ledger, expect: Ask
    ) -> None:
        self.header, self.records = records[0], records
        self.backend, self.catalogue, self.ledger, self.expect = backend, catalogue, ledger, expect
        self.stored = {record["case"]: record for record in self._of("case")}
        self.programs = {record["program"]: record for record in self._of("program")}
        self.answers: dict[Key, Json] = {(one["case"], one["surface"]): one for one in self._of("convention")}
        self.then = {(one["surface"], one["question"]): one["declared"] for one in self.answers.values()}
        self._same: dict[str, bool] = {}

    def _of(self, kind: str) -> Iterator[Json]:
        return (record for record in self.records if record["record"] == kind)

    @cached_property
    def surfaces(self) -> dict[str, Surface]:
        """The surfaces that such a run has today."""
        asked = self.header["selection"]["surfaces"]
        features = self.header["environment"].get("cpu", ())
        return {one.name: one.on(features) for one in self.backend.surfaces if not asked or one.name in asked}

    @cached_property
    def selected(self) -> list[Case]:
        """The cases that such a run selects today."""
        asked = self.header["selection"]
        return self.catalogue.select(self.header["level"], asked["operators"], asked["cases"])

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Those that such a run, or such a shard of one, has today, by id."""
        part = Part(**self.header["shard"]) if "shard" in self.header else None
        return {one.id: one for one in self.selected if part is None or part.holds(one.id, one.question)}

    def results(self) -> Rejudged:
        """Return what holds, in the order of the file, with a footer if nothing is missing."""
        made = Rejudged([self._new_header()])
        said: set[str] = set()
        for record in self._of("result"):
            key = record["case"], record["surface"]
            anew = self._anew(record)
            if anew is None:
                made.dropped.append(key)
                continue
            if anew["status"] != record["status"]:
                made.changed[record["status"], anew["status"]] += 1
            made.records += [*self._before(key, anew, said), anew]
        self._end(made)
        return made

    def _new_header(self) -> Json:
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

    def _before(self, key: Key, anew: Json, said: set[str]) -> Iterator[Json]:
        """Yield what must stand before a result: its case and its program once, and the answer to its question."""
        for name, kept in ((key[0], self.stored), (anew["program"], self.programs)):
            if name is not None and name not in said:
                said.add(name)
                yield kept[name]
        if key in self.answers:
            question = self.answers[key]["question"]
            yield {**self.answers[key], **declared(self.surfaces[key[1]], question)}

    def _anew(self, record: Json) -> Json | None:
        """Return a result as it counts today; None if what was run is no longer what would be run."""
        case, surface = self.cases.get(record["case"]), self.surfaces.get(record["surface"])
        if case is None or surface is None or not self._stands(case, surface):
            return None
        why = surface.lacks and surface.lacks()
        program = Unsupported(why) if why else translate(case, surface)
        if isinstance(program, Unsupported):
            same = record["outcome"] == "unsupported"
            return {**record, "reason": program.reason, "issue": program.issue} if same else None
        if record["program"] != program.digest or not self._judged_alike(record, case, surface):
            return None
        return record if record.get("reason") == NO_BOUND else self._counted(record, case)

    def _stands(self, case: Case, surface: Surface) -> bool:
        """Whether a case is what it was, on a surface that is set up as it was."""
        setup = self.header["environment"]["setup"].get(surface.name)
        if setup != self.backend.threads + self.backend.setup:
            return False
        if not self._runs(case, surface):
            return False
        if case.id not in self._same:
            wanted = self.expect(case)
            self._same[case.id] = json.loads(wanted.line or case_line(case, wanted)) == self.stored[case.id]
        return self._same[case.id]

    def _runs(self, case: Case, surface: Surface) -> bool:
        return surface.runs(case.level, case.tags, self.header["level"], slow=self.header.get("slow", False))

    def _judged_alike(self, record: Json, case: Case, surface: Surface) -> bool:
        """Whether a declaration of today would have led to the same verdict."""
        if (case.id, surface.name) not in self.answers:
            question = accumulation(case)
            now = declared(surface, question)["declared"]
            return case.dtype not in HALF or self.then.get((surface.name, question)) == now
        answer = self.answers[case.id, surface.name]
        declaration = surface.declares.get(answer["question"])
        if record["verdict"] == "agree":
            return declaration is not None and declaration.answer == answer["observed"]
        return record["verdict"] is None or declares(declaration) in record.get("message", "")

    def _counted(self, record: Json, case: Case) -> Json:
        """Return a result with the status that the ledger of today gives it."""
        where = self.header["environment"]
        features, device = where.get("cpu", ()), self.backend.device.name
        entry = self.ledger.entry(case, record["surface"], where["packages"], features, device)
        verdict = Verdict(record["verdict"], record["kind"])
        status = status_of(record["outcome"], verdict, entry, flaky="flaky" in record)
        plain = {key: value for key, value in record.items() if key not in {"reason", "issue"}}
        said = {"reason": entry.reason, "issue": entry.issue} if entry and status in {"known", "stale"} else {}
        return {**plain, "status": status, **said}

    def _end(self, made: Rejudged) -> None:
        """Add the footer if every case that would be run has its result, and the file had one."""
        counts = Counter(record["status"] for record in made.records if record["record"] == "result")
        wanted = sum(self._runs(case, surface) for case in self.cases.values() for surface in self.surfaces.values())
        footer = next(self._of("footer"), None)
        made.complete = footer is not None and sum(counts.values()) == wanted
        if footer is not None and made.complete:
            made.records.append({**footer, "results": wanted, "by_status": dict(sorted(counts.items()))})
