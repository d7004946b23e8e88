"""A lab that is spread over the workers of a cluster: each piece of work has one of its own, where its worker is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from conformance import ConformanceError
from conformance.execution.cluster import ClusterWorkers, WorkItem
from conformance.execution.shards import check_identity, shared_identity
from conformance.execution.targets import RunTarget
from conformance.execution.worker_process import Limits
from conformance.exploration.evaluation import Evaluator, LocalEvaluator

T = TypeVar("T")


@dataclass(frozen=True)
class EvaluatorSpec:
    """What a lab is made of, wherever it is set up.

    chosen: the backend, and its interpreter there, "" for the one that asks; limit: seconds for a case; identity: what
    it is where it was asked for, which it must be on the worker too.
    """

    target: RunTarget
    surfaces: tuple[str, ...] = ()
    limit: float = Limits.case_seconds
    jobs: int = 1
    expected_identity: Mapping[str, Any] = field(default_factory=dict)

    def open_evaluator(self) -> LocalEvaluator:
        """Return the lab, as it is here. Raises ConformanceError if it is another than where it was asked for."""
        python, limits = self.target.python or sys.executable, Limits(case_seconds=self.limit)
        known, jobs = self.target.ledger(), self.jobs
        lab = LocalEvaluator(self.target.backend, python, known, surfaces=self.surfaces, limits=limits, jobs=jobs)
        check_identity(lab.identity, self.expected_identity)
        return lab


class ClusterEvaluator:
    """A bench whose pieces of work are shards, each with a lab and so with a framework of its own on some worker."""

    def __init__(self, spec: EvaluatorSpec, workers: ClusterWorkers) -> None:
        lab = spec.open_evaluator()
        self.backend = lab.backend
        self.spec = replace(spec, expected_identity=shared_identity(lab.identity))
        self.workers = workers
        self._environment: Mapping[str, Any] = {}

    @property
    def capacity(self) -> int:
        """How many shards the workers carry out at once."""
        return self.workers.size

    def map(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return what work(lab, *piece) returns for each piece, in order.

        Raises what workers say, and ConformanceError if two of them have other versions or processors.
        """
        names = [f"{self.spec.target.name}/{work.__name__}/{number}" for number in range(len(pieces))]
        shards = [
            WorkItem(name, _run_work, (self.spec, work, piece)) for name, piece in zip(names, pieces, strict=True)
        ]
        found: dict[str, T] = {}
        for shard, (environment, answer) in self.workers.submit(shards):
            self._check_environment(shard, environment)
            found[shard.name] = answer
        return [found[name] for name in names]

    def _check_environment(self, shard: WorkItem, environment: Mapping[str, Any]) -> None:
        self._environment = self._environment or environment
        for key, value in self._environment.items():
            if environment.get(key) != value:
                where = f"shard {shard.name}: not of the same exploration, a worker's {key}"
                raise ConformanceError(f"{where} is {environment.get(key)}, another's {value}")


def make_evaluator(spec: EvaluatorSpec, workers: ClusterWorkers | None) -> AbstractContextManager[Evaluator]:
    """Return a lab here, or one that is spread over workers."""
    return spec.open_evaluator() if workers is None else nullcontext(ClusterEvaluator(spec, workers))


def _run_work(spec: EvaluatorSpec, work: Callable[..., T], piece: tuple[Any, ...]) -> tuple[Mapping[str, Any], T]:
    """Do a piece of work in a lab here. Raises IncompleteRun if the framework cannot be started."""
    with spec.open_evaluator() as lab:
        return lab.pool.environment, work(lab, *piece)
