"""Read a results file while it is written, so that its summary is available when the run ends."""

from __future__ import annotations

from pathlib import Path

from reports.results.json_structs import RecordError
from reports.results.lazy_cases import CaseFile
from reports.results.reader import BackendRun, RunBuilder, load_report
from reports.results.records import decode_line

MAX_RESULTS_IN_MEMORY = 10_000
"""Number of results. Larger files are read after the run, when the memory of the run has been freed."""


class LiveResults:
    """The records of a results file, collected while they are written. Equal to a lazy load of the finished file.

    path: the file. It is read again at the end if it is large, or if an earlier run wrote a part of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._builder = RunBuilder()
        self._is_valid = True

    def add_line(self, offset: int, line: bytes) -> None:
        """Add a line. offset: of the line in the file, in bytes; line: without the newline."""
        if not self._is_valid:
            return
        try:
            if self._builder.case_file is None:
                with self.path.open("rb") as stream:
                    self._builder.case_file = CaseFile(stream)
            self._builder.add(decode_line(line), offset, len(line))
            self._is_valid = len(self._builder.results) <= MAX_RESULTS_IN_MEMORY
        except RecordError:
            # The header of a continued file is not among these lines. build_run() reads the file and reports errors.
            self._is_valid = False
        if not self._is_valid:
            self._builder = RunBuilder()

    def build_run(self) -> BackendRun:
        """Return the run. Raises UnreadableResults if the file is invalid."""
        if self._builder.checks.header is None or not self._is_valid:
            return load_report([self.path], lazy=True).backends[0]
        return self._builder.build()
