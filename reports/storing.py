"""A results file as one Parquet file of a store: the rows that notebooks read, and what views ask of a few of them.

Of a case on which anything is otherwise than expected, or which puts a question, every result keeps its record, the
first one that of the case too. All others are told by their columns. The file's own metadata hold header and footer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from reports import parquet, reading
from reports.fields import Json
from reports.reading import Backend
from reports.records import Result

RUN = b"conformance"
"""The key of header and footer in the metadata of a file."""
RECORDS = ("record", "answer_record", "case_record")
Line = dict[str, Json]


def stored(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a Parquet file that holds a results file, and its backend.

    Raises UnreadableResults for one that is not sound.
    """
    report = reading.load([path])
    (backend,) = report.backends
    rows = parquet.table(report)
    lines = _Lines(path)
    special = {result.case for result in backend.results if not ordinary(result)} | _asking(backend)
    kept = zip(*lines.kept(special), strict=True) if backend.results else ([], [], [])
    for name, texts in zip(RECORDS, kept, strict=True):
        rows = rows.append_column(name, pa.array(texts, pa.string()))
    run = json.dumps({"header": lines.header, "footer": lines.footer})
    return parquet.written(rows.replace_schema_metadata({RUN: run})), backend.name


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
            for _, line in reading.whole_lines(stream):
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
