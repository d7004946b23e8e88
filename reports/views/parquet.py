"""Parquet for notebooks: one row for each result, with what is said of its case and its run beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from reports.results import reader
from reports.results.arrays import Array
from reports.results.fields import SPECIALS, Json
from reports.results.reader import Backend, Report
from reports.results.records import Case, Convention, Program, Result

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
"""docs/md says what each is."""


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
    pq.write_table(rows, sink, compression="zstd")
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


RUN = b"conformance"
"""The key of header and footer in the metadata of a file."""
RECORDS = ("record", "answer_record", "case_record")
Line = dict[str, Json]


def stored(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a Parquet file that holds a results file, and its backend.

    Raises UnreadableResults for one that is not sound.
    """
    report = reader.load([path])
    (backend,) = report.backends
    rows = table(report)
    lines = _Lines(path)
    special = {result.case for result in backend.results if not ordinary(result)} | _asking(backend)
    kept = zip(*lines.kept(special), strict=True) if backend.results else ([], [], [])
    for name, texts in zip(RECORDS, kept, strict=True):
        rows = rows.append_column(name, pa.array(texts, pa.string()))
    run = json.dumps({"header": lines.header, "footer": lines.footer})
    return written(rows.replace_schema_metadata({RUN: run})), backend.name


def ordinary(result: Result) -> bool:
    """Whether a result is one of many that views only count: it agrees, or there is no program for it."""
    return result.outcome == "unsupported" or (result.status, result.verdict) == ("pass", "agree")


def _asking(backend: Backend) -> set[str]:
    return {name for name, case in backend.cases.items() if case.question is not None}


class _Lines:
    """The records of a file that was found sound, as they stand there."""

    def __init__(self, path: Path) -> None:
        self.header: Line = {}
        self.footer: Line | None = None
        self._cases: dict[str, str] = {}
        self._answers: dict[tuple[str, str], str] = {}
        self._results: list[tuple[str, str, str]] = []
        with path.open("rb") as stream:
            for _, line in reader.whole_lines(stream):
                self._add(json.loads(line), line.decode())

    def _add(self, record: dict[str, str], line: str) -> None:
        kind, case, surface = record["record"], record.get("case", ""), record.get("surface", "")
        if kind == "header":
            self.header = dict(record)
        elif kind == "footer":
            self.footer = dict(record)
        elif kind == "case":
            self._cases[case] = line
        elif kind == "convention":
            self._answers[case, surface] = line
        elif kind == "result":
            self._results.append((case, surface, line))

    def kept(self, special: set[str]) -> Iterator[tuple[str | None, ...]]:
        """Yield for each result its records, or none."""
        for case, surface, line in self._results:
            if case in special:
                yield line, self._answers.get((case, surface)), self._cases.pop(case, None)
            else:
                yield None, None, None
