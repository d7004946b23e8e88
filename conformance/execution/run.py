"""Run of one backend: translate the cases, execute the programs, judge the outcomes, write the results file.

A backend that crashes, hangs or exhausts memory costs the results of one case, never the run.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import cached_property, lru_cache, partial
from itertools import chain, tee
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from conformance import IncompleteRun
from conformance.adapters.api import Backend, Program, Surface, Unsupported
from conformance.cases.case import Case
from conformance.catalogue.loading import Catalogue
from conformance.execution.confirmation import Confirmer
from conformance.execution.job import Job, JobPart, WorkerFailed
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.options import DEFAULT_OPTIONS, RunOptions
from conformance.execution.pool import WorkerPool, mode_workers, worker_count
from conformance.execution.records import case_record_line, environment_record, program_record
from conformance.execution.results_file import ResultsFile, remove_results_file
from conformance.execution.routes.batches import batched_outcomes
from conformance.execution.routes.stages import StageRunner
from conformance.execution.task import FATAL_OUTCOMES, ComputeExpected, Task, TaskJudge, in_run_order, run_order
from conformance.execution.worker_process import Worker
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.ledger import Ledger
from conformance.judging.verdict import ProgramOutcome
from conformance.translation.lowering import translate
from conformance.translation.program_cache import ProgramCache
from conformance.translation.routes.batch import batch_part
from reports.results import (
    CatalogueIdentity,
    ConventionRecord,
    Header,
    Level,
    Outcome,
    ResultRecord,
    SelectionRecord,
    ShardRecord,
    Status,
)

MAX_EXPECTED_IN_MEMORY = 64
"""Number of expected results cached for the next surfaces, in addition to those of the queued programs."""
PRELOADED_TASKS = 16
"""Number of tasks whose expected results are computed while the first worker starts."""
MIN_TRANSLATION_SECONDS = 1.0
"""Time for translating tasks before the first program runs. The remaining tasks are translated while programs run."""
ResultCallback = Callable[[int, int, ResultRecord], None]
"""Called after each result with the number of results so far, the total number, and the record of the result."""


class Run:
    """Run of the selected cases of a catalogue on one backend, written to one results file.

    python: interpreter that has the framework installed; compute_expected: returns the expected result of a case;
    first_worker: a worker that has been launched already.
    """

    def __init__(
        self,
        backend: Backend,
        catalogue: Catalogue,
        ledger: Ledger,
        options: RunOptions = DEFAULT_OPTIONS,
        *,
        python: str,
        compute_expected: ComputeExpected = compute_expected,
        first_worker: Worker | None = None,
    ) -> None:
        self.backend = backend
        self.catalogue = catalogue
        self.ledger = ledger
        self.options = options
        self.selection = selection = options.selection
        self.repeat = options.repeat
        self.cases = catalogue.select(selection.level, selection.operators, selection.globs)
        self.surfaces = self._run_surfaces()
        self.missing_requirements = {
            s.name: reason for s in self.surfaces if s.missing_requirement and (reason := s.missing_requirement())
        }
        # With repeats, a crash in some of them is a flaky outcome. A retry would hide it.
        self.new_worker = partial(Worker, backend, python, options.limits, retry=self.repeat == 1)
        self.pool = WorkerPool([first_worker or self.new_worker()])
        self.confirmer = Confirmer(
            backend, lambda backend: LoneWorker(backend, python, options.limits), self.repeat, lambda: self.pool
        )
        self.stages = StageRunner(Worker(backend, python, options.limits, retry=False))
        self.expected = lru_cache(MAX_EXPECTED_IN_MEMORY)(compute_expected)
        # Many cases have equal programs. One object for each saves memory in large runs.
        self._unique_programs: dict[Program | Unsupported, Program | Unsupported] = {}
        self.program_cache = ProgramCache(backend, catalogue.digest) if options.use_caches else None
        self.translate = self.program_cache.translate if self.program_cache else translate

    @cached_property
    def judge(self) -> TaskJudge:
        """The judge of the outcomes. Requires a started worker, whose environment selects ledger entries."""
        environment, device = self.pool.environment, self.backend.device.name
        return TaskJudge(self.ledger, self.surfaces, environment, device, self.expected)

    def _run_surfaces(self) -> list[Surface]:
        """Return the selected surfaces; without a selection, those that run some case at this level.

        Explored cases are not in the catalogue. A run without cases has all surfaces.
        """
        names, surfaces = self.selection.surfaces, self.backend.surfaces
        if names:
            return [surface for surface in surfaces if surface.name in names]
        return [one for one in surfaces if not self.cases or any(self.is_run(case, one) for case in self.cases)]

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks of the shard, or of the whole run: each selected case on each surface, case by case."""
        return (self.make_task(*position) for position in self._positions())

    def _positions(self) -> Iterator[tuple[Case, Surface, int]]:
        """Yield case, surface and number of each task, without translating it."""
        shard = self.selection.shard
        return (
            (case, surface, case_number * len(self.surfaces) + surface_number)
            for case_number, case in enumerate(self.cases)
            if shard is None or shard.contains(case.id, case.convention_id)
            for surface_number, surface in enumerate(self.surfaces)
            if self.is_run(case, surface)
        )

    @cached_property
    def task_count(self) -> int:
        """The number of tasks."""
        return sum(1 for _ in self._positions())

    def is_run(self, case: Case, surface: Surface) -> bool:
        """Whether a selected case is run on a surface: slow surfaces skip most cases by default."""
        return surface.is_run(
            case.level, case.tags, self.selection.level, operator=case.operator, slow=self.selection.slow
        )

    def make_task(self, case: Case, surface: Surface, number: int = 0) -> Task:
        """Return the task of a case on a surface, translated unless the machine lacks a requirement of the surface."""
        reason = self.missing_requirements.get(surface.name)
        program = Unsupported(reason) if reason else self.translate(case, surface)
        return Task(case, surface, self._unique_programs.setdefault(program, program), number)

    def make_job(self, task: Task, part: JobPart | None = None) -> Job:
        """Return the job of a task that has a program. Requires a started worker. part: how it runs in a batch."""
        assert isinstance(task.program, Program)  # noqa: S101 - callers skip unsupported tasks
        failures = self.judge.expected_failures(task)
        fatal, hangs = not FATAL_OUTCOMES.isdisjoint(failures), Outcome.TIMED_OUT in failures
        # A program of a slow surface may compile for longer than the limit of a known hang.
        hangs = hangs and not task.surface.slow_tag
        return Job(task.program, tuple(self.expected(task.case).inputs.values()), fatal, hangs, part)

    def execute(
        self,
        path: Path,
        *,
        resume: bool = False,
        progress: ResultCallback = lambda _done, _total, _result: None,
        log: Callable[[str], None] = lambda _message: None,
        on_line: Callable[[int, bytes], None] = lambda _offset, _line: None,
    ) -> ResultsFile:
        """Run all tasks and write the results file. With resume, run only the tasks that it lacks.

        progress: called after each result; log: called with messages about started workers and resumed results;
        on_line: called with each written line, see ResultsFile.
        Raises IncompleteRun if the backend cannot be started or no task has a program.
        """
        start = time.monotonic()
        # Before the start, which may fail: the results of an earlier run must not remain as those of this one.
        if not resume:
            remove_results_file(path)
        with self._running_workers(), ResultsFile(path, on_line) as file:
            tasks = self._start_workers(log)
            # Opened after the start, because the header contains the versions that the worker reports.
            file.open(self._header(), resume=resume)
            if resume:
                log(f"{len(file.contents.results):,} of {self.task_count:,} results already present")
            if not file.complete:
                self._restore_answers(file)
                self._run_tasks(tasks, file, progress)
                file.finish(time.monotonic() - start)
        return file

    def _start_workers(self, log: Callable[[str], None]) -> Iterator[Task]:
        """Translate the first tasks and start the workers. Return all tasks. Raises IncompleteRun.

        The first worker imports the framework while the cases are translated.
        """
        (first,) = self.pool.workers
        first.log = log
        try:
            first.launch()
            tasks = self.tasks()
            translated = self._translate_until_started(tasks, first)
            programs = [task.program for task in translated if isinstance(task.program, Program)]
            # A shard without programs is complete; the other shards may have some.
            if not programs and self.selection.shard is None:
                raise IncompleteRun(f"backend {self.backend.name}: nothing to run, no selected case has a program")
            for task in translated[:PRELOADED_TASKS]:  # the first worker still imports the framework
                self.expected(task.case)
            slow = sum(bool(task.surface.slow_tag) for task in translated if isinstance(task.program, Program))
            # The other tasks are assumed to have programs as often as the first ones.
            fast, slow = (count * self.task_count // max(len(translated), 1) for count in (len(programs) - slow, slow))
            jobs = self.options.jobs or worker_count(fast, slow, os.cpu_count() or 1)
            modes = Counter(program.mode for program in programs)
            self.pool = WorkerPool(mode_workers(first, modes, jobs))
            self.pool.start()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: {error}") from None
        return chain(translated, tasks)

    @staticmethod
    def _translate_until_started(tasks: Iterator[Task], first: Worker) -> list[Task]:
        """Translate tasks until one has a program, the first worker has replied, and the minimum time has passed."""
        translated, has_program, start = [], False, time.monotonic()
        for task in tasks:
            translated.append(task)
            has_program = has_program or isinstance(task.program, Program)
            is_started = first.reply_arrived.is_set() and time.monotonic() - start > MIN_TRANSLATION_SECONDS
            if has_program and is_started:
                break
        return translated

    @contextmanager
    def _running_workers(self) -> Iterator[None]:
        """Stop the workers at the end of the run, or kill them on an exception. Save new programs in either case."""
        try:
            yield
            self.pool.stop()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: cannot restart its worker: {error}") from None
        finally:
            self.pool.kill()
            self.confirmer.kill()
            self.stages.kill()
            if self.program_cache:
                self.program_cache.save()

    def _restore_answers(self, file: ResultsFile) -> None:
        """Register the answers in a resumed file with the judge. Crashes are not answers."""
        for (surface, convention_id, answer), case in file.answers.items():
            self.judge.observed_answers.conflicting_answer(
                surface, convention_id, case, None if answer in FATAL_OUTCOMES else answer
            )

    def _run_tasks(self, tasks: Iterator[Task], file: ResultsFile, progress: ResultCallback) -> None:
        finished = file.contents.results
        remaining, unfinished = self.task_count, tasks
        if finished:
            keys = ((case.id, surface.name) for case, surface, _ in self._positions())
            remaining = sum(key not in finished for key in keys)
            unfinished = (task for task in tasks if (task.case.id, task.surface.name) not in finished)
        ordered = in_run_order(unfinished, self.judge.expected_failures)
        # The pool takes jobs ahead of the outcomes that it yields, so that workers run while results are judged.
        for_jobs, for_results = tee(ordered)
        queued: deque[Expected] = deque()
        outcomes = self._outcomes(self._make_jobs(for_jobs, queued))
        for number, task in enumerate(for_results, 1):
            if isinstance(task.program, Program):
                outcome = self.judge.combine_outcomes(task.case, [next(outcomes) for _ in range(self.repeat)])
                record = self._write_result(task, outcome, file, queued.popleft())
            else:
                outcome = ProgramOutcome(Outcome.UNSUPPORTED, message=task.program.reason)
                record = self._write_result(task, outcome, file)
            progress(number, remaining, record)

    def _outcomes(self, jobs: Iterator[Job]) -> Iterator[ProgramOutcome]:
        """Yield the outcome of each job, in order."""
        return batched_outcomes(self.pool.outcomes, jobs) if self.has_batches else self.pool.outcomes(jobs)

    @cached_property
    def has_batches(self) -> bool:
        """Whether programs run in batches. A repeated program would be the same one in each."""
        is_batched = any(surface.route and surface.route.batch for surface in self.surfaces)
        return self.options.batches and self.repeat == 1 and is_batched

    def _make_jobs(self, tasks: Iterable[Task], queued: deque[Expected]) -> Iterator[Job]:
        """Yield the jobs of the tasks that have a program. Append the expected result of each to `queued`.

        The expected result is stored until the outcome arrives, by when it may have left the small cache.
        """
        for task in tasks:
            if isinstance(task.program, Program):
                expected = self.expected(task.case)
                queued.append(expected)
                # With one digest, all repetitions run in one worker and share the compiled program.
                part = self.job_part(task, expected) if self.has_batches else None
                yield from [self.make_job(task, part)] * self.repeat

    def job_part(self, task: Task, expected: Expected) -> JobPart | None:
        """Return how a task runs in a batch, None if it runs alone, as one that is known not to pass does."""
        stages, program = task.surface.route, batch_part(task.case, task.surface)
        if stages is None or stages.batch is None or program is None or self.judge.is_known_to_differ(task):
            return None

        def passes(outcome: ProgramOutcome) -> bool:
            return self.judge.judge_task(task, outcome, expected, is_final=False)[0].status == Status.PASS

        kind = f"{task.case.operator} {task.case.dtype}"
        return JobPart(stages.batch, program, passes, kind, has_value=expected.target is not None)

    def _write_result(
        self, task: Task, outcome: ProgramOutcome, file: ResultsFile, expected: Expected | None = None
    ) -> ResultRecord:
        contents, program = file.contents, task.program
        # Cases and programs are written once, before the first result that refers to them.
        if task.case.id not in contents.cases:
            expected = expected or self.expected(task.case)
            file.write_case(task.case.id, expected.record_line or case_record_line(task.case, expected))
        if isinstance(program, Program) and program.digest not in contents.programs:
            file.write(program_record(program))
        _, result, convention = self.judge_confirmed(task, outcome, expected)
        if convention is not None and (task.case.id, task.surface.name) not in contents.conventions:
            file.write(convention)
        if self.selection.shard:
            # `merge` sorts the results of all shards by this position, into the order of the undivided run.
            place = run_order(self.judge.expected_failures(task)), task.number
            file.write(replace(result, place=place))
        else:
            file.write(result)
        return result

    def judge_confirmed(
        self, task: Task, outcome: ProgramOutcome, expected: Expected | None = None
    ) -> tuple[ProgramOutcome, ResultRecord, ConventionRecord | None]:
        """Return the outcome that counts and its records, after a run alone in a process if it is not as expected.

        expected: the expected result of the case, if it has been computed already. Raises WorkerFailed.
        """
        result, convention = self.judge.judge_task(task, outcome, expected, is_final=False)
        if self.confirmer.needs_confirmation(outcome, result):
            outcome = self.confirmer.confirmed(task, self.make_job(task), outcome, self.judge, expected)
            result, convention = self.judge.judge_task(task, outcome, expected, is_final=False)
        if task.surface.route:
            expected = expected or self.expected(task.case)
            part = self.stages.changed_by(task, outcome, self.judge, expected)
            result, convention = self.judge.judge_task(task, outcome, expected, is_final=False, changed_by=part)
        self.judge.record_answer(convention)
        return outcome, result, convention

    @property
    def header_identity(self) -> dict[str, Any]:
        """The fields of the results file's header that are known before a worker has started."""
        catalogue, selection = self.catalogue, self.selection
        return {
            "backend": self.backend.name,
            "catalogue": CatalogueIdentity(version=catalogue.version, digest=catalogue.digest, cases=len(self.cases)),
            "ledger": self.ledger.digest,
            "own_ledger": self.ledger.own_digest,
            "repeat": self.repeat,
            "level": Level(selection.level),
            "slow": selection.slow,
            "shard": ShardRecord(selection.shard.number, selection.shard.of) if selection.shard else None,
            "selection": SelectionRecord(
                surfaces=selection.surfaces, operators=selection.operators, cases=selection.globs
            ),
            "surfaces": tuple(surface.name for surface in self.surfaces),
        }

    def _header(self) -> Header:
        return Header(
            **self.header_identity,
            environment=environment_record(self.backend, self.surfaces, self.pool.environment),
            started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
