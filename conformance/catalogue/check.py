"""`conformance check`: is the catalogue sound, and does it still say what it said when it was frozen?"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Surface
from conformance.cases.case import Answers, Case
from conformance.cases.schema import catalogue_folder
from conformance.cases.selectors import CaseFeatures
from conformance.catalogue import lock as lock_file
from conformance.catalogue.case_check import CaseCheck, SweepRows, check_case
from conformance.catalogue.export_reader import ExportedCase
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.lock import (
    SWEEP_SUFFIX,
    FrozenCase,
    FrozenSweep,
    Lock,
    LockDifference,
    LockRecord,
    LockRecords,
    compare_records,
)
from conformance.catalogue.sweep_rows import is_exhaustive, row_id_prefix, sweep_name
from conformance.judging.expected import compute_expected
from conformance.judging.ledger import Ledger
from conformance.system.cache import MAX_CHECK_CACHE_FILES, cache_folder, remove_old_files, source_digest
from conformance.system.parallel import map_parallel
from conformance.translation.lowering import translate

MAX_SHOWN_NAMES = 20
"""Names that are shown of each kind of drift; the others are counted."""

CheckProgress = Callable[[int, int], None]


def lock_path() -> Path:
    """Return the file that holds the frozen digests."""
    return catalogue_folder() / lock_file.LOCK_FILE


def read_lock() -> Lock:
    """Return the lock of the suite's own catalogue. Raises CatalogueError if it cannot be read."""
    return lock_file.read_lock_file(lock_path())


def case_digests(catalogue: Catalogue) -> dict[str, str]:
    """Return the digest of every case: inputs and expected output. Raises CatalogueError for a case with a fault."""
    return {case.id: compute_expected(case).digest for case in catalogue.cases}


@dataclass(frozen=True)
class CaseChecker:
    """How a catalogue is examined: what is known already, on how many cores, and whom to tell how far it is."""

    cache: CheckCache | None = None
    jobs: int | None = None
    progress: CheckProgress = field(default=lambda _done, _total: None)

    def __call__(self, tasks: Sequence[Case | SweepRows]) -> Iterator[CaseCheck]:
        """Yield the finding of each task, in order."""
        known = [self.cache.get(task.canonical_text()) if self.cache else None for task in tasks]
        found = map_parallel(
            check_case, [task for task, record in zip(tasks, known, strict=True) if record is None], self.jobs
        )
        try:
            for done, (task, record) in enumerate(zip(tasks, known, strict=True), 1):
                yield CaseCheck(record[0]) if record else self._cache_finding(task, next(found))
                self.progress(done, len(tasks))
        finally:
            if self.cache:
                self.cache.save()

    def _cache_finding(self, task: Case | SweepRows, finding: CaseCheck) -> CaseCheck:
        if self.cache and not finding.problems:
            self.cache.put(task.canonical_text(), finding.lock_record)
        return finding


DEFAULT_CHECKER = CaseChecker()


def check_problems(
    catalogue: Catalogue,
    ledger: Ledger | None = None,
    lock: Lock | None = None,
    *,
    checker: CaseChecker = DEFAULT_CHECKER,
) -> Iterator[str]:
    """Yield one line for everything that is wrong; nothing if all is well.

    Every case is asked of the reference and translated for every surface. With a ledger: every entry matches
    something that runs. With a lock: no case was renamed, dropped or silently changed.
    """
    surfaces = [surface for name in registry.backend_names() for surface in registry.get_backend(name).surfaces]
    found: dict[str, FrozenCase] = {}
    for name, finding in check_cases(catalogue, checker):
        yield from finding.problems
        if finding.lock_record:
            found[name] = finding.lock_record
    yield from _convention_problems(catalogue)
    if ledger is not None:
        yield from ledger.unmatched_entries(catalogue.cases, [surface.name for surface in surfaces])
        yield from _entries_without_program(ledger, catalogue.cases, surfaces)
    if lock is not None:
        now = lock_records(catalogue, found)
        yield from _drift_problems(
            compare_records(comparable_records(lock.records, catalogue), now), _invalid_names(catalogue, now)
        )
        for name in {sweep_name(sweep) for sweep in catalogue.unloaded_sweeps} - lock.records.keys():
            yield f"{_quoted_name(name)}: not frozen yet ({_freeze_hint(name)})"
    for surface in surfaces:
        for question, declaration in sorted(surface.declarations.items()) if lock is not None else ():
            asked = catalogue.by_id.get(question)
            if asked is None or not isinstance(asked.expect, Answers):
                yield f"surface {surface.name}: declares an answer to {question}, which is no question of the catalogue"
                continue
            for answer in declaration.answers:
                if answer not in asked.expect.named:
                    said = f"surface {surface.name}: declares {answer!r} to {question}"
                    yield f"{said}, whose answers are {', '.join(asked.expect.named)}"


def _convention_problems(catalogue: Catalogue) -> Iterator[str]:
    """A case that puts the question of another has the same names of answers."""
    named = {case.id: case.expect.named.keys() for case in catalogue.cases if isinstance(case.expect, Answers)}
    for case in catalogue.cases:
        # What was exported is a choice of cases, and may be without the question itself.
        if (
            not case.convention_name
            or case.convention_id == case.id
            or (isinstance(case, ExportedCase) and case.convention_id not in named)
        ):
            continue
        if case.convention_id not in named:
            yield f"{case.location}: question {case.id}: key 'question': {case.convention_id} is no question of the catalogue"
        elif named[case.id] != named[case.convention_id]:
            yield f"{case.location}: question {case.id}: key 'answers': {case.convention_id} has other ones"


def _entries_without_program(ledger: Ledger, cases: Sequence[Case], surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield a line for each entry that matches cases and surfaces, but no case has a program on any of them."""
    known = [CaseFeatures(case) for case in cases]
    for entry in ledger.entries:
        picked = [facts.case for facts in known if entry.matches_case(facts)]
        pairs = [(case, surface) for surface in surfaces if entry.matches_surface(surface.name) for case in picked]
        if pairs and not any(isinstance(translate(case, surface), Program) for case, surface in pairs):
            yield f"{entry.place}: entry {entry.id}: no case that it matches has a program on any of its surfaces"


def check_cases(catalogue: Catalogue, checker: CaseChecker) -> Iterator[tuple[str, CaseCheck]]:
    """Yield every case's id with its finding, then those of the covers of sweeps, nameless."""
    rows = [SweepRows(sweep, tuple(names)) for sweep, names in catalogue.sweeps.items()]
    # The covers come first in time, as each takes as long as many cases.
    found = checker([*rows, *catalogue.cases])
    covers = [next(found) for _ in rows]
    yield from zip([case.id for case in catalogue.cases], found, strict=True)
    yield from (("", cover) for cover in covers)


def lock_records(catalogue: Catalogue, found: Mapping[str, FrozenCase]) -> dict[str, LockRecord]:
    """Return what the lock holds of these cases: an exhaustive sweep is one record, none if a row has a fault."""
    single: dict[str, LockRecord] = dict(found)
    whole: dict[str, LockRecord] = {}
    for sweep, names in catalogue.sweeps.items():
        if is_exhaustive(sweep):
            ids = sorted(row_id_prefix(sweep) + name for name in names)
            rows = [single.pop(name).text for name in ids if name in single]
            if len(rows) == len(ids):
                whole[sweep_name(sweep)] = FrozenSweep(len(ids), _digest_of_texts(ids), _digest_of_texts(rows))
    return {**single, **whole}


def _digest_of_texts(texts: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def comparable_records(locked: LockRecords, catalogue: Catalogue) -> dict[str, LockRecord]:
    """Return what a lock holds but for the exhaustive sweeps whose rows were not loaded."""
    away = {sweep_name(sweep) for sweep in catalogue.unloaded_sweeps}
    return {name: record for name, record in locked.items() if name not in away}


def _invalid_names(catalogue: Catalogue, now: LockRecords) -> set[str]:
    """Return the names that have no record because of a fault, which has a line already."""
    names = catalogue.by_id.keys() | {sweep_name(sweep) for sweep in catalogue.sweeps if is_exhaustive(sweep)}
    return names - now.keys()


def _drift_problems(found: LockDifference, faulty: Collection[str]) -> Iterator[str]:
    """Yield a line for each name that is gone, new or drifted, the first of each kind and then a count."""
    gone = [
        f"{_quoted_name(name)}: frozen, but no longer in the catalogue" for name in found.removed if name not in faulty
    ]
    new = [f"{_quoted_name(name)}: not frozen yet ({_freeze_hint(name)})" for name in found.added]
    drifted = [
        f"{_quoted_name(name)}: {what} {_is_or_are(what)} not what was frozen" for name, what in found.changed.items()
    ]
    for lines, words in ((gone, "are no longer in the catalogue"), (new, "are not frozen yet"), (drifted, "drifted")):
        yield from lines[:MAX_SHOWN_NAMES]
        if len(lines) > MAX_SHOWN_NAMES:
            yield f"and {len(lines) - MAX_SHOWN_NAMES} more {words}"


def _quoted_name(name: str) -> str:
    return f"sweep {name.removesuffix(SWEEP_SUFFIX)}" if name.endswith(SWEEP_SUFFIX) else f"case {name}"


def _freeze_hint(name: str) -> str:
    return "conformance freeze --level exhaustive" if name.endswith(SWEEP_SUFFIX) else "conformance freeze"


def _is_or_are(what: str) -> str:
    return "are" if " and " in what or what.endswith("s") else "is"


@dataclass
class CheckCache:
    """Records of what is sound, by a digest of its canonical text; a faulty case is never in it."""

    path: Path
    records: dict[str, str] = field(default_factory=dict)
    new_records: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls) -> CheckCache:
        """Return the cache of this source and these versions; an unreadable one is empty."""
        path = cache_folder() / f"{source_digest()}.json"
        try:
            known = json.loads(path.read_text("utf-8"))
            return cls(path, {str(key): str(text) for key, text in known.items()})
        except (OSError, ValueError, AttributeError):
            return cls(path)

    def get(self, canonical: str) -> tuple[FrozenCase | None] | None:
        """Return the record that was found with this text, in a tuple as it may be None; None if it is not known."""
        text = self.records.get(_record_key(canonical))
        if text is None:
            return None
        return (FrozenCase(*text.split()) if text else None,)

    def put(self, canonical: str, record: FrozenCase | None) -> None:
        """Enter what is sound."""
        self.new_records[_record_key(canonical)] = record.text if record else ""

    def save(self) -> None:
        """Write what is new. Whatever cannot be written is found out again the next time."""
        if not self.new_records:
            return
        beside = self.path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({**self.records, **self.new_records}, indent=0), "utf-8")
            beside.replace(self.path)
            remove_old_files(self.path.parent.glob("*.json"), MAX_CHECK_CACHE_FILES)


def _record_key(canonical: str) -> str:
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
