"""A results file read while it is written: at its end there is nothing left to do but to show it."""

from __future__ import annotations

import json
from pathlib import Path
from sys import intern

from reports.results import reader
from reports.results.fields import RecordError
from reports.results.lazy_cases import CACHED_FIELDS, CaseFile, LazyCase
from reports.results.reader import CASE_LINE_PREFIX, BackendRun, RunBuilder

PARAMETERS_KEY = b', "parameters": '
"""What follows the parts of a case that are kept. No text holds it, as quotes are escaped in texts."""

MAX_RESULTS_IN_MEMORY = 10_000
"""Results that are kept beside all that a run needs; of more the file is read when the run has let go of that."""


class LiveResults:
    """What a file holds so far; in the end, what `reading.load` makes of it where cases are shelved.

    path: of the file. It is read at the end after all if this process alone has not written it, or it is long.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._builder = RunBuilder()
        self._case_file: CaseFile | None = None
        self._is_valid = True

    def add_line(self, offset: int, line: bytes) -> None:
        """Read one more line, which stands there in the file, without its end."""
        if not self._is_valid:
            return
        try:
            if self._builder.header and line.startswith(CASE_LINE_PREFIX) and PARAMETERS_KEY in line:
                self._builder.declare_case(self._lazy_case(offset, line))
            else:
                self._builder.add(reader.parse_line(line))
            self._is_valid = len(self._builder.results) <= MAX_RESULTS_IN_MEMORY
        except RecordError:  # a file that is continued has its header elsewhere, and what is at fault is told by line
            self._is_valid = False
        if not self._is_valid:
            self._builder = RunBuilder()

    def _lazy_case(self, place: int, line: bytes) -> LazyCase:
        if self._case_file is None:
            with self.path.open("rb") as stream:
                self._case_file = CaseFile(stream)
        parts = json.loads(line[: line.index(PARAMETERS_KEY)] + b"}")
        kept = {name: parts[name] and intern(parts[name]) for name in CACHED_FIELDS}
        return LazyCase(kept, self._case_file, place, len(line))

    def build_run(self) -> BackendRun:
        """Return the run. Raises UnreadableResults, as reading the file does."""
        header = self._builder.header
        if header is None or not self._is_valid:
            return reader.load_report([self.path], lazy=True).backends[0]
        return self._builder.build(header)
