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
from reports.results.arrays import Answers
from reports.results.fields import RecordError
from reports.results.reader import Backend, Builder, Report
from reports.results.records import LEVELS, STATUSES, Case, Footer, Result
from reports.views.parquet import RUN

Line = dict[str, Any]
ALIKE = """
    SELECT surface, operator, status, outcome, verdict, coalesce(reason, message), issue, count(*)
    FROM read_parquet(?) WHERE record IS NULL GROUP BY ALL ORDER BY ALL"""
APART = """
    SELECT record, answer_record, case_record
    FROM read_parquet(?, filename = true, file_row_number = true) WHERE record IS NOT NULL
    ORDER BY filename, file_row_number"""
COUNTED = "SELECT status, count(*) FROM read_parquet(?) GROUP BY status"
TWICE = 'SELECT surface, "case" FROM read_parquet(?) GROUP BY ALL HAVING count(*) > 1 LIMIT 1'
CASES = 'SELECT count(DISTINCT "case") FROM read_parquet(?)'
APART_FROM = ("record", "format", "shard", "started")
"""What the headers of shards need not have in common."""


class Tallied(Collection[Result]):
    """Results of which those that are alike stand once, with how often."""

    def __init__(self, apart: Sequence[Result], alike: Sequence[tuple[Result, int]]) -> None:
        self._apart, self._alike = apart, alike

    def __iter__(self) -> Iterator[Result]:
        return chain(self._apart, *(repeat(result, number) for result, number in self._alike))

    def __len__(self) -> int:
        return len(self._apart) + sum(number for _, number in self._alike)

    def __contains__(self, result: object) -> bool:
        return result in self._apart or any(result == one for one, _ in self._alike)


@dataclass(frozen=True)
class Stored(Report):
    """The report of a store. counted: how many cases there are, of which not all stand in it."""

    counted: int = 0

    @property
    def size(self) -> int:
        """How many cases there are."""
        return self.counted


@dataclass(frozen=True)
class Part:
    """One file of a store: which results file or shard of one it was."""

    path: Path
    header: Line
    footer: Line | None
    rows: int

    @property
    def shard(self) -> tuple[int, int]:
        """The number of the shard, and of how many."""
        shard = self.header.get("shard") or {"number": 1, "of": 1}
        return shard["number"], shard["of"]

    def alike(self) -> Line:
        """Return what the shards of a run have in common."""
        kept = {key: value for key, value in self.header.items() if key not in APART_FROM}
        return {**kept, "environment": {**kept["environment"], "platform": ""}}


def load(paths: Iterable[Path], *, mixed: bool = False) -> Report:
    """Read stores, folders or files of them, into one report, see reading.load.

    Raises UnreadableResults with one line that names the file, also for a shard that is there twice.
    """
    found: defaultdict[str, list[Part]] = defaultdict(list)
    every = [file for path in paths for file in (sorted(path.rglob("*.parquet")) if path.is_dir() else [path])]
    for part in map(_part, every):
        found[part.header["backend"]].append(part)
    try:
        runs = [(parts[0].path, _backend(parts)) for parts in found.values()]
        ((counted,),) = _rows(CASES, list(map(str, every)))
    except duckdb.Error as error:
        compatibility.refuse(every[0], None, f"cannot be read: {error}")
    report = reader.merged(runs, mixed=mixed)
    return Stored(report.backends, report.mixed, counted=counted)


def _rows(query: str, paths: Sequence[str]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        found: list[tuple[Any, ...]] = connection.execute(query, [list(paths)]).fetchall()
    return found


def _part(path: Path) -> Part:
    try:
        with path.open("rb") as stream:
            told = files.read_metadata(stream)
        run = json.loads((told.metadata or {})[RUN])
        part = Part(path, run["header"], run["footer"], told.num_rows)
        _ = part.header["backend"], part.shard, part.alike()
    except OSError as error:
        compatibility.refuse(path, None, f"cannot be read: {error.strerror}")
    except (ArrowException, KeyError, ValueError, TypeError):
        compatibility.refuse(path, None, "not a file of a store (conformance store makes them)")
    if part.footer is not None and part.footer["results"] != part.rows:
        compatibility.refuse(
            path, None, f"the footer counts {part.footer['results']} results, the file holds {part.rows}"
        )
    return part


def _backend(parts: list[Part]) -> Backend:
    """Return one backend's run from its shards. Raises UnreadableResults where they are of several runs."""
    first = parts[0]
    there: dict[tuple[int, int], Part] = {}
    for part in parts:
        if part.alike() != first.alike() or part.shard[1] != first.shard[1]:
            compatibility.refuse(part.path, None, f"not of the same run as {first.path}")
        if part.shard in there:
            compatibility.refuse(part.path, None, f"also stands in {there[part.shard].path}")
        there[part.shard] = part
    paths = [str(part.path) for part in parts]
    for surface, case in _rows(TWICE, paths):
        compatibility.refuse(first.path, None, f"a second result for the case {case!r} on {surface!r} in the store")
    try:
        return _built(parts, paths)
    except RecordError as error:
        compatibility.refuse(first.path, None, str(error))


def _built(parts: Sequence[Part], paths: Sequence[str]) -> Backend:
    first, whole = parts[0], len(parts) == parts[0].shard[1]
    builder = Builder()
    builder.add({key: value for key, value in first.header.items() if not (whole and key == "shard")})
    apart = [tuple(text and json.loads(text) for text in row) for row in _rows(APART, paths)]
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
    alike = [(_result(row), row[-1]) for row in _rows(ALIKE, paths)]
    cases = {**one.cases, **{result.case: _case(result.case) for result, _ in alike}}
    footer = _footer(parts, paths) if whole or len(parts) == 1 else None
    return replace(one, cases=cases, results=Tallied(tuple(one.results), alike), footer=footer)


def _footer(parts: Sequence[Part], paths: Sequence[str]) -> Footer | None:
    """Return how the run ended, None where it has not. The order of its statuses is that of the views."""
    ends = [part.footer for part in parts]
    if None in ends:
        return None
    counts: Mapping[str, int] = dict(_rows(COUNTED, paths))
    by_status = {status: counts[status] for status in STATUSES if status in counts}
    return Footer(sum(counts.values()), by_status, sum(end["seconds"] for end in ends if end))


def _result(row: tuple[Any, ...]) -> Result:
    """Return one result that stands for all that are counted in a row; its case stands for an operator's."""
    surface, operator, status, outcome, verdict, reason, issue, _ = row
    return Result(
        case=f"{operator}/*", surface=surface, status=status, outcome=outcome, verdict=verdict, kind=None, how=None,
        program=None, budget_used=None, seconds=0.0, digest=None, got=None, worst=None, flaky=False, message=None,
        reason=reason, issue=issue,
    )  # fmt: skip


def _case(name: str) -> Case:
    operator = name.partition("/")[0]
    return Case(
        case=name, operator=operator, level=LEVELS[0], about="", source="", via=(), question=None, parameters={},
        inputs={}, cost=None, expected=Answers({}), digest="", pinned=0, terms=0, bound=None,
    )  # fmt: skip
