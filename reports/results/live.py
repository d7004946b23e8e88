"""A results file read while it is written: at its end there is nothing left to do but to show it."""

from __future__ import annotations

import json
from pathlib import Path
from sys import intern

from reports.results import reader
from reports.results.fields import RecordError
from reports.results.lazy_cases import KEPT, Shelf, Shelved
from reports.results.reader import CASE, Backend, Builder

PARAMETERS = b', "parameters": '
"""What follows the parts of a case that are kept. No text holds it, as quotes are escaped in texts."""

MOST = 10_000
"""Results that are kept beside all that a run needs; of more the file is read when the run has let go of that."""


class Growing:
    """What a file holds so far; in the end, what `reading.load` makes of it where cases are shelved.

    path: of the file. It is read at the end after all if this process alone has not written it, or it is long.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._builder = Builder()
        self._shelf: Shelf | None = None
        self._sound = True

    def add(self, place: int, line: bytes) -> None:
        """Read one more line, which stands there in the file, without its end."""
        if not self._sound:
            return
        try:
            if self._builder.header and line.startswith(CASE) and PARAMETERS in line:
                self._builder.hold(self._shelved(place, line))
            else:
                self._builder.add(reader.parse(line))
            self._sound = len(self._builder.results) <= MOST
        except RecordError:  # a file that is continued has its header elsewhere, and what is at fault is told by line
            self._sound = False
        if not self._sound:
            self._builder = Builder()

    def _shelved(self, place: int, line: bytes) -> Shelved:
        if self._shelf is None:
            with self.path.open("rb") as stream:
                self._shelf = Shelf(stream)
        parts = json.loads(line[: line.index(PARAMETERS)] + b"}")
        kept = {name: parts[name] and intern(parts[name]) for name in KEPT}
        return Shelved(kept, self._shelf, place, len(line))

    def backend(self) -> Backend:
        """Return the run. Raises UnreadableResults, as reading the file does."""
        header = self._builder.header
        if header is None or not self._sound:
            return reader.load([self.path], shelved=True).backends[0]
        return self._builder.build(header)
