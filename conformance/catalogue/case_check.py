"""Checks of one case or of one sweep's rows. They are pure functions, so they run in parallel and can be cached."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.arrays import ArraySpec, array_digest
from conformance.cases.case import DRAWN_KEY, Answers, Case, Rejected, Value
from conformance.cases.invalid import violations_of
from conformance.cases.operators import OPERATORS
from conformance.catalogue.export_check import export_mismatches
from conformance.catalogue.export_reader import ExportedCase
from conformance.catalogue.lock import FrozenCase
from conformance.catalogue.other_readings import indistinguishable_readings, min_distance
from conformance.catalogue.sweeps import Sweep
from conformance.catalogue.value_range import out_of_range
from conformance.judging.expected import Expected, compute_expected
from conformance.translation.lowering import translate

MAX_COMPILED_TEXTS = 1 << 16
"""Number of program texts whose syntax check is cached in a process."""
NUMBER = re.compile("[1-9][0-9]*")
MAX_PRINTED_DIGITS = 900
"""Decimal digits for comparing printed numbers; a float64 has up to about 770 significant digits."""


@dataclass(frozen=True)
class SweepRows:
    """A sweep with the names of its rows, to be checked for missing combinations."""

    sweep: Sweep
    names: Sequence[str]

    def canonical_text(self) -> str:
        """Return everything that determines the result of the check as text."""
        meaning = [self.sweep.operator, self.sweep.id, self.sweep.factors, self.sweep.strength, self.names]
        return json.dumps(meaning, default=str)


@dataclass(frozen=True)
class CaseCheck:
    """The result of a check: the digests of a case, None for a sweep or an invalid case, and a message per problem."""

    lock_record: FrozenCase | None
    problems: tuple[str, ...] = ()


def check_case(task: Case | SweepRows) -> CaseCheck:
    """Check a case against the reference, its printed outputs and its other readings, and translate it everywhere."""
    if isinstance(task, SweepRows):
        return CaseCheck(None, tuple(_missing_combinations(task)))
    try:
        expected = compute_expected(task)
        problems = tuple(f"{task.location}: case {task.id}: {text}" for text in _case_problems(task, expected))
    except CatalogueError as error:
        return CaseCheck(None, (str(error),))
    return CaseCheck(lock_record(task, expected), problems)


def lock_record(case: Case, expected: Expected) -> FrozenCase:
    """Return the record of a case in the lock."""
    results = [target.exact.value for target in expected.targets if target.exact is not None]
    meaning = hashlib.blake2b(requested_digest(case).encode(), digest_size=8).hexdigest()
    # 64 bits are enough to say which part changed. The digest of 128 bits decides whether a part changed.
    inputs, output = (array_digest(*arrays)[:16] for arrays in (expected.inputs.values(), results))
    return FrozenCase(expected.digest, meaning, inputs, output)


def requested_digest(case: Case) -> str:
    """Return the operator, parameters, composition and kind of expectation of a case as text.

    Parameters with their default value are omitted, so that operators can gain parameters without changing the lock.
    Printed outputs are omitted too: they are checked against the output, which is in the lock.
    """
    defaults = OPERATORS[case.operator].defaults
    # Compared as text, because -0.0 == 0 but differs from the default 0.
    parameters = {key: value for key, value in case.parameters.items() if repr(value) != repr(defaults.get(key, ...))}
    then = [[item.operator, dict(item.parameters), *map(vars, item.inputs.values())] for item in case.then]
    meaning = [case.operator, parameters, case.via, then, case.omitted_parameters, _expectation_kind(case.expect)]
    meaning += [case.convention_name] if case.convention_name else []
    return json.dumps(meaning, sort_keys=True, default=str)


def _expectation_kind(expect: Value | Rejected | Answers) -> object:
    if isinstance(expect, Answers):
        return {name: _answer_kind(answer) for name, answer in expect.named.items()}
    return expect.violation if isinstance(expect, Rejected) else None


def _answer_kind(answer: object) -> object:
    if isinstance(answer, Rejected):
        return answer.violation
    return None if isinstance(answer, ArraySpec) else answer


def _case_problems(case: Case, expected: Expected) -> Iterator[str]:
    if expected.target and expected.target.print_mismatch:
        yield f"key 'expect': {expected.target.print_mismatch}"
    yield from _misprinted_numbers(case, expected)
    # Other readings are compared with one result, and these cases have several steps or several results.
    has_one_result = case.via == () and not case.then and DRAWN_KEY not in case.parameters
    for reading in indistinguishable_readings(case, expected) if has_one_result else ():
        yield f"{reading} it is within {min_distance(case)} bounds of the right result everywhere"
    yield from out_of_range(case, expected)
    if isinstance(case, ExportedCase):
        yield from export_mismatches(case, expected)
    if isinstance(case.expect, Rejected):
        yield from _violation_problems(case, case.expect.violation)
    yield from _program_problems(case)


def _violation_problems(case: Case, violation: str) -> Iterator[str]:
    """Check that a case that must be rejected has exactly one violation and that its valid case has none."""
    violations, valid_case = violations_of(case), "its valid case"
    if violations != [violation]:
        yield f"it has the violations {' and '.join(violations)}, but must have one only"
    if case.valid_case is None:
        # An export does not contain valid cases.
        if not isinstance(case, ExportedCase):
            yield "key 'expect.rejected': it has no valid case, write it under 'rejects'"
        return
    yield from (f"{valid_case} has the violation {name}" for name in violations_of(case.valid_case))
    try:
        compute_expected(case.valid_case)
    except CatalogueError as error:
        message = str(error).removeprefix(f"{case.valid_case.location}: case {case.valid_case.id}: ")
        yield f"{valid_case} is not valid: {message}"
    yield from _lost_violations(case, case.valid_case)


def _lost_violations(case: Case, valid: Case) -> Iterator[str]:
    """Yield a message for each surface whose program lost the violation, so that it equals that of the valid case."""
    # With a violation of the inputs, equal programs are correct.
    if {name: vars(spec) for name, spec in case.inputs.items()} != {n: vars(spec) for n, spec in valid.inputs.items()}:
        return
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            program = translate(case, surface)
            if isinstance(program, Program) and program == translate(valid, surface):
                yield f"the program for {surface.name} does not contain the violation"


def _misprinted_numbers(case: Case, expected: Expected) -> Iterator[str]:
    """Check that `inexact` is given if and only if some printed number is not correctly rounded."""
    if not isinstance(case.expect, Value) or expected.target is None or expected.target.exact is None:
        return
    values = expected.target.exact.value.ravel().tolist()
    misrounded = [
        str(printed)
        for _, numbers in case.expect.printed
        for printed, value in zip(numbers or (), values, strict=False)
        if isinstance(printed, Decimal) and not _rounds_to_print(value, printed)
    ]
    if misrounded and not case.expect.inexact:
        yield f"key 'inexact' is missing: {misrounded[0]} is not the correctly rounded result"
    if case.expect.inexact and not misrounded:
        yield "key 'inexact': every printed number is correctly rounded"


def _rounds_to_print(value: float, printed: Decimal) -> bool:
    if not (printed.is_finite() and math.isfinite(value)):
        return True
    context = Context(prec=MAX_PRINTED_DIGITS)
    # Documents round ties in either direction.
    roundings = (Decimal(value).quantize(printed, rounding, context) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP))
    return printed in roundings


def _program_problems(case: Case) -> Iterator[str]:
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            if surface.language is not None:
                continue
            program = translate(case, surface)
            # Of programs that differ only in their numbers, one is compiled.
            error = syntax_error(NUMBER.sub("1", program.text)) if isinstance(program, Program) else None
            if error is not None:
                yield f"the program for {surface.name} is not Python: {error}"


@lru_cache(maxsize=MAX_COMPILED_TEXTS)
def syntax_error(text: str) -> str | None:
    """Return the message of the syntax error in a program, None if there is none."""
    try:
        # compile() to bytecode takes half as long as building the syntax tree with ast.parse.
        compile(text, "<program>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return str(error)
    return None


def _missing_combinations(rows: SweepRows) -> Iterator[str]:
    sweep = rows.sweep
    missing = list(sweep.missing(rows.names))
    if missing:
        count = f"{len(missing)} of {sweep.cover.combination_count()} combinations"
        example = f"such as {missing[0]} (conformance freeze adds them)"
        yield f"{sweep.location}: sweep {sweep.id}: {count} in no case, {example}"
    for name in sweep.rows_without_integer_twin(rows.names):
        missing_row = f"the row {name} is missing"
        yield f"{sweep.location}: sweep {sweep.id}: {missing_row}: full mantissas need the same geometry with integers"
