"""Merge the results files of the shards of a run into the results file of the undivided run."""

from __future__ import annotations

import heapq
import os
import resource
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from conformance import ConformanceError
from conformance.execution.results_file import RESUME_KEYS, ResultsFile
from conformance.execution.selection import Shard

JsonObject = dict[str, Any]
PlacedResult = tuple[tuple[int, int], list[JsonObject], JsonObject]
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
        lines = (line.removesuffix(b"\n") for line in stream)
        self._file = ResultsFile(path)
        self._records = self._file.records(lines, "merge")
        self.header = next(self._records, {})
        if "shard" not in self.header:
            raise ConformanceError(f"{path}: not a shard of a run (conformance run --shard K/N makes them)")
        try:
            self.shard = Shard(**self.header["shard"])
            self.started = str(self.header["started"])
            self.platform = str(self.header["environment"]["platform"])
        except (KeyError, TypeError) as error:
            raise ConformanceError(f"{path}:1: the header has a missing or malformed field: {error}") from None

    def results(self) -> Iterator[PlacedResult]:
        """Yield each result with its position and the declaring records before it."""
        try:
            yield from self._results()
        except (KeyError, TypeError, ValueError) as error:
            raise ConformanceError(f"{self.path}: a record has a missing or malformed field: {error}") from None

    def _results(self) -> Iterator[PlacedResult]:
        before: list[JsonObject] = []
        last = (-1, -1)
        for record in self._records:
            if record["record"] == "footer":
                self._check_footer(record)
                return
            if record["record"] != "result":
                self._check_declared(record)
                before.append(record)
                continue
            position = self._result_position(record, last)
            yield position, before, record
            before, last = [], position
        raise ConformanceError(
            f"{self.path}: shard {self.shard} is a partial run (conformance run --resume completes it)"
        )

    def _check_footer(self, footer: JsonObject) -> None:
        counted = self._file.by_status.total()
        if footer["results"] != counted:
            raise ConformanceError(f"{self.path}: the footer counts {footer['results']} results, there are {counted}")
        self.seconds = float(footer["seconds"])

    def _check_declared(self, record: JsonObject) -> None:
        if record["record"] == "case" and not self.shard.contains(record["case"], record["question"]):
            raise ConformanceError(f"{self.path}: the case {record['case']} does not belong to shard {self.shard}")

    def _result_position(self, record: JsonObject, last: tuple[int, int]) -> tuple[int, int]:
        """Return (rank in the execution order, task number), which must increase: heapq.merge needs sorted input."""
        rank, number = record.pop("place")
        if (rank, number) <= last:
            problem = "is out of order; run this shard again"
            raise ConformanceError(f"{self.path}: the result for {record['case']} {problem}")
        return rank, number


def merge_shards(paths: Iterable[Path], out: Path) -> None:
    """Write the results file of the undivided run: the same records in the same order, except for times.

    The start time is the earliest of all shards, the run time is their sum. The file is written completely or not at
    all. Raises ConformanceError for missing, partial or duplicate shards, and for shards of different runs.
    """
    paths = list(paths)
    _raise_file_limit(len(paths) + RESERVED_FILE_DESCRIPTORS)
    partial = out.with_name(f".{out.name}.part")
    try:
        with ExitStack() as stack:
            shards = [ShardFile(path, stack.enter_context(path.open("rb"))) for path in paths]
            ordered = _check_all_shards(sorted(shards, key=lambda shard: shard.shard.number))
            stack.callback(partial.unlink, missing_ok=True)
            with ResultsFile(partial) as file:
                _write_merged(ordered, file)
            partial.replace(out)
    except OSError as error:
        raise ConformanceError(f"{error.filename or out}: {error.strerror}") from None


def _check_all_shards(shards: Sequence[ShardFile]) -> Sequence[ShardFile]:
    """Check that the shards are all shards of one run, each once. Raises ConformanceError."""
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
    for key in RESUME_KEYS:
        if _shared_header_fields(shard.header, key) != _shared_header_fields(first.header, key):
            raise ConformanceError(f"{shard.path}: not from the same run as {first.path}: {key} differs")


def _shared_header_fields(header: Mapping[str, Any], key: str) -> object:
    """Return a field of the header without what may differ between shards: the platform and the shard itself."""
    if key == "environment":
        return {name: value for name, value in header[key].items() if name != "platform"}
    return None if key == "shard" else header.get(key)


def _write_merged(shards: Sequence[ShardFile], file: ResultsFile) -> None:
    first = {key: value for key, value in shards[0].header.items() if key not in {"record", "format", "shard"}}
    platforms = sorted({shard.platform for shard in shards})
    environment = {**first["environment"], "platform": ", ".join(platforms)}
    file.open({**first, "environment": environment, "started": min(shard.started for shard in shards)})
    for _, before, result in heapq.merge(*(shard.results() for shard in shards), key=lambda step: step[0]):
        for record in before:
            if record["record"] != "program" or record["program"] not in file.programs:
                file.write(record)
        file.write(result)
    file.finish(sum(shard.seconds for shard in shards))


def _raise_file_limit(files: int) -> None:
    """Raise the limit of open files of this process, at most to the hard limit."""
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
