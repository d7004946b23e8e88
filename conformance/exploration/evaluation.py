"""Evaluate candidates: run them on all surfaces of a backend and judge the outcomes as in a normal run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from conformance import CatalogueError, IncompleteRun
from conformance.adapters.api.surface import Backend, Program, Surface
from conformance.cases.case import Case
from conformance.cases.steps import case_step
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.value_range import out_of_range
from conformance.execution.job import Job, Limits, WorkerFailed
from conformance.execution.options import RunOptions
from conformance.execution.pool import WorkerPool
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.execution.task import ComputeExpected, Task
from conformance.execution.worker_process import Worker
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import unsupported_by_oracle
from conformance.exploration.space import is_affordable
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.ledger import Ledger
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from conformance.judging.verdict import JUDGED_OUTCOMES, ProgramOutcome
from reports.results import ResultRecord
from reports.results.vocabulary import DifferenceKind, Level, Outcome, Status

NEW_STATUSES = frozenset({Status.FAIL, Status.CRASHED, Status.TIMED_OUT, Status.FLAKY})
"""Statuses of differences without a ledger entry. The statuses known and stale are only counted."""

FLAKY_SYMPTOM = Status.FLAKY.value
"""Symptom of a program whose process ended, but not when it was run again."""
EVALUATION_BATCH_SIZE = 100
"""Number of candidates whose inputs and expected outputs are in memory at the same time."""
MAX_SECONDS_PER_CELL = 5e-3
"""Time in seconds allowed per input or output cell. Frameworks that loop over cells in Python are this slow."""


@dataclass(frozen=True)
class SurfaceResult:
    """Result of one candidate on one surface.

    status: as in a results file. symptom: how it differs, crashes or hangs; equal for candidates that may have the same
    cause; "" if it agrees. how: native, padded or composed; "" without a program. kind: outcome, kind of difference and
    order of magnitude of the error; a new kind makes a candidate interesting.
    """

    surface: str
    status: Status
    symptom: str = ""
    how: str = ""
    kind: str = ""
    message: str = ""

    @property
    def is_new(self) -> bool:
        """Whether this is a difference without a ledger entry."""
        return self.status in NEW_STATUSES


@dataclass(frozen=True)
class CandidateResult:
    """A candidate and its results on all surfaces; no results if its values leave the normal range."""

    candidate: Candidate
    surface_results: Sequence[SurfaceResult] = ()

    def result_on(self, surface: str) -> SurfaceResult | None:
        """Return the result on one surface; None if there is none."""
        return next((one for one in self.surface_results if one.surface == surface), None)


T = TypeVar("T")


class Evaluator(Protocol):
    """Runs pieces of work that need a local evaluator, in this process or on the workers of a cluster.

    backend: the backend, restricted to the explored surfaces.
    """

    backend: Backend

    @property
    def capacity(self) -> int:
        """Maximum number of pieces of work that run in parallel."""

    def map(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return work(evaluator, *piece) for each piece, in order."""


class LocalEvaluator:
    """An evaluator with worker processes of one backend. It is a context manager that starts and ends the processes.

    surfaces: names of the surfaces to explore. Without names it explores all surfaces that are not slow, or all if
    every surface is slow.
    jobs: number of parallel workers. Results do not depend on it.
    """

    def __init__(
        self,
        backend: Backend,
        python: str,
        ledger: Ledger,
        *,
        surfaces: Sequence[str] = (),
        limits: Limits | None = None,
        jobs: int = 1,
        log: Callable[[str], None] = lambda _line: None,
    ) -> None:
        fast = [surface for surface in backend.surfaces if not surface.slow_tag] or backend.surfaces
        selected = [surface for surface in backend.surfaces if surface.name in surfaces] if surfaces else fast
        # Without its slow tag a run does not skip a surface that was selected here.
        self.backend = replace(backend, surfaces=tuple(replace(surface, slow_tag="") for surface in selected))
        self.python = python
        self.ledger = ledger.for_generated_cases()
        self.limits = limits or Limits()
        self.pool = WorkerPool(Worker(self.backend, python, self.limits, log=log) for _ in range(jobs))

    def __enter__(self) -> LocalEvaluator:
        with self._as_incomplete_run():
            self.pool.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.kill()

    @property
    def identity(self) -> dict[str, Any]:
        """Ledger digests and surface names, which must be equal on all machines of an exploration."""
        names = [surface.name for surface in self.backend.surfaces]
        return {"ledger": self.ledger.digest, "own_ledger": self.ledger.own_digest, "surfaces": names}

    @property
    def capacity(self) -> int:
        """One: all workers together run one piece of work at a time."""
        return 1

    def map(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return work(evaluator, *piece) for each piece, in order."""
        return [work(self, *piece) for piece in pieces]

    @contextmanager
    def _as_incomplete_run(self) -> Iterator[None]:
        try:
            yield
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: {error}") from None

    def _make_run(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str], compute_expected: ComputeExpected
    ) -> Run:
        """Return a run of the cases of candidates that uses the running workers."""
        cases = {candidate.case.id: candidate.case for candidate in candidates}
        catalogue, selection = Catalogue(tuple(cases.values())), Selection(Level.EXHAUSTIVE, tuple(surfaces))
        options = RunOptions(selection)
        run = Run(self.backend, catalogue, self.ledger, options, python=self.python, compute_expected=compute_expected)
        run.pool = self.pool
        return run

    def evaluate(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str] = (), *, fatal: bool = False
    ) -> list[CandidateResult]:
        """Return the results of candidates, in order, on all surfaces or on the named ones.

        fatal: the expected symptom is a crash or a hang. A failed program is not run again (see Job.expect_failure).
        If the reference gives no answer, the program still runs and agrees if it returns anything.
        """
        batches = (
            candidates[start : start + EVALUATION_BATCH_SIZE]
            for start in range(0, len(candidates), EVALUATION_BATCH_SIZE)
        )
        return [result for batch in batches for result in self._evaluate_batch(batch, surfaces, fatal=fatal)]

    def _evaluate_batch(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str], *, fatal: bool
    ) -> list[CandidateResult]:
        expected = [_expected_for(candidate, fatal=fatal) for candidate in candidates]
        by_id = {candidate.case.id: one for candidate, one in zip(candidates, expected, strict=True) if one}
        run = self._make_run(candidates, surfaces, lambda case: by_id[case.id])
        tasks = [
            [self._make_task(run, candidate, surface) for surface in run.surfaces] if one else []
            for candidate, one in zip(candidates, expected, strict=True)
        ]
        runnable = (task for of_candidate in tasks for task in of_candidate if isinstance(task.program, Program))
        with self._as_incomplete_run():
            jobs = map(run.make_job, runnable)
            outcomes = self.pool.outcomes(replace(job, expect_failure=True) if fatal else job for job in jobs)
            return [
                CandidateResult(candidate, tuple(self._surface_result(run, task, outcomes) for task in of_candidate))
                for candidate, of_candidate in zip(candidates, tasks, strict=True)
            ]

    def _make_task(self, run: Run, candidate: Candidate, surface: Surface) -> Task:
        """Return the task of a candidate on a surface.

        It has no program if the surface may follow another answer to a convention.
        """
        task = run.make_task(candidate.case, surface)
        on_processor = surface.for_processor(self.pool.environment["cpu"])
        unsupported = unsupported_by_oracle(
            candidate, on_processor, task.program, lambda case: bool(run.judge.ledger_entry(replace(task, case=case)))
        )
        return replace(task, program=unsupported) if unsupported else task

    def _surface_result(self, run: Run, task: Task, outcomes: Iterator[ProgramOutcome]) -> SurfaceResult:
        if not isinstance(task.program, Program):
            return SurfaceResult(task.surface.name, Status.UNSUPPORTED, kind=task.program.reason)
        outcome = next(outcomes)
        if outcome.kind == Outcome.TIMED_OUT and not self.process_failure(task.case, outcome):  # slow, but no hang
            return SurfaceResult(
                task.surface.name, Status.UNSUPPORTED, kind=f"takes more than {self.limits.case_seconds:g} seconds"
            )
        if outcome.kind in JUDGED_OUTCOMES and not run.expected(task.case).targets:
            status = Status.PASS if outcome.kind == Outcome.RETURNED else Status.UNSUPPORTED
            return SurfaceResult(task.surface.name, status, how=task.program.how, kind=outcome.kind)
        record, _ = run.judge.judge_task(task, outcome)
        status = record.status
        symptom = symptom_of(outcome, record) if status in NEW_STATUSES | {Status.KNOWN} else ""
        kind = " ".join(map(str, (record.outcome, record.kind, _power_of_ten(record.budget_used))))
        return SurfaceResult(
            task.surface.name, status, symptom, task.program.how, f"{kind} {symptom}", record.message or ""
        )

    def process_failure(self, case: Case, outcome: ProgramOutcome) -> str:
        """Return the symptom of a crash or a hang; "" for other outcomes.

        A program with very many cells that exceeds the time limit is slow. It does not count as a hang.
        """
        step = case_step(case)
        slow = max(math.prod(step.output), math.prod(step.shape)) * MAX_SECONDS_PER_CELL > self.limits.case_seconds
        failed = outcome.kind == Outcome.CRASHED or (outcome.kind == Outcome.TIMED_OUT and not slow)
        return symptom_of(outcome) if failed else ""

    def programs(self, candidate: Candidate) -> dict[str, Program]:
        """Return the program of a candidate for each surface without a ledger entry, by name of the surface."""
        run = self._make_run([candidate], (), compute_expected)
        tasks = [self._make_task(run, candidate, surface) for surface in run.surfaces]
        by_surface = {task.surface.name: task.program for task in tasks if not run.judge.ledger_entry(task)}
        return {name: program for name, program in by_surface.items() if isinstance(program, Program)}

    def is_known(self, case: Case, surface: str) -> bool:
        """Whether the ledger has an entry for a case on a surface."""
        environment = self.pool.environment
        packages, cpu = environment["packages"], environment["cpu"]
        return bool(self.ledger.find_entry(case, surface, packages, cpu, self.backend.device.name))

    def run_jobs(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Run programs and yield their outcomes, in order and without judging them."""
        with self._as_incomplete_run():
            yield from self.pool.outcomes(jobs)


def _expected_for(candidate: Candidate, *, fatal: bool) -> Expected | None:
    """Return the expected result; None if values leave the normal range or the reference gives no answer.

    fatal: return the inputs without a target if values leave the normal range or the case is too large for the
    reference.
    """
    if fatal and not is_affordable(candidate):
        return Expected({name: spec.make() for name, spec in candidate.case.inputs.items()}, None)
    try:
        expected = compute_expected(candidate.case)
    except CatalogueError:
        return None
    if next(out_of_range(candidate.case, expected), None):
        return Expected(expected.inputs, None) if fatal else None
    return expected


def symptom_of(outcome: ProgramOutcome, record: ResultRecord | None = None) -> str:
    """Return the symptom: the kind of the difference, and the message of a rejected call or a crash.

    record: of the result, None if the outcome was not judged.
    """
    if record and record.flaky:
        return FLAKY_SYMPTOM
    if outcome.kind == Outcome.TIMED_OUT:
        return outcome.kind
    if outcome.kind == Outcome.CRASHED:  # the same symptom whether or not the program was run twice
        return f"{outcome.kind}: {normalise_message(outcome.message.removesuffix(f'; {SAME_IN_NEW_PROCESS}'))}"
    kind = str(record and record.kind)
    return f"{kind}: {normalise_message(outcome.message)}" if kind == DifferenceKind.REJECTED else kind


def normalise_message(message: str) -> str:
    """Return the first line of a message without numbers, quoted names and brackets: equal for the same cause."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    words = re.sub(
        r"\x1b\[[0-9;]*m|['\"][^'\"]*['\"]|\{\{[^}]*\}\}|\[[^\]]*\]|\([^)]*\)|0x[0-9a-f]+|-?\d[\d.e+]*", "#", first
    )
    return re.sub(r"[#\s]*#[#\s]*", " # ", words).strip()[:80]


def _power_of_ten(used: float | None) -> str:
    """Return the exponent of the used error bound, as `e-02`; "0" or "inf" for these, "" without a bound."""
    if used is None or used == 0:
        return "" if used is None else "0"
    return f"{used:.0e}"[-4:] if used < float("inf") else "inf"
