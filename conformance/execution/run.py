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
from conformance.execution.pool import Crew, size
from conformance.execution.records import NO_BOUND, case_line, declared, environment_record, result_record
from conformance.execution.results_file import ResultsFile, forget
from conformance.execution.selection import SMOKE, Selection
from conformance.execution.task import FATAL, FLAKY, Task, peril
from conformance.execution.worker_process import Job, Limits, Worker, WorkerFailed
from conformance.judging.expected import Expected, expected
from conformance.judging.ledger import Entry, Ledger
from conformance.judging.repeats import settled
from conformance.judging.tolerance import held_to
from conformance.judging.verdict import JUDGED, Answered, Outcome, Verdict, answered, declared_verdict, judge
from conformance.translation.lowering import translate
from conformance.translation.program_cache import Written

__all__ = ["Ask", "Progress", "Run", "Task"]

AT_HAND = 64
"""Expectations that are kept for the next surface; those of programs that lie with workers are kept besides."""
FIRST = 16
"""Tasks whose expectations are looked up before the first worker is ready."""
Progress = Callable[[int, int, Mapping[str, Any]], None]
"""Told after each result: how many there are, of how many, and the record of this one."""
Ask = Callable[[Case], Expected]


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
        selection: Selection = SMOKE,
        *,
        python: str,
        limits: Limits | None = None,
        jobs: int | None = None,
        repeat: int = 1,
        expect: Ask = expected,
        keep: bool = False,
        begun: Worker | None = None,
    ) -> None:
        self.backend = backend
        self.catalogue = catalogue
        self.ledger = ledger
        self.selection = selection
        self.cases = catalogue.select(selection.level, selection.operators, selection.globs)
        self.surfaces = [s for s in backend.surfaces if not selection.surfaces or s.name in selection.surfaces]
        self.lacking = {s.name: why for s in self.surfaces if s.lacks and (why := s.lacks())}
        self.jobs = jobs
        self.repeat = repeat
        self.new_worker = partial(Worker, backend, python, limits, retry=repeat == 1)
        self.worker = Crew([begun or self.new_worker()])
        self.expected = lru_cache(AT_HAND)(expect)
        self.answers = Answered()
        self._there: dict[str, Surface] = {}
        self._programs: dict[Program | Unsupported, Program | Unsupported] = {}
        self.written = Written(backend, catalogue.digest) if keep else None
        self.translate = self.written.translate if self.written else translate

    def tasks(self) -> Iterator[Task]:
        """Yield every selected case of the shard on every surface that is run on such, case by case."""
        part = self.selection.part
        return (
            self.task(case, surface, number * len(self.surfaces) + place)
            for number, case in enumerate(self.cases)
            if part is None or part.holds(case.id, case.question)
            for place, surface in enumerate(self.surfaces)
            if self.runs(case, surface)
        )

    def runs(self, case: Case, surface: Surface) -> bool:
        """Whether a selected case is run on a surface."""
        return surface.runs(case.level, case.tags, self.selection.level, slow=self.selection.slow)

    def task(self, case: Case, surface: Surface, number: int = 0) -> Task:
        """Return a case on a surface, translated where the machine can run it."""
        why = self.lacking.get(surface.name)
        program = Unsupported(why) if why else self.translate(case, surface)
        return Task(case, surface, self._programs.setdefault(program, program), number)

    def job(self, task: Task) -> Job:
        """Return what a worker is told of a task that has a program; the worker's environment is known by then."""
        assert isinstance(task.program, Program)  # noqa: S101 - no other is put in
        fatal = not FATAL.isdisjoint(self._fears(task))
        return Job(task.program, tuple(self.expected(task.case).inputs.values()), fatal)

    def execute(
        self,
        path: Path,
        *,
        resume: bool = False,
        progress: Progress = lambda _done, _total, _result: None,
        tell: Callable[[str], None] = lambda _said: None,
        hear: Callable[[int, bytes], None] = lambda _place, _line: None,
    ) -> ResultsFile:
        """Run everything into the file. Raises IncompleteRun if the backend cannot be started or nothing could run.

        tell: told in a sentence of each worker that starts, and of what a file that is completed holds already;
        hear: told of every line of the file, see ResultsFile.
        """
        start = time.monotonic()
        if not resume:
            forget(path)
        with self._at_work(), ResultsFile(path, hear) as file:
            tasks = self._ready(tell)
            file.open(self._header(), resume=resume)
            if resume:
                tell(f"{len(file.done):,} of {len(tasks):,} results stand already")
            if not file.complete:
                self._remember(file)
                self._carry_out(tasks, file, progress)
                file.finish(time.monotonic() - start)
        return file

    def _ready(self, tell: Callable[[str], None]) -> list[Task]:
        """Start as many workers as the tasks are worth, and return these. Raises IncompleteRun."""
        (first,) = self.worker.workers
        first.tell = tell
        try:
            first.launch()
            tasks = list(self.tasks())
            if self.written:
                self.written.save()
            programs = sum(isinstance(task.program, Program) for task in tasks)
            if not programs and self.selection.part is None:
                raise IncompleteRun(f"backend {self.backend.name}: nothing to run, no selected case has a program")
            for task in tasks[:FIRST]:  # looked up while the framework is imported
                self.expected(task.case)
            jobs = self.jobs or size(programs, os.cpu_count() or 1)
            self.worker = Crew([first, *(self.new_worker(tell=tell) for _ in range(jobs - 1))])
            self.worker.start()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: {error}") from None
        return tasks

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """End the workers afterwards: gently, or at once if the run did not come to its end."""
        try:
            yield
            self.worker.stop()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.backend.name}: lost its worker for good: {error}") from None
        finally:
            self.worker.kill()

    def _remember(self, file: ResultsFile) -> None:
        """Note the answers in a file that is completed, as this run would have done; a crash is none."""
        for (surface, question, answer), case in file.answers.items():
            self.answers.other(surface, question, case, None if answer in FATAL else answer)

    def _carry_out(self, tasks: Sequence[Task], file: ResultsFile, progress: Progress) -> None:
        left = [task for task in tasks if (task.case.id, task.surface.name) not in file.done]
        left.sort(key=lambda task: peril(self._fears(task)))
        ahead: deque[Expected] = deque()
        outcomes = self.worker.outcomes(self._jobs(left, ahead))
        for number, task in enumerate(left, 1):
            if isinstance(task.program, Program):
                outcome = self.settle(task.case, [next(outcomes) for _ in range(self.repeat)])
                record = self._record(task, outcome, file, ahead.popleft())
            else:
                outcome = Outcome("unsupported", message=task.program.reason)
                record = self._record(task, outcome, file)
            progress(number, len(left), record)

    def _jobs(self, tasks: Iterable[Task], ahead: deque[Expected]) -> Iterator[Job]:
        """Yield the jobs of those tasks that have a program; ahead: gets what must happen in each."""
        for task in tasks:
            if isinstance(task.program, Program):
                ahead.append(self.expected(task.case))
                yield from [self.job(task)] * self.repeat

    def _fears(self, task: Task) -> frozenset[str]:
        """Return how a task is known to end its process, and whether its outcomes change."""
        entry = self.entry(task)
        declaration = self._here(task.surface).declares.get(task.case.question or "")
        known = {*(entry.kinds if entry else ()), *([declaration.answer] if declaration else ())}
        return (FATAL | {FLAKY}) & known

    def entry(self, task: Task) -> Entry | None:
        """Return what the ledger knows of a task; the worker's environment is known by then."""
        return self._ledger_here.entry(task.case, task.surface.name, *self._where)

    @property
    def _where(self) -> tuple[Mapping[str, str], Collection[str], str]:
        """Versions, features of the processor, device."""
        environment = self.worker.environment
        return environment["packages"], environment["cpu"], self.backend.device.name

    @cached_property
    def _ledger_here(self) -> Ledger:
        return self.ledger.here([surface.name for surface in self.surfaces], *self._where)

    def settle(self, case: Case, outcomes: Sequence[Outcome]) -> Outcome:
        """Return the one outcome of a case that was run so many times."""
        return settled(outcomes, lambda outcome: self._wrong(case, outcome))

    def _wrong(self, case: Case, outcome: Outcome) -> bool:
        target = self.expected(case).target
        return target is not None and judge(outcome, target).verdict != "agree"

    def _record(
        self, task: Task, outcome: Outcome, file: ResultsFile, wanted: Expected | None = None
    ) -> Mapping[str, Any]:
        if task.case.id not in file.cases:
            wanted = wanted or self.expected(task.case)
            file.write_case(task.case.id, wanted.line or case_line(task.case, wanted))
        program = task.program
        if isinstance(program, Program) and program.digest not in file.programs:
            record = {"surface": program.surface, "how": program.how, "text": program.text}
            file.write({"record": "program", "program": program.digest, **record})
        result, asked = self.judged(task, outcome, wanted)
        if asked is not None and (task.case.id, task.surface.name) not in file.conventions:
            file.write({"record": "convention", "case": task.case.id, "about": task.case.about, **asked})
        place = {"place": [peril(self._fears(task)), task.number]} if self.selection.part else {}
        file.write({"record": "result", **result, **place})
        return result

    def judged(
        self, task: Task, outcome: Outcome, wanted: Expected | None = None
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the record of a result, and that of an answer where the case puts a question.

        wanted: what must happen, where it is at hand.
        """
        verdict, asked = Verdict(None), None
        if outcome.kind in JUDGED or task.case.question is not None:
            wanted = wanted or self.expected(task.case)
            verdict, asked = self._judge(task, outcome, wanted)
        record = partial(result_record, task.case, task.surface, task.program, outcome)
        return record(verdict=verdict, wanted=wanted, entry=self.entry(task)), asked

    def _judge(self, task: Task, outcome: Outcome, wanted: Expected) -> tuple[Verdict, dict[str, Any] | None]:
        if wanted.target is not None:
            how = task.program.how if isinstance(task.program, Program) else "native"
            target = held_to(wanted.target, task.case, self._here(task.surface), how, wanted.inputs)
            verdict = judge(outcome, target or wanted.target)
            if target is None and (verdict.verdict == "agree" or verdict.kind == "value"):
                return Verdict(None, message=NO_BOUND), None
            return verdict, None
        question = task.case.question or task.case.id
        surface = self._here(task.surface)
        declaration = surface.declares.get(question)
        observed = answered(outcome, wanted)
        other = self.answers.other(task.surface.name, question, task.case.id, observed)
        verdict = Verdict(None) if observed is None else declared_verdict(observed, declaration, other)
        seen = observed or (outcome.kind if outcome.kind != "unsupported" else None)
        return verdict, {"question": question, **declared(surface, question), "observed": seen}

    def _here(self, surface: Surface) -> Surface:
        """Return the surface as it is on the worker's processor."""
        if surface.name not in self._there:
            self._there[surface.name] = surface.on(self.worker.environment["cpu"])
        return self._there[surface.name]

    @property
    def identity(self) -> dict[str, Any]:
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
            **self.identity,
            "environment": environment_record(self.backend, self.surfaces, self.worker.environment),
            "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
