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
from conformance.execution.cluster import Shard, Workers
from conformance.execution.expectation_cache import kept
from conformance.execution.results_file import forget
from conformance.execution.run import Progress, Run
from conformance.execution.selection import MOST, Part, Selection
from conformance.execution.targets import Chosen
from conformance.execution.worker_process import Limits
from conformance.judging.expected import Expected, expected
from conformance.system.atomic_write import put

EACH = 4
"""Shards for each worker, so that none waits long for the last."""
LEAST = 250
"""Results for which a shard is worth the start of a framework."""


@dataclass(frozen=True)
class Order:
    """What a worker is told of a run, or of its shard; the catalogue and the framework are its own.

    limits: seconds for a case and for a start; memory: bytes that a process may hold, None for half of the worker's
    machine; identity: what the run is where it was asked for, which it must be on the worker too.
    """

    chosen: Chosen
    selection: Selection
    paths: tuple[Path, ...] = ()
    limits: tuple[float, float] = (Limits.case, Limits.start)
    memory: int | None = None
    jobs: int = 1
    repeat: int = 1
    keep: bool = False
    identity: Mapping[str, Any] = field(default_factory=dict)

    def run(self, **further: Any) -> Run:
        """Return the run, as it is here. Raises ConformanceError if it is another than where it was asked for."""
        limits = Limits(*self.limits) if self.memory is None else Limits(*self.limits, self.memory)
        chosen, selection = self.chosen, self.selection
        cases = _loaded(self.paths, selection.level, selection.operators, selection.globs)
        further |= {
            "python": chosen.python or sys.executable,
            "limits": limits,
            "jobs": self.jobs,
            "repeat": self.repeat,
        }
        run = Run(chosen.backend, cases, chosen.known(), selection, **further)
        hold(run.identity, self.identity)
        return run

    def parts(self, of: int) -> dict[str, Order]:
        """Return the orders of so many shards, by the names of their files, each with what the run is here."""
        whole = replace(self, identity=shared(self.run().identity))
        parts = (Part(number, of) for number in range(1, of + 1))
        return {part.file: replace(whole, selection=replace(self.selection, part=part)) for part in parts}


@lru_cache(maxsize=2)
def _loaded(paths: tuple[Path, ...], level: str, operators: tuple[str, ...], globs: tuple[str, ...]) -> Catalogue:
    return loading.load(paths, level=level, operators=operators, globs=globs)


def shared(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all shards of a run say of it, with the version of the suite."""
    return {"suite": __version__} | {key: value for key, value in identity.items() if key != "shard"}


def hold(here: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Hold what a run or a shard says of itself against what was asked for. Raises ConformanceError."""
    known = shared(here)
    for key, value in asked.items():
        if known.get(key) != value:
            raise ConformanceError(f"{key} is not what it is where the run was started: {known.get(key)}, not {value}")


def carry_out(order: Order) -> bytes:
    """Run a shard here, and return its results file, compressed.

    Raises IncompleteRun if the framework cannot be started, ConformanceError if this is not what was asked for.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder, _asking(keep=order.keep) as expect:
        path = Path(folder) / "shard.jsonl"
        order.run(expect=expect, keep=order.keep).execute(path)
        return zlib.compress(path.read_bytes(), 1)


def _asking(*, keep: bool) -> AbstractContextManager[Callable[[Case], Expected]]:
    return kept() if keep else nullcontext(expected)


@dataclass
class Divided:
    """A run in shards, whose files are kept in a folder until all are there. of: how many; None for a fair number."""

    order: Order
    folder: Path
    of: int | None = None

    def execute(
        self,
        out: Path,
        workers: Workers,
        *,
        resume: bool = False,
        progress: Progress = lambda _done, _total, _result: None,
        tell: Callable[[str], None] = lambda _said: None,
    ) -> None:
        """Have the shards carried out, and write the results file. With resume those that are there stay.

        progress: told of each result as its shard comes. Raises what workers say, ConformanceError for a shard of
        another run, and IncompleteRun if nothing can run; the shards that are done then stay.
        """
        forget(out)
        if not self.total:
            raise IncompleteRun("no case is selected")
        orders = self.order.parts(self._number(workers, resume=resume))
        there = self._there(orders, resume=resume)
        tell(f"{len(there):,} of {len(orders):,} shards stand already")
        first, number = None, count(1)
        for file in chain(there, self._coming({file: orders[file] for file in orders if file not in there}, workers)):
            path = self.folder / file
            with path.open("rb") as stream:
                shard = merge.Shard(path, stream)
                first = first or shard
                merge.hold_alike(shard, first)
                for _, _, result in shard.results():
                    progress(next(number), self.total, result)
        merge.merge([self.folder / file for file in orders], out)

    @cached_property
    def total(self) -> int:
        """How many results the whole run has."""
        run = self.order.run()
        return sum(run.runs(case, surface) for case in run.cases for surface in run.surfaces)

    def _number(self, workers: Workers, *, resume: bool) -> int:
        """Return into how many shards the run is cut: as was asked, or as before if it is resumed, or what is fair."""
        found = [re.fullmatch(r"\d+-of-(\d+)\.jsonl", path.name) for path in self.folder.glob("*") if resume]
        earlier = {int(one[1]) for one in found if one}
        fair = min(EACH * max(workers.size, 1), self.total // LEAST, MOST)
        return self.of or (earlier.pop() if len(earlier) == 1 else max(fair, 1))

    def _there(self, orders: Mapping[str, Order], *, resume: bool) -> list[str]:
        """Return the files of shards that are there already, and forget all others. Raises ConformanceError."""
        for path in self.folder.glob("*.jsonl"):
            if not resume or path.name not in orders:
                forget(path)
        there = [file for file in orders if (self.folder / file).exists()]
        for file in there:
            path = self.folder / file
            with path.open("rb") as stream:
                header = merge.Shard(path, stream).header
            try:
                hold({**header, "suite": header["environment"]["suite"]["nn-conformance"]}, orders[file].identity)
            except ConformanceError as error:
                raise ConformanceError(f"{path}: cannot resume, {error}") from None
        return there

    def _coming(self, orders: Mapping[str, Order], workers: Workers) -> Iterator[str]:
        """Yield the file of each shard when it is there, whole."""
        name = self.order.chosen.name
        for shard, content in workers.submit(Shard(f"{name}/{file}", carry_out, (orders[file],)) for file in orders):
            file = shard.name.partition("/")[2]
            self.folder.mkdir(parents=True, exist_ok=True)
            put(self.folder / file, zlib.decompress(content))
            yield file
