"""The suite's own catalogue as it was expanded before, by content of its files and of the suite's source.

Reading and expanding it takes seconds; what came of it is kept, and read as long as none of them has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from conformance import pickles
from conformance.cache import environment, folder

T = TypeVar("T")

FILES = 4
"""Catalogues that are kept: one for each content of its files and of the source."""


def loaded(home: Path, load: Callable[[], T]) -> T:
    """Return the catalogue of a folder as it was kept, or else as `load` returns it, to be kept."""
    path = folder("conformance-catalogue") / f"{_key(home)}.pickle"
    kept = pickles.get(path)
    if kept is None:
        kept = load()
        pickles.put(path, kept, FILES)
    found: T = kept
    return found


def _key(home: Path) -> str:
    """Return 128 bits over all that a catalogue is made from."""
    state = hashlib.blake2b(environment().encode(), digest_size=16)
    for path in sorted(home.rglob("*.*")):
        content = path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()
