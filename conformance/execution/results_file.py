"""Write and resume results files: one JSON object per line, written during the run. docs/results.md has the format."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from conformance import ConformanceError, IncompleteRun
from conformance.cases.arrays import Array, json_value

RESULTS_FORMAT = 1
MAX_RECORDED_ELEMENTS = 4096
"""Maximum number of elements of an array that are written; a larger array has only dtype and shape."""
RESUME_KEYS = (
    *("backend", "catalogue", "ledger", "own_ledger", "level", "slow", "repeat", "shard", "selection", "surfaces"),
    "environment",
)
"""Keys of the header that must be equal in a file and in the run that resumes it."""


def array_record(array: Array) -> dict[str, Any]:
    """Return an array as a JSON object. `data` is null for arrays of more than MAX_RECORDED_ELEMENTS elements."""
    data = array.ravel().tolist() if array.size <= MAX_RECORDED_ELEMENTS else None
    if data and array.dtype.kind in "fV" and not np.isfinite(array).all():
        data = json_value(data)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def record_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON. NaN and infinities are written as strings."""
    try:  # most records contain only finite numbers and need no conversion
        return json.dumps(record, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):
        return json.dumps(json_value(record), ensure_ascii=False, allow_nan=False)


def remove_results_file(path: Path) -> None:
    """Remove an earlier results file, so that it is not mistaken for the result of a run that could not start.

    Raises ConformanceError if the file cannot be removed or another run is writing it.
    """
    try:
        with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
            _lock_file(path, stream)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


def _lock_file(path: Path, stream: IO[Any]) -> None:
    """Lock a file until it is closed. Raises ConformanceError if another run has locked it."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConformanceError(f"{path}: another run is writing it") from None


DECLARING_RECORDS = frozenset({"case", "program", "convention"})
"""Kinds of records that are written before the first result that refers to them."""


class _InvalidRecord(ValueError):
    """A record that is not valid after the records before it."""


@dataclass
class ResultsFile:
    """A results file that is being written. It is complete after `finish`.

    on_line: called with the offset and content of each written line.
    finished: (case, surface) of each result that the file contained when it was opened; cases, programs: ids and
    digests of the case and program records; conventions: (case, surface) of each convention record; answers: the
    first case for each surface, convention and answer.
    `open` with `resume` continues a partial file, whose header must be equal except for the time.
    """

    path: Path
    on_line: Callable[[int, bytes], None] = lambda _offset, _line: None
    finished: set[tuple[str, str]] = field(default_factory=set)
    cases: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    conventions: set[tuple[str, str]] = field(default_factory=set)
    answers: dict[tuple[str, str, str | None], str] = field(default_factory=dict)
    by_status: Counter[str] = field(default_factory=Counter)
    complete: bool = False
    _stream: IO[bytes] | None = None
    _length: int = 0

    def open(self, header: Mapping[str, Any], *, resume: bool = False) -> None:
        """Create or continue the file. Raises ConformanceError if it cannot be written or is from a different run."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if resume and self.path.exists():
                self._continue(header)
            if self._stream is None:
                # Append mode does not truncate the file, which another run may be writing, before it is locked.
                self._stream = self.path.open("ab")
                _lock_file(self.path, self._stream)
                if self._stream.tell():
                    self._stream.truncate(0)
                self.write({"record": "header", "format": RESULTS_FORMAT, **header})
        except OSError as error:
            raise ConformanceError(f"{error.filename or self.path}: {error.strerror}") from None

    def _continue(self, header: Mapping[str, Any]) -> None:
        stream = self.path.open("r+b")
        with contextlib.ExitStack() as stack:
            stack.callback(stream.close)
            _lock_file(self.path, stream)
            content = _complete_lines(self.path.read_bytes())
            records = self.records(_split_lines(content), "resume")
            first = next(records, None)
            if first is None:
                return
            for _ in records:
                pass
            for key in RESUME_KEYS:
                if first.get(key) != json.loads(json.dumps(json_value(header.get(key)))):
                    raise ConformanceError(f"{self.path}:1: cannot resume, {key} differs from this run")
            # Truncated and continued instead of rewritten, so that a run that is killed here loses no results.
            os.truncate(self.path, len(content))
            stream.seek(0, os.SEEK_END)
            if not content.endswith(b"\n"):
                stream.write(b"\n")
            self._stream = stream
            stack.pop_all()

    def records(self, lines: Iterable[bytes], doing: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a file. Check each against those before it, and register its declarations.

        doing: verb for the error message, "resume" or "merge". Raises ConformanceError with path and line number.
        """
        for number, text in enumerate(lines, 1):
            try:
                record = json.loads(text.decode())
                self._check_record(record, first=number == 1)
                self._register(record)
                if record["record"] == "result":
                    self.finished.add((record["case"], record["surface"]))
            except _InvalidRecord as error:
                raise ConformanceError(f"{self.path}:{number}: cannot {doing}, {error}") from None
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise ConformanceError(f"{self.path}:{number}: cannot {doing}, this line is not a record") from None
            yield record

    def _check_record(self, record: Mapping[str, Any], *, first: bool) -> None:
        """Check a record against those before it. Raises _InvalidRecord."""
        kind = record["record"]
        if first != (kind == "header"):
            raise _InvalidRecord("the first line is not a header" if first else "a second header")
        if first and record["format"] != RESULTS_FORMAT:
            raise _InvalidRecord(f"the format is {record['format']!r}, this version writes {RESULTS_FORMAT}")
        if self.complete:
            raise _InvalidRecord("a record after the footer")
        known: Mapping[str, Collection[Any]]
        known = {"case": self.cases, "program": self.programs, "result": self.finished, "convention": self.conventions}
        name = (record["case"], record["surface"]) if kind in {"result", "convention"} else record.get(kind)
        if name in known.get(kind, ()):
            raise _InvalidRecord(f"a second {kind} for {' on '.join(name) if isinstance(name, tuple) else name}")
        if kind in {"result", "convention"} and record["case"] not in self.cases:
            raise _InvalidRecord(f"the case {record['case']} was never declared")
        if kind == "result" and record["program"] is not None and record["program"] not in self.programs:
            raise _InvalidRecord(f"the program {record['program']} was never declared")

    def _register(self, record: Mapping[str, Any]) -> None:
        kind = record["record"]
        if kind == "result":
            self.by_status[record["status"]] += 1
        elif kind == "convention":
            self.conventions.add((record["case"], record["surface"]))
            self.answers.setdefault((record["surface"], record["question"], record["observed"]), record["case"])
        elif kind in {"case", "program"}:
            {"case": self.cases, "program": self.programs}[kind].add(record[kind])
        self.complete = self.complete or kind == "footer"

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record. Case, program and convention records are flushed with the result that follows them."""
        self._append(record_line(record), wait=record["record"] in DECLARING_RECORDS)
        self._register(record)

    def write_case(self, case: str, text: str) -> None:
        """Append the record of a case that is already encoded as a line."""
        self._append(text, wait=True)
        self.cases.add(case)

    def _append(self, text: str, *, wait: bool) -> None:
        assert self._stream is not None  # noqa: S101 - set by open
        content = text.encode("utf-8", "replace")
        try:
            self._stream.write(content + b"\n")
            if not wait:
                self._stream.flush()
        except OSError as error:
            hint = "; the run is incomplete, --resume continues it"
            raise IncompleteRun(f"{self.path}: {error.strerror}{hint}") from None
        self.on_line(self._length, content)
        self._length += len(content) + 1

    def finish(self, seconds: float) -> None:
        """Append the footer, which marks the run as complete."""
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
            with contextlib.suppress(OSError):  # close retries a failed write, whose error has been raised already
                self._stream.close()


def _split_lines(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []


def _complete_lines(content: bytes) -> bytes:
    """Return the content without an incomplete last line."""
    before, end, last = content.rpartition(b"\n")
    try:
        return content if isinstance(json.loads(last.decode()), dict) else before + end
    except (ValueError, RecursionError):
        return before + end
