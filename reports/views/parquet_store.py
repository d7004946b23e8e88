"""A store: a folder of Parquet files, one for each results file or shard, of which a report reads what it shows.

What is as expected is counted by DuckDB and stands in the report once, with how often; all else is there in full, as in
the results files. So a report of millions of results takes seconds, and memory for what differs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import duckdb
from pyarrow import ArrowException
from pyarrow import parquet as files

from reports.results import compatibility, reader
from reports.results.arrays import RecordedAnswers
from reports.results.fields import RecordError
from reports.results.reader import BackendRun, Report, RunBuilder
from reports.results.records import CATALOGUE_LEVELS, STATUSES, CaseRecord, Footer, ResultRecord
from reports.views.parquet import METADATA_KEY

JsonObject = dict[str, Any]
ALIKE_RESULTS_QUERY = """
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
"""What the headers of shards need not have in common."""


class CountedResults(Collection[ResultRecord]):
    """Results of which those that are alike stand once, with how often."""

    def __init__(self, apart: Sequence[ResultRecord], alike: Sequence[tuple[ResultRecord, int]]) -> None:
        self._single_results, self._counted_results = apart, alike

    def __iter__(self) -> Iterator[ResultRecord]:
        return chain(self._single_results, *(repeat(result, number) for result, number in self._counted_results))

    def __len__(self) -> int:
        return len(self._single_results) + sum(number for _, number in self._counted_results)

    def __contains__(self, result: object) -> bool:
        return result in self._single_results or any(result == one for one, _ in self._counted_results)


@dataclass(frozen=True)
class StoredReport(Report):
    """The report of a store. counted: how many cases there are, of which not all stand in it."""

    case_count: int = 0

    @property
    def size(self) -> int:
        """How many cases there are."""
        return self.case_count


@dataclass(frozen=True)
class StoreFile:
    """One file of a store: which results file or shard of one it was."""

    path: Path
    header: JsonObject
    footer: JsonObject | None
    rows: int

    @property
    def shard(self) -> tuple[int, int]:
        """The number of the shard, and of how many."""
        shard = self.header.get("shard") or {"number": 1, "of": 1}
        return shard["number"], shard["of"]

    def shared_header(self) -> JsonObject:
        """Return what the shards of a run have in common."""
        kept = {key: value for key, value in self.header.items() if key not in SHARD_SPECIFIC_FIELDS}
        return {**kept, "environment": {**kept["environment"], "platform": ""}}


def load_stores(paths: Iterable[Path], *, mixed: bool = False) -> Report:
    """Read stores, folders or files of them, into one report, see reading.load.

    Raises UnreadableResults with one line that names the file, also for a shard that is there twice.
    """
    found: defaultdict[str, list[StoreFile]] = defaultdict(list)
    every = [file for path in paths for file in (sorted(path.rglob("*.parquet")) if path.is_dir() else [path])]
    for part in map(_read_store_file, every):
        found[part.header["backend"]].append(part)
    try:
        runs = [(parts[0].path, _merge_shards(parts)) for parts in found.values()]
        ((counted,),) = _query_rows(CASE_COUNT_QUERY, list(map(str, every)))
    except duckdb.Error as error:
        compatibility.raise_unreadable(every[0], None, f"cannot be read: {error}")
    report = reader.merge_runs(runs, allow_mixed=mixed)
    return StoredReport(report.backends, report.mixture_notes, case_count=counted)


def _query_rows(query: str, paths: Sequence[str]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        found: list[tuple[Any, ...]] = connection.execute(query, [list(paths)]).fetchall()
    return found


def _read_store_file(path: Path) -> StoreFile:
    try:
        with path.open("rb") as stream:
            told = files.read_metadata(stream)
        run = json.loads((told.metadata or {})[METADATA_KEY])
        part = StoreFile(path, run["header"], run["footer"], told.num_rows)
        _ = part.header["backend"], part.shard, part.shared_header()
    except OSError as error:
        compatibility.raise_unreadable(path, None, f"cannot be read: {error.strerror}")
    except (ArrowException, KeyError, ValueError, TypeError):
        compatibility.raise_unreadable(path, None, "not a file of a store (conformance store makes them)")
    if part.footer is not None and part.footer["results"] != part.rows:
        compatibility.raise_unreadable(
            path, None, f"the footer counts {part.footer['results']} results, the file holds {part.rows}"
        )
    return part


def _merge_shards(parts: list[StoreFile]) -> BackendRun:
    """Return one backend's run from its shards. Raises UnreadableResults where they are of several runs."""
    first = parts[0]
    there: dict[tuple[int, int], StoreFile] = {}
    for part in parts:
        if part.shared_header() != first.shared_header() or part.shard[1] != first.shard[1]:
            compatibility.raise_unreadable(part.path, None, f"not of the same run as {first.path}")
        if part.shard in there:
            compatibility.raise_unreadable(part.path, None, f"also stands in {there[part.shard].path}")
        there[part.shard] = part
    paths = [str(part.path) for part in parts]
    for surface, case in _query_rows(DUPLICATES_QUERY, paths):
        compatibility.raise_unreadable(
            first.path, None, f"a second result for the case {case!r} on {surface!r} in the store"
        )
    try:
        return _build_run(parts, paths)
    except RecordError as error:
        compatibility.raise_unreadable(first.path, None, str(error))


def _build_run(parts: Sequence[StoreFile], paths: Sequence[str]) -> BackendRun:
    first, whole = parts[0], len(parts) == parts[0].shard[1]
    builder = RunBuilder()
    builder.add({key: value for key, value in first.header.items() if not (whole and key == "shard")})
    apart = [tuple(text and json.loads(text) for text in row) for row in _query_rows(SINGLE_RESULTS_QUERY, paths)]
    apart.sort(key=lambda row: row[0].get("place", []))  # of results of shards, in the undivided run
    for *_, case in apart:
        if case is not None:
            builder.add(case)
    for record, answer, _ in apart:
        if answer is not None:
            builder.add(answer)
        builder.add({**record, "program": None})
    assert builder.header is not None  # noqa: S101 - it was added first
    numbers = sorted(part.shard[0] for part in parts)
    header = (
        builder.header if whole else replace(builder.header, shard=f"{', '.join(map(str, numbers))}/{first.shard[1]}")
    )
    one = builder.build(header)
    alike = [(_counted_result(row), row[-1]) for row in _query_rows(ALIKE_RESULTS_QUERY, paths)]
    cases = {**one.cases, **{result.case: _placeholder_case(result.case) for result, _ in alike}}
    footer = _merge_footers(parts, paths) if whole or len(parts) == 1 else None
    return replace(one, cases=cases, results=CountedResults(tuple(one.results), alike), footer=footer)


def _merge_footers(parts: Sequence[StoreFile], paths: Sequence[str]) -> Footer | None:
    """Return how the run ended, None where it has not. The order of its statuses is that of the views."""
    ends = [part.footer for part in parts]
    if None in ends:
        return None
    counts: Mapping[str, int] = dict(_query_rows(STATUS_COUNT_QUERY, paths))
    by_status = {status: counts[status] for status in STATUSES if status in counts}
    return Footer(sum(counts.values()), by_status, sum(end["seconds"] for end in ends if end))


def _counted_result(row: tuple[Any, ...]) -> ResultRecord:
    """Return one result that stands for all that are counted in a row; its case stands for an operator's."""
    surface, operator, status, outcome, verdict, reason, issue, _ = row
    return ResultRecord(
        case=f"{operator}/*", surface=surface, status=status, outcome=outcome, verdict=verdict, kind=None, how=None,
        program=None, budget_used=None, seconds=0.0, digest=None, got=None, worst=None, flaky=False, message=None,
        reason=reason, issue=issue,
    )  # fmt: skip


def _placeholder_case(name: str) -> CaseRecord:
    operator = name.partition("/")[0]
    return CaseRecord(
        case=name, operator=operator, level=CATALOGUE_LEVELS[0], about="", source="", via=(), question=None, parameters={},
        inputs={}, cost=None, expected=RecordedAnswers({}), digest="", pinned=0, terms=0, bound=None,
    )  # fmt: skip
