"""Read a store: a folder with one Parquet file per results file or shard.

DuckDB counts the expected results. Other results are read in full. A report of millions of results therefore needs
memory only for the results that differ.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
from msgspec import structs
from pyarrow import ArrowException, parquet as files

from reports.results import (
    BackendRun,
    Footer,
    RecordError,
    Report,
    ResultRecord,
    RunBuilder,
    ShardRecord,
    Status,
    UnreadableResults,
    decode_line,
    merge_runs,
)
from reports.results.counted import CountedKind, CountedResults, placeholder_case
from reports.results.files import open_regular
from reports.views.parquet import METADATA_KEY

JsonObject = dict[str, Any]
EQUAL_RESULTS_QUERY = """
    SELECT surface, operator, status, outcome, verdict, coalesce(reason, message), issue, count(*)
    FROM read_parquet(?) WHERE record IS NULL GROUP BY ALL ORDER BY ALL"""
SINGLE_RESULTS_QUERY = """
    SELECT record, answer_record, case_record
    FROM read_parquet(?, filename = true, file_row_number = true) WHERE record IS NOT NULL
    ORDER BY filename, file_row_number"""
STATUS_COUNT_QUERY = "SELECT status, count(*) FROM read_parquet(?) GROUP BY status"
DUPLICATES_QUERY = 'SELECT surface, "case" FROM read_parquet(?) GROUP BY ALL HAVING count(*) > 1 LIMIT 1'
CASE_COUNT_QUERY = 'SELECT count(DISTINCT "case") FROM read_parquet(?)'
SHARD_SPECIFIC_FIELDS = ("record", "format", "shard", "started")
"""Header keys that may differ between shards of one run."""


class StoredShards(ShardRecord, frozen=True):
    """The shards of a run that a store contains. numbers: the numbers of all; number: the smallest one."""

    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.numbers))}/{self.of}"


@dataclass(frozen=True)
class StoreFile:
    """One file of a store, made from a results file or a shard."""

    path: Path
    header: JsonObject
    footer: JsonObject | None
    rows: int

    @property
    def shard(self) -> tuple[int, int]:
        """Number of the shard, and number of shards."""
        shard = self.header.get("shard") or {"number": 1, "of": 1}
        return shard["number"], shard["of"]

    def shared_header(self) -> JsonObject:
        """Return the part of the header that is equal in all shards of a run."""
        shared = {key: value for key, value in self.header.items() if key not in SHARD_SPECIFIC_FIELDS}
        return {**shared, "environment": {**shared["environment"], "platform": ""}}


def load_stores(paths: Iterable[Path], *, mixed: bool = False) -> Report:
    """Read stores, or files of stores, into one report. mixed: see `allow_mixed` of load_report.

    Raises UnreadableResults with one line that names the file, for example for duplicate shards.
    """
    by_backend: defaultdict[str, list[StoreFile]] = defaultdict(list)
    files_of_stores = [file for path in paths for file in _files_of_store(path)]
    for part in map(_read_store_file, files_of_stores):
        by_backend[part.header["backend"]].append(part)
    try:
        runs = [(parts[0].path, _merge_shards(parts)) for parts in by_backend.values()]
        ((case_count,),) = _query_rows(CASE_COUNT_QUERY, list(map(str, files_of_stores)))
    except duckdb.Error as error:
        raise UnreadableResults(files_of_stores[0], None, f"cannot be read: {error}") from None
    report = merge_runs(runs, allow_mixed=mixed)
    return Report(report.backends, report.mixture_notes, case_count=case_count)


def _files_of_store(path: Path) -> list[Path]:
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise UnreadableResults(path, None, "a folder without .parquet files")
    return files


def _query_rows(query: str, paths: Sequence[str]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        rows: list[tuple[Any, ...]] = connection.execute(query, [list(paths)]).fetchall()
    return rows


def _read_store_file(path: Path) -> StoreFile:
    try:
        with open_regular(path) as stream:
            metadata = files.read_metadata(stream)
        run = json.loads((metadata.metadata or {})[METADATA_KEY])
        part = StoreFile(path, run["header"], run["footer"], metadata.num_rows)
        _ = part.header["backend"], part.shard, part.shared_header()  # raise an error for missing keys
    except OSError as error:
        raise UnreadableResults(path, None, f"cannot be read: {error.strerror}") from None
    except (ArrowException, KeyError, ValueError, TypeError):
        raise UnreadableResults(path, None, "not a file of a store (create stores with conformance store)") from None
    if part.footer is not None and part.footer["results"] != part.rows:
        raise UnreadableResults(
            path, None, f"the footer counts {part.footer['results']} results, the file contains {part.rows}"
        )
    return part


def _merge_shards(parts: list[StoreFile]) -> BackendRun:
    """Merge the shards of a backend. Raises UnreadableResults for duplicates and for shards of different runs."""
    first = parts[0]
    by_shard: dict[tuple[int, int], StoreFile] = {}
    for part in parts:
        if part.shared_header() != first.shared_header() or part.shard[1] != first.shard[1]:
            raise UnreadableResults(part.path, None, f"not of the same run as {first.path}")
        if part.shard in by_shard:
            raise UnreadableResults(part.path, None, f"is also in {by_shard[part.shard].path}")
        by_shard[part.shard] = part
    paths = [str(part.path) for part in parts]
    for surface, case in _query_rows(DUPLICATES_QUERY, paths):
        raise UnreadableResults(first.path, None, f"a second result for the case {case!r} on {surface!r} in the store")
    try:
        return _build_run(parts, paths)
    except RecordError as error:
        raise UnreadableResults(first.path, None, str(error)) from None


def _build_run(parts: Sequence[StoreFile], paths: Sequence[str]) -> BackendRun:
    first, has_all_shards = parts[0], len(parts) == parts[0].shard[1]
    builder = RunBuilder()
    builder.add(decode_line(json.dumps(first.header).encode()))
    rows = _query_rows(SINGLE_RESULTS_QUERY, paths)
    results, answers, records = (
        [decode_line(row[column].encode()) for row in rows if row[column]] for column in range(3)
    )
    # Cases first: the builder rejects results of undeclared cases.
    for record in (*records, *answers):
        builder.add(record)
    # Results of shards record their place in the complete run.
    single = [one for one in results if isinstance(one, ResultRecord)]
    for result in sorted(single, key=lambda result: result.place or (0, 0)):
        builder.add(structs.replace(result, program=None))
    run = builder.build()
    numbers = tuple(sorted(part.shard[0] for part in parts))
    shard = None if has_all_shards else StoredShards(numbers[0], first.shard[1], numbers)
    header = structs.replace(run.header, shard=shard)
    counted = [(CountedKind(*row[:-1]).placeholder(), row[-1]) for row in _query_rows(EQUAL_RESULTS_QUERY, paths)]
    cases = {**run.cases, **{result.case: placeholder_case(result.case) for result, _ in counted}}
    footer = _merge_footers(parts, paths) if has_all_shards or len(parts) == 1 else None
    return replace(run, header=header, cases=cases, results=CountedResults(tuple(run.results), counted), footer=footer)


def _merge_footers(parts: Sequence[StoreFile], paths: Sequence[str]) -> Footer | None:
    """Return the footer of the complete run; None if a shard lacks it. Statuses are in the order of Status."""
    ends = [part.footer for part in parts]
    if None in ends:
        return None
    counts: Mapping[str, int] = dict(_query_rows(STATUS_COUNT_QUERY, paths))
    by_status = {status: counts[status] for status in Status if status in counts}
    return Footer(sum(counts.values()), by_status, sum(end["seconds"] for end in ends if end))
