"""Evaluate candidates: run the checks of an oracle on the surfaces of a backend and judge their outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from conformance import IncompleteRun
from conformance.adapters.api import Backend, Program
from conformance.cases.steps import case_step
from conformance.catalogue.loading import Catalogue
from conformance.execution.confirmation import Confirmer
from conformance.execution.job import Job, JobPart, Limits, WorkerFailed
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.options import RunOptions
from conformance.execution.pool import WorkerPool
from conformance.execution.routes.batches import KindHistory, batched_outcomes
from conformance.execution.routes.stages import StageRunner
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.execution.task import FATAL_OUTCOMES, Task
from conformance.execution.worker_process import Worker
from conformance.exploration.candidate import Candidate
from conformance.exploration.relations import InputArrays
from conformance.exploration.symptoms import REFERENCE, OracleName, Symptom
from conformance.judging.ledger import Ledger
from conformance.judging.verdict import ProgramOutcome
from reports.results import ResultRecord
from reports.results.vocabulary import Level, Outcome, Status

NEW_STATUSES = frozenset({Status.FAIL, Status.CRASHED, Status.TIMED_OUT, Status.FLAKY})
"""Statuses of differences without a ledger entry. The statuses known and stale are only counted."""
MAX_SECONDS_PER_CELL = 5e-3
"""Time in seconds allowed per input or output cell. Frameworks that loop over cells in Python are this slow."""


@dataclass(frozen=True)
class SurfaceResult:
    """Result of one candidate on one surface, from one oracle.

    status: as in a results file. symptom: None if it agrees. how: native, padded or composed; "" without a program.
    kind: outcome, kind of difference and order of magnitude of the error; a new kind makes a candidate interesting.
    record: the result as in a results file, if the oracle adds it.
    """

    surface: str
    status: Status
    symptom: Symptom | None = None
    how: str = ""
    kind: str = ""
    message: str = ""
    oracle: OracleName = REFERENCE
    record: ResultRecord | None = None

    @property
    def is_new(self) -> bool:
        """Whether this is a difference without a ledger entry."""
        return self.status in NEW_STATUSES


@dataclass(frozen=True)
class CandidateResult:
    """A candidate and its results on all surfaces; no results if the oracle cannot check it."""

    candidate: Candidate
    surface_results: Sequence[SurfaceResult] = ()

    def result_on(self, surface: str) -> SurfaceResult | None:
        """Return the result on one surface; None if there is none."""
        return next((one for one in self.surface_results if one.surface == surface), None)

    def shows(self, surface: str, symptom: Symptom) -> bool:
        """Whether a new difference on a surface has this symptom."""
        on_surface = self.result_on(surface)
        return on_surface is not None and on_surface.is_new and on_surface.symptom == symptom


@dataclass(frozen=True)
class Call:
    """A program to run; task: the case and its program. inputs: the arguments, in order.

    part: how it runs in a batch with others, None if it runs alone.
    """

    task: Task
    inputs: InputArrays
    part: JobPart | None = None


class Check(Protocol):
    """Calls whose outcomes are judged together."""

    @property
    def calls(self) -> Sequence[Call]:
        """The programs to run; empty if the result is known without running one."""

    def judge(self, outcomes: Sequence[ProgramOutcome]) -> Iterable[SurfaceResult]:
        """Return the results; outcomes: one for each call. Only a crash or a hang has a `fatal_symptom`."""


class Oracle(Protocol):
    """The results with which those of a candidate are compared.

    needs_all_surfaces: whether it cannot check one surface alone.
    """

    needs_all_surfaces: bool

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[Check]:
        """Return the checks of a candidate on the surfaces of a run; none if the oracle cannot check it.

        fatal: the expected symptom is a crash or a hang, so a check may need no expected result.
        """


@dataclass(frozen=True)
class OracleRequest:
    """A candidate and the oracle to check it with."""

    candidate: Candidate
    oracle: Oracle


def make_requests(oracle: Oracle, candidates: Iterable[Candidate]) -> list[OracleRequest]:
    """Return requests to check candidates with an oracle."""
    return [OracleRequest(candidate, oracle) for candidate in candidates]


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

    surfaces: names of the surfaces to explore. Without names it explores the surfaces that run level standard, or all
    if there are none. Others, which are slow or run the smoke level only, declare answers for few cases.
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
        complete = [surface for surface in backend.surfaces if surface.is_run(Level.STANDARD, ())] or backend.surfaces
        selected = [surface for surface in backend.surfaces if surface.name in surfaces] if surfaces else complete
        # Without its slow tag a run does not skip a surface that was selected here.
        self.backend = replace(backend, surfaces=tuple(replace(surface, slow_tag="") for surface in selected))
        self.python = python
        self.ledger = ledger.for_generated_cases()
        self.limits = limits or Limits()
        self.pool = WorkerPool(Worker(self.backend, python, self.limits, log=log) for _ in range(jobs))
        self.confirmer = Confirmer(
            self.backend, lambda backend: LoneWorker(backend, python, self.limits), 1, lambda: self.pool
        )
        self.stages = StageRunner(Worker(self.backend, python, self.limits, retry=False))
        self.history = KindHistory()

    def __enter__(self) -> LocalEvaluator:
        with self._as_incomplete_run():
            self.pool.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.kill()
        self.confirmer.kill()
        self.stages.kill()

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

    def evaluate(
        self, requests: Sequence[OracleRequest], surfaces: Sequence[str] = (), *, fatal: bool = False
    ) -> list[CandidateResult]:
        """Return the result of each request, in order, on all surfaces or on the named ones.

        surfaces: ignored if an oracle needs all surfaces.
        fatal: the expected symptom is a crash or a hang. A failed program is not run again (see Job.expect_failure).
        """
        run = self.make_run(() if any(one.oracle.needs_all_surfaces for one in requests) else surfaces)
        # The pool takes jobs from `ahead` while `behind` waits for outcomes. The inputs in memory are therefore those
        # of a few candidates, and checks are made while the workers are busy.
        ahead, behind = itertools.tee((one, one.oracle.checks(run, one.candidate, fatal=fatal)) for one in requests)
        calls = (call for _, checks in ahead for check in checks for call in check.calls)
        jobs = (_make_job(run, call, fatal=fatal) for call in calls)
        outcomes = self.outcomes(jobs, has_batches=run.has_batches)
        return [
            CandidateResult(
                one.candidate,
                tuple(
                    result
                    for check in checks
                    for result in self._judge(
                        run,
                        check,
                        [self._without_slowness(one.candidate, next(outcomes)) for _ in check.calls],
                        fatal=fatal,
                    )
                ),
            )
            for one, checks in behind
        ]

    def _judge(
        self, run: Run, check: Check, outcomes: Sequence[ProgramOutcome], *, fatal: bool
    ) -> tuple[SurfaceResult, ...]:
        """Return the results of a check. A difference counts only if it is the same alone in a process, as in a run."""
        results = tuple(check.judge(outcomes))
        if self.backend.trusted or not any(one.is_new for one in results):
            return results
        with self._as_incomplete_run():
            alone = [
                outcome
                if outcome.kind == Outcome.UNSUPPORTED or (outcome.alone and not self.pool.has_owners)
                else self.confirmer.outcome_alone(_make_job(run, call, fatal=fatal), outcome)
                for call, outcome in zip(check.calls, outcomes, strict=True)
            ]
        return tuple(check.judge(alone))

    def make_run(self, surfaces: Sequence[str]) -> Run:
        """Return a run without cases. It translates cases and judges outcomes of the running workers."""
        options = RunOptions(Selection(Level.EXHAUSTIVE, tuple(surfaces)))
        run = Run(self.backend, Catalogue(()), self.ledger, options, python=self.python)
        run.pool, run.stages = self.pool, self.stages  # the workers that the run created itself were never started
        return run

    def outcomes(self, jobs: Iterable[Job], *, has_batches: bool = False) -> Iterator[ProgramOutcome]:
        """Yield the outcomes of jobs, in their order. Raises IncompleteRun if no worker can be started.

        has_batches: whether jobs with a part run in batches.
        """
        with self._as_incomplete_run():
            pool = self.pool
            yield from batched_outcomes(pool.outcomes, jobs, self.history) if has_batches else pool.outcomes(jobs)

    def _without_slowness(self, candidate: Candidate, outcome: ProgramOutcome) -> ProgramOutcome:
        """Return the outcome. A program with very many cells that exceeds the time limit is unsupported, not a hang."""
        step, limit = case_step(candidate.valid.case), self.limits.case_seconds
        slow = max(math.prod(step.output), math.prod(step.shape)) * MAX_SECONDS_PER_CELL > limit
        if outcome.kind == Outcome.TIMED_OUT and slow:
            return ProgramOutcome(Outcome.UNSUPPORTED, message=f"takes more than {limit:g} seconds")
        return outcome


def _make_job(run: Run, call: Call, *, fatal: bool) -> Job:
    """Return the job of a call. A failure that the ledger lists is expected even if `fatal` is false."""
    assert isinstance(call.task.program, Program)  # noqa: S101 - checks have no calls of unsupported tasks
    expected = fatal or not FATAL_OUTCOMES.isdisjoint(run.judge.expected_failures(call.task))
    return Job(call.task.program, tuple(call.inputs.values()), expected, part=None if fatal else call.part)
