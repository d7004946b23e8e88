"""The lock: what every case of a catalogue was when it was released, as a digest by its id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from conformance.errors import CatalogueError

NAME = "lock.json"


def read(path: Path) -> dict[str, str]:
    """Return the frozen digests. Raises CatalogueError if they cannot be read."""
    try:
        lock = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CatalogueError(f"{path}: {error}") from None
    if not isinstance(lock, dict) or not all(isinstance(digest, str) for digest in lock.values()):
        raise CatalogueError(f"{path}: not a lock: it maps the id of each case to a digest")
    return lock


def write(path: Path, digests: Mapping[str, str]) -> None:
    """Write the digests in the order of their ids. Raises CatalogueError if that cannot be done."""
    try:
        path.write_text(json.dumps(dict(sorted(digests.items())), indent=0) + "\n", "utf-8")
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None
