"""Cases of which a summary keeps only what it asks of all of them; the rest stays in the results file."""

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
"""Cases that were read again and are kept, as whoever asks for one part of a case asks for others."""


class CaseFile:
    """A results file whose lines can be read again, though another file may have taken its place by then."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self.case = lru_cache(MAX_CACHED_CASES)(self._case)

    def _case(self, place: int, length: int) -> CaseRecord:
        """Return the case of a line, which was found sound before."""
        return CaseRecord.parse(JsonFields(json.loads(os.pread(self._descriptor, length, place))))


class LazyCase(CaseRecord):
    """A case that looks up in its file what it has not kept.

    parts: of KEPT; place, length: of its line in bytes; size: where it is known already.
    """

    __slots__ = (*CACHED_FIELDS, "_length", "_place", "_shelf", "_size")
    _shelf: CaseFile
    _place: int
    _length: int
    _size: int | None

    def __init__(
        self, parts: Mapping[str, Any], case_file: CaseFile, place: int, length: int, *, size: int | None = None
    ) -> None:
        where = {"_size": size, "_shelf": case_file, "_place": place, "_length": length}
        for name, part in {**parts, **where}.items():
            object.__setattr__(self, name, part)

    @classmethod
    def of(cls, case: CaseRecord, case_file: CaseFile, place: int, length: int) -> LazyCase:
        """Return a case without what stands in its line."""
        return cls({name: getattr(case, name) for name in CACHED_FIELDS}, case_file, place, length, size=case.size)

    @property
    def size(self) -> int:
        """Number of input elements."""
        return self._shelf.case(self._place, self._length).size if self._size is None else self._size

    def __getattr__(self, name: str) -> Any:
        if name in LazyCase.__slots__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._shelf.case(self._place, self._length), name)
