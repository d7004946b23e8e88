"""Check the printed outputs of the user's own case files before a run.

An output that both the reference and the loops of the built-in backend contradict is an error of the case file. No
backend could pass the case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.arrays import Array
from conformance.cases.case import Case
from conformance.execution.job import Job
from conformance.execution.task import ComputeExpected
from conformance.execution.worker_process import Worker
from conformance.judging.expected import find_print_mismatch, wrong_printed_number
from conformance.translation.lowering import translate

BOTH_NAMES = "the reference and the loops of the backend numpy"


def check_printed_outputs(cases: Iterable[Case], expected: ComputeExpected) -> None:
    """Raise CatalogueError, with one line for each case, for printed outputs that are wrong.

    A case without a program for the built-in backend is not refused, because nothing confirms the reference.
    """
    # Nothing is computed for the other cases.
    pinned = [case for case in cases if getattr(case.expect, "printed", ())]
    wrong = [case for case in pinned if (target := expected(case).target) and target.print_mismatch]
    errors = [text for case, output in _built_in_outputs(wrong, expected) for text in _errors(case, output, expected)]
    if errors:
        raise CatalogueError("\n".join(errors))


def _built_in_outputs(cases: Iterable[Case], expected: ComputeExpected) -> Iterator[tuple[Case, Array]]:
    """Yield the cases that the built-in backend can run, with its output."""
    backend = registry.get_backend(registry.BUILT_IN_BACKEND)
    surface = backend.surfaces[0]
    programs = [(case, program) for case in cases if isinstance(program := translate(case, surface), Program)]
    if not programs:
        return
    worker = Worker(backend)
    try:
        jobs = [Job(program, tuple(expected(case).inputs.values())) for case, program in programs]
        for (case, _), outcome in zip(programs, worker.outcomes(jobs), strict=True):
            yield from ((case, array) for array in outcome.arrays)
    finally:
        worker.kill()


def _errors(case: Case, output: Array, expected: ComputeExpected) -> Iterator[str]:
    """Yield an error for the first printed output that contradicts the reference and the built-in backend."""
    target = expected(case).target
    if target is None or target.exact is None:
        return
    value, bound = target.exact.value, target.bound
    if output.shape != value.shape:  # the loops do not confirm the reference
        return
    contradicted = (
        one
        for one in target.printed
        if find_print_mismatch(one, value, bound) and find_print_mismatch(one, output, bound)
    )
    for printed in contradicted:
        found = wrong_printed_number(printed, value, bound)
        text = (
            f"your expected {found.printed} at {found.position} is wrong: {BOTH_NAMES} give {found.got:.15g}"
            if found
            else f"your expected output is wrong: {find_print_mismatch(printed, value, bound)} of {BOTH_NAMES}"
        )
        yield f"{case.location}: case {case.id}: key 'expect': {text}"
        return
