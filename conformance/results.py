"""Results files: one JSON object a line, written as the run goes. The format is docs/results.md."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from conformance.errors import ConformanceError
from conformance.values import Array

FORMAT = 1
MAX_ELEMENTS = 4096


def encoded(value: Any) -> Any:
    """Return the value as JSON has it: tuples as lists, NaN and infinities as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encoded(item) for key, item in value.items()}
    return value


def array_record(array: Array) -> dict[str, Any]:
    """Return an array as the format has it, its numbers left out where there are too many."""
    data = array.ravel().tolist() if array.size <= MAX_ELEMENTS else None
    if data and array.dtype.kind in "fV" and not np.isfinite(array).all():
        data = encoded(data)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def line(record: Mapping[str, Any]) -> str:
    """Return a record as one line; only where it holds a number that JSON lacks is it gone through piece by piece."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):
        return json.dumps(encoded(record), ensure_ascii=False, allow_nan=False)


def forget(path: Path) -> None:
    """Remove an earlier file, lest it stand for a run that could not start. Raises ConformanceError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


@dataclass
class ResultsFile:
    """A results file that is being written, complete once `finish` has been called.

    done: (case, surface) of every result in it; cases, programs: what has been declared; conventions: (case, surface)
    of every answer. `open` with `resume` continues a partial file, which must start with the same header but for the
    time.
    """

    path: Path
    done: set[tuple[str, str]] = field(default_factory=set)
    cases: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    conventions: set[tuple[str, str]] = field(default_factory=set)
    by_status: Counter[str] = field(default_factory=Counter)
    complete: bool = False
    _stream: IO[str] | None = None

    def open(self, header: Mapping[str, Any], *, resume: bool = False) -> None:
        """Create the file, or continue it. Raises ConformanceError if it cannot be written or is another run's."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if resume and self.path.exists():
                self._continue(header)
            if self._stream is None:
                self._stream = self.path.open("w", encoding="utf-8", errors="replace")
                self.write({"record": "header", "format": FORMAT, **header})
        except OSError as error:
            raise ConformanceError(f"{error.filename or self.path}: {error.strerror}") from None

    def _continue(self, header: Mapping[str, Any]) -> None:
        whole, _, _cut = self.path.read_text("utf-8", "replace").rpartition("\n")
        records = self._records(whole)
        if not records:
            return
        for key in ("backend", "catalogue", "ledger", "own_ledger", "level", "selection", "surfaces", "environment"):
            if records[0].get(key) != json.loads(json.dumps(encoded(header[key]))):
                raise ConformanceError(f"{self.path}: cannot resume, {key} is not what this run has")
        self.path.write_text(whole + "\n", "utf-8")
        self._stream = self.path.open("a", encoding="utf-8", errors="replace")

    def _records(self, text: str) -> list[dict[str, Any]]:
        records = []
        for number, line in enumerate(text.split("\n") if text else (), 1):
            try:
                records.append(json.loads(line))
                self._note(records[-1])
            except (ValueError, TypeError, KeyError):
                raise ConformanceError(f"{self.path}:{number}: cannot resume, this line is not a record") from None
        return records

    def _note(self, record: Mapping[str, Any]) -> None:
        kind = record["record"]
        if kind == "result":
            self.done.add((record["case"], record["surface"]))
            self.by_status[record["status"]] += 1
        elif kind == "convention":
            self.conventions.add((record["case"], record["surface"]))
        elif kind in {"case", "program"}:
            {"case": self.cases, "program": self.programs}[kind].add(record[kind])
        self.complete = self.complete or kind == "footer"

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record."""
        assert self._stream is not None  # noqa: S101 - open comes first
        self._note(record)
        try:
            self._stream.write(line(record) + "\n")
            self._stream.flush()
        except OSError as error:
            raise ConformanceError(f"{self.path}: {error.strerror}") from None

    def declare(self, kind: str, name: str, record: Callable[[], Mapping[str, Any]]) -> None:
        """Append a `case` or `program` record before its first use."""
        known = {"case": self.cases, "program": self.programs}[kind]
        if name not in known:
            self.write({"record": kind, kind: name, **record()})

    def finish(self, seconds: float) -> None:
        """Append the footer: the run is complete."""
        counts = dict(sorted(self.by_status.items()))
        self.write(
            {"record": "footer", "results": sum(counts.values()), "by_status": counts, "seconds": round(seconds, 3)}
        )

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()
