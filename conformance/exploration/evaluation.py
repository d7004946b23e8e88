"""The lab: recipes in, and for each of them what every surface of a backend made of it, judged as in any run."""

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
from conformance.execution.pool import WorkerPool
from conformance.execution.run import ComputeExpected, Run, Task
from conformance.execution.selection import Selection
from conformance.execution.worker_process import Job, Limits, Worker, WorkerFailed
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import unsupported_by_oracle
from conformance.exploration.space import is_affordable
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.ledger import Ledger
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from conformance.judging.verdict import JUDGED_OUTCOMES, ProgramOutcome

NEW_STATUSES = frozenset({"fail", "crashed", "timed_out", "flaky"})
"""Statuses of differences that nobody knows of. What the ledger knows and what agrees in spite of it are counted."""

FLAKY_SYMPTOM = "flaky"
"""How it differs if its process ended, and did not when the same was tried once more."""
EVALUATION_BATCH_SIZE = 100
"""Recipes whose inputs and expected outputs are in memory together."""
MAX_SECONDS_PER_CELL = 5e-3
"""Seconds that a program may take for a cell of the input or the output: frameworks that loop in Python do."""


@dataclass(frozen=True)
class SurfaceResult:
    """What one surface made of one case.

    status: as a run gives it; way: how it differs, crashes or hangs, in words that are alike where the cause may be,
    "" if it does not; how: the program's, "" without one; kind: of the outcome, with the verdict and its size roughly.
    """

    surface: str
    status: str
    symptom: str = ""
    how: str = ""
    kind: str = ""
    message: str = ""

    @property
    def is_new(self) -> bool:
        """Whether it differs in a way that nobody knows of."""
        return self.status in NEW_STATUSES


@dataclass(frozen=True)
class CandidateResult:
    """A recipe and what the surfaces made of it; none if its numbers leave the ordinary."""

    candidate: Candidate
    surface_results: Sequence[SurfaceResult] = ()

    def result_on(self, surface: str) -> SurfaceResult | None:
        """Return what one surface made of it."""
        return next((one for one in self.surface_results if one.surface == surface), None)


T = TypeVar("T")


class Evaluator(Protocol):
    """Where pieces of work are done that each need a lab: the one that is here, or others elsewhere.

    backend: with the surfaces to try.
    """

    backend: Backend

    @property
    def capacity(self) -> int:
        """How many pieces are worked at side by side."""

    def map(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return what work(lab, *piece) returns for each piece, in order."""


class LocalEvaluator:
    """A backend at work. Use it with `with`: its processes end with that.

    surfaces: those to try, all if none are named; slow ones only if they are, or if there are no others. jobs: workers
    side by side, on whose number no result depends.
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
        log: Callable[[str], None] = lambda _said: None,
    ) -> None:
        quick = [one for one in backend.surfaces if not one.slow_tag] or backend.surfaces
        chosen = [one for one in backend.surfaces if one.name in surfaces] if surfaces else quick
        self.backend = replace(backend, surfaces=tuple(replace(one, slow_tag="") for one in chosen))
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
        """What it is, wherever it is set up."""
        names = [surface.name for surface in self.backend.surfaces]
        return {"ledger": self.ledger.digest, "own_ledger": self.ledger.own_digest, "surfaces": names}

    @property
    def capacity(self) -> int:
        """One piece of work at a time is done here, by all workers together."""
        return 1

    def map(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return what work(lab, *piece) returns for each piece, in order."""
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
        """Return the run of some recipes, each the case of its own name, on the workers that are there."""
        cases = {recipe.case.id: recipe.case for recipe in candidates}
        catalogue, selection = Catalogue(tuple(cases.values())), Selection("exhaustive", tuple(surfaces))
        run = Run(
            self.backend, catalogue, self.ledger, selection, python=self.python, compute_expected=compute_expected
        )
        run.pool = self.pool
        return run

    def evaluate(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str] = (), *, fatal: bool = False
    ) -> list[CandidateResult]:
        """Try recipes, on all surfaces or on some; in order.

        fatal: what is looked for ends its process, and is not tried again, see Job. Where the reference says nothing,
        programs are run all the same, and agree if they return whatever.
        """
        parts = (
            candidates[start : start + EVALUATION_BATCH_SIZE]
            for start in range(0, len(candidates), EVALUATION_BATCH_SIZE)
        )
        return [one for part in parts for one in self._evaluate_batch(part, surfaces, fatal=fatal)]

    def _evaluate_batch(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str], *, fatal: bool
    ) -> list[CandidateResult]:
        wanted = [_expected_for(recipe, fatal=fatal) for recipe in candidates]
        known = {recipe.case.id: one for recipe, one in zip(candidates, wanted, strict=True) if one}
        run = self._make_run(candidates, surfaces, lambda case: known[case.id])
        tasks = [
            [self._make_task(run, recipe, surface) for surface in run.surfaces] if one else []
            for recipe, one in zip(candidates, wanted, strict=True)
        ]
        runnable = (task for some in tasks for task in some if isinstance(task.program, Program))
        with self._as_incomplete_run():
            jobs = map(run.make_job, runnable)
            outcomes = self.pool.outcomes(replace(job, expect_failure=True) if fatal else job for job in jobs)
            return [
                CandidateResult(recipe, tuple(self._surface_result(run, task, outcomes) for task in some))
                for recipe, some in zip(candidates, tasks, strict=True)
            ]

    def _make_task(self, run: Run, candidate: Candidate, surface: Surface) -> Task:
        """Return a recipe on a surface; without a program where it is no contradiction to answer otherwise."""
        task = run.make_task(candidate.case, surface)
        here = surface.for_processor(self.pool.environment["cpu"])
        why = unsupported_by_oracle(
            candidate, here, task.program, lambda case: bool(run.ledger_entry(replace(task, case=case)))
        )
        return replace(task, program=why) if why else task

    def _surface_result(self, run: Run, task: Task, outcomes: Iterator[ProgramOutcome]) -> SurfaceResult:
        if not isinstance(task.program, Program):
            return SurfaceResult(task.surface.name, "unsupported", kind=task.program.reason)
        outcome = next(outcomes)
        if outcome.kind == "timed_out" and not self.process_failure(task.case, outcome):
            return SurfaceResult(
                task.surface.name, "unsupported", kind=f"takes more than {self.limits.case_seconds:g} seconds"
            )
        if outcome.kind in JUDGED_OUTCOMES and not run.expected(task.case).targets:
            status = "pass" if outcome.kind == "returned" else "unsupported"
            return SurfaceResult(task.surface.name, status, how=task.program.how, kind=outcome.kind)
        record, _ = run.judge_task(task, outcome)
        status = str(record["status"])
        way = symptom_of(record, outcome) if status in NEW_STATUSES | {"known"} else ""
        kind = " ".join(map(str, (record["outcome"], record["kind"], _power_of_ten(record["budget_used"]))))
        return SurfaceResult(
            task.surface.name, status, way, task.program.how, f"{kind} {way}", str(record.get("message", ""))
        )

    def process_failure(self, case: Case, outcome: ProgramOutcome) -> str:
        """Return in which way a program ended its process or hung, "" if it did not.

        With very many cells to go through, it need not hang to take longer than it may.
        """
        step = case_step(case)
        slow = max(math.prod(step.output), math.prod(step.shape)) * MAX_SECONDS_PER_CELL > self.limits.case_seconds
        feared = outcome.kind == "crashed" or (outcome.kind == "timed_out" and not slow)
        return symptom_of({"kind": None}, outcome) if feared else ""

    def programs(self, candidate: Candidate) -> dict[str, Program]:
        """Return what carries a recipe out on each surface of which the ledger knows nothing, by their names."""
        run = self._make_run([candidate], (), compute_expected)
        tasks = [self._make_task(run, candidate, surface) for surface in run.surfaces]
        found = {task.surface.name: task.program for task in tasks if not run.ledger_entry(task)}
        return {name: program for name, program in found.items() if isinstance(program, Program)}

    def is_known(self, case: Case, surface: str) -> bool:
        """Whether the ledger knows something of a case on a surface."""
        here = self.pool.environment
        return bool(self.ledger.find_entry(case, surface, here["packages"], here["cpu"], self.backend.device.name))

    def run_jobs(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Run programs on inputs, and yield what came of them, in order, without any judgement."""
        with self._as_incomplete_run():
            yield from self.pool.outcomes(jobs)


def _expected_for(candidate: Candidate, *, fatal: bool) -> Expected | None:
    """Return what must happen; None where numbers leave the ordinary, or where nothing can be said of them.

    fatal: return the inputs alone where numbers leave the ordinary, and where there are too many for the reference.
    """
    if fatal and not is_affordable(candidate):
        return Expected({name: spec.make() for name, spec in candidate.case.inputs.items()}, None)
    try:
        wanted = compute_expected(candidate.case)
    except CatalogueError:
        return None
    if next(out_of_range(candidate.case, wanted), None):
        return Expected(wanted.inputs, None) if fatal else None
    return wanted


def symptom_of(record: dict[str, Any], outcome: ProgramOutcome) -> str:
    """Return how something differs: its kind, and for what was refused or ended a process, what was said of it."""
    if record.get("flaky"):
        return FLAKY_SYMPTOM
    if outcome.kind == "timed_out":
        return outcome.kind
    if outcome.kind == "crashed":  # the same whether or not it was tried twice
        return f"{outcome.kind}: {normalise_message(outcome.message.removesuffix(f'; {SAME_IN_NEW_PROCESS}'))}"
    kind = str(record["kind"])
    return f"{kind}: {normalise_message(outcome.message)}" if kind == "rejected" else kind


def normalise_message(message: str) -> str:
    """Return what a message says without its numbers and names of things: alike for the same cause."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    words = re.sub(
        r"\x1b\[[0-9;]*m|['\"][^'\"]*['\"]|\{\{[^}]*\}\}|\[[^\]]*\]|\([^)]*\)|0x[0-9a-f]+|-?\d[\d.e+]*", "#", first
    )
    return re.sub(r"[#\s]*#[#\s]*", " # ", words).strip()[:80]


def _power_of_ten(used: float | None) -> str:
    """Return how much of an error bound was used, to a power of ten."""
    if used is None or used == 0:
        return "" if used is None else "0"
    return f"{used:.0e}"[-4:] if used < float("inf") else "inf"
