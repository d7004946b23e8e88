"""The smallest inputs that show a difference: candidates of a layer, shrunk like those of an exploration.

The time is limited. When it is over, the smallest candidate so far is returned, which still shows the difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance import CatalogueError
from conformance.adapters.api import Declaration, Program, Surface
from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.cases.case import Case
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.conventions import convention_case, declaration_for, expected_on, reference_answer
from conformance.exploration.evaluation import LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.oracles import ReferenceOracle
from conformance.exploration.output import case_item_text
from conformance.exploration.shrinking import shrink
from conformance.judging.expected import Expected, Target, compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.results.json_structs import measure
from reports.results.vocabulary import Status

BATCH_SIZE = 6
"""Number of candidates that are evaluated together. The time limit is checked between batches."""
ORACLE = ReferenceOracle(adds_records=True)


@dataclass(frozen=True)
class SmallestInput:
    """The smallest input found for a difference.

    expected: the expected result; of a convention, that of the answer of the model's framework. got: the result of the
    target if it returned one. message: that of the target. is_minimal: whether no simpler step differs, so that the
    search ended before its time limit. program: a script that runs the call and compares, without the suite. case_text:
    the case in the format of a catalogue. from_catalogue: whether this is the case of the convention, and `got` the
    answer that the target declares.
    """

    case: Case
    expected: Target
    got: Array | None = None
    message: str = ""
    is_minimal: bool = True
    program: str = ""
    case_text: str = ""
    from_catalogue: bool = False


class Deadline:
    """A point in time after which a search stops."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        """The time until the end, at least 0."""
        return max(self.end - time.monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.end


class _TimedCheck:
    """Check candidates one batch at a time; after the deadline none differs, so that the search ends."""

    def __init__(self, differs: Callable[[Sequence[Candidate]], Sequence[bool]], deadline: Deadline) -> None:
        self.differs, self.deadline, self.was_cut = differs, deadline, False

    def __call__(self, candidates: Sequence[Candidate]) -> Sequence[bool]:
        if self.deadline.is_over:
            self.was_cut = True
            return [False] * len(candidates)
        return self.differs(candidates)


def same_difference(one: SurfaceResult, other: SurfaceResult) -> bool:
    """Whether two results differ in the same way and, if it is known, for the same reason."""
    return (one.status, one.symptom, reason_of(one)) == (other.status, other.symptom, reason_of(other))


def reason_of(result: SurfaceResult) -> str:
    """Return the reason that the ledger gives for a result, "" without one."""
    return (result.record.reason if result.record else None) or ""


def smallest_result(
    evaluator: LocalEvaluator, surface: str, candidates: Sequence[Candidate], result: SurfaceResult, seconds: float
) -> SmallestInput | None:
    """Return the smallest input found whose result differs like a given one; None if no candidate differs again.

    candidates: where the search starts, the smallest first.
    """
    deadline = Deadline(seconds)
    fatal = bool(result.symptom and result.symptom.is_fatal)

    def evaluate(some: Sequence[Candidate]) -> list[SurfaceResult | None]:
        found = evaluator.evaluate(make_requests(ORACLE, some), [surface], fatal=fatal)
        return [one.result_on(surface) for one in found]

    def differs(some: Sequence[Candidate]) -> list[bool]:
        return [one is not None and same_difference(one, result) for one in evaluate(some)]

    start = next((one for one in candidates if not deadline.is_over and differs([one])[0]), None)
    if start is None:
        return None
    check = _TimedCheck(differs, deadline)
    found = shrink(start, check, 1 if fatal else BATCH_SIZE)
    (last,) = evaluate([found])
    expected = _expected(found)
    if last is None or not same_difference(last, result) or expected is None:
        return None
    own = _surface_of(evaluator, surface)
    smallest = SmallestInput(
        found.case,
        expected_on(found, own, expected).targets[0],
        _got(last),
        last.message,
        is_minimal=not check.was_cut,
        case_text=case_item_text(found.raw_case),
    )
    return _with_program(smallest, evaluator, own)


def _with_program(smallest: SmallestInput, evaluator: LocalEvaluator, surface: Surface) -> SmallestInput:
    """Return the input with the script that shows it; without one if the surface has no program."""
    program = translate(smallest.case, surface)
    if not isinstance(program, Program):
        return smallest
    expected = compute_expected(smallest.case)
    # A case of a convention has several answers, and the script shows which one the surface gives.
    if not smallest.from_catalogue:
        expected = Expected(expected.inputs, smallest.expected)
    return replace(smallest, program=repro_script(smallest.case, expected, evaluator.backend, program))


def smallest_convention(
    evaluator: LocalEvaluator,
    surfaces: tuple[Surface, Surface | None],
    question: Candidate,
    convention: str,
    seconds: float,
) -> SmallestInput | None:
    """Return the smallest input found for which two answers to a convention give different results.

    surfaces: the target, and the surface of the model if it is known.

    The target must compute the result of its own answer. If the reference cannot compute both results, this is the case
    of the convention in the catalogue, with the answers that the two surfaces declare. None if there is no input.
    """
    surface, _ = surfaces
    deadline = Deadline(seconds)
    declared = [one.declarations.get(convention) if one else None for one in surfaces]
    own, other = (one and declaration_for(one, convention, question) for one in declared)

    def targets(one: Candidate) -> tuple[Target, Target] | None:
        expected = _expected(one)
        if expected is None or convention not in conventions_of(one):
            return None
        found = [expected_on(one, _with_answer(surface, convention, answer), expected) for answer in (other, own)]
        return found[0].targets[0], found[1].targets[0]

    def differs(some: Sequence[Candidate]) -> list[bool]:
        return [(both := targets(one)) is not None and _is_other(*both) for one in some]

    if not differs([question])[0]:
        known = _case_of_convention(convention, own, other)
        return known and _with_program(known, evaluator, surface)
    check = _TimedCheck(differs, deadline)
    found = shrink(question, check, 1)
    both = targets(found)
    (result,) = evaluator.evaluate(make_requests(ORACLE, [found]), [surface.name])
    mine = result.result_on(surface.name)
    if mine is None or mine.status != Status.PASS or both is None:
        return None
    smallest = SmallestInput(
        found.case,
        both[0],
        both[1].exact.value if both[1].exact else None,
        mine.message,
        is_minimal=not check.was_cut,
        case_text=case_item_text(found.raw_case),
    )
    return _with_program(smallest, evaluator, surface)


def _case_of_convention(convention: str, own: Declaration | None, other: Declaration | None) -> SmallestInput | None:
    case = convention_case(convention)
    answers = compute_expected(case).answers
    mine = answers.get(own.answer) if own and own.answer else None
    theirs = answers.get(other.answer if other and other.answer else reference_answer(convention))
    if mine is None or theirs is None or mine is theirs:
        return None  # the answers differ in other cases of the convention
    got, message = (mine.exact.value, "") if mine.exact else (None, f"a rejection: {mine.violation}")
    return SmallestInput(case, theirs, got, message, from_catalogue=True)


def _surface_of(evaluator: LocalEvaluator, name: str) -> Surface:
    surface = next(one for one in evaluator.backend.surfaces if one.name == name)
    return surface.for_processor(evaluator.pool.environment["cpu"])


def _with_answer(surface: Surface, convention: str, answer: Declaration | None) -> Surface:
    """Return a surface that declares only this answer; without one, the reference has its own."""
    return replace(surface, declarations={convention: answer} if answer else {})


def _expected(candidate: Candidate) -> Expected | None:
    try:
        expected = compute_expected(candidate.case)
    except CatalogueError:
        return None
    return expected if expected.targets else None


def _is_other(one: Target, other: Target) -> bool:
    if one.exact is None or other.exact is None:
        return (one.exact is None) != (other.exact is None) or one.violation != other.violation
    first, second = one.exact.value, other.exact.value
    return first.shape != second.shape or not np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


def _got(result: SurfaceResult) -> Array | None:
    """Return the array that a target returned; None if it returned none or a large one."""
    recorded = result.record.got if result.record else None
    if recorded is None or recorded.data is None:
        return None
    values = [measure(one) if isinstance(one, str) else one for one in recorded.data]
    return np.array(values).astype(NUMPY_DTYPES[recorded.dtype]).reshape(recorded.shape)
