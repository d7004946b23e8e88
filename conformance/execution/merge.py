"""Shards of one run, put together into the results file that the run would have written undivided."""

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
"""The place of a result in the undivided run, the records that stand before it, and the result."""
MAX_LISTED_SHARDS = 20
"""Missing shards that are named one by one."""
RESERVED_FILE_DESCRIPTORS = 64
"""Open files that a process needs besides the shards."""


class ShardFile:
    """The results file of one shard, read once, in order. Raises ConformanceError for one that cannot be merged.

    After `results` has come to its end, `seconds` is how long the shard ran.
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
            raise ConformanceError(f"{path}:1: the header lacks something, or has it otherwise: {error}") from None

    def results(self) -> Iterator[PlacedResult]:
        """Yield every result with what stands before it, by its place."""
        try:
            yield from self._results()
        except (KeyError, TypeError, ValueError) as error:
            raise ConformanceError(f"{self.path}: a record lacks something, or has it otherwise: {error}") from None

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
            place = self._result_place(record, last)
            yield place, before, record
            before, last = [], place
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

    def _result_place(self, record: JsonObject, last: tuple[int, int]) -> tuple[int, int]:
        peril, number = record.pop("place")
        if (peril, number) <= last:
            why = "does not stand where a run puts it; run this shard anew"
            raise ConformanceError(f"{self.path}: the result for {record['case']} {why}")
        return peril, number


def merge_shards(paths: Iterable[Path], out: Path) -> None:
    """Write the results file of the undivided run: the same records in the same order, but for times.

    The run is as old as its first shard, and took as long as all of them together. The file is written whole or not at
    all. Raises ConformanceError for shards that are missing, partial, there twice, or of different runs.
    """
    paths = list(paths)
    _raise_file_limit(len(paths) + RESERVED_FILE_DESCRIPTORS)
    part = out.with_name(f".{out.name}.part")
    try:
        with ExitStack() as stack:
            shards = [ShardFile(path, stack.enter_context(path.open("rb"))) for path in paths]
            whole = _check_same_run(sorted(shards, key=lambda shard: shard.shard.number))
            stack.callback(part.unlink, missing_ok=True)
            with ResultsFile(part) as file:
                _write_merged(whole, file)
            part.replace(out)
    except OSError as error:
        raise ConformanceError(f"{error.filename or out}: {error.strerror}") from None


def _check_same_run(shards: Sequence[ShardFile]) -> Sequence[ShardFile]:
    """Hold shards, in order, against each other. Raises ConformanceError."""
    if not shards:
        raise ConformanceError("no shards to merge")
    first = shards[0]
    there: dict[int, ShardFile] = {}
    for shard in shards:
        if shard.shard.of != first.shard.of:
            raise ConformanceError(f"{shard.path}: shard {shard.shard}, but {first.path} is shard {first.shard}")
        if shard.shard.number in there:
            raise ConformanceError(f"{shard.path}: shard {shard.shard} also stands in {there[shard.shard.number].path}")
        there[shard.shard.number] = shard
        check_same_run(shard, first)
    missing = [number for number in range(1, first.shard.of + 1) if number not in there]
    if missing:
        named = ", ".join(map(str, missing[:MAX_LISTED_SHARDS])) + (
            f" and {len(missing) - MAX_LISTED_SHARDS} more" if missing[MAX_LISTED_SHARDS:] else ""
        )
        raise ConformanceError(f"missing of {first.shard.of} shards: {named}")
    return shards


def check_same_run(shard: ShardFile, first: ShardFile) -> None:
    """Hold what a shard says of its run against another. Raises ConformanceError."""
    for key in RESUME_KEYS:
        if _shared_header_fields(shard.header, key) != _shared_header_fields(first.header, key):
            raise ConformanceError(f"{shard.path}: not of the same run as {first.path}, {key} is another")


def _shared_header_fields(header: Mapping[str, Any], key: str) -> object:
    """Return what the shards of a run have in common: not their numbers, nor the build of the machine's kernel."""
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
    """Let this process have so many files open, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft not in {unlimited} and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files if hard == unlimited else min(files, hard), hard))


def shard_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are named, and those of folders. Raises ConformanceError for a folder that has none."""
    found: list[Path] = []
    for path in paths:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise ConformanceError(f"{path}{os.sep}: no shards in it")
        found += files
    return found
