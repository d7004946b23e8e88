"""Cases with only the fields that summaries need in memory. Other fields are read from the results file."""

from __future__ import annotations

import os
import weakref
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

from reports.results.records import CaseRecord, decode_line

CACHED_FIELDS = ("case", "operator", "level", "question", "size")
MAX_CACHED_CASES = 64
"""Number of cached full cases per file. Callers usually read several fields of the same case."""


class CaseFile:
    """Random access to the case lines of a results file."""

    def __init__(self, stream: IO[bytes]) -> None:
        # A duplicated descriptor refers to this file even if the path is replaced later.
        self._descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self.case = lru_cache(MAX_CACHED_CASES)(self._case)

    def _case(self, offset: int, length: int) -> CaseRecord:
        """Return the case of a line that has been validated before. offset, length: of the line, in bytes."""
        case = decode_line(os.pread(self._descriptor, length, offset))
        assert isinstance(case, CaseRecord)  # noqa: S101 - validated before
        return case


class LazyCase(CaseRecord if TYPE_CHECKING else object):  # type: ignore[misc]  # a struct cannot have missing fields
    """A case that reads all fields except CACHED_FIELDS from its file when they are needed.

    case: supplies the values of CACHED_FIELDS. offset, length: of its line, in bytes.
    """

    __slots__ = (*CACHED_FIELDS, "_case_file", "_length", "_offset")

    def __init__(self, case: CaseRecord, case_file: CaseFile, offset: int, length: int) -> None:
        for name in CACHED_FIELDS:
            setattr(self, name, getattr(case, name))
        self._case_file, self._offset, self._length = case_file, offset, length

    def __getattr__(self, name: str) -> Any:
        # An unset slot would otherwise recurse here, for example while the object is copied.
        if name in LazyCase.__slots__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._case_file.case(self._offset, self._length), name)
