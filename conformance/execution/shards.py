"""A run that is cut into shards, which others carry out; what comes of it is the results file of the undivided run."""

from __future__ import annotations

import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from conformance import ConformanceError, IncompleteRun, __version__
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.catalogue.loading import Catalogue
from conformance.execution import merge
from conformance.execution.cluster import ClusterWorkers, WorkItem
from conformance.execution.expectation_cache import open_expectation_cache
from conformance.execution.results_file import remove_results_file
from conformance.execution.run import ResultCallback, Run
from conformance.execution.selection import MAX_SHARDS, Selection, Shard
from conformance.execution.targets import RunTarget
from conformance.execution.worker_process import Limits
from conformance.judging.expected import Expected, compute_expected
from conformance.system.atomic_write import write_atomically

SHARDS_PER_WORKER = 4
"""Shards for each worker, so that none waits long for the last."""
MIN_RESULTS_PER_SHARD = 250
"""Results for which a shard is worth the start of a framework."""


@dataclass(frozen=True)
class RunOrder:
    """What a worker is told of a run, or of its shard; the catalogue and the framework are its own.

    limits: seconds for a case and for a start; memory: bytes that a process may hold, None for half of the worker's
    machine; identity: what the run is where it was asked for, which it must be on the worker too.
    """

    target: RunTarget
    selection: Selection
    paths: tuple[Path, ...] = ()
    limits: tuple[float, float] = (Limits.case_seconds, Limits.start_seconds)
    memory: int | None = None
    jobs: int = 1
    repeat: int = 1
    use_caches: bool = False
    expected_identity: Mapping[str, Any] = field(default_factory=dict)

    def run(self, **further: Any) -> Run:
        """Return the run, as it is here. Raises ConformanceError if it is another than where it was asked for."""
        limits = Limits(*self.limits) if self.memory is None else Limits(*self.limits, self.memory)
        chosen, selection = self.target, self.selection
        cases = _load_catalogue(self.paths, selection.level, selection.operators, selection.globs)
        further |= {
            "python": chosen.python or sys.executable,
            "limits": limits,
            "jobs": self.jobs,
            "repeat": self.repeat,
        }
        run = Run(chosen.backend, cases, chosen.ledger(), selection, **further)
        check_identity(run.header_identity, self.expected_identity)
        return run

    def shard_orders(self, count: int) -> dict[str, RunOrder]:
        """Return the orders of so many shards, by the names of their files, each with what the run is here."""
        whole = replace(self, expected_identity=shared_identity(self.run().header_identity))
        parts = (Shard(number, count) for number in range(1, count + 1))
        return {part.file_name: replace(whole, selection=replace(self.selection, shard=part)) for part in parts}


@lru_cache(maxsize=2)
def _load_catalogue(
    paths: tuple[Path, ...], level: str, operators: tuple[str, ...], globs: tuple[str, ...]
) -> Catalogue:
    return loading.load_catalogue(paths, level=level, operators=operators, globs=globs)


def shared_identity(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all shards of a run say of it, with the version of the suite."""
    return {"suite": __version__} | {key: value for key, value in identity.items() if key != "shard"}


def check_identity(here: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Hold what a run or a shard says of itself against what was asked for. Raises ConformanceError."""
    known = shared_identity(here)
    for key, value in expected.items():
        if known.get(key) != value:
            raise ConformanceError(f"{key} is not what it is where the run was started: {known.get(key)}, not {value}")


def run_shard(order: RunOrder) -> bytes:
    """Run a shard here, and return its results file, compressed.

    Raises IncompleteRun if the framework cannot be started, ConformanceError if this is not what was asked for.
    """
    with (
        tempfile.TemporaryDirectory(prefix="conformance-") as folder,
        _expectation_source(use_caches=order.use_caches) as expect,
    ):
        path = Path(folder) / "shard.jsonl"
        order.run(compute_expected=expect, cache_programs=order.use_caches).execute(path)
        return zlib.compress(path.read_bytes(), 1)


def _expectation_source(*, use_caches: bool) -> AbstractContextManager[Callable[[Case], Expected]]:
    return open_expectation_cache() if use_caches else nullcontext(compute_expected)


@dataclass
class ShardedRun:
    """A run in shards, whose files are kept in a folder until all are there. of: how many; None for a fair number."""

    order: RunOrder
    folder: Path
    shard_count: int | None = None

    def execute(
        self,
        out: Path,
        workers: ClusterWorkers,
        *,
        resume: bool = False,
        progress: ResultCallback = lambda _done, _total, _result: None,
        log: Callable[[str], None] = lambda _said: None,
    ) -> None:
        """Have the shards carried out, and write the results file. With resume those that are there stay.

        progress: told of each result as its shard comes. Raises what workers say, ConformanceError for a shard of
        another run, and IncompleteRun if nothing can run; the shards that are done then stay.
        """
        remove_results_file(out)
        if not self.result_count:
            raise IncompleteRun("no case is selected")
        orders = self.order.shard_orders(self._count_shards(workers, resume=resume))
        there = self._finished_shards(orders, resume=resume)
        log(f"{len(there):,} of {len(orders):,} shards stand already")
        first, number = None, count(1)
        for file in chain(
            there, self._receive_shards({file: orders[file] for file in orders if file not in there}, workers)
        ):
            path = self.folder / file
            with path.open("rb") as stream:
                shard = merge.ShardFile(path, stream)
                first = first or shard
                merge.check_same_run(shard, first)
                for _, _, result in shard.results():
                    progress(next(number), self.result_count, result)
        merge.merge_shards([self.folder / file for file in orders], out)

    @cached_property
    def result_count(self) -> int:
        """How many results the whole run has."""
        run = self.order.run()
        return sum(run.is_run(case, surface) for case in run.cases for surface in run.surfaces)

    def _count_shards(self, workers: ClusterWorkers, *, resume: bool) -> int:
        """Return into how many shards the run is cut: as was asked, or as before if it is resumed, or what is fair."""
        found = [re.fullmatch(r"\d+-of-(\d+)\.jsonl", path.name) for path in self.folder.glob("*") if resume]
        earlier = {int(one[1]) for one in found if one}
        fair = min(SHARDS_PER_WORKER * max(workers.size, 1), self.result_count // MIN_RESULTS_PER_SHARD, MAX_SHARDS)
        return self.shard_count or (earlier.pop() if len(earlier) == 1 else max(fair, 1))

    def _finished_shards(self, orders: Mapping[str, RunOrder], *, resume: bool) -> list[str]:
        """Return the files of shards that are there already, and forget all others. Raises ConformanceError."""
        for path in self.folder.glob("*.jsonl"):
            if not resume or path.name not in orders:
                remove_results_file(path)
        there = [file for file in orders if (self.folder / file).exists()]
        for file in there:
            path = self.folder / file
            with path.open("rb") as stream:
                header = merge.ShardFile(path, stream).header
            try:
                check_identity(
                    {**header, "suite": header["environment"]["suite"]["nn-conformance"]},
                    orders[file].expected_identity,
                )
            except ConformanceError as error:
                raise ConformanceError(f"{path}: cannot resume, {error}") from None
        return there

    def _receive_shards(self, orders: Mapping[str, RunOrder], workers: ClusterWorkers) -> Iterator[str]:
        """Yield the file of each shard when it is there, whole."""
        name = self.order.target.name
        for shard, content in workers.submit(WorkItem(f"{name}/{file}", run_shard, (orders[file],)) for file in orders):
            file = shard.name.partition("/")[2]
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / file, zlib.decompress(content))
            yield file
