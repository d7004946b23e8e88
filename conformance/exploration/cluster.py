"""A lab that is spread over the workers of a cluster: each piece of work has one of its own, where its worker is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from conformance import ConformanceError
from conformance.execution.cluster import Shard, Workers
from conformance.execution.shards import hold, shared
from conformance.execution.targets import Chosen
from conformance.execution.worker_process import Limits
from conformance.exploration.evaluation import Bench, Lab

T = TypeVar("T")


@dataclass(frozen=True)
class Site:
    """What a lab is made of, wherever it is set up.

    chosen: the backend, and its interpreter there, "" for the one that asks; limit: seconds for a case; identity: what
    it is where it was asked for, which it must be on the worker too.
    """

    chosen: Chosen
    surfaces: tuple[str, ...] = ()
    limit: float = Limits.case
    jobs: int = 1
    identity: Mapping[str, Any] = field(default_factory=dict)

    def lab(self) -> Lab:
        """Return the lab, as it is here. Raises ConformanceError if it is another than where it was asked for."""
        python, limits = self.chosen.python or sys.executable, Limits(case=self.limit)
        known, jobs = self.chosen.known(), self.jobs
        lab = Lab(self.chosen.backend, python, known, surfaces=self.surfaces, limits=limits, jobs=jobs)
        hold(lab.identity, self.identity)
        return lab


class Spread:
    """A bench whose pieces of work are shards, each with a lab and so with a framework of its own on some worker."""

    def __init__(self, site: Site, workers: Workers) -> None:
        lab = site.lab()
        self.backend = lab.backend
        self.site = replace(site, identity=shared(lab.identity))
        self.workers = workers
        self._environment: Mapping[str, Any] = {}

    @property
    def size(self) -> int:
        """How many shards the workers carry out at once."""
        return self.workers.size

    def each(self, work: Callable[..., T], pieces: Sequence[tuple[Any, ...]]) -> list[T]:
        """Return what work(lab, *piece) returns for each piece, in order.

        Raises what workers say, and ConformanceError if two of them have other versions or processors.
        """
        names = [f"{self.site.chosen.name}/{work.__name__}/{number}" for number in range(len(pieces))]
        shards = [Shard(name, _worked, (self.site, work, piece)) for name, piece in zip(names, pieces, strict=True)]
        found: dict[str, T] = {}
        for shard, (environment, answer) in self.workers.submit(shards):
            self._hold(shard, environment)
            found[shard.name] = answer
        return [found[name] for name in names]

    def _hold(self, shard: Shard, environment: Mapping[str, Any]) -> None:
        self._environment = self._environment or environment
        for key, value in self._environment.items():
            if environment.get(key) != value:
                where = f"shard {shard.name}: not of the same exploration, a worker's {key}"
                raise ConformanceError(f"{where} is {environment.get(key)}, another's {value}")


def bench(site: Site, workers: Workers | None) -> AbstractContextManager[Bench]:
    """Return a lab here, or one that is spread over workers."""
    return site.lab() if workers is None else nullcontext(Spread(site, workers))


def _worked(site: Site, work: Callable[..., T], piece: tuple[Any, ...]) -> tuple[Mapping[str, Any], T]:
    """Do a piece of work in a lab here. Raises IncompleteRun if the framework cannot be started."""
    with site.lab() as lab:
        return lab.crew.environment, work(lab, *piece)
