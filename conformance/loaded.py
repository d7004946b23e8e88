"""What was made of the suite's own data files before, by their content and that of the suite's source.

Expanding the catalogue takes seconds; what came of it is kept, and read as long as none of them has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from conformance import pickles
from conformance.cache import environment, folder

T = TypeVar("T")

FILES = 4
"""Catalogues that are kept: one for each content of its files and of the source."""
SMALL = 64
"""Of what else is made of data files: declarations of each backend, and ledgers."""


def loaded(home: Path, load: Callable[[], T]) -> T:
    """Return the catalogue of a folder as it was kept, or else as `load` returns it, to be kept."""
    return _kept("conformance-catalogue", FILES, sorted(home.rglob("*.*")), load)


def small(files: Iterable[Path], load: Callable[[], T]) -> T:
    """Return what was made of a few files as it was kept, or else as `load` returns it, to be kept."""
    return _kept("conformance-data", SMALL, files, load)


def _kept(name: str, most: int, files: Iterable[Path], load: Callable[[], T]) -> T:
    path = folder(name) / f"{_key(files)}.pickle"
    kept = pickles.get(path)
    if kept is None:
        kept = load()
        pickles.put(path, kept, most)
    found: T = kept
    return found


def _key(files: Iterable[Path]) -> str:
    """Return 128 bits over all that something is made from."""
    state = hashlib.blake2b(environment().encode(), digest_size=16)
    for path in files:
        content = path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()
