"""Parquet for notebooks: one row for each result, with what is said of its case and its run beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from pyarrow import parquet

from reports.arrays import Array
from reports.fields import SPECIALS, Json
from reports.reading import Backend, Report
from reports.records import Case, Convention, Program, Result

TEXT, NUMBER, WHOLE, FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()
LARGEST = 2**63 - 1  # of a whole number of 64 bits


@dataclass(frozen=True)
class Row:
    """A result with the records that it refers to."""

    backend: Backend
    case: Case
    result: Result
    program: Program | None
    answer: Convention | None


Value = Callable[[Row], object]
COLUMNS: dict[str, tuple[pa.DataType, Value]] = {
    "backend": (TEXT, lambda row: row.backend.name),
    "version": (TEXT, lambda row: row.backend.version),
    "surface": (TEXT, lambda row: row.result.surface),
    "case": (TEXT, lambda row: row.case.case),
    "operator": (TEXT, lambda row: row.case.operator),
    "status": (TEXT, lambda row: row.result.status),
    "outcome": (TEXT, lambda row: row.result.outcome),
    "verdict": (TEXT, lambda row: row.result.verdict),
    "kind": (TEXT, lambda row: row.result.kind),
    "flaky": (FLAG, lambda row: row.result.flaky),
    "how": (TEXT, lambda row: row.result.how),
    "seconds": (NUMBER, lambda row: row.result.seconds),
    "budget_used": (NUMBER, lambda row: row.result.budget_used),
    "worst_index": (pa.list_(WHOLE), lambda row: row.result.worst and [_whole(at) for at in row.result.worst.index]),
    "worst_expected": (NUMBER, lambda row: row.result.worst and _number(row.result.worst.expected)),
    "worst_got": (NUMBER, lambda row: row.result.worst and _number(row.result.worst.got)),
    "worst_absolute": (NUMBER, lambda row: row.result.worst and _number(row.result.worst.absolute)),
    "worst_ulp": (NUMBER, lambda row: row.result.worst and _number(row.result.worst.ulp)),
    "digest": (TEXT, lambda row: row.result.digest),
    "message": (TEXT, lambda row: row.result.message),
    "reason": (TEXT, lambda row: row.result.reason),
    "issue": (TEXT, lambda row: row.result.issue),
    "question": (TEXT, lambda row: row.case.question),
    "declared": (TEXT, lambda row: row.answer and row.answer.declared),
    "observed": (TEXT, lambda row: row.answer and row.answer.observed),
    "program": (TEXT, lambda row: row.program and row.program.text),
    "about": (TEXT, lambda row: row.case.about),
    "source": (TEXT, lambda row: row.case.source),
    "via": (pa.list_(TEXT), lambda row: row.case.via),
    "dtype": (TEXT, lambda row: _first(row.case).dtype),
    "shape": (pa.list_(WHOLE), lambda row: [_whole(size) for size in _first(row.case).shape]),
    "input_elements": (WHOLE, lambda row: _whole(row.case.size)),
    "parameters": (TEXT, lambda row: json.dumps(row.case.parameters, sort_keys=True)),
    "terms": (WHOLE, lambda row: _whole(row.case.terms)),
    "bound": (NUMBER, lambda row: row.case.bound),
    "pinned": (WHOLE, lambda row: _whole(row.case.pinned)),
    "case_level": (TEXT, lambda row: row.case.level),
    "case_digest": (TEXT, lambda row: row.case.digest),
    "level": (TEXT, lambda row: row.backend.header.level),
    "catalogue": (TEXT, lambda row: row.backend.header.catalogue_version),
    "started": (pa.timestamp("us", "UTC"), lambda row: _time(row.backend.header.started)),
    "complete": (FLAG, lambda row: row.backend.complete),
}
"""docs/parquet.md says what each is."""


def render_parquet(report: Report) -> bytes:
    """Return the results as the bytes of a Parquet file, in the order of their files, backends by name."""
    return written(table(report))


def table(report: Report) -> pa.Table:
    """Return the results, a row for each."""
    rows = list(_rows(report))
    arrays = [pa.array(_texts([value(row) for row in rows]), kind) for kind, value in COLUMNS.values()]
    return pa.table(arrays, names=[*COLUMNS])


def written(rows: pa.Table) -> bytes:
    """Return the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    parquet.write_table(rows, sink, compression="zstd")
    return bytes(sink.getvalue())


def _rows(report: Report) -> Iterator[Row]:
    for backend in report.backends:
        answers = {(one.case, one.surface): one for one in backend.conventions}
        for result in backend.results:
            program = backend.programs.get(result.program or "")
            yield Row(backend, backend.cases[result.case], result, program, answers.get((result.case, result.surface)))


def _texts(values: Sequence[object]) -> list[object]:
    """Spell out, in texts, what was no text to begin with and so is none that a file can hold."""
    return [value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in values]


def _first(case: Case) -> Array:
    """Return the input that an operator walks: the first one."""
    return next(iter(case.inputs.values()), Array("", (), ()))


def _whole(number: int) -> int | None:
    return number if abs(number) <= LARGEST else None


def _number(value: Json) -> float | None:
    """Return a number of a results file, rounded as float64 does; None for one that is none or beyond it."""
    if isinstance(value, str):
        return SPECIALS.get(value)
    try:
        return None if not isinstance(value, int | float) else float(value)
    except OverflowError:
        return None


def _time(text: str) -> datetime | None:
    """Return when a run started; None where that is not told as ISO 8601 with a time zone."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo else None
