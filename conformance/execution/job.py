"""A job of a worker, the limits of a worker, and how a worker can fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from conformance.adapters.api import Program, RouteBatch
from conformance.cases.arrays import Array
from conformance.judging.verdict import ProgramOutcome


class WorkerFailed(Exception):
    """The worker process could not be started, or its setup failed."""


@dataclass(frozen=True)
class Limits:
    """Limits of a worker: seconds for one case, seconds to start, bytes of memory.

    memory_bytes: 0 for no limit, None for half of the memory of the machine that runs the worker.
    """

    case_seconds: float = 60.0
    start_seconds: float = 300.0
    memory_bytes: int | None = None


DEFAULT_LIMITS = Limits()
KNOWN_TIMEOUT_SECONDS = 10.0
"""Time limit of a program that is known to hang: a longer one would only repeat what is known."""


@dataclass(frozen=True)
class JobPart:
    """How a job runs in a batch: its program up to the export, and whether an outcome is the one that its case expects.

    batch: that of its surface. kind: operator and dtype of the case, on which refusals depend
    most; "" for a case of no kind. has_value: whether the case expects a value, and not an answer.
    """

    batch: RouteBatch
    program: Program
    passes: Callable[[ProgramOutcome], bool]
    kind: str = ""
    has_value: bool = False


@dataclass(frozen=True)
class Job:
    """A program to run on inputs.

    expect_failure: whether the program is known to crash or hang its process. It is not retried then.
    expect_timeout: whether it is known to hang. It has the time limit KNOWN_TIMEOUT_SECONDS then, if that is shorter.
    part: how it runs in a batch, None if it runs alone. is_batch: whether it is one itself. It is not retried then.
    """

    program: Program
    inputs: Sequence[Array]
    expect_failure: bool = False
    expect_timeout: bool = False
    part: JobPart | None = None
    is_batch: bool = False

    @cached_property
    def input_bytes(self) -> int:
        """Total size of the inputs in bytes."""
        return sum(array.nbytes for array in self.inputs)

    def seconds(self, limits: Limits) -> float:
        """Time limit of this job."""
        return min(limits.case_seconds, KNOWN_TIMEOUT_SECONDS) if self.expect_timeout else limits.case_seconds


@dataclass(frozen=True)
class WorkerLost:
    """A worker process that must not run another job, with the outcome of its current job.

    needs_retry: whether the job is run again in a new process, to find out whether the outcome is the same there.
    may_have_earlier_cause: whether an earlier job may be the cause. The outcome in a new
    process then counts as the first one of the job.
    """

    outcome: ProgramOutcome
    needs_retry: bool = True
    may_have_earlier_cause: bool = False
