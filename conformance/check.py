"""`conformance check`: is the catalogue sound, and does it still say what it said when it was released?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

from conformance import lock as lock_file
from conformance import registry
from conformance.adapter import Program, Surface
from conformance.cases import Case, Rejected, Value
from conformance.catalogue import Catalogue, home
from conformance.errors import CatalogueError
from conformance.expected import Expected, expected
from conformance.ledger import Ledger
from conformance.meanings import APART, too_near
from conformance.ordinary import extraordinary
from conformance.predicates import faults_of
from conformance.selectors import Facts
from conformance.sweeps import Sweep
from conformance.translate import translate


def lock_path() -> Path:
    """Return the file that holds the frozen digests."""
    return home() / lock_file.NAME


def digests(catalogue: Catalogue) -> dict[str, str]:
    """Return the digest of every case: inputs and expected output. Raises CatalogueError for a case with a fault."""
    return {case.id: expected(case).digest for case in catalogue.cases}


def problems(
    catalogue: Catalogue, ledger: Ledger | None = None, lock: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield one line for everything that is wrong; nothing if all is well.

    Every case is asked of the reference and translated for every surface. With a ledger: every entry matches
    something that runs. With a lock: no case was renamed, dropped or silently changed.
    """
    found: dict[str, str] = {}
    for case in catalogue.cases:
        try:
            wanted = expected(case)
        except CatalogueError as error:
            yield str(error)
            continue
        found[case.id] = wanted.digest
        if wanted.target and wanted.target.misread:
            yield f"{case.place}: case {case.id}: key 'expect': {wanted.target.misread}"
        yield from _misprints(case, wanted)
        for words in too_near(case, wanted) if case.via == () and not case.then else ():
            yield f"{case.place}: case {case.id}: {words} it is within {APART} bounds of the right result everywhere"
        for words in extraordinary(case, wanted):
            yield f"{case.place}: case {case.id}: {words}"
        yield from _isolated(case)
        yield from _programs(case)
    surfaces = [surface for name in registry.names() for surface in registry.backend(name).surfaces]
    if ledger is not None:
        yield from ledger.idle(catalogue.cases, [surface.name for surface in surfaces])
        yield from _mute(ledger, catalogue.cases, surfaces)
    for sweep, names in catalogue.sweeps.items():
        yield from _uncovered(sweep, names)
    if lock is not None:
        yield from _drift(found, lock)
    for surface in surfaces:
        for question in surface.declares.keys() - catalogue.by_id.keys() if lock is not None else ():
            yield f"surface {surface.name}: declares an answer to {question}, which is no question of the catalogue"


def _isolated(case: Case) -> Iterator[str]:
    """A case that must be rejected has one fault, and is valid without it."""
    if not isinstance(case.expect, Rejected):
        return
    begin, faults = f"{case.place}: case {case.id}: ", faults_of(case)
    if faults != [case.expect.predicate]:
        yield f"{begin}it has the faults {' and '.join(faults)}: isolate one"
    if case.sound is None:
        yield f"{begin}key 'expect.rejected': no valid case stands beside it, write it under 'rejects'"
        return
    yield from (f"{begin}the valid case beside it has the fault {fault}" for fault in faults_of(case.sound))
    try:
        expected(case.sound)
    except CatalogueError as error:
        yield f"{begin}the valid case beside it is none: {str(error).removeprefix(begin)}"


def _programs(case: Case) -> Iterator[str]:
    for name in registry.names():
        for surface in registry.backend(name).surfaces:
            program = translate(case, surface)
            if isinstance(program, Program):
                try:
                    ast.parse(program.text)
                except SyntaxError as error:
                    yield f"{case.place}: case {case.id}: the program for {surface.name} is not Python: {error}"


def _mute(ledger: Ledger, cases: Sequence[Case], surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield a line for each entry that matches cases and surfaces, but no case has a program on any of them."""
    known = [Facts(case) for case in cases]
    for entry in ledger.entries:
        picked = [facts.case for facts in known if entry.picks(facts)]
        pairs = [(case, surface) for surface in surfaces if entry.on(surface.name) for case in picked]
        if pairs and not any(isinstance(translate(case, surface), Program) for case, surface in pairs):
            yield f"{entry.place}: entry {entry.id}: no case that it matches has a program on any of its surfaces"


def _uncovered(sweep: Sweep, names: Sequence[str]) -> Iterator[str]:
    missing = list(sweep.missing(names))
    if missing:
        many = f"{len(missing)} of {sweep.cover.count()} combinations"
        yield f"{sweep.place}: sweep {sweep.id}: {many} in no case, such as {missing[0]} (conformance freeze adds them)"
    for name in sweep.without_twin(names):
        yield f"{sweep.place}: sweep {sweep.id}: the geometry of {name} stands with full mantissas alone"


def _misprints(case: Case, wanted: Expected) -> Iterator[str]:
    """A printed number that is not the correctly rounded one must be said to be so, and the other way round."""
    if not isinstance(case.expect, Value) or wanted.target is None or wanted.target.exact is None:
        return
    values = wanted.target.exact.value.ravel().tolist()
    odd = [
        str(printed)
        for _, numbers in case.expect.readings
        for printed, value in zip(numbers or (), values, strict=False)
        if isinstance(printed, Decimal) and not _rounds_to(value, printed)
    ]
    if odd and not case.expect.inexact:
        yield f"{case.place}: case {case.id}: key 'inexact' is missing: {odd[0]} is not the correctly rounded result"
    if case.expect.inexact and not odd:
        yield f"{case.place}: case {case.id}: key 'inexact': every printed number is the correctly rounded one"


def _rounds_to(value: float, printed: Decimal) -> bool:
    if not printed.is_finite():
        return True
    roundings = (Decimal(value).quantize(printed, rounding) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP))
    return printed in roundings


def _drift(found: Mapping[str, str], lock: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(lock.keys() - found.keys()):
        yield f"case {name}: frozen, but no longer in the catalogue"
    for name in sorted(found.keys() - lock.keys()):
        yield f"case {name}: not frozen yet (conformance freeze)"
    for name in sorted(found.keys() & lock.keys()):
        if found[name] != lock[name]:
            yield f"case {name}: its inputs or its expected output are not those that were frozen"


def read_lock() -> dict[str, str]:
    """Return the frozen digests of the suite's own catalogue. Raises CatalogueError if they cannot be read."""
    return lock_file.read(lock_path())


def write_lock(catalogue: Catalogue) -> tuple[int, int, int]:
    """Freeze the digests of all cases; return how many were added, removed and changed."""
    old = read_lock() if lock_path().exists() else {}
    new = digests(catalogue)
    lock_file.write(lock_path(), new)
    changed = sum(new[name] != old[name] for name in new.keys() & old.keys())
    return len(new.keys() - old.keys()), len(old.keys() - new.keys()), changed
