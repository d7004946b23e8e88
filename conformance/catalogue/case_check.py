"""Whether one case, or the cover of one sweep, is sound: a pure function of it, so that many run at once."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api.surface import Program
from conformance.cases.arrays import ArraySpec, array_digest
from conformance.cases.case import Answers, Case, Rejected, Value
from conformance.cases.invalid import faults_of
from conformance.cases.operators import OPERATORS
from conformance.catalogue.export_reader import ExportedCase
from conformance.catalogue.export_reader import faults as exported_faults
from conformance.catalogue.lock import Frozen
from conformance.catalogue.other_readings import APART, too_near
from conformance.catalogue.sweeps import Sweep
from conformance.catalogue.value_range import extraordinary
from conformance.judging.expected import Expected, expected
from conformance.translation.lowering import translate

LONGEST_PRINT = 900
"""Digits that a printed number may have: float64 has numbers of some 770."""


@dataclass(frozen=True)
class Rows:
    """A sweep with the names of its rows, to be held against what it promises to cover."""

    sweep: Sweep
    names: Sequence[str]

    def canonical(self) -> str:
        """Return all that decides whether the cover is whole, as text that equal ones share."""
        meaning = [self.sweep.operator, self.sweep.id, self.sweep.factors, self.sweep.strength, self.names]
        return json.dumps(meaning, default=str)


@dataclass(frozen=True)
class Finding:
    """What came of an examination: the digests of a case, None where it has none, and a line for each fault."""

    record: Frozen | None
    problems: tuple[str, ...] = ()


def examine(task: Case | Rows) -> Finding:
    """Ask the reference, hold pinned numbers and other readings against it, and translate for every surface."""
    if isinstance(task, Rows):
        return Finding(None, tuple(_uncovered(task)))
    try:
        wanted = expected(task)
        faults = tuple(_faults(task, wanted))
    except CatalogueError as error:
        return Finding(None, (str(error),))
    return Finding(record(task, wanted), tuple(f"{task.place}: case {task.id}: {fault}" for fault in faults))


def record(case: Case, wanted: Expected) -> Frozen:
    """Return what the lock holds of a case."""
    results = [target.exact.value for target in wanted.targets if target.exact is not None]
    meaning = hashlib.blake2b(meaning_of(case).encode(), digest_size=8).hexdigest()
    inputs, output = (array_digest(*arrays)[:16] for arrays in (wanted.inputs.values(), results))
    return Frozen(wanted.digest, meaning, inputs, output)


def meaning_of(case: Case) -> str:
    """Return what a case asks of its inputs: operator, parameters, composition, and what kind of thing must happen.

    A parameter at its default is left out, so that an operator may get further ones; windows, strides and the like are
    explicit in every case. Printed readings are left out too: what they say is held against the output.
    """
    defaults = OPERATORS[case.operator].defaults
    # Told apart as text: -0.0 is not the default 0.
    parameters = {key: value for key, value in case.parameters.items() if repr(value) != repr(defaults.get(key, ...))}
    then = [[item.operator, dict(item.parameters)] for item in case.then]
    meaning = [case.operator, parameters, case.via, then, case.omitted, _kind(case.expect)]
    meaning += [case.puts] if case.puts else []
    return json.dumps(meaning, sort_keys=True, default=str)


def _kind(expect: Value | Rejected | Answers) -> object:
    if isinstance(expect, Answers):
        return {name: _kind_of_answer(answer) for name, answer in expect.named.items()}
    return expect.predicate if isinstance(expect, Rejected) else None


def _kind_of_answer(answer: object) -> object:
    if isinstance(answer, Rejected):
        return answer.predicate
    return None if isinstance(answer, ArraySpec) else answer


def _faults(case: Case, wanted: Expected) -> Iterator[str]:
    if wanted.target and wanted.target.misread:
        yield f"key 'expect': {wanted.target.misread}"
    yield from _misprints(case, wanted)
    for words in too_near(case, wanted) if case.via == () and not case.then else ():
        yield f"{words} it is within {APART} bounds of the right result everywhere"
    yield from extraordinary(case, wanted)
    if isinstance(case, ExportedCase):
        yield from exported_faults(case, wanted)
    if isinstance(case.expect, Rejected):
        yield from _isolated(case, case.expect.predicate)
    yield from _programs(case)


def _isolated(case: Case, fault: str) -> Iterator[str]:
    """A case that must be rejected has one fault, and is valid without it; an export holds no valid case."""
    faults, beside = faults_of(case), "the valid case beside it"
    if faults != [fault]:
        yield f"it has the faults {' and '.join(faults)}: isolate one"
    if case.sound is None:
        if not isinstance(case, ExportedCase):
            yield "key 'expect.rejected': no valid case stands beside it, write it under 'rejects'"
        return
    yield from (f"{beside} has the fault {name}" for name in faults_of(case.sound))
    try:
        expected(case.sound)
    except CatalogueError as error:
        yield f"{beside} is none: {str(error).removeprefix(f'{case.sound.place}: case {case.sound.id}: ')}"
    yield from _unsaid(case, case.sound)


def _unsaid(case: Case, sound: Case) -> Iterator[str]:
    """A fault of parameters stands in the call: where the text is that of the valid case, the adapter has lost it."""
    if {name: vars(spec) for name, spec in case.inputs.items()} != {n: vars(spec) for n, spec in sound.inputs.items()}:
        return
    for name in registry.names():
        for surface in registry.backend(name).surfaces:
            program = translate(case, surface)
            if isinstance(program, Program) and program == translate(sound, surface):
                yield f"the program for {surface.name} does not say the fault"


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
        yield f"key 'inexact' is missing: {odd[0]} is not the correctly rounded result"
    if case.expect.inexact and not odd:
        yield "key 'inexact': every printed number is the correctly rounded one"


def _rounds_to(value: float, printed: Decimal) -> bool:
    if not (printed.is_finite() and math.isfinite(value)):
        return True
    exactly = Context(prec=LONGEST_PRINT)
    roundings = (Decimal(value).quantize(printed, rounding, exactly) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP))
    return printed in roundings


def _programs(case: Case) -> Iterator[str]:
    for name in registry.names():
        for surface in registry.backend(name).surfaces:
            program = translate(case, surface)
            if isinstance(program, Program):
                try:
                    # To bytecode, which takes half as long as to a tree of Python's own objects.
                    compile(program.text, program.surface, "exec", dont_inherit=True)
                except SyntaxError as error:
                    yield f"the program for {surface.name} is not Python: {error}"


def _uncovered(rows: Rows) -> Iterator[str]:
    sweep = rows.sweep
    missing = list(sweep.missing(rows.names))
    if missing:
        many = f"{len(missing)} of {sweep.cover.count()} combinations"
        yield f"{sweep.place}: sweep {sweep.id}: {many} in no case, such as {missing[0]} (conformance freeze adds them)"
    for name in sweep.without_twin(rows.names):
        yield f"{sweep.place}: sweep {sweep.id}: the geometry of {name} stands with full mantissas alone"
