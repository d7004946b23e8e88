"""The suite's own catalogue as it was expanded before, by content of its files and of the suite's source.

Reading and expanding it takes seconds; what came of it is kept in the folder of caches, as Python keeps its compiled
modules, and read from there as long as no file has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cache import environment, folder, forget

if TYPE_CHECKING:
    from conformance.catalogue import Catalogue

FILES = 4
"""Catalogues that are kept: one for each content of its files and of the source."""


def loaded(home: Path, load: Callable[[], Catalogue]) -> Catalogue:
    """Return the catalogue of a folder as it was kept, or else as `load` returns it, to be kept."""
    path = folder("conformance-catalogue") / f"{_key(home)}.pickle"
    # Whatever is wrong with the file, the catalogue itself is there to be read.
    with contextlib.suppress(Exception):
        return _unpacked(path.read_bytes())
    found = load()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(_packed(found))
        part.replace(path)
        forget(path.parent.glob("*.pickle"), FILES)
    return found


def _key(home: Path) -> str:
    """Return 128 bits over all that a catalogue is made from."""
    state = hashlib.blake2b(environment().encode(), digest_size=16)
    for path in sorted(home.rglob("*.*")):
        content = path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()


def _packed(catalogue: Catalogue) -> bytes:
    content = pickle.dumps(catalogue)
    return hashlib.blake2b(content, digest_size=16).digest() + content


def _unpacked(packed: bytes) -> Catalogue:
    checksum, content = packed[:16], packed[16:]
    if hashlib.blake2b(content, digest_size=16).digest() != checksum:
        raise ValueError("damaged")
    found: Catalogue = pickle.loads(content)  # noqa: S301 - our own file, in the user's own folder
    return found
