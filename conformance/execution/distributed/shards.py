"""Run in shards on the workers of a cluster. The merged result is the results file of the undivided run."""

from __future__ import annotations

import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from conformance import ConformanceError, IncompleteRun, __version__
from conformance.catalogue import loading
from conformance.catalogue.loading import Catalogue
from conformance.execution.distributed import merge
from conformance.execution.distributed.cluster import ClusterWorkers, WorkItem
from conformance.execution.expectation_cache import expectation_source
from conformance.execution.options import RunOptions
from conformance.execution.results_file import remove_results_file
from conformance.execution.run import ResultCallback, Run
from conformance.execution.selection import MAX_SHARDS, Selection, Shard
from conformance.execution.targets import RunTarget
from conformance.judging.declaration_check import check_declarations
from conformance.system.atomic_write import write_atomically
from reports.results.files import open_regular

SHARDS_PER_WORKER = 4
"""Number of shards for each worker. Small shards end at about the same time, so that few workers are idle."""
MIN_RESULTS_PER_SHARD = 250
"""Minimum number of results of a shard. Each shard starts the framework again."""


def prepare_run(target: RunTarget, options: RunOptions, **further: Any) -> Run:
    """Return the run on this machine, with its catalogue and ledger. Raises CatalogueError.

    further: more keyword arguments of Run.
    """
    # Without the shard, so that a process which runs several shards reads the catalogue once.
    catalogue = _load_for_all_shards(options.paths, replace(options.selection, shard=None))
    check_declarations(target.backend, catalogue.cases, whole_catalogue=not options.paths)
    python = target.python or sys.executable
    return Run(target.backend, catalogue, target.ledger(), options, python=python, **further)


@lru_cache(maxsize=2)
def _load_for_all_shards(paths: tuple[Path, ...], selection: Selection) -> Catalogue:
    level, operators, globs = selection.level, selection.operators, selection.globs
    return loading.load_catalogue(paths, level=level, operators=operators, globs=globs)


def shared_identity(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run's identity that all its shards share, with the version of the suite."""
    return {"suite": __version__} | {key: value for key, value in identity.items() if key != "shard"}


def check_identity(identity: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Check the identity of a run or a shard against the expected one. Raises ConformanceError."""
    actual = shared_identity(identity)
    for key, value in expected.items():
        if actual.get(key) != value:
            raise ConformanceError(
                f"{key} differs from the machine that started the run: {actual.get(key)}, expected {value}"
            )


def run_shard(target: RunTarget, options: RunOptions, expected_identity: Mapping[str, Any]) -> bytes:
    """Run a shard in this process. Return its compressed results file.

    expected_identity: identity of the run on the machine that started it. Raises IncompleteRun if the framework cannot
    be started, ConformanceError if the identity of the run differs here.
    """
    with (
        tempfile.TemporaryDirectory(prefix="conformance-") as folder,
        expectation_source(use_caches=options.use_caches) as expected,
    ):
        path = Path(folder) / "shard.jsonl"
        run = prepare_run(target, options, compute_expected=expected)
        # Before the run: a worker with another version of the suite would produce results that cannot be merged.
        check_identity(run.header_identity, expected_identity)
        run.execute(path)
        # Level 1: a results file becomes 7 times smaller. The default, level 6, takes 3 to 4 times as long.
        return zlib.compress(path.read_bytes(), 1)


@dataclass
class ShardedRun:
    """Run in shards, whose results files are collected in a folder.

    shard_count: number of shards, None for a number that suits the workers and the results.
    """

    target: RunTarget
    options: RunOptions
    folder: Path
    shard_count: int | None = None

    def execute(
        self,
        out: Path,
        workers: ClusterWorkers,
        *,
        progress: ResultCallback = lambda _done, _total, _result: None,
        log: Callable[[str], None] = lambda _message: None,
    ) -> None:
        """Run the shards on the workers, and merge them into the results file. To resume, skip finished shards.

        progress: called for each result when its shard has arrived. Raises the exceptions of workers, ConformanceError
        for a shard of another run, and IncompleteRun if no case is selected. Finished shards remain in the folder.
        """
        remove_results_file(out)
        if not self.result_count:
            raise IncompleteRun("no case is selected")
        shards = self._shard_options(self._count_shards(workers))
        finished = self._finished_shards(shards)
        log(f"{len(finished):,} of {len(shards):,} shards already present")
        first, number = None, count(1)
        missing = {file: shards[file] for file in shards if file not in finished}
        for file in chain(finished, self._receive_shards(missing, workers)):
            path = self.folder / file
            # Each shard is read back from its file, so that the memory does not grow with the number of shards.
            with open_regular(path) as stream:
                shard = merge.ShardFile(path, stream)
                first = first or shard
                merge.check_same_run(shard, first)  # at once, not after all shards have run
                for _, _, result in shard.results():
                    progress(next(number), self.result_count, result)
        merge.merge_shards([self.folder / file for file in shards], out)

    @cached_property
    def _run(self) -> Run:
        """The undivided run, which is not executed."""
        return prepare_run(self.target, self.options)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Identity of the run on this machine, which must be the same on the workers."""
        return shared_identity(self._run.header_identity)

    @cached_property
    def result_count(self) -> int:
        """Number of results of the whole run."""
        return sum(self._run.is_run(case, surface) for case in self._run.cases for surface in self._run.surfaces)

    def _shard_options(self, count: int) -> dict[str, RunOptions]:
        """Return the options of `count` shards by file name."""
        shards = (Shard(number, count) for number in range(1, count + 1))
        selection = self.options.selection
        return {s.file_name: replace(self.options, selection=replace(selection, shard=s)) for s in shards}

    def _count_shards(self, workers: ClusterWorkers) -> int:
        """Return the number of shards: the requested one, that of the resumed run, or a default."""
        matches = [re.fullmatch(r"\d+-of-(\d+)\.jsonl", path.name) for path in self.folder.glob("*")]
        # A resumed run needs the same number of shards, because a case moves when the number changes.
        earlier = {int(match[1]) for match in matches if match and self.options.resume}
        default = min(SHARDS_PER_WORKER * max(workers.size, 1), self.result_count // MIN_RESULTS_PER_SHARD, MAX_SHARDS)
        return self.shard_count or (earlier.pop() if len(earlier) == 1 else max(default, 1))

    def _finished_shards(self, shards: Mapping[str, RunOptions]) -> list[str]:
        """Return the files of finished shards, and delete all others. Raises ConformanceError for another run's."""
        for path in self.folder.glob("*.jsonl"):
            if not self.options.resume or path.name not in shards:
                remove_results_file(path)
        finished = [file for file in shards if (self.folder / file).exists()]
        for file in finished:
            path = self.folder / file
            with open_regular(path) as stream:
                header = merge.ShardFile(path, stream).header
            try:
                check_identity(
                    {**asdict(header), "suite": header.environment.suite.get("nn-conformance")},
                    self.identity,
                )
            except ConformanceError as error:
                raise ConformanceError(f"{path}: cannot resume, {error}") from None
        return finished

    def _receive_shards(self, shards: Mapping[str, RunOptions], workers: ClusterWorkers) -> Iterator[str]:
        """Yield the file name of each shard after its file has been written."""
        items = (
            WorkItem(f"{self.target.name}/{file}", run_shard, (self.target, options, self.identity))
            for file, options in shards.items()
        )
        for shard, content in workers.submit(items):
            file = shard.name.partition("/")[2]
            self.folder.mkdir(parents=True, exist_ok=True)
            # Atomically: `--resume` takes each file in the folder for a finished shard.
            write_atomically(self.folder / file, zlib.decompress(content))
            yield file
