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
from conformance.cases.invalid import violations_of
from conformance.cases.operators import OPERATORS
from conformance.catalogue.export_reader import ExportedCase, export_mismatches
from conformance.catalogue.lock import FrozenCase
from conformance.catalogue.other_readings import MIN_DISTANCE_IN_BOUNDS, indistinguishable_readings
from conformance.catalogue.sweeps import Sweep
from conformance.catalogue.value_range import out_of_range
from conformance.judging.expected import Expected, compute_expected
from conformance.translation.lowering import translate

MAX_PRINTED_DIGITS = 900
"""Digits that a printed number may have: float64 has numbers of some 770."""


@dataclass(frozen=True)
class SweepRows:
    """A sweep with the names of its rows, to be held against what it promises to cover."""

    sweep: Sweep
    names: Sequence[str]

    def canonical_text(self) -> str:
        """Return all that decides whether the cover is whole, as text that equal ones share."""
        meaning = [self.sweep.operator, self.sweep.id, self.sweep.factors, self.sweep.strength, self.names]
        return json.dumps(meaning, default=str)


@dataclass(frozen=True)
class CaseCheck:
    """What came of an examination: the digests of a case, None where it has none, and a line for each fault."""

    lock_record: FrozenCase | None
    problems: tuple[str, ...] = ()


def check_case(task: Case | SweepRows) -> CaseCheck:
    """Ask the reference, hold pinned numbers and other readings against it, and translate for every surface."""
    if isinstance(task, SweepRows):
        return CaseCheck(None, tuple(_missing_combinations(task)))
    try:
        wanted = compute_expected(task)
        faults = tuple(_case_problems(task, wanted))
    except CatalogueError as error:
        return CaseCheck(None, (str(error),))
    return CaseCheck(lock_record(task, wanted), tuple(f"{task.location}: case {task.id}: {fault}" for fault in faults))


def lock_record(case: Case, expected: Expected) -> FrozenCase:
    """Return what the lock holds of a case."""
    results = [target.exact.value for target in expected.targets if target.exact is not None]
    meaning = hashlib.blake2b(requested_digest(case).encode(), digest_size=8).hexdigest()
    inputs, output = (array_digest(*arrays)[:16] for arrays in (expected.inputs.values(), results))
    return FrozenCase(expected.digest, meaning, inputs, output)


def requested_digest(case: Case) -> str:
    """Return what a case asks of its inputs: operator, parameters, composition, and what kind of thing must happen.

    A parameter at its default is left out, so that an operator may get further ones; windows, strides and the like are
    explicit in every case. Printed readings are left out too: what they say is held against the output.
    """
    defaults = OPERATORS[case.operator].defaults
    # Told apart as text: -0.0 is not the default 0.
    parameters = {key: value for key, value in case.parameters.items() if repr(value) != repr(defaults.get(key, ...))}
    then = [[item.operator, dict(item.parameters)] for item in case.then]
    meaning = [case.operator, parameters, case.via, then, case.omitted_parameters, _expectation_kind(case.expect)]
    meaning += [case.convention_name] if case.convention_name else []
    return json.dumps(meaning, sort_keys=True, default=str)


def _expectation_kind(expect: Value | Rejected | Answers) -> object:
    if isinstance(expect, Answers):
        return {name: _answer_kind(answer) for name, answer in expect.named.items()}
    return expect.predicate if isinstance(expect, Rejected) else None


def _answer_kind(answer: object) -> object:
    if isinstance(answer, Rejected):
        return answer.predicate
    return None if isinstance(answer, ArraySpec) else answer


def _case_problems(case: Case, expected: Expected) -> Iterator[str]:
    if expected.target and expected.target.print_mismatch:
        yield f"key 'expect': {expected.target.print_mismatch}"
    yield from _misprinted_numbers(case, expected)
    for words in indistinguishable_readings(case, expected) if case.via == () and not case.then else ():
        yield f"{words} it is within {MIN_DISTANCE_IN_BOUNDS} bounds of the right result everywhere"
    yield from out_of_range(case, expected)
    if isinstance(case, ExportedCase):
        yield from export_mismatches(case, expected)
    if isinstance(case.expect, Rejected):
        yield from _violation_problems(case, case.expect.predicate)
    yield from _program_problems(case)


def _violation_problems(case: Case, fault: str) -> Iterator[str]:
    """A case that must be rejected has one fault, and is valid without it; an export holds no valid case."""
    faults, beside = violations_of(case), "the valid case beside it"
    if faults != [fault]:
        yield f"it has the faults {' and '.join(faults)}: isolate one"
    if case.valid_case is None:
        if not isinstance(case, ExportedCase):
            yield "key 'expect.rejected': no valid case stands beside it, write it under 'rejects'"
        return
    yield from (f"{beside} has the fault {name}" for name in violations_of(case.valid_case))
    try:
        compute_expected(case.valid_case)
    except CatalogueError as error:
        yield f"{beside} is none: {str(error).removeprefix(f'{case.valid_case.location}: case {case.valid_case.id}: ')}"
    yield from _missing_violation(case, case.valid_case)


def _missing_violation(case: Case, sound: Case) -> Iterator[str]:
    """A fault of parameters stands in the call: where the text is that of the valid case, the adapter has lost it."""
    if {name: vars(spec) for name, spec in case.inputs.items()} != {n: vars(spec) for n, spec in sound.inputs.items()}:
        return
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            program = translate(case, surface)
            if isinstance(program, Program) and program == translate(sound, surface):
                yield f"the program for {surface.name} does not say the fault"


def _misprinted_numbers(case: Case, expected: Expected) -> Iterator[str]:
    """A printed number that is not the correctly rounded one must be said to be so, and the other way round."""
    if not isinstance(case.expect, Value) or expected.target is None or expected.target.exact is None:
        return
    values = expected.target.exact.value.ravel().tolist()
    odd = [
        str(printed)
        for _, numbers in case.expect.readings
        for printed, value in zip(numbers or (), values, strict=False)
        if isinstance(printed, Decimal) and not _rounds_to_print(value, printed)
    ]
    if odd and not case.expect.inexact:
        yield f"key 'inexact' is missing: {odd[0]} is not the correctly rounded result"
    if case.expect.inexact and not odd:
        yield "key 'inexact': every printed number is the correctly rounded one"


def _rounds_to_print(value: float, printed: Decimal) -> bool:
    if not (printed.is_finite() and math.isfinite(value)):
        return True
    exactly = Context(prec=MAX_PRINTED_DIGITS)
    roundings = (Decimal(value).quantize(printed, rounding, exactly) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP))
    return printed in roundings


def _program_problems(case: Case) -> Iterator[str]:
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            program = translate(case, surface)
            if isinstance(program, Program):
                try:
                    # To bytecode, which takes half as long as to a tree of Python's own objects.
                    compile(program.text, program.surface, "exec", dont_inherit=True)
                except SyntaxError as error:
                    yield f"the program for {surface.name} is not Python: {error}"


def _missing_combinations(rows: SweepRows) -> Iterator[str]:
    sweep = rows.sweep
    missing = list(sweep.missing(rows.names))
    if missing:
        many = f"{len(missing)} of {sweep.cover.combination_count()} combinations"
        yield f"{sweep.place}: sweep {sweep.id}: {many} in no case, such as {missing[0]} (conformance freeze adds them)"
    for name in sweep.rows_without_integer_twin(rows.names):
        yield f"{sweep.place}: sweep {sweep.id}: the geometry of {name} stands with full mantissas alone"
