"""Parquet for notebooks: one row per result, with the data of its case, program and run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from reports.results import (
    SPECIAL_NUMBERS,
    BackendRun,
    CaseRecord,
    ConventionRecord,
    Json,
    ProgramRecord,
    RecordedArray,
    Report,
    ResultRecord,
    complete_lines,
    load_report,
)
from reports.results.counted import is_only_counted
from reports.results.files import open_regular

TEXT_TYPE, NUMBER_TYPE, INTEGER_TYPE, FLAG_TYPE = pa.string(), pa.float64(), pa.int64(), pa.bool_()
MAX_INT64 = 2**63 - 1


@dataclass(frozen=True)
class ResultRow:
    """A result with its case, program and answer."""

    backend: BackendRun
    case: CaseRecord
    result: ResultRecord
    program: ProgramRecord | None
    answer: ConventionRecord | None


ColumnValue = Callable[[ResultRow], object]
PARQUET_COLUMNS: dict[str, tuple[pa.DataType, ColumnValue]] = {
    "backend": (TEXT_TYPE, lambda row: row.backend.name),
    "version": (TEXT_TYPE, lambda row: row.backend.version),
    "surface": (TEXT_TYPE, lambda row: row.result.surface),
    "case": (TEXT_TYPE, lambda row: row.case.case),
    "operator": (TEXT_TYPE, lambda row: row.case.operator),
    "status": (TEXT_TYPE, lambda row: row.result.status),
    "outcome": (TEXT_TYPE, lambda row: row.result.outcome),
    "verdict": (TEXT_TYPE, lambda row: row.result.verdict),
    "kind": (TEXT_TYPE, lambda row: row.result.kind),
    "flaky": (FLAG_TYPE, lambda row: row.result.flaky),
    "slow": (FLAG_TYPE, lambda row: row.result.slow),
    "how": (TEXT_TYPE, lambda row: row.result.how),
    "seconds": (NUMBER_TYPE, lambda row: row.result.seconds),
    "budget_used": (NUMBER_TYPE, lambda row: row.result.budget_used),
    "worst_index": (
        pa.list_(INTEGER_TYPE),
        lambda row: row.result.worst and [_int64_or_none(at) for at in row.result.worst.index],
    ),
    "worst_expected": (NUMBER_TYPE, lambda row: row.result.worst and _float64_or_none(row.result.worst.expected)),
    "worst_got": (NUMBER_TYPE, lambda row: row.result.worst and _float64_or_none(row.result.worst.got)),
    "worst_absolute": (NUMBER_TYPE, lambda row: row.result.worst and _float64_or_none(row.result.worst.absolute)),
    "worst_ulp": (NUMBER_TYPE, lambda row: row.result.worst and _float64_or_none(row.result.worst.ulp)),
    "digest": (TEXT_TYPE, lambda row: row.result.digest),
    "message": (TEXT_TYPE, lambda row: row.result.message),
    "after_others": (TEXT_TYPE, lambda row: row.result.after_others),
    "changed_by": (TEXT_TYPE, lambda row: row.result.changed_by),
    "reason": (TEXT_TYPE, lambda row: row.result.reason),
    "issue": (TEXT_TYPE, lambda row: row.result.issue),
    "question": (TEXT_TYPE, lambda row: row.case.question),
    "declared": (TEXT_TYPE, lambda row: row.answer and row.answer.declared),
    "observed": (TEXT_TYPE, lambda row: row.answer and row.answer.observed),
    "program": (TEXT_TYPE, lambda row: row.program and row.program.source),
    "about": (TEXT_TYPE, lambda row: row.case.about),
    "source": (TEXT_TYPE, lambda row: row.case.source),
    "via": (pa.list_(TEXT_TYPE), lambda row: row.case.via),
    "dtype": (TEXT_TYPE, lambda row: _first_input(row.case).dtype),
    "shape": (pa.list_(INTEGER_TYPE), lambda row: [_int64_or_none(size) for size in _first_input(row.case).shape]),
    "input_elements": (INTEGER_TYPE, lambda row: _int64_or_none(row.case.size)),
    "parameters": (TEXT_TYPE, lambda row: json.dumps(row.case.parameters, sort_keys=True)),
    "terms": (INTEGER_TYPE, lambda row: _int64_or_none(row.case.terms)),
    "bound": (NUMBER_TYPE, lambda row: row.case.bound),
    "pinned": (INTEGER_TYPE, lambda row: _int64_or_none(row.case.pinned)),
    "case_level": (TEXT_TYPE, lambda row: row.case.level),
    "case_digest": (TEXT_TYPE, lambda row: row.case.digest),
    "level": (TEXT_TYPE, lambda row: row.backend.header.level),
    "catalogue": (TEXT_TYPE, lambda row: row.backend.header.catalogue.version),
    "started": (pa.timestamp("us", "UTC"), lambda row: _parse_time(row.backend.header.started)),
    "complete": (FLAG_TYPE, lambda row: row.backend.complete),
}
"""Type and value of each column; docs/parquet.md documents them."""


def render_parquet(report: Report) -> bytes:
    """Return the results as a Parquet file. Backends are sorted; their results are in the order of the files."""
    return parquet_bytes(parquet_table(report))


def parquet_table(report: Report) -> pa.Table:
    """Return the results as a table with one row per result."""
    rows = list(_result_rows(report))
    arrays = [
        pa.array(_escape_surrogates([value(row) for row in rows]), kind) for kind, value in PARQUET_COLUMNS.values()
    ]
    return pa.table(arrays, names=[*PARQUET_COLUMNS])


def parquet_bytes(rows: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    return bytes(sink.getvalue())


def _result_rows(report: Report) -> Iterator[ResultRow]:
    for backend in report.backends:
        answers = {(one.case, one.surface): one for one in backend.conventions}
        for result in backend.results:
            program = backend.programs.get(result.program or "")
            yield ResultRow(
                backend, backend.cases[result.case], result, program, answers.get((result.case, result.surface))
            )


def _escape_surrogates(values: Sequence[object]) -> list[object]:
    """Escape surrogates in texts, which UTF-8 cannot encode. They come from bytes that are not UTF-8."""
    return [value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in values]


def _first_input(case: CaseRecord) -> RecordedArray:
    """Return the first input of a case."""
    return next(iter(case.inputs.values()), RecordedArray("", ()))


def _int64_or_none(number: int) -> int | None:
    return number if abs(number) <= MAX_INT64 else None


def _float64_or_none(value: Json) -> float | None:
    """Convert a number of a results file to float64; None if it is missing or out of range."""
    if isinstance(value, str):
        return SPECIAL_NUMBERS.get(value)
    try:
        return None if not isinstance(value, int | float) else float(value)
    except OverflowError:
        return None


def _parse_time(text: str) -> datetime | None:
    """Parse a time in ISO 8601 format with a time zone; None if it has another format."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo else None


METADATA_KEY = b"conformance"
"""Metadata key of the header and the footer of the results file."""
RECORD_COLUMNS = ("record", "answer_record", "case_record")
JsonObject = dict[str, Json]


def store_bytes(path: Path) -> tuple[bytes, str]:
    """Return the file of a store for a results file, and the name of its backend.

    Raises UnreadableResults if the results file is invalid.
    """
    report = load_report([path])
    (backend,) = report.backends
    rows = parquet_table(report)
    lines = _RecordLines(path)
    # Original lines are stored only for cases that views show individually.
    shown = {result.case for result in backend.results if not is_only_counted(result)} | _convention_cases(backend)
    columns = zip(*lines.result_records(shown), strict=True) if backend.results else ([], [], [])
    for name, texts in zip(RECORD_COLUMNS, columns, strict=True):
        rows = rows.append_column(name, pa.array(texts, pa.string()))
    run = json.dumps({"header": lines.header, "footer": lines.footer})
    return parquet_bytes(rows.replace_schema_metadata({METADATA_KEY: run})), backend.name


def _convention_cases(backend: BackendRun) -> set[str]:
    return {name for name, case in backend.cases.items() if case.question is not None}


class _RecordLines:
    """The original lines of a validated results file."""

    def __init__(self, path: Path) -> None:
        self.header: JsonObject = {}
        self.footer: JsonObject | None = None
        self._cases: dict[str, str] = {}
        self._answers: dict[tuple[str, str], str] = {}
        self._results: list[tuple[str, str, str]] = []
        with open_regular(path) as stream:
            for _, line in complete_lines(stream):
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

    def result_records(self, cases: set[str]) -> Iterator[tuple[str | None, ...]]:
        """Yield the RECORD_COLUMNS of each result; None for other cases. The case line is yielded only once."""
        for case, surface, line in self._results:
            if case in cases:
                yield line, self._answers.get((case, surface)), self._cases.pop(case, None)
            else:
                yield None, None, None
