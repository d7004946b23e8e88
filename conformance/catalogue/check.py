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
from conformance.cases.selectors import Facts
from conformance.catalogue import lock as lock_file
from conformance.catalogue.case_check import Finding, Rows, examine
from conformance.catalogue.export_reader import ExportedCase
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.lock import ROWS, Difference, Frozen, FrozenSweep, Lock, Record, Records, difference
from conformance.catalogue.sweep_rows import exhaustive, prefix, sweep_name
from conformance.judging.expected import expected
from conformance.judging.ledger import Ledger
from conformance.system.cache import KEPT, environment, folder, forget
from conformance.system.parallel import each
from conformance.translation.lowering import translate

SHOWN = 20
"""Names that are shown of each kind of drift; the others are counted."""

Progress = Callable[[int, int], None]


def lock_path() -> Path:
    """Return the file that holds the frozen digests."""
    return catalogue_folder() / lock_file.NAME


def read_lock() -> Lock:
    """Return the lock of the suite's own catalogue. Raises CatalogueError if it cannot be read."""
    return lock_file.read(lock_path())


def digests(catalogue: Catalogue) -> dict[str, str]:
    """Return the digest of every case: inputs and expected output. Raises CatalogueError for a case with a fault."""
    return {case.id: expected(case).digest for case in catalogue.cases}


@dataclass(frozen=True)
class Examiner:
    """How a catalogue is examined: what is known already, on how many cores, and whom to tell how far it is."""

    cache: Cache | None = None
    jobs: int | None = None
    progress: Progress = field(default=lambda _done, _total: None)

    def __call__(self, tasks: Sequence[Case | Rows]) -> Iterator[Finding]:
        """Yield the finding of each task, in order."""
        known = [self.cache.get(task.canonical()) if self.cache else None for task in tasks]
        found = each(examine, [task for task, record in zip(tasks, known, strict=True) if record is None], self.jobs)
        try:
            for done, (task, record) in enumerate(zip(tasks, known, strict=True), 1):
                yield Finding(record[0]) if record else self._noted(task, next(found))
                self.progress(done, len(tasks))
        finally:
            if self.cache:
                self.cache.save()

    def _noted(self, task: Case | Rows, finding: Finding) -> Finding:
        if self.cache and not finding.problems:
            self.cache.put(task.canonical(), finding.record)
        return finding


PLAINLY = Examiner()


def problems(
    catalogue: Catalogue, ledger: Ledger | None = None, lock: Lock | None = None, *, examiner: Examiner = PLAINLY
) -> Iterator[str]:
    """Yield one line for everything that is wrong; nothing if all is well.

    Every case is asked of the reference and translated for every surface. With a ledger: every entry matches
    something that runs. With a lock: no case was renamed, dropped or silently changed.
    """
    surfaces = [surface for name in registry.names() for surface in registry.backend(name).surfaces]
    found: dict[str, Frozen] = {}
    for name, finding in findings(catalogue, examiner):
        yield from finding.problems
        if finding.record:
            found[name] = finding.record
    yield from _questions(catalogue)
    if ledger is not None:
        yield from ledger.idle(catalogue.cases, [surface.name for surface in surfaces])
        yield from _mute(ledger, catalogue.cases, surfaces)
    if lock is not None:
        now = records(catalogue, found)
        yield from _drift(difference(comparable(lock.records, catalogue), now), _faulty(catalogue, now))
        for name in {sweep_name(sweep) for sweep in catalogue.unloaded} - lock.records.keys():
            yield f"{_named(name)}: not frozen yet ({_freezing(name)})"
    for surface in surfaces:
        for question, declaration in sorted(surface.declares.items()) if lock is not None else ():
            asked = catalogue.by_id.get(question)
            if asked is None or not isinstance(asked.expect, Answers):
                yield f"surface {surface.name}: declares an answer to {question}, which is no question of the catalogue"
                continue
            for answer in declaration.answers:
                if answer not in asked.expect.named:
                    said = f"surface {surface.name}: declares {answer!r} to {question}"
                    yield f"{said}, whose answers are {', '.join(asked.expect.named)}"


def _questions(catalogue: Catalogue) -> Iterator[str]:
    """A case that puts the question of another has the same names of answers."""
    named = {case.id: case.expect.named.keys() for case in catalogue.cases if isinstance(case.expect, Answers)}
    for case in catalogue.cases:
        # What was exported is a choice of cases, and may be without the question itself.
        if not case.puts or case.question == case.id or (isinstance(case, ExportedCase) and case.question not in named):
            continue
        if case.question not in named:
            yield f"{case.place}: question {case.id}: key 'question': {case.question} is no question of the catalogue"
        elif named[case.id] != named[case.question]:
            yield f"{case.place}: question {case.id}: key 'answers': {case.question} has other ones"


def _mute(ledger: Ledger, cases: Sequence[Case], surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield a line for each entry that matches cases and surfaces, but no case has a program on any of them."""
    known = [Facts(case) for case in cases]
    for entry in ledger.entries:
        picked = [facts.case for facts in known if entry.picks(facts)]
        pairs = [(case, surface) for surface in surfaces if entry.on(surface.name) for case in picked]
        if pairs and not any(isinstance(translate(case, surface), Program) for case, surface in pairs):
            yield f"{entry.place}: entry {entry.id}: no case that it matches has a program on any of its surfaces"


def findings(catalogue: Catalogue, examiner: Examiner) -> Iterator[tuple[str, Finding]]:
    """Yield every case's id with its finding, then those of the covers of sweeps, nameless."""
    rows = [Rows(sweep, tuple(names)) for sweep, names in catalogue.sweeps.items()]
    # The covers come first in time, as each takes as long as many cases.
    found = examiner([*rows, *catalogue.cases])
    covers = [next(found) for _ in rows]
    yield from zip([case.id for case in catalogue.cases], found, strict=True)
    yield from (("", cover) for cover in covers)


def records(catalogue: Catalogue, found: Mapping[str, Frozen]) -> dict[str, Record]:
    """Return what the lock holds of these cases: an exhaustive sweep is one record, none if a row has a fault."""
    single: dict[str, Record] = dict(found)
    whole: dict[str, Record] = {}
    for sweep, names in catalogue.sweeps.items():
        if exhaustive(sweep):
            ids = sorted(prefix(sweep) + name for name in names)
            rows = [single.pop(name).text for name in ids if name in single]
            if len(rows) == len(ids):
                whole[sweep_name(sweep)] = FrozenSweep(len(ids), _digest(ids), _digest(rows))
    return {**single, **whole}


def _digest(texts: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def comparable(locked: Records, catalogue: Catalogue) -> dict[str, Record]:
    """Return what a lock holds but for the exhaustive sweeps whose rows were not loaded."""
    away = {sweep_name(sweep) for sweep in catalogue.unloaded}
    return {name: record for name, record in locked.items() if name not in away}


def _faulty(catalogue: Catalogue, now: Records) -> set[str]:
    """Return the names that have no record because of a fault, which has a line already."""
    names = catalogue.by_id.keys() | {sweep_name(sweep) for sweep in catalogue.sweeps if exhaustive(sweep)}
    return names - now.keys()


def _drift(found: Difference, faulty: Collection[str]) -> Iterator[str]:
    """Yield a line for each name that is gone, new or drifted, the first of each kind and then a count."""
    gone = [f"{_named(name)}: frozen, but no longer in the catalogue" for name in found.removed if name not in faulty]
    new = [f"{_named(name)}: not frozen yet ({_freezing(name)})" for name in found.added]
    drifted = [f"{_named(name)}: {what} {_are(what)} not what was frozen" for name, what in found.changed.items()]
    for lines, words in ((gone, "are no longer in the catalogue"), (new, "are not frozen yet"), (drifted, "drifted")):
        yield from lines[:SHOWN]
        if len(lines) > SHOWN:
            yield f"and {len(lines) - SHOWN} more {words}"


def _named(name: str) -> str:
    return f"sweep {name.removesuffix(ROWS)}" if name.endswith(ROWS) else f"case {name}"


def _freezing(name: str) -> str:
    return "conformance freeze --level exhaustive" if name.endswith(ROWS) else "conformance freeze"


def _are(what: str) -> str:
    return "are" if " and " in what or what.endswith("s") else "is"


@dataclass
class Cache:
    """Records of what is sound, by a digest of its canonical text; a faulty case is never in it."""

    path: Path
    known: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Cache:
        """Return the cache of this source and these versions; an unreadable one is empty."""
        path = folder() / f"{environment()}.json"
        try:
            known = json.loads(path.read_text("utf-8"))
            return cls(path, {str(key): str(text) for key, text in known.items()})
        except (OSError, ValueError, AttributeError):
            return cls(path)

    def get(self, canonical: str) -> tuple[Frozen | None] | None:
        """Return the record that was found with this text, in a tuple as it may be None; None if it is not known."""
        text = self.known.get(_key(canonical))
        if text is None:
            return None
        return (Frozen(*text.split()) if text else None,)

    def put(self, canonical: str, record: Frozen | None) -> None:
        """Enter what is sound."""
        self.fresh[_key(canonical)] = record.text if record else ""

    def save(self) -> None:
        """Write what is new. Whatever cannot be written is found out again the next time."""
        if not self.fresh:
            return
        beside = self.path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({**self.known, **self.fresh}, indent=0), "utf-8")
            beside.replace(self.path)
            forget(self.path.parent.glob("*.json"), KEPT)


def _key(canonical: str) -> str:
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
