"""Semaphores of the system, which all processes share."""

import ctypes
import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conformance.system.owned_resources import semaphore_sets

REMOVE = 0
"""Command IPC_RMID of semctl."""


@contextmanager
def unshared_semaphores() -> Iterator[None]:
    """Wait until no other test uses semaphores. Remove those that remain at the end."""
    with (Path(tempfile.gettempdir()) / "conformance-semaphores.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = _ids()
        yield
        for new in _ids() - before:
            ctypes.CDLL(None).semctl(int(new), 0, REMOVE)


def _ids() -> set[str]:
    return {key.split()[0] for key in semaphore_sets()}
