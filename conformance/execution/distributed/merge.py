"""Merge the results files of the shards of a run into the results file of the undivided run."""

from __future__ import annotations

import heapq
import os
import resource
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from msgspec.structs import replace

from conformance import ConformanceError
from conformance.execution.results_file import RESUME_KEYS, ResultsFile, reading_results
from conformance.execution.selection import Shard
from reports.results import (
    AnyRecord,
    CaseRecord,
    Footer,
    Header,
    ProgramRecord,
    RecordChecks,
    ResultRecord,
    read_records,
)
from reports.results.files import open_regular

PlacedResult = tuple[tuple[int, int], list[AnyRecord], ResultRecord]
"""Position of a result in the undivided run, the declaring records before it, and the result."""
MAX_LISTED_SHARDS = 20
"""Maximum number of missing shards in an error message."""
RESERVED_FILE_DESCRIPTORS = 64
"""Number of open files that a process needs in addition to the shards."""


class ShardFile:
    """Results file of one shard, read once from start to end. Raises ConformanceError if it cannot be merged.

    seconds: run time of the shard, known after the last item of `results`.
    """

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self.path = path
        self.seconds = 0.0
        self._lines = read_records(path, stream, RecordChecks())
        with reading_results("merge"):
            header = next(self._lines).record
        assert isinstance(header, Header)  # noqa: S101 - read_records requires it
        if header.shard is None:
            raise ConformanceError(f"{path}: not a shard of a run (conformance run --shard K/N makes them)")
        self.header = header
        self.shard = Shard(header.shard.number, header.shard.of)

    def results(self) -> Iterator[PlacedResult]:
        """Yield each result with its position and the declaring records before it."""
        with reading_results("merge"):
            before: list[AnyRecord] = []
            last = (-1, -1)
            for line in self._lines:
                record = line.record
                if isinstance(record, Footer):
                    self.seconds = record.seconds
                    return
                if isinstance(record, ResultRecord):
                    last = self._result_position(record, last)
                    yield last, before, replace(record, place=None)
                    before = []
                    continue
                if isinstance(record, CaseRecord) and not self.shard.contains(record.case, record.question):
                    raise ConformanceError(f"{self.path}: the case {record.case} does not belong to shard {self.shard}")
                before.append(record)
        raise ConformanceError(
            f"{self.path}: shard {self.shard} is a partial run (conformance run --resume completes it)"
        )

    def _result_position(self, record: ResultRecord, last: tuple[int, int]) -> tuple[int, int]:
        """Return (rank in the execution order, task number), which must increase: heapq.merge needs sorted input."""
        if record.place is None or record.place <= last:
            problem = "has no place" if record.place is None else "is out of order; run this shard again"
            raise ConformanceError(f"{self.path}: the result for {record.case} {problem}")
        return record.place


def merge_shards(paths: Iterable[Path], out: Path) -> None:
    """Write the results file of the undivided run: the same records in the same order, except for times.

    The start time is the earliest of all shards, the run time is their sum. The file is written completely or not at
    all. Raises ConformanceError for missing, partial or duplicate shards, and for shards of different runs.
    """
    paths = list(paths)
    _raise_file_limit(len(paths) + RESERVED_FILE_DESCRIPTORS)
    # In the same folder, because a file can be replaced atomically only on one file system.
    partial = out.with_name(f".{out.name}.part")
    try:
        with ExitStack() as stack:
            shards = [ShardFile(path, stack.enter_context(open_regular(path))) for path in paths]
            ordered = _check_all_shards(sorted(shards, key=lambda shard: shard.shard.number))
            stack.callback(partial.unlink, missing_ok=True)  # missing after success, when it has replaced `out`
            with ResultsFile(partial) as file:
                _write_merged(ordered, file)
            partial.replace(out)
    except OSError as error:
        raise ConformanceError(f"{error.filename or out}: {error.strerror}") from None


def _check_all_shards(shards: Sequence[ShardFile]) -> Sequence[ShardFile]:
    """Check that each shard of one run is given exactly once. Raises ConformanceError."""
    if not shards:
        raise ConformanceError("no shards to merge")
    first = shards[0]
    by_number: dict[int, ShardFile] = {}
    for shard in shards:
        if shard.shard.of != first.shard.of:
            raise ConformanceError(f"{shard.path}: shard {shard.shard}, but {first.path} is shard {first.shard}")
        if shard.shard.number in by_number:
            raise ConformanceError(f"{shard.path}: shard {shard.shard} is also in {by_number[shard.shard.number].path}")
        by_number[shard.shard.number] = shard
        check_same_run(shard, first)
    missing = [number for number in range(1, first.shard.of + 1) if number not in by_number]
    if missing:
        listed = ", ".join(map(str, missing[:MAX_LISTED_SHARDS])) + (
            f" and {len(missing) - MAX_LISTED_SHARDS} more" if missing[MAX_LISTED_SHARDS:] else ""
        )
        raise ConformanceError(f"missing of {first.shard.of} shards: {listed}")
    return shards


def check_same_run(shard: ShardFile, first: ShardFile) -> None:
    """Check that the headers of two shards describe the same run. Raises ConformanceError."""
    ours, theirs = _shared_header(shard.header), _shared_header(first.header)
    for key in RESUME_KEYS:
        if getattr(ours, key) != getattr(theirs, key):
            raise ConformanceError(f"{shard.path}: not from the same run as {first.path}: {key} differs")


def _shared_header(header: Header) -> Header:
    """Return a header without what may differ between shards: the platform and the shard itself."""
    return replace(header, shard=None, environment=replace(header.environment, platform=""))


def _write_merged(shards: Sequence[ShardFile], file: ResultsFile) -> None:
    platforms = sorted({shard.header.environment.platform for shard in shards})
    first = shards[0].header
    environment = replace(first.environment, platform=", ".join(platforms))
    started = min(shard.header.started for shard in shards)
    file.open(replace(first, shard=None, environment=environment, started=started))
    # Every shard is in order, so that one result of each shard in memory is enough.
    for _, before, result in heapq.merge(*(shard.results() for shard in shards), key=lambda step: step[0]):
        for record in before:
            # Cases are in one shard each. A program may be in several, which all declare it.
            if not (isinstance(record, ProgramRecord) and record.program in file.contents.programs):
                file.write(record)
        file.write(result)
    file.finish(sum(shard.seconds for shard in shards))


def _raise_file_limit(files: int) -> None:
    """Raise the limit of open files of this process, at most to the hard limit."""
    # All shards are open at once. A common default is 1,024 files.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft not in {unlimited} and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files if hard == unlimited else min(files, hard), hard))


def shard_files(paths: Iterable[Path]) -> list[Path]:
    """Return the named files, and the *.jsonl files of named folders. Raises ConformanceError for an empty folder."""
    files: list[Path] = []
    for path in paths:
        in_path = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not in_path:
            raise ConformanceError(f"{path}{os.sep}: contains no shards")
        files += in_path
    return files
