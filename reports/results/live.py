"""Read a results file while it is written, so that its summary is available when the run ends."""

from __future__ import annotations

import json
from pathlib import Path
from sys import intern

from reports.results import reader
from reports.results.fields import RecordError
from reports.results.lazy_cases import CACHED_FIELDS, CaseFile, LazyCase
from reports.results.reader import CASE_LINE_PREFIX, BackendRun, RunBuilder

PARAMETERS_KEY = b', "parameters": '
"""The bytes after the fields that LazyCase caches. They cannot occur in a string, where quotes are escaped."""

MAX_RESULTS_IN_MEMORY = 10_000
"""Number of results. Larger files are read after the run, when the memory of the run has been freed."""


class LiveResults:
    """The records of a results file, collected while they are written. Equal to a lazy load of the finished file.

    path: the file. It is read again at the end if it is large, or if an earlier run wrote a part of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._builder = RunBuilder()
        self._case_file: CaseFile | None = None
        self._is_valid = True

    def add_line(self, offset: int, line: bytes) -> None:
        """Add a line. offset: of the line in the file, in bytes; line: without the newline."""
        if not self._is_valid:
            return
        try:
            if self._builder.header and line.startswith(CASE_LINE_PREFIX) and PARAMETERS_KEY in line:
                self._builder.declare_case(self._lazy_case(offset, line))
            else:
                self._builder.add(reader.parse_line(line))
            self._is_valid = len(self._builder.results) <= MAX_RESULTS_IN_MEMORY
        except RecordError:
            # The header of a continued file is not among these lines. build_run() reads the file and reports errors.
            self._is_valid = False
        if not self._is_valid:
            self._builder = RunBuilder()

    def _lazy_case(self, offset: int, line: bytes) -> LazyCase:
        if self._case_file is None:
            with self.path.open("rb") as stream:
                self._case_file = CaseFile(stream)
        # Parse only the beginning of the line, which contains all cached fields.
        fields = json.loads(line[: line.index(PARAMETERS_KEY)] + b"}")
        cached = {name: fields[name] and intern(fields[name]) for name in CACHED_FIELDS}
        return LazyCase(cached, self._case_file, offset, len(line))

    def build_run(self) -> BackendRun:
        """Return the run. Raises UnreadableResults if the file is invalid."""
        header = self._builder.header
        if header is None or not self._is_valid:
            return reader.load_report([self.path], lazy=True).backends[0]
        return self._builder.build(header)
