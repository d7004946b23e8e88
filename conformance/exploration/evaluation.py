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
from conformance.cases.steps import first_step
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.value_range import extraordinary
from conformance.execution.pool import Crew
from conformance.execution.run import Ask, Run, Task
from conformance.execution.selection import Selection
from conformance.execution.worker_process import Job, Limits, Worker, WorkerFailed
from conformance.exploration.candidate import Recipe
from conformance.exploration.conventions import refusal
from conformance.exploration.space import bearable
from conformance.judging.expected import Expected, expected
from conformance.judging.ledger import Ledger
from conformance.judging.repeats import AGAIN
from conformance.judging.verdict import JUDGED, Outcome

NEW = frozenset({"fail", "crashed", "timed_out", "flaky"})
"""Statuses of differences that nobody knows of. What the ledger knows and what agrees in spite of it are counted."""

FLAKY = "flaky"
"""How it differs if its process ended, and did not when the same was tried once more."""
AT_ONCE = 100
"""Recipes whose inputs and expected outputs are in memory together."""
SLOW = 5e-3
"""Seconds that a program may take for a cell of the input or the output: frameworks that loop in Python do."""


@dataclass(frozen=True)
class Seen:
    """What one surface made of one case.

    status: as a run gives it; way: how it differs, crashes or hangs, in words that are alike where the cause may be,
    "" if it does not; how: the program's, "" without one; kind: of the outcome, with the verdict and its size roughly.
    """

    surface: str
    status: str
    way: str = ""
    how: str = ""
    kind: str = ""
    message: str = ""

    @property
    def new(self) -> bool:
        """Whether it differs in a way that nobody knows of."""
        return self.status in NEW


@dataclass(frozen=True)
class Tried:
    """A recipe and what the surfaces made of it; none if its numbers leave the ordinary."""

    recipe: Recipe
    seen: Sequence[Seen] = ()

    def on(self, surface: str) -> Seen | None:
        """Return what one surface made of it."""
        return next((one for one in self.seen if one.surface == surface), None)


T = TypeVar("T")


class Bench(Protocol):
    """Where pieces of work are done that each need a lab: the one that is here, or others elsewhere.

    backend: with the surfaces to try.
    """

    backend: Backend

    @property
    def size(self) -> int:
        """How many pieces are worked at side by side."""

    def each(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return what work(lab, *piece) returns for each piece, in order."""


class Lab:
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
        tell: Callable[[str], None] = lambda _said: None,
    ) -> None:
        quick = [one for one in backend.surfaces if not one.tag] or backend.surfaces
        chosen = [one for one in backend.surfaces if one.name in surfaces] if surfaces else quick
        self.backend = replace(backend, surfaces=tuple(replace(one, tag="") for one in chosen))
        self.python = python
        self.ledger = ledger.beyond()
        self.limits = limits or Limits()
        self.crew = Crew(Worker(self.backend, python, self.limits, tell=tell) for _ in range(jobs))

    def __enter__(self) -> Lab:
        with self._failing():
            self.crew.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.crew.kill()

    @property
    def identity(self) -> dict[str, Any]:
        """What it is, wherever it is set up."""
        names = [surface.name for surface in self.backend.surfaces]
        return {"ledger": self.ledger.digest, "own_ledger": self.ledger.own_digest, "surfaces": names}

    @property
    def size(self) -> int:
        """One piece of work at a time is done here, by all workers together."""
        return 1

    def each(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return what work(lab, *piece) returns for each piece, in order."""
        return [work(self, *piece) for piece in pieces]

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: {error}") from None

    def _run(self, recipes: Sequence[Recipe], surfaces: Sequence[str], expect: Ask) -> Run:
        """Return the run of some recipes, each the case of its own name, on the workers that are there."""
        cases = {recipe.case.id: recipe.case for recipe in recipes}
        catalogue, selection = Catalogue(tuple(cases.values())), Selection("exhaustive", tuple(surfaces))
        run = Run(self.backend, catalogue, self.ledger, selection, python=self.python, expect=expect)
        run.worker = self.crew
        return run

    def tried(self, recipes: Sequence[Recipe], surfaces: Sequence[str] = (), *, fatal: bool = False) -> list[Tried]:
        """Try recipes, on all surfaces or on some; in order.

        fatal: what is looked for ends its process, and is not tried again, see Job. Where the reference says nothing,
        programs are run all the same, and agree if they return whatever.
        """
        parts = (recipes[start : start + AT_ONCE] for start in range(0, len(recipes), AT_ONCE))
        return [one for part in parts for one in self._tried(part, surfaces, fatal=fatal)]

    def _tried(self, recipes: Sequence[Recipe], surfaces: Sequence[str], *, fatal: bool) -> list[Tried]:
        wanted = [_wanted(recipe, fatal=fatal) for recipe in recipes]
        known = {recipe.case.id: one for recipe, one in zip(recipes, wanted, strict=True) if one}
        run = self._run(recipes, surfaces, lambda case: known[case.id])
        tasks = [
            [self._task(run, recipe, surface) for surface in run.surfaces] if one else []
            for recipe, one in zip(recipes, wanted, strict=True)
        ]
        runnable = (task for some in tasks for task in some if isinstance(task.program, Program))
        with self._failing():
            jobs = map(run.job, runnable)
            outcomes = self.crew.outcomes(replace(job, fatal=True) if fatal else job for job in jobs)
            return [
                Tried(recipe, tuple(self._seen(run, task, outcomes) for task in some))
                for recipe, some in zip(recipes, tasks, strict=True)
            ]

    def _task(self, run: Run, recipe: Recipe, surface: Surface) -> Task:
        """Return a recipe on a surface; without a program where it is no contradiction to answer otherwise."""
        task = run.task(recipe.case, surface)
        here = surface.on(self.crew.environment["cpu"])
        why = refusal(recipe, here, task.program, lambda case: bool(run.entry(replace(task, case=case))))
        return replace(task, program=why) if why else task

    def _seen(self, run: Run, task: Task, outcomes: Iterator[Outcome]) -> Seen:
        if not isinstance(task.program, Program):
            return Seen(task.surface.name, "unsupported", kind=task.program.reason)
        outcome = next(outcomes)
        if outcome.kind == "timed_out" and not self.ended(task.case, outcome):
            return Seen(task.surface.name, "unsupported", kind=f"takes more than {self.limits.case:g} seconds")
        if outcome.kind in JUDGED and not run.expected(task.case).targets:
            status = "pass" if outcome.kind == "returned" else "unsupported"
            return Seen(task.surface.name, status, how=task.program.how, kind=outcome.kind)
        record, _ = run.judged(task, outcome)
        status = str(record["status"])
        way = way_of(record, outcome) if status in NEW | {"known"} else ""
        kind = " ".join(map(str, (record["outcome"], record["kind"], _roughly(record["budget_used"]))))
        return Seen(task.surface.name, status, way, task.program.how, f"{kind} {way}", str(record.get("message", "")))

    def ended(self, case: Case, outcome: Outcome) -> str:
        """Return in which way a program ended its process or hung, "" if it did not.

        With very many cells to go through, it need not hang to take longer than it may.
        """
        step = first_step(case)
        slow = max(math.prod(step.output), math.prod(step.shape)) * SLOW > self.limits.case
        feared = outcome.kind == "crashed" or (outcome.kind == "timed_out" and not slow)
        return way_of({"kind": None}, outcome) if feared else ""

    def programs(self, recipe: Recipe) -> dict[str, Program]:
        """Return what carries a recipe out on each surface of which the ledger knows nothing, by their names."""
        run = self._run([recipe], (), expected)
        tasks = [self._task(run, recipe, surface) for surface in run.surfaces]
        found = {task.surface.name: task.program for task in tasks if not run.entry(task)}
        return {name: program for name, program in found.items() if isinstance(program, Program)}

    def knows(self, case: Case, surface: str) -> bool:
        """Whether the ledger knows something of a case on a surface."""
        here = self.crew.environment
        return bool(self.ledger.entry(case, surface, here["packages"], here["cpu"], self.backend.device.name))

    def returned(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Run programs on inputs, and yield what came of them, in order, without any judgement."""
        with self._failing():
            yield from self.crew.outcomes(jobs)


def _wanted(recipe: Recipe, *, fatal: bool) -> Expected | None:
    """Return what must happen; None where numbers leave the ordinary, or where nothing can be said of them.

    fatal: return the inputs alone where numbers leave the ordinary, and where there are too many for the reference.
    """
    if fatal and not bearable(recipe):
        return Expected({name: spec.make() for name, spec in recipe.case.inputs.items()}, None)
    try:
        wanted = expected(recipe.case)
    except CatalogueError:
        return None
    if next(extraordinary(recipe.case, wanted), None):
        return Expected(wanted.inputs, None) if fatal else None
    return wanted


def way_of(record: dict[str, Any], outcome: Outcome) -> str:
    """Return how something differs: its kind, and for what was refused or ended a process, what was said of it."""
    if record.get("flaky"):
        return FLAKY
    if outcome.kind == "timed_out":
        return outcome.kind
    if outcome.kind == "crashed":  # the same whether or not it was tried twice
        return f"{outcome.kind}: {plainly(outcome.message.removesuffix(f'; {AGAIN}'))}"
    kind = str(record["kind"])
    return f"{kind}: {plainly(outcome.message)}" if kind == "rejected" else kind


def plainly(message: str) -> str:
    """Return what a message says without its numbers and names of things: alike for the same cause."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    words = re.sub(
        r"\x1b\[[0-9;]*m|['\"][^'\"]*['\"]|\{\{[^}]*\}\}|\[[^\]]*\]|\([^)]*\)|0x[0-9a-f]+|-?\d[\d.e+]*", "#", first
    )
    return re.sub(r"[#\s]*#[#\s]*", " # ", words).strip()[:80]


def _roughly(used: float | None) -> str:
    """Return how much of an error bound was used, to a power of ten."""
    if used is None or used == 0:
        return "" if used is None else "0"
    return f"{used:.0e}"[-4:] if used < float("inf") else "inf"
