"""Answers of the reference that took it long, kept on disk by content, for other backends and later runs.

A key is a digest of the operator, its parameters and the bits of its inputs; a file belongs to one source of the
reference and the versions below it, so nothing in it can be out of date. What is read is held against the checksum that
was written with it. What cannot be read is asked anew, and what cannot be written is asked again the next time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from conformance.cache import environment, folder, forget
from conformance.cases import Case, Value
from conformance.expected import Expected, Target, expected
from conformance.values import DTYPES, Array, array_digest
from reference import Exact

SOURCES = ("reference", "conformance/expected.py", "conformance/kept.py", "conformance/operators.py")
LONG = 0.002
"""Seconds of the processor from which on an answer is kept; others are as quick to ask for as to read."""
LIMIT = 64 << 20
"""Bytes of a file, beyond which nothing more is kept."""
FILES = 4
"""Files that are kept: one for each source of the reference and set of versions."""
AT_ONCE = 4 << 20
"""Bytes that are gathered before they are written."""
PARTS = ("value", "high", "low", "terms", "magnitude", "extra")
HEADER = struct.Struct(">16sQ")
TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, answer BLOB) WITHOUT ROWID"


@contextlib.contextmanager
def kept(path: Path | None = None) -> Iterator[Callable[[Case], Expected]]:
    """Yield what to ask for expectations; what was new is written at the end."""
    answers = Kept(path or folder("conformance-expected") / f"{environment(SOURCES)}.sqlite")
    try:
        yield answers.expected
    finally:
        answers.save()


@dataclass
class Kept:
    """The answers in one file. fresh: those that are not in it yet."""

    path: Path
    fresh: dict[str, bytes] = field(default_factory=dict)

    def expected(self, case: Case) -> Expected:
        """Return what must happen in a case, as conformance.expected has it. Raises CatalogueError."""
        if case.expect != Value() or case.then:
            return expected(case)
        inputs = {name: spec.make() for name, spec in case.inputs.items()}
        key = _key(case, inputs)
        exact = self.get(key)
        if exact is not None:
            return Expected(inputs, Target(exact, exact.bound()), {}, array_digest(*inputs.values(), exact.value))
        start = time.thread_time()
        made = expected(case)
        if time.thread_time() - start >= LONG and made.target and made.target.exact:
            self.put(key, made.target.exact)
        return made

    def get(self, key: str) -> Exact | None:
        """Return an answer, None if it is not known or was damaged."""
        if key in self.fresh:
            return unpacked(self.fresh[key])
        if key in self._keys:
            with contextlib.suppress(sqlite3.Error):
                row = self._file.execute("SELECT answer FROM kept WHERE key = ?", (key,)).fetchone()
                return unpacked(row[0]) if row else None
        return None

    def put(self, key: str, exact: Exact) -> None:
        """Enter an answer, and write what has gathered."""
        self.fresh[key] = packed(exact)
        if sum(map(len, self.fresh.values())) > AT_ONCE:
            self.save()

    def save(self) -> None:
        """Write what is new, while there is room."""
        fresh, self.fresh = self.fresh, {}
        if not fresh or (self.path.exists() and self.path.stat().st_size > LIMIT):
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path)) as file, file:
                file.execute(TABLE)
                file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", fresh.items())
            forget(self.path.parent.glob("*.sqlite"), FILES)

    @cached_property
    def _file(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)

    @cached_property
    def _keys(self) -> frozenset[str]:
        with contextlib.suppress(sqlite3.Error):
            return frozenset(key for (key,) in self._file.execute("SELECT key FROM kept"))
        return frozenset()


def _key(case: Case, inputs: Mapping[str, Array]) -> str:
    asked = json.dumps([case.operator, dict(case.parameters), list(inputs)], sort_keys=True)
    return hashlib.blake2b(f"{asked}{array_digest(*inputs.values())}".encode(), digest_size=16).hexdigest()


def packed(exact: Exact) -> bytes:
    """Return an answer as bytes: a checksum, the length of a header in JSON, that header, and the arrays."""
    parts = {name: np.asarray(getattr(exact, name)) for name in PARTS if getattr(exact, name) is not None}
    arrays = [[name, array.dtype.name, array.shape] for name, array in parts.items()]
    header = json.dumps({"exact": exact.exact, "arrays": arrays}).encode()
    body = header + b"".join(array.tobytes() for array in parts.values())
    return HEADER.pack(_checksum(body), len(header)) + body


def unpacked(answer: bytes) -> Exact | None:
    """Return the answer that was packed, None if it was damaged since."""
    if len(answer) < HEADER.size or HEADER.unpack_from(answer)[0] != _checksum(answer[HEADER.size :]):
        return None
    place = HEADER.size + HEADER.unpack_from(answer)[1]
    header = json.loads(answer[HEADER.size : place])
    parts: dict[str, Array | None] = dict.fromkeys(PARTS)
    for name, dtype, shape in header["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        parts[name] = np.frombuffer(answer, DTYPES[dtype], count, place).reshape(shape)
        place += count * DTYPES[dtype].itemsize
    return Exact(**parts, exact=header["exact"])  # type: ignore[arg-type]


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()
