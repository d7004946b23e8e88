"""Cases of which a summary keeps only what it asks of all of them; the rest stays in the results file."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Mapping
from functools import lru_cache
from typing import IO, Any

from reports.results.fields import Fields
from reports.results.records import Case

KEPT = ("case", "operator", "level", "question")
AT_HAND = 64
"""Cases that were read again and are kept, as whoever asks for one part of a case asks for others."""


class Shelf:
    """A results file whose lines can be read again, though another file may have taken its place by then."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self.case = lru_cache(AT_HAND)(self._case)

    def _case(self, place: int, length: int) -> Case:
        """Return the case of a line, which was found sound before."""
        return Case.parse(Fields(json.loads(os.pread(self._descriptor, length, place))))


class Shelved(Case):
    """A case that looks up in its file what it has not kept.

    parts: of KEPT; place, length: of its line in bytes; size: where it is known already.
    """

    __slots__ = (*KEPT, "_length", "_place", "_shelf", "_size")
    _shelf: Shelf
    _place: int
    _length: int
    _size: int | None

    def __init__(
        self, parts: Mapping[str, Any], shelf: Shelf, place: int, length: int, *, size: int | None = None
    ) -> None:
        where = {"_size": size, "_shelf": shelf, "_place": place, "_length": length}
        for name, part in {**parts, **where}.items():
            object.__setattr__(self, name, part)

    @classmethod
    def of(cls, case: Case, shelf: Shelf, place: int, length: int) -> Shelved:
        """Return a case without what stands in its line."""
        return cls({name: getattr(case, name) for name in KEPT}, shelf, place, length, size=case.size)

    @property
    def size(self) -> int:
        """Number of input elements."""
        return self._shelf.case(self._place, self._length).size if self._size is None else self._size

    def __getattr__(self, name: str) -> Any:
        if name in Shelved.__slots__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._shelf.case(self._place, self._length), name)
