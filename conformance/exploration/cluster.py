"""Exploration on a cluster: each piece of work runs on one worker, with its own evaluator and framework process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from conformance import ConformanceError
from conformance.execution.distributed.cluster import ClusterWorkers, WorkItem
from conformance.execution.distributed.shards import check_identity, shared_identity
from conformance.execution.job import Limits
from conformance.execution.targets import RunTarget
from conformance.exploration.evaluation import Evaluator, LocalEvaluator

T = TypeVar("T")


@dataclass(frozen=True)
class EvaluatorSpec:
    """Arguments of an evaluator that can be opened on any machine.

    target: the backend and its interpreter; "" means the interpreter of the current process.
    limit: time limit of one case in seconds.
    expected_identity: backend, versions and surfaces as seen by the client. The worker must have the same.
    """

    target: RunTarget
    surfaces: tuple[str, ...] = ()
    limit: float = Limits.case_seconds
    jobs: int = 1
    expected_identity: Mapping[str, Any] = field(default_factory=dict)

    def open_evaluator(self) -> LocalEvaluator:
        """Return an evaluator on this machine. Raises ConformanceError if its identity is not the expected one."""
        python, limits = self.target.python or sys.executable, Limits(case_seconds=self.limit)
        ledger, jobs = self.target.ledger(), self.jobs
        evaluator = LocalEvaluator(
            self.target.backend, python, ledger, surfaces=self.surfaces, limits=limits, jobs=jobs
        )
        check_identity(evaluator.identity, self.expected_identity)
        return evaluator


class ClusterEvaluator:
    """An evaluator that submits each piece of work to a cluster as one shard."""

    def __init__(self, spec: EvaluatorSpec, workers: ClusterWorkers) -> None:
        evaluator = spec.open_evaluator()
        self.backend = evaluator.backend
        self.spec = replace(spec, expected_identity=shared_identity(evaluator.identity))
        self.workers = workers
        self._environment: Mapping[str, Any] = {}

    @property
    def capacity(self) -> int:
        """Maximum number of shards that run at once."""
        return self.workers.size

    def map(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return work(evaluator, *piece) for each piece, in order.

        Raises the errors of workers, and ConformanceError if workers differ in versions or processors.
        """
        names = [f"{self.spec.target.name}/{work.__name__}/{number}" for number in range(len(pieces))]
        shards = [
            WorkItem(name, _run_work, (self.spec, work, piece)) for name, piece in zip(names, pieces, strict=True)
        ]
        results: dict[str, T] = {}
        for shard, (environment, result) in self.workers.submit(shards):
            self._check_environment(shard, environment)
            results[shard.name] = result
        return [results[name] for name in names]

    def _check_environment(self, shard: WorkItem, environment: Mapping[str, Any]) -> None:
        # The first worker that returns a result sets the environment for all others.
        self._environment = self._environment or environment
        for key, value in self._environment.items():
            if environment.get(key) != value:
                where = f"shard {shard.name}: the workers of one exploration must be equal, but {key}"
                raise ConformanceError(f"{where} is {environment.get(key)} on one worker and {value} on another")


def make_evaluator(spec: EvaluatorSpec, workers: ClusterWorkers | None) -> AbstractContextManager[Evaluator]:
    """Return a local evaluator, or one that uses the workers of a cluster."""
    return spec.open_evaluator() if workers is None else nullcontext(ClusterEvaluator(spec, workers))


def _run_work(spec: EvaluatorSpec, work: Callable[..., T], piece: tuple[Any, ...]) -> tuple[Mapping[str, Any], T]:
    """Run one piece of work on this worker. Raises IncompleteRun if the framework does not start."""
    with spec.open_evaluator() as evaluator:
        return evaluator.pool.environment, work(evaluator, *piece)
