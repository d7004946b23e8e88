"""Cases with only the fields that summaries need in memory. Other fields are read from the results file."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Mapping
from functools import lru_cache
from typing import IO, Any

from reports.results.fields import JsonFields
from reports.results.records import CaseRecord

CACHED_FIELDS = ("case", "operator", "level", "question")
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
        return CaseRecord.parse(JsonFields(json.loads(os.pread(self._descriptor, length, offset))))


class LazyCase(CaseRecord):
    """A case that reads all fields except CACHED_FIELDS from its file when they are needed.

    fields: values of CACHED_FIELDS. offset, length: of its line, in bytes. size: number of input elements, if known.
    """

    __slots__ = (*CACHED_FIELDS, "_case_file", "_length", "_offset", "_size")
    _case_file: CaseFile
    _offset: int
    _length: int
    _size: int | None

    def __init__(
        self, fields: Mapping[str, Any], case_file: CaseFile, offset: int, length: int, *, size: int | None = None
    ) -> None:
        location = {"_size": size, "_case_file": case_file, "_offset": offset, "_length": length}
        for name, value in {**fields, **location}.items():
            object.__setattr__(self, name, value)  # CaseRecord is frozen

    @classmethod
    def of(cls, case: CaseRecord, case_file: CaseFile, offset: int, length: int) -> LazyCase:
        """Return a lazy copy of a case."""
        return cls({name: getattr(case, name) for name in CACHED_FIELDS}, case_file, offset, length, size=case.size)

    @property
    def size(self) -> int:
        """Number of input elements."""
        return self._case_file.case(self._offset, self._length).size if self._size is None else self._size

    def __getattr__(self, name: str) -> Any:
        # An unset slot would otherwise recurse here, for example while the object is copied.
        if name in LazyCase.__slots__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._case_file.case(self._offset, self._length), name)
