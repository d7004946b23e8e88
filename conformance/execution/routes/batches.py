"""Run programs of routes in batches: with one exported model for several cases, in place of one for each.

Only a result with which its case passes counts. Every other case runs alone, and so does a case without which a batch
would not fail: a batch that fails is divided into two, until a part has one case.
The first case of each kind runs alone before the batches. If it is refused, the others of its kind run alone, too,
until one of them is not refused. A batch of refused cases runs with the evaluator of the route, which shows that the
runtime refuses them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from conformance.execution.job import Job
from conformance.judging.verdict import ProgramOutcome
from conformance.translation.routes.batch import batch_program
from reports.results.vocabulary import Outcome

MAX_WINDOW_JOBS, MAX_WINDOW_BYTES = 512, 64 << 20
"""Limits of the jobs that are divided into batches at a time: their number, and the size of their inputs."""

RunJobs = Callable[[Iterable[Job]], Iterator[ProgramOutcome]]
"""Yields the outcome of each job, in order."""


def batched_outcomes(run: RunJobs, jobs: Iterable[Job], history: KindHistory | None = None) -> Iterator[ProgramOutcome]:
    """Yield the outcome of each job, in order. Jobs with a part run in batches, the others alone.

    history: of earlier jobs of the same surfaces; those of this call are added to it.
    """
    remaining, history = iter(jobs), history or KindHistory()
    while window := _next_window(remaining):
        for job, outcome in zip(window, _window_outcomes(run, window, history), strict=True):
            history.add(job, outcome)
            yield outcome


class KindHistory:
    """Which kinds of cases have been refused by a surface, and which have not."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, str]] = set()
        self._returned: set[tuple[str, str]] = set()

    def add(self, job: Job, outcome: ProgramOutcome) -> None:
        """Record an outcome of a job that may run in a batch."""
        if kind := _kind(job):
            (self._refused if outcome.kind == Outcome.REJECTED else self._returned).add(kind)

    def is_known(self, job: Job) -> bool:
        """Whether a case of the kind of a job has run."""
        return _kind(job) in {None, *self._refused, *self._returned}

    def is_refused(self, job: Job) -> bool:
        """Whether all cases of the kind of a job have been refused."""
        return _kind(job) in self._refused - self._returned


def _kind(job: Job) -> tuple[str, str] | None:
    return (job.program.surface, job.part.kind) if job.part and job.part.kind else None


def _next_window(jobs: Iterator[Job]) -> list[Job]:
    """Return the next jobs, up to the limits."""
    window: list[Job] = []
    size = 0
    while len(window) < MAX_WINDOW_JOBS and size < MAX_WINDOW_BYTES and (job := next(jobs, None)):
        window.append(job)
        size += job.input_bytes
    return window


def _window_outcomes(run: RunJobs, window: Sequence[Job], history: KindHistory) -> Iterator[ProgramOutcome]:
    first = _first_of_kinds(window, history)
    outcomes = dict(zip(first, run(window[number] for number in first), strict=True))
    for number, outcome in outcomes.items():
        history.add(window[number], outcome)
    batches = _batches(window, history, outcomes)
    while batches:
        halves: list[list[int]] = []
        for numbers, outcome in zip(
            batches, run([_batch_job([window[n] for n in one]) for one in batches]), strict=True
        ):
            if _is_complete(outcome, len(numbers)):
                outcomes.update(_passed(window, numbers, outcome))
            else:
                halves += _halves(numbers)
        batches = halves
    alone = [number for number in range(len(window)) if number not in outcomes]
    yielded = 0
    for number, outcome in zip(alone, run(window[number] for number in alone), strict=True):
        outcomes[number] = outcome
        # The caller judges these outcomes while further jobs run.
        for ready in _ready(window, outcomes, yielded):
            yield ready
            yielded += 1
    for number in _evaluated(run, window, outcomes):
        outcomes[number] = replace(outcomes[number], evaluated=True)
    yield from (outcomes[number] for number in range(yielded, len(window)))


def _ready(window: Sequence[Job], outcomes: Mapping[int, ProgramOutcome], start: int) -> list[ProgramOutcome]:
    """Return the outcomes from a number to the first one that is missing or will be evaluated."""
    numbers = range(start, len(window))
    end = next((n for n in numbers if n not in outcomes or _evaluates(window[n], outcomes[n])), len(window))
    return [outcomes[number] for number in range(start, end)]


def _evaluates(job: Job, outcome: ProgramOutcome) -> bool:
    """Whether another implementation than the runtime runs the model of a refused job."""
    part = job.part
    return outcome.kind == Outcome.REJECTED and part is not None and part.has_value and bool(part.batch.evaluation)


def _evaluated(run: RunJobs, window: Sequence[Job], outcomes: Mapping[int, ProgramOutcome]) -> Iterator[int]:
    """Yield the numbers of refused jobs whose models another implementation than the runtime runs with right results.

    A batch has one kind. It is not divided if it fails, because the exporter then refuses most of the kind.
    """
    groups: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, job in enumerate(window):
        if job.part and _evaluates(job, outcomes[number]):
            groups[job.program.surface, job.program.mode, job.part.kind].append(number)
    batches = [one for numbers in groups.values() for one in _divided(numbers, _size_limit(window[numbers[0]]))]
    jobs = [_batch_job([window[n] for n in one], evaluates=True) for one in batches]
    for numbers, outcome in zip(batches, run(jobs), strict=True):
        if _is_complete(outcome, len(numbers)):
            yield from (number for number, _outcome in _passed(window, numbers, outcome))


def _first_of_kinds(window: Sequence[Job], history: KindHistory) -> list[int]:
    """Return the number of the first job of each kind that has not run yet."""
    first: dict[tuple[str, str] | None, int] = {}
    for number, job in enumerate(window):
        if not history.is_known(job):
            first.setdefault(_kind(job), number)
    return [*first.values()]


def _batches(window: Sequence[Job], history: KindHistory, finished: Collection[int]) -> list[list[int]]:
    """Return the numbers of the jobs of each batch. Its programs have one surface, one mode and one dtype.

    Refusals often depend on the dtype, so the other cases of a batch are rarely run again.
    """
    groups: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, job in enumerate(window):
        if job.part is not None and number not in finished and not history.is_refused(job):
            groups[job.program.surface, job.program.mode, job.inputs[0].dtype.str].append(number)
    return [batch for numbers in groups.values() for batch in _divided(numbers, _size_limit(window[numbers[0]]))]


def _size_limit(job: Job) -> int:
    assert job.part is not None  # noqa: S101 - callers skip jobs without a part
    return job.part.batch.max_programs


def _divided(numbers: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Yield lists of nearly equal length, up to the limit. A list of one number is left out: its job runs alone."""
    count = -(-len(numbers) // limit)
    parts = ([*numbers[len(numbers) * n // count : len(numbers) * (n + 1) // count]] for n in range(count))
    return (part for part in parts if len(part) > 1)


def _halves(numbers: Sequence[int]) -> list[list[int]]:
    return [*_divided(numbers, -(-len(numbers) // 2))]


def _batch_job(jobs: Sequence[Job], *, evaluates: bool = False) -> Job:
    """Return the job that runs several jobs as one program. It is not retried: its jobs are.

    evaluates: see batch_program.
    """
    parts = [(job.part, len(job.inputs)) for job in jobs if job.part is not None]
    (first, _), inputs = parts[0], [array for job in jobs for array in job.inputs]
    programs = [(part.program, count) for part, count in parts]
    program = batch_program(jobs[0].program.surface, first.batch, programs, evaluates=evaluates)
    return Job(program, inputs, is_batch=True)


def _is_complete(outcome: ProgramOutcome, count: int) -> bool:
    """Whether an outcome has one array for each part. A change of the state could be that of any of them."""
    return outcome.kind == Outcome.RETURNED and len(outcome.arrays) == count and not outcome.changed_state


def _passed(
    window: Sequence[Job], numbers: Sequence[int], outcome: ProgramOutcome
) -> Iterator[tuple[int, ProgramOutcome]]:
    """Yield the outcomes with which their cases pass. Each took an equal share of the time."""
    for number, array in zip(numbers, outcome.arrays, strict=True):
        one = replace(outcome, arrays=(array,), seconds=outcome.seconds / len(numbers), alone=False)
        part = window[number].part
        if part is not None and part.passes(one):
            yield number, one
