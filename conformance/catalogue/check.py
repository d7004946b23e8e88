"""`conformance check`: check that the catalogue is valid and that no case changed since it was frozen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.adapters import registry
from conformance.adapters.api import Program, Surface
from conformance.cases.case import Answers, Case
from conformance.cases.features.case_features import CaseFeatures
from conformance.cases.schema import catalogue_folder
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
from conformance.judging.declaration_check import declaration_errors
from conformance.judging.expected import compute_expected
from conformance.judging.ledger import Ledger
from conformance.judging.release_answers import contradicted_entries, read_release_data, release_data_files
from conformance.system.cache import Cache, source_digest
from conformance.system.error_lines import first_errors
from conformance.system.parallel import map_parallel
from conformance.translation.lowering import translate
from reports.results.vocabulary import DifferenceKind, Status

MAX_SHOWN_NAMES = 20
"""Maximum number of names listed for each kind of change; further names are counted."""
MAX_CHECK_CACHE_FILES = 8
"""Maximum number of cache files; there is one per digest of source and versions."""
RECORDS_KEY = "records"
"""Key of all records in a cache file, as JSON."""

CheckProgress = Callable[[int, int], None]


def lock_path() -> Path:
    """Return the path of the built-in catalogue's lock."""
    return catalogue_folder() / lock_file.LOCK_FILE


def read_lock() -> Lock:
    """Return the lock of the built-in catalogue. Raises CatalogueError if it cannot be read."""
    return lock_file.read_lock_file(lock_path())


def case_digests(catalogue: Catalogue) -> dict[str, str]:
    """Return the digest of inputs and expected output of every case. Raises CatalogueError for an invalid case."""
    return {case.id: compute_expected(case).digest for case in catalogue.cases}


@dataclass(frozen=True)
class CaseChecker:
    """Checks cases in parallel.

    cache: results of earlier checks; jobs: number of processes, None for one per core; progress: called with the number
    of finished tasks and the number of all tasks.
    """

    cache: CheckCache | None = None
    jobs: int | None = None
    progress: CheckProgress = field(default=lambda _done, _total: None)

    def __call__(self, tasks: Sequence[Case | SweepRows]) -> Iterator[CaseCheck]:
        """Yield the result of each task, in order."""
        known = [self.cache.get(task.canonical_text()) if self.cache else None for task in tasks]
        found = map_parallel(
            check_case, [task for task, record in zip(tasks, known, strict=True) if record is None], self.jobs
        )
        try:
            for done, (task, record) in enumerate(zip(tasks, known, strict=True), 1):
                # Only valid tasks are cached, so a cached record means that there is no problem.
                yield CaseCheck(record[0]) if record else self._cache_result(task, next(found))
                self.progress(done, len(tasks))
        finally:
            if self.cache:
                self.cache.save()

    def _cache_result(self, task: Case | SweepRows, result: CaseCheck) -> CaseCheck:
        if self.cache and not result.problems:
            self.cache.put(task.canonical_text(), result.lock_record)
        return result


DEFAULT_CHECKER = CaseChecker()


def check_problems(
    catalogue: Catalogue,
    ledger: Ledger | None = None,
    lock: Lock | None = None,
    *,
    checker: CaseChecker = DEFAULT_CHECKER,
) -> Iterator[str]:
    """Yield a message for each problem of the catalogue.

    Every case is computed with the reference and translated for every surface. With a ledger, every entry must match a
    case that has a program, and no release in docs/compat may contradict its versions. With a lock, no case may have
    been renamed, removed or changed.
    """
    surfaces = [surface for name in registry.backend_names() for surface in registry.get_backend(name).surfaces]
    found: dict[str, FrozenCase] = {}
    for name, result in check_cases(catalogue, checker):
        yield from result.problems
        if result.lock_record:
            found[name] = result.lock_record
    yield from _convention_problems(catalogue)
    if ledger is not None:
        unmatched = ledger.unmatched_entries(catalogue.cases, [surface.name for surface in surfaces])
        old = [read_release_data(path) for path in release_data_files()]
        contradicted = contradicted_entries(ledger, old, catalogue.by_id)
        yield from first_errors(
            [
                *unmatched,
                *_entries_of_other_packages(ledger),
                *_entries_without_program(ledger, catalogue.cases, surfaces),
                *contradicted,
            ]
        )
    if lock is not None:
        now = lock_records(catalogue, found)
        yield from _lock_problems(
            compare_records(comparable_records(lock.records, catalogue), now), _invalid_names(catalogue, now)
        )
        for name in {sweep_name(sweep) for sweep in catalogue.unloaded_sweeps} - lock.records.keys():
            yield f"{_quoted_name(name)}: not frozen yet ({_freeze_hint(name)})"
    # Only the built-in catalogue is checked against a lock, and surfaces declare answers for its conventions.
    if lock is not None:
        for name in registry.backend_names():
            yield from first_errors(declaration_errors(registry.get_backend(name), catalogue.cases))
        yield from first_errors(unanswered_conventions(catalogue, ledger))


def unanswered_conventions(catalogue: Catalogue, ledger: Ledger | None = None) -> Iterator[str]:
    """Yield a message for each convention that a surface of this project observes, but does not answer.

    A call that ends the process, as the ledger says, gives no answer. Neither does one with an answer that cannot be
    declared, which an entry of the kind `convention` describes.
    """
    observing = [CaseFeatures(case) for case in catalogue.cases if case.convention_id]
    without_answer = ((Status.CRASHED,), (DifferenceKind.CONVENTION,))
    entries = [entry for entry in ledger.entries if entry.kinds in without_answer] if ledger else []
    for surface in (one for name in registry.built_in_modules() for one in registry.get_backend(name).surfaces):
        own = [entry for entry in entries if entry.matches_surface(surface.name)]
        missing = {
            str(features.case.convention_id): features.case.id
            for features in reversed(observing)
            if features.case.convention_id not in surface.declarations
            and surface.is_run(features.case.level, features.case.tags, operator=features.case.operator)
            and isinstance(translate(features.case, surface), Program)
            and not any(entry.matches_case(features) for entry in own)
        }
        for convention, case in sorted(missing.items()):
            yield f"surface {surface.name}: declares no answer for {convention}, which it observes in case {case}"


def _convention_problems(catalogue: Catalogue) -> Iterator[str]:
    """Check that cases that observe the convention of another case have the same names of answers."""
    named = {case.id: case.expect.named.keys() for case in catalogue.cases if isinstance(case.expect, Answers)}
    for case in catalogue.cases:
        # An export may be a selection of cases without the case that has the name of the convention.
        if (
            not case.convention_name
            or case.convention_id == case.id
            or (isinstance(case, ExportedCase) and case.convention_id not in named)
        ):
            continue
        if case.convention_id not in named:
            yield f"{case.location}: question {case.id}: key 'question': {case.convention_id} is not a convention"
        elif named[case.id] != named[case.convention_id]:
            problem = f"the names differ from those of {case.convention_id}"
            yield f"{case.location}: question {case.id}: key 'answers': {problem}"


def _entries_of_other_packages(ledger: Ledger) -> Iterator[str]:
    """Yield a message for each entry with versions of a package that a surface does not have. It would never apply."""
    for backend in map(registry.get_backend, registry.backend_names()):
        for entry in ledger.entries:
            missing = [name for name in entry.versions if name not in backend.packages]
            surface = next((one.name for one in backend.surfaces if entry.matches_surface(one.name)), None)
            if missing and surface:
                known = f"{surface} has the packages {', '.join(backend.packages)}"
                yield f"{entry.location}: entry {entry.id}: key 'versions': {missing[0]}: {known}"


def _entries_without_program(ledger: Ledger, cases: Sequence[Case], surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield a message for each entry whose cases have no program on any of its surfaces."""
    for entry, matched in ledger.matched_cases(cases):
        named = [surface for surface in surfaces if entry.matches_surface(surface.name)]
        pairs = [(features.case, surface) for surface in named for features in matched]
        if pairs and not any(isinstance(translate(case, surface), Program) for case, surface in pairs):
            yield f"{entry.location}: entry {entry.id}: no case that it matches has a program on any of its surfaces"


def check_cases(catalogue: Catalogue, checker: CaseChecker) -> Iterator[tuple[str, CaseCheck]]:
    """Yield the id and the result of every case, then the results of sweeps with the id ""."""
    rows = [SweepRows(sweep, tuple(names)) for sweep, names in catalogue.sweeps.items()]
    # Sweeps are checked first, because each takes as long as many cases, but reported last.
    results = checker([*rows, *catalogue.cases])
    of_sweeps = [next(results) for _ in rows]
    yield from zip([case.id for case in catalogue.cases], results, strict=True)
    yield from (("", result) for result in of_sweeps)


def lock_records(catalogue: Catalogue, found: Mapping[str, FrozenCase]) -> dict[str, LockRecord]:
    """Return the lock records of the cases. An exhaustive sweep has one record, or none if a row is invalid."""
    single: dict[str, LockRecord] = dict(found)
    of_sweeps: dict[str, LockRecord] = {}
    for sweep, names in catalogue.sweeps.items():
        if is_exhaustive(sweep):
            ids = sorted(row_id_prefix(sweep) + name for name in names)
            rows = [single.pop(name).text for name in ids if name in single]
            # A digest of some of the rows would be reported as a change of the sweep.
            if len(rows) == len(ids):
                of_sweeps[sweep_name(sweep)] = FrozenSweep(len(ids), _digest_of_texts(ids), _digest_of_texts(rows))
    return {**single, **of_sweeps}


def _digest_of_texts(texts: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def comparable_records(locked: LockRecords, catalogue: Catalogue) -> dict[str, LockRecord]:
    """Return the records of a lock without the exhaustive sweeps whose rows were not loaded."""
    unloaded = {sweep_name(sweep) for sweep in catalogue.unloaded_sweeps}
    return {name: record for name, record in locked.items() if name not in unloaded}


def _invalid_names(catalogue: Catalogue, now: LockRecords) -> set[str]:
    """Return the names without a record because of a problem, which is already reported."""
    names = catalogue.by_id.keys() | {sweep_name(sweep) for sweep in catalogue.sweeps if is_exhaustive(sweep)}
    return names - now.keys()


def _lock_problems(found: LockDifference, invalid: Collection[str]) -> Iterator[str]:
    """Yield a message for each removed, new or changed name: the first of each kind, then the number of others."""
    removed = [
        f"{_quoted_name(name)}: frozen, but no longer in the catalogue" for name in found.removed if name not in invalid
    ]
    new = [f"{_quoted_name(name)}: not frozen yet ({_freeze_hint(name)})" for name in found.added]
    changed = [f"{_quoted_name(name)}: {parts} changed since the last freeze" for name, parts in found.changed.items()]
    for lines, text in (
        (removed, "are no longer in the catalogue"),
        (new, "are not frozen yet"),
        (changed, "changed since the last freeze"),
    ):
        yield from lines[:MAX_SHOWN_NAMES]
        if len(lines) > MAX_SHOWN_NAMES:
            yield f"and {len(lines) - MAX_SHOWN_NAMES} more {text}"


def _quoted_name(name: str) -> str:
    return f"sweep {name.removesuffix(SWEEP_SUFFIX)}" if name.endswith(SWEEP_SUFFIX) else f"case {name}"


def _freeze_hint(name: str) -> str:
    return "conformance freeze --level exhaustive" if name.endswith(SWEEP_SUFFIX) else "conformance freeze"


class CheckCache:
    """On-disk cache of the lock records of valid cases and sweeps, by a digest of their canonical text."""

    def __init__(self) -> None:
        self._file = Cache.of_version("conformance-check", source_digest(), MAX_CHECK_CACHE_FILES)
        # All records are one value, as reading thousands of small values from the file takes longer. They are text.
        with self._file:
            self.records: dict[str, str] = json.loads(bytes(self._file.get(RECORDS_KEY) or b"{}"))
        self._has_new_records = False

    def get(self, canonical: str) -> tuple[FrozenCase | None] | None:
        """Return the cached record in a 1-tuple, because the record of a sweep is None; return None on a miss."""
        text = self.records.get(_record_key(canonical))
        if text is None:
            return None
        return (FrozenCase(*text.split()) if text else None,)

    def put(self, canonical: str, record: FrozenCase | None) -> None:
        """Add the record of a valid case or sweep."""
        self.records[_record_key(canonical)] = record.text if record else ""
        self._has_new_records = True

    def save(self) -> None:
        """Write the cache if it has new records."""
        if self._has_new_records:
            with self._file:
                self._file.put(RECORDS_KEY, json.dumps(self.records).encode())
            self._has_new_records = False


def _record_key(canonical: str) -> str:
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
