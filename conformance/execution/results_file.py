"""Write and resume results files: one JSON object per line, written during the run. docs/results.md has the format."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from conformance import ConformanceError, IncompleteRun
from reports.results import (
    AnyRecord,
    CaseRecord,
    ConventionRecord,
    Footer,
    Header,
    ProgramRecord,
    RecordChecks,
    UnreadableResults,
    encode_line,
    read_records,
)
from reports.results.files import open_regular

RESUME_KEYS = (
    *("backend", "catalogue", "ledger", "own_ledger", "level", "slow", "repeat", "shard", "selection", "surfaces"),
    "environment",
)
"""Keys of the header that must be equal in a file and in the run that resumes it."""
DECLARING_RECORDS = (CaseRecord, ProgramRecord, ConventionRecord)
"""Types of records that are written before the first result that refers to them."""


@contextlib.contextmanager
def reading_results(doing: str) -> Iterator[None]:
    """Raise ConformanceError for an invalid results file. doing: verb for the message, such as "resume"."""
    try:
        yield
    except UnreadableResults as error:
        raise ConformanceError(f"{error.location}: cannot {doing}, {error.reason}") from None


def remove_results_file(path: Path) -> None:
    """Remove an earlier results file, so that it is not mistaken for the result of a run that could not start.

    Raises ConformanceError if the file cannot be removed or another run is writing it.
    """
    try:
        # Locked only to find out whether another run has locked it. The lock ends when the file is closed.
        with contextlib.suppress(FileNotFoundError), open_regular(path) as stream:
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


@dataclass
class ResultsFile:
    """A results file that is being written. It is complete after `finish`.

    on_line: called with the offset and content of each written line. contents: what the file contains.
    answers: the first case for each surface, convention and answer in a resumed file.
    `open` with `resume` continues a partial file, whose header must be equal except for the time.
    """

    path: Path
    on_line: Callable[[int, bytes], None] = lambda _offset, _line: None
    contents: RecordChecks = field(default_factory=RecordChecks)
    answers: dict[tuple[str, str, str | None], str] = field(default_factory=dict)
    _stream: IO[bytes] | None = None
    _length: int = 0

    @property
    def complete(self) -> bool:
        """Whether the file has a footer."""
        return self.contents.footer is not None

    def open(self, header: Header, *, resume: bool = False) -> None:
        """Create or continue the file. Raises ConformanceError if it cannot be written or is from a different run."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if resume and self.path.exists():
                self._continue(header)
            if self._stream is None:
                # Append mode does not truncate the file, which another run may be writing, before it is locked.
                self._stream = open_regular(self.path, "ab")
                _lock_file(self.path, self._stream)
                if self._stream.tell():
                    self._stream.truncate(0)
                self.write(header)
        except OSError as error:
            raise ConformanceError(f"{error.filename or self.path}: cannot be written: {error.strerror}") from None

    def _continue(self, header: Header) -> None:
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(open_regular(self.path, "r+b"))
            _lock_file(self.path, stream)
            contents, end = RecordChecks(), 0
            with reading_results("resume"):
                for line in read_records(self.path, stream, contents, allow_empty=True):
                    end = line.offset + line.length
                    if isinstance(line.record, ConventionRecord):
                        answer = line.record
                        self.answers.setdefault((answer.surface, answer.question, answer.observed), answer.case)
            first = contents.header
            if first is None:
                return
            for key in RESUME_KEYS:
                if getattr(first, key) != getattr(header, key):
                    raise ConformanceError(f"{self.path}:1: cannot resume, {key} differs from this run")
            # Truncated and continued instead of rewritten, so that a run that is killed here loses no results.
            os.truncate(self.path, end)
            stream.seek(0, os.SEEK_END)
            stream.write(b"\n")  # `end` excludes the newline, which the last complete line may lack
            self._stream, self.contents = stream, contents
            stack.pop_all()

    def write(self, record: AnyRecord) -> None:
        """Append one record. Case, program and convention records are flushed with the result that follows them."""
        self.contents.add(record)
        self._append(encode_line(record), wait=isinstance(record, DECLARING_RECORDS))

    def write_case(self, case: str, text: str) -> None:
        """Append the record of a case that is already encoded as a line."""
        self.contents.declare_case(case)
        self._append(text, wait=True)

    def _append(self, text: str, *, wait: bool) -> None:
        assert self._stream is not None  # noqa: S101 - set by open
        # Messages of frameworks may contain surrogates, which UTF-8 cannot encode.
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
        self.write(make_footer(self.contents, seconds))

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            with contextlib.suppress(OSError):  # close retries a failed write, whose error has been raised already
                self._stream.close()


def make_footer(contents: RecordChecks, seconds: float) -> Footer:
    """Return the footer of a file with these contents."""
    return Footer(len(contents.results), dict(sorted(contents.by_status.items())), round(seconds, 3))
