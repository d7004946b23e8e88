"""Read a results file while it is written, so that its summary is available when the run ends."""

from __future__ import annotations

from pathlib import Path

from reports.results.counted import load_counted_run
from reports.results.files import open_regular
from reports.results.json_structs import RecordError
from reports.results.key_set import KeySet
from reports.results.lazy_cases import CaseFile
from reports.results.reader import BackendRun, RunBuilder
from reports.results.records import decode_line

MAX_RESULTS_IN_MEMORY = 25_000
"""Number of results. A larger file is read after the run, and results that agree are counted."""


class LiveResults:
    """The records of a results file, collected while they are written. Equal to a lazy load of the finished file.

    path: the file. It is read again at the end if it is large, or if an earlier run wrote a part of it.
    case_ids: the ids of the cases, after `build_run`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._builder = RunBuilder()
        self._is_valid = True
        self.case_ids = KeySet()

    def add_line(self, offset: int, line: bytes) -> None:
        """Add a line. offset: of the line in the file, in bytes; line: without the newline."""
        if not self._is_valid:
            return
        try:
            if self._builder.case_file is None:
                with open_regular(self.path) as stream:
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
            run, self.case_ids = load_counted_run(self.path)
            return run
        self.case_ids = self._builder.checks.cases
        return self._builder.build()
