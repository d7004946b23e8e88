"""The run: translate, execute, judge, write; a case costs what it costs, whatever the backend does with it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from conformance import IncompleteRun
from conformance.adapters.api.surface import Backend, Program, Surface, Unsupported
from conformance.cases.case import Case
from conformance.catalogue.loading import Catalogue
from conformance.execution.pool import WorkerPool, worker_count
from conformance.execution.records import (
    NO_BOUND_REASON,
    case_record_line,
    declaration_record,
    environment_record,
    result_record,
)
from conformance.execution.results_file import ResultsFile, remove_results_file
from conformance.execution.selection import DEFAULT_SELECTION, Selection
from conformance.execution.task import FATAL_OUTCOMES, FLAKY_KIND, Task, run_order
from conformance.execution.worker_process import Job, Limits, Worker, WorkerFailed
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.judging.repeats import combine_repeats
from conformance.judging.tolerance import target_for
from conformance.judging.verdict import (
    JUDGED_OUTCOMES,
    ObservedAnswers,
    OutcomeVerdict,
    ProgramOutcome,
    answer_name,
    judge_declaration,
    judge_outcome,
)
from conformance.translation.lowering import translate
from conformance.translation.program_cache import ProgramCache

__all__ = ["Run", "Task"]

MAX_EXPECTED_IN_MEMORY = 64
"""Expectations that are kept for the next surface; those of programs that lie with workers are kept besides."""
PRELOADED_TASKS = 16
"""Tasks whose expectations are looked up before the first worker is ready."""
ResultCallback = Callable[[int, int, Mapping[str, Any]], None]
"""Told after each result: how many there are, of how many, and the record of this one."""
ComputeExpected = Callable[[Case], Expected]


class Run:
    """One backend's run over the selected cases of a catalogue, into one results file.

    python: the interpreter that holds the framework; limits: what a worker may take; jobs: workers side by side, None
    for as many as the programs are worth on this machine's cores; repeat: how many times every case is run; expect:
    what to ask for expectations; keep: whether programs are kept on disk for the next run, and those of the last are;
    begun: the first worker, where it has been launched already.
    """

    def __init__(
        self,
        backend: Backend,
        catalogue: Catalogue,
        ledger: Ledger,
        selection: Selection = DEFAULT_SELECTION,
        *,
        python: str,
        limits: Limits | None = None,
        jobs: int | None = None,
        repeat: int = 1,
        compute_expected: ComputeExpected = compute_expected,
        cache_programs: bool = False,
        first_worker: Worker | None = None,
    ) -> None:
        self.backend = backend
        self.catalogue = catalogue
        self.ledger = ledger
        self.selection = selection
        self.cases = catalogue.select(selection.level, selection.operators, selection.globs)
        self.surfaces = [s for s in backend.surfaces if not selection.surfaces or s.name in selection.surfaces]
        self.missing_requirements = {
            s.name: why for s in self.surfaces if s.missing_requirement and (why := s.missing_requirement())
        }
        self.jobs = jobs
        self.repeat = repeat
        self.new_worker = partial(Worker, backend, python, limits, retry=repeat == 1)
        self.pool = WorkerPool([first_worker or self.new_worker()])
        self.expected = lru_cache(MAX_EXPECTED_IN_MEMORY)(compute_expected)
        self.observed_answers = ObservedAnswers()
        self._surfaces_on_machine: dict[str, Surface] = {}
        self._unique_programs: dict[Program | Unsupported, Program | Unsupported] = {}
        self.program_cache = ProgramCache(backend, catalogue.digest) if cache_programs else None
        self.translate = self.program_cache.translate if self.program_cache else translate

    def tasks(self) -> Iterator[Task]:
        """Yield every selected case of the shard on every surface that is run on such, case by case."""
        part = self.selection.shard
        return (
            self.make_task(case, surface, number * len(self.surfaces) + place)
            for number, case in enumerate(self.cases)
            if part is None or part.contains(case.id, case.convention_id)
            for place, surface in enumerate(self.surfaces)
            if self.is_run(case, surface)
        )

    def is_run(self, case: Case, surface: Surface) -> bool:
        """Whether a selected case is run on a surface."""
        return surface.is_run(case.level, case.tags, self.selection.level, slow=self.selection.slow)

    def make_task(self, case: Case, surface: Surface, number: int = 0) -> Task:
        """Return a case on a surface, translated where the machine can run it."""
        why = self.missing_requirements.get(surface.name)
        program = Unsupported(why) if why else self.translate(case, surface)
        return Task(case, surface, self._unique_programs.setdefault(program, program), number)

    def make_job(self, task: Task) -> Job:
        """Return what a worker is told of a task that has a program; the worker's environment is known by then."""
        assert isinstance(task.program, Program)  # noqa: S101 - no other is put in
        fatal = not FATAL_OUTCOMES.isdisjoint(self._expected_failures(task))
        return Job(task.program, tuple(self.expected(task.case).inputs.values()), fatal)

    def execute(
        self,
        path: Path,
        *,
        resume: bool = False,
        progress: ResultCallback = lambda _done, _total, _result: None,
        log: Callable[[str], None] = lambda _said: None,
        on_line: Callable[[int, bytes], None] = lambda _place, _line: None,
    ) -> ResultsFile:
        """Run everything into the file. Raises IncompleteRun if the backend cannot be started or nothing could run.

        tell: told in a sentence of each worker that starts, and of what a file that is completed holds already;
        hear: told of every line of the file, see ResultsFile.
        """
        start = time.monotonic()
        if not resume:
            remove_results_file(path)
        with self._running_workers(), ResultsFile(path, on_line) as file:
            tasks = self._start_workers(log)
            file.open(self._header(), resume=resume)
            if resume:
                log(f"{len(file.finished):,} of {len(tasks):,} results stand already")
            if not file.complete:
                self._restore_answers(file)
                self._run_tasks(tasks, file, progress)
                file.finish(time.monotonic() - start)
        return file

    def _start_workers(self, log: Callable[[str], None]) -> list[Task]:
        """Start as many workers as the tasks are worth, and return these. Raises IncompleteRun."""
        (first,) = self.pool.workers
        first.log = log
        try:
            first.launch()
            tasks = list(self.tasks())
            if self.program_cache:
                self.program_cache.save()
            programs = sum(isinstance(task.program, Program) for task in tasks)
            if not programs and self.selection.shard is None:
                raise IncompleteRun(f"backend {self.backend.name}: nothing to run, no selected case has a program")
            for task in tasks[:PRELOADED_TASKS]:  # looked up while the framework is imported
                self.expected(task.case)
            jobs = self.jobs or worker_count(programs, os.cpu_count() or 1)
            self.pool = WorkerPool([first, *(self.new_worker(log=log) for _ in range(jobs - 1))])
            self.pool.start()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: {error}") from None
        return tasks

    @contextmanager
    def _running_workers(self) -> Iterator[None]:
        """End the workers afterwards: gently, or at once if the run did not come to its end."""
        try:
            yield
            self.pool.stop()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: lost its worker for good: {error}") from None
        finally:
            self.pool.kill()

    def _restore_answers(self, file: ResultsFile) -> None:
        """Note the answers in a file that is completed, as this run would have done; a crash is none."""
        for (surface, question, answer), case in file.answers.items():
            self.observed_answers.conflicting_answer(
                surface, question, case, None if answer in FATAL_OUTCOMES else answer
            )

    def _run_tasks(self, tasks: Sequence[Task], file: ResultsFile, progress: ResultCallback) -> None:
        left = [task for task in tasks if (task.case.id, task.surface.name) not in file.finished]
        left.sort(key=lambda task: run_order(self._expected_failures(task)))
        ahead: deque[Expected] = deque()
        outcomes = self.pool.outcomes(self._make_jobs(left, ahead))
        for number, task in enumerate(left, 1):
            if isinstance(task.program, Program):
                outcome = self.combine_outcomes(task.case, [next(outcomes) for _ in range(self.repeat)])
                record = self._write_result(task, outcome, file, ahead.popleft())
            else:
                outcome = ProgramOutcome("unsupported", message=task.program.reason)
                record = self._write_result(task, outcome, file)
            progress(number, len(left), record)

    def _make_jobs(self, tasks: Iterable[Task], ahead: deque[Expected]) -> Iterator[Job]:
        """Yield the jobs of those tasks that have a program; ahead: gets what must happen in each."""
        for task in tasks:
            if isinstance(task.program, Program):
                ahead.append(self.expected(task.case))
                yield from [self.make_job(task)] * self.repeat

    def _expected_failures(self, task: Task) -> frozenset[str]:
        """Return how a task is known to end its process, and whether its outcomes change."""
        entry = self.ledger_entry(task)
        declaration = self._surface_on_machine(task.surface).declarations.get(task.case.convention_id or "")
        known = {*(entry.kinds if entry else ()), *([declaration.answer] if declaration else ())}
        return (FATAL_OUTCOMES | {FLAKY_KIND}) & known

    def ledger_entry(self, task: Task) -> LedgerEntry | None:
        """Return what the ledger knows of a task; the worker's environment is known by then."""
        return self._machine_ledger.find_entry(task.case, task.surface.name, *self._machine)

    @property
    def _machine(self) -> tuple[Mapping[str, str], Collection[str], str]:
        """Versions, features of the processor, device."""
        environment = self.pool.environment
        return environment["packages"], environment["cpu"], self.backend.device.name

    @cached_property
    def _machine_ledger(self) -> Ledger:
        return self.ledger.for_surfaces([surface.name for surface in self.surfaces], *self._machine)

    def combine_outcomes(self, case: Case, outcomes: Sequence[ProgramOutcome]) -> ProgramOutcome:
        """Return the one outcome of a case that was run so many times."""
        return combine_repeats(outcomes, lambda outcome: self._is_wrong(case, outcome))

    def _is_wrong(self, case: Case, outcome: ProgramOutcome) -> bool:
        target = self.expected(case).target
        return target is not None and judge_outcome(outcome, target).verdict != "agree"

    def _write_result(
        self, task: Task, outcome: ProgramOutcome, file: ResultsFile, expected: Expected | None = None
    ) -> Mapping[str, Any]:
        if task.case.id not in file.cases:
            expected = expected or self.expected(task.case)
            file.write_case(task.case.id, expected.record_line or case_record_line(task.case, expected))
        program = task.program
        if isinstance(program, Program) and program.digest not in file.programs:
            record = {"surface": program.surface, "how": program.how, "text": program.text}
            file.write({"record": "program", "program": program.digest, **record})
        result, asked = self.judge_task(task, outcome, expected)
        if asked is not None and (task.case.id, task.surface.name) not in file.conventions:
            file.write({"record": "convention", "case": task.case.id, "about": task.case.about, **asked})
        place = {"place": [run_order(self._expected_failures(task)), task.number]} if self.selection.shard else {}
        file.write({"record": "result", **result, **place})
        return result

    def judge_task(
        self, task: Task, outcome: ProgramOutcome, expected: Expected | None = None
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the record of a result, and that of an answer where the case puts a question.

        wanted: what must happen, where it is at hand.
        """
        verdict, asked = OutcomeVerdict(None), None
        if outcome.kind in JUDGED_OUTCOMES or task.case.convention_id is not None:
            expected = expected or self.expected(task.case)
            verdict, asked = self._judge_outcome(task, outcome, expected)
        record = partial(result_record, task.case, task.surface, task.program, outcome)
        return record(verdict=verdict, expected=expected, entry=self.ledger_entry(task)), asked

    def _judge_outcome(
        self, task: Task, outcome: ProgramOutcome, expected: Expected
    ) -> tuple[OutcomeVerdict, dict[str, Any] | None]:
        if expected.target is not None:
            how = task.program.how if isinstance(task.program, Program) else "native"
            target = target_for(
                expected.target, task.case, self._surface_on_machine(task.surface), how, expected.inputs
            )
            verdict = judge_outcome(outcome, target or expected.target)
            if target is None and (verdict.verdict == "agree" or verdict.kind == "value"):
                return OutcomeVerdict(None, message=NO_BOUND_REASON), None
            return verdict, None
        question = task.case.convention_id or task.case.id
        surface = self._surface_on_machine(task.surface)
        declaration = surface.declarations.get(question)
        observed = answer_name(outcome, expected)
        other = self.observed_answers.conflicting_answer(task.surface.name, question, task.case.id, observed)
        verdict = OutcomeVerdict(None) if observed is None else judge_declaration(observed, declaration, other)
        seen = observed or (outcome.kind if outcome.kind != "unsupported" else None)
        return verdict, {"question": question, **declaration_record(surface, question), "observed": seen}

    def _surface_on_machine(self, surface: Surface) -> Surface:
        """Return the surface as it is on the worker's processor."""
        if surface.name not in self._surfaces_on_machine:
            self._surfaces_on_machine[surface.name] = surface.for_processor(self.pool.environment["cpu"])
        return self._surfaces_on_machine[surface.name]

    @property
    def header_identity(self) -> dict[str, Any]:
        """What the header of the results file says of the run before anything has started."""
        catalogue = self.catalogue
        return {
            "backend": self.backend.name,
            "catalogue": {"version": catalogue.version, "digest": catalogue.digest, "cases": len(self.cases)},
            "ledger": self.ledger.digest,
            "own_ledger": self.ledger.own_digest,
            **({"repeat": self.repeat} if self.repeat > 1 else {}),
            **self.selection.header,
            "surfaces": [surface.name for surface in self.surfaces],
        }

    def _header(self) -> dict[str, Any]:
        return {
            **self.header_identity,
            "environment": environment_record(self.backend, self.surfaces, self.pool.environment),
            "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
